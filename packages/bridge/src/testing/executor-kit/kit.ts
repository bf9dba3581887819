import assert from 'node:assert/strict'
import { setTimeout as realTime } from 'node:timers/promises'
import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import type { BridgeEvent } from '../../agent.ts'
import type { Bridge, BridgeOutcome, BridgeResult, BridgeRun, BridgeSession, CreateSessionInput, PromptInput } from '../../bridge-contract.ts'
import { createBridge } from '../../bridge.ts'
import { BridgeError } from '../../errors.ts'
import type { BridgeExecutor, ExecutorLimits } from '../../executors/executor.ts'
import type { BridgeLogger } from '../../logger.ts'
import type { BridgeOptions } from '../../settings.ts'

/** Ability that an executor's agent may lack. */
export type KitAbility =
  /** It is told when a session begins and ends. */
  | 'hooks'
  /** It sees `metadata`, and the owner. */
  | 'metadata'
  /** It sees `runtimeParams`. */
  | 'params'
  /** It gives results of its own, with structured values and usage. */
  | 'results'
  /** It tells of its progress. */
  | 'progress'
  /** Its typed errors arrive as they are. */
  | 'typed-errors'
  /** It may go on although it was told to stop. */
  | 'stubbornness'
  /** It may end its turn with questions. */
  | 'ended-questions'
  /** It may ask with its stream open. */
  | 'open-questions'

/** Factory and abilities of the executor under test. */
export interface ExecutorKitOptions {
  /** Names the executor in the titles of the tests. */
  readonly name: string
  /** An executor that has an agent `kit`, and nobody else: a `kitAgent`, or one that knows each `KitWord` and notes the same. */
  readonly executor: (wanted: ExecutorLimits) => ExecutorUnderTest | Promise<ExecutorUnderTest>
  /** What the agent cannot do, and why: the tests that need it are skipped by that reason. */
  readonly cannot?: Readonly<Partial<Record<KitAbility, string>>>
  /** Default: the globals `describe` and `it`. */
  readonly runner?: KitRunner
}

/** An executor with the notes of its agent. */
export interface ExecutorUnderTest {
  readonly executor: BridgeExecutor
  /** What the agent has noted, in order. */
  readonly notes: () => readonly string[] | Promise<readonly string[]>
  /** Called after each test, when the executor is stopped. */
  readonly end?: () => Promise<void>
}

/** Test runner functions, as Vitest and `node:test` have them. */
export interface KitRunner {
  readonly describe: (name: string, body: () => void) => void
  readonly it: ((name: string, body: () => Promise<void>, timeoutMs?: number) => void) & { readonly skip: (name: string, body: () => Promise<void>) => void }
}

/** A running bridge over the executor, and the words in which the tests speak to it. */
export interface ExecutorBench {
  readonly bridge: Bridge
  readonly clock: ManualClock
  readonly notes: () => Promise<readonly string[]>
  /** Has a new session. */
  readonly open: (input?: CreateSessionInput) => Promise<BridgeSession>
  /** Sends a prompt and waits for what comes of it. */
  readonly ask: (sessionId: string, prompt: string, input?: Partial<PromptInput>) => Promise<BridgeResult>
  /** Sends a prompt and waits until the agent is at it. */
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
    assert.equal(clock.pendingTimers, 0, 'a timer is still set')
  } finally {
    await stopped(bridge, clock)
    await end?.()
  }
}

/** Its deadlines pass as they do outside of tests: other processes take real time to end. */
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

const stepMs = 5

const silent: BridgeLogger = { info: () => {}, warn: () => {}, error: () => {} }

function benchOf(bridge: Bridge, clock: ManualClock, notes: ExecutorUnderTest['notes']): ExecutorBench {
  return {
    ...{ bridge, clock },
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

/** For `assert.rejects`. */
export function hasCode(code: string, reason?: string) {
  return (error: unknown): boolean => BridgeError.isInstance(error) && error.code === code && (reason === undefined || error.details.reason === reason)
}
