import assert from 'node:assert/strict'
import { setTimeout as realTime } from 'node:timers/promises'
import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import type {
  Bridge,
  BridgeEvent,
  BridgeExecutor,
  BridgeOptions,
  BridgeOutcome,
  BridgeResult,
  BridgeRun,
  BridgeSession,
  CreateSessionInput,
  ExecutorLimits,
  PromptInput,
} from '@bowline/bridge'
import { BridgeError, type BridgeLogger, createBridge } from '@bowline/bridge'

/** Ability that an executor's agent may lack. */
export type KitAbility =
  /** The agent is notified when a session begins and ends. */
  | 'hooks'
  /** The agent receives `metadata` and the owner. */
  | 'metadata'
  /** The agent receives `runtimeParams`. */
  | 'params'
  /** The agent returns results of its own, with structured values and usage. */
  | 'results'
  /** The agent reports progress. */
  | 'progress'
  /** Typed errors of the agent arrive unchanged. */
  | 'typed-errors'
  /** The agent can ignore a request to stop. */
  | 'stubbornness'
  /** The agent can end its turn with questions. */
  | 'ended-questions'
  /** The agent can ask questions while its stream is open. */
  | 'open-questions'

/** Factory and abilities of the executor under test. */
export interface ExecutorKitOptions {
  /** Name of the executor in test titles. */
  readonly name: string
  /** Creates an executor whose only agent is `kit`: a `kitAgent`, or an agent that supports each `KitWord` and notes the same lines. */
  readonly executor: (wanted: ExecutorLimits) => ExecutorUnderTest | Promise<ExecutorUnderTest>
  /** Abilities that the agent lacks, each with the reason. Tests that need one are skipped with that reason. */
  readonly cannot?: Readonly<Partial<Record<KitAbility, string>>>
  /** Test runner. Default: the globals `describe` and `it`. */
  readonly runner?: KitRunner
}

/** An executor with the notes of its agent. */
export interface ExecutorUnderTest {
  readonly executor: BridgeExecutor
  /** Returns the notes of the agent, in order. */
  readonly notes: () => readonly string[] | Promise<readonly string[]>
  /** Called after each test, once the executor is stopped. */
  readonly end?: () => Promise<void>
}

/** Functions of a test runner, compatible with Vitest and `node:test`. */
export interface KitRunner {
  readonly describe: (name: string, body: () => void) => void
  readonly it: ((name: string, body: () => Promise<void>, timeoutMs?: number) => void) & {
    readonly skip: (name: string, body: () => Promise<void>) => void
  }
}

/** A running bridge over the executor, with helpers for tests. */
export interface ExecutorBench {
  readonly bridge: Bridge
  readonly clock: ManualClock
  readonly notes: () => Promise<readonly string[]>
  /** Creates a session. */
  readonly open: (input?: CreateSessionInput) => Promise<BridgeSession>
  /** Sends a prompt and resolves with its result. */
  readonly ask: (sessionId: string, prompt: string, input?: Partial<PromptInput>) => Promise<BridgeResult>
  /** Sends a prompt and waits until the agent works on it. */
  readonly begin: (sessionId: string, prompt: string, input?: Partial<PromptInput>) => Promise<BridgeRun>
}

type ExecutorTest = (bench: ExecutorBench) => Promise<void>

export interface TestSettings {
  readonly needs?: readonly KitAbility[]
  readonly limits?: ExecutorLimits
  readonly bridge?: BridgeOptions
}

export interface ExecutorKit {
  readonly it: (name: string, test: ExecutorTest, settings?: TestSettings) => void
}

export type ExecutorTopic = (kit: ExecutorKit) => void

export const cancelGraceMs = 1000

export function executorKitOf(options: ExecutorKitOptions, runner: KitRunner): ExecutorKit {
  return {
    it(name, test, settings = {}) {
      const body = (): Promise<void> => runTest(options, test, settings)
      const missing = (settings.needs ?? []).find((ability) => options.cannot?.[ability] !== undefined)
      if (missing === undefined) runner.it(name, body, 30_000)
      else runner.it.skip(`${name} (${missing}: ${options.cannot?.[missing]})`, body)
    },
  }
}

async function runTest(options: ExecutorKitOptions, test: ExecutorTest, { limits = {}, bridge: settings }: TestSettings): Promise<void> {
  const clock = manualClock(1_750_000_000_000)
  const { executor, notes, end } = await options.executor(limits)
  const bridge = createBridge({ executors: [executor], clock, logger: silent, cancelGraceMs, ...settings })
  try {
    await bridge.start()
    await test(benchOf(bridge, clock, notes))
    assert.equal(bridge.health().requests.inFlight, 0, 'a request is still in flight')
    await stopped(bridge, clock)
    assert.equal(bridge.health().sessions.active, 0, 'a session has kept its slot')
    await answered(clock)
    assert.equal(clock.pendingTimers, 0, 'a timer is still set')
  } finally {
    await stopped(bridge, clock)
    await end?.()
  }
}

/** Stops the bridge while the manual clock follows real time, because other processes need real time to end. */
async function stopped(bridge: Bridge, clock: ManualClock): Promise<void> {
  let isStopped = false
  const stopping = bridge.stop({ deadlineMs: 5000 }).finally(() => (isStopped = true))
  await clock.advance(0)
  while (!isStopped) {
    await realTime(stepMs)
    await clock.advance(stepMs)
  }
  await stopping
}

/** Waits until abandoned requests are answered. The clock stands still meanwhile, so a timer that is never cancelled stays. */
async function answered(clock: ManualClock): Promise<void> {
  for (let waitedMs = 0; clock.pendingTimers > 0 && waitedMs < answerMs; waitedMs += stepMs) await realTime(stepMs)
}

const stepMs = 5
const answerMs = 1000

const silent: BridgeLogger = { debug() {}, info() {}, warn() {}, error() {} }

function benchOf(bridge: Bridge, clock: ManualClock, notes: ExecutorUnderTest['notes']): ExecutorBench {
  return {
    bridge,
    clock,
    notes: async () => notes(),
    open: (input) => bridge.createSession(input),
    ask: (sessionId, prompt, input) => bridge.prompt({ sessionId, prompt, ...input }).result(),
    async begin(sessionId, prompt, input) {
      const run = bridge.prompt({ sessionId, prompt, ...input })
      await firstEvent(run)
      return run
    },
  }
}

export async function firstEvent(run: BridgeRun): Promise<BridgeEvent> {
  for await (const event of run) return event
  throw new Error(`The request said nothing: ${JSON.stringify(await run.result())}`)
}

export function outcomeOf(result: BridgeResult): BridgeOutcome {
  if (!result.ok) throw result.error
  return result
}

export function failureOf(result: BridgeResult): BridgeError {
  assert.ok(!result.ok, 'the call should have failed')
  return result.error
}

/** Returns a validator for `assert.rejects`. */
export function hasCode(code: string, reason?: string) {
  return (error: unknown): boolean =>
    BridgeError.isInstance(error) && error.code === code && (reason === undefined || error.details.reason === reason)
}
