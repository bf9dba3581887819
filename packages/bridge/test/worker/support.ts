import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '@bowline/llm'
import { systemClock } from '@bowline/llm'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { Answer, BridgeEvent, PromptContext, SessionContext } from '../../src/agent.ts'
import type { BridgeExecutor, WorkerOptions } from '../../src/index.ts'
import { BridgeError, workerExecutor } from '../../src/index.ts'
import type { WorkerExecutorOptions } from '../../src/index.ts'
import type { NoticeBody } from '../../src/notices.ts'
import { nodeFlags } from '../../../../scripts/programs.ts'
import { fixtureFile } from '../programs.ts'
import { recordingLogger } from '../support.ts'

const fixture = (name: string): string => fixtureFile(`worker/fixtures/${name}`)

export type Parts = Partial<Omit<WorkerOptions, 'command' | 'entry' | 'args'>>

/** The worker that knows only the plain protocol. */
export function foreignWorker(features: readonly string[] = [], parts: Parts = {}): WorkerOptions {
  return { id: 'foreign', command: process.execPath, args: [...nodeFlags, fixture('foreign-agent'), ...features], ...parts }
}

/** A worker that breaks the protocol. */
export function brokenWorker(fault: string, parts: Parts = {}): WorkerOptions {
  return { id: 'broken', command: process.execPath, args: [...nodeFlags, fixture('broken-worker'), fault], ...parts }
}

/** An agent served by `serveWorker`. */
export function servedWorker(parts: Parts = {}, name = 'served-agent'): WorkerOptions {
  return { id: 'served', entry: fixture(name), ...parts }
}

export interface TestWorkers {
  readonly executor: BridgeExecutor
  readonly notices: NoticeBody[]
  readonly failed: { readonly sessionId: string; readonly error: BridgeError }[]
  readonly logger: ReturnType<typeof recordingLogger>
  /** Resolves with the first matching notice, past or future. */
  notice(matches: (notice: NoticeBody) => boolean): Promise<NoticeBody>
  /** Resolves once the worker reaches this state. */
  becomes(to: string, generation?: number): Promise<NoticeBody>
}

/** Runs cleanups after the test, in reverse order. */
export function atEnd(cleanUp: () => Promise<unknown>): void {
  onTestFinished(async () => void (await cleanUp()))
}

type StartOptions = { readonly clock?: Clock } & Omit<WorkerExecutorOptions, 'workers'>

/** Starts an executor; stopped after the test. Uses the system clock unless another is given. */
export async function startWorkers(workers: readonly WorkerOptions[], options: StartOptions = {}): Promise<TestWorkers> {
  const started = await launchWorkers(workers, options)
  // With deadline 0, stopping does not need the clock of the test.
  atEnd(() => started.executor.stop({ deadlineMs: 0 }))
  return started
}

/** Starts an executor shared by tests that neither end nor count anything, each with its own session. */
export function sharedWorkers(workers: () => readonly WorkerOptions[]): () => TestWorkers {
  let started: TestWorkers
  beforeAll(async () => {
    started = await launchWorkers(workers())
  })
  afterAll(() => started.executor.stop({ deadlineMs: 0 }))
  return () => started
}

async function launchWorkers(
  workers: readonly WorkerOptions[],
  { clock = systemClock, ...options }: StartOptions = {},
): Promise<TestWorkers> {
  const executor = workerExecutor({ workers, cancelGraceMs: 500, ...options })
  const notices: NoticeBody[] = []
  const failed: { sessionId: string; error: BridgeError }[] = []
  const logger = recordingLogger()
  const waiting = new Set<() => void>()
  await executor.start({
    clock,
    logger,
    agentsChanged: () => {},
    sessionFailed: (sessionId, error) => void failed.push({ sessionId, error }),
    notify(notice) {
      notices.push(notice)
      for (const look of waiting) look()
    },
  })
  const notice: TestWorkers['notice'] = (matches) =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = notices.find(matches)
        if (!found) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  const becomes: TestWorkers['becomes'] = (to, generation) =>
    notice((each) => each.type === 'worker-changed' && each.to === to && (generation === undefined || each.generation === generation))
  return { executor, notices, failed, logger, notice, becomes }
}

export function sessionOf(agentId: string, sessionId = 'bs_1', parts: Partial<SessionContext> = {}): SessionContext {
  return { sessionId, conversationId: sessionId, agentId, owner: 'ann', metadata: {}, createdAt: 7, depth: 1, path: ['above'], ...parts }
}

export async function openSession(
  executor: BridgeExecutor,
  agentId: string,
  sessionId = 'bs_1',
  parts: Partial<SessionContext> = {},
): Promise<SessionContext> {
  const session = sessionOf(agentId, sessionId, parts)
  await executor.open(session, 'create')
  return session
}

let lastSession = 0

/** Opens a session for this test only; closed after the test. */
export async function newSession(executor: BridgeExecutor, agentId: string, parts: Partial<SessionContext> = {}): Promise<SessionContext> {
  lastSession += 1
  const session = await openSession(executor, agentId, `bs_own_${lastSession}`, parts)
  atEnd(() => executor.close(session, 'closed'))
  return session
}

export interface Prompted {
  readonly events: readonly BridgeEvent[]
  readonly text: string
  readonly result: Extract<BridgeEvent, { type: 'result' }>['result'] | undefined
}

let lastRequest = 0

export function requestOf(session: SessionContext, prompt: string, parts: Partial<PromptContext> = {}): PromptContext {
  lastRequest += 1
  return { session, requestId: `r${lastRequest}`, prompt, runtimeParams: {}, abortSignal: new AbortController().signal, ...parts }
}

export async function ask(
  executor: BridgeExecutor,
  session: SessionContext,
  prompt: string,
  parts: Partial<PromptContext> = {},
): Promise<Prompted> {
  const events: BridgeEvent[] = []
  for await (const event of executor.prompt(requestOf(session, prompt, parts))) events.push(event)
  return summary(events)
}

export function summary(events: readonly BridgeEvent[]): Prompted {
  const text = events.map((event) => (event.type === 'text-delta' ? event.delta : '')).join('')
  const last = events.findLast((event) => event.type === 'result')
  return { events, text, result: last?.result }
}

/** Reads one prompt step by step. */
export function reading(executor: BridgeExecutor, request: PromptContext) {
  const iterator = executor.prompt(request)[Symbol.asyncIterator]()
  return {
    request,
    next: async (): Promise<BridgeEvent | undefined> => {
      const step = await iterator.next()
      return step.done ? undefined : step.value
    },
    rest: async (): Promise<BridgeEvent[]> => {
      const events: BridgeEvent[] = []
      for (let step = await iterator.next(); !step.done; step = await iterator.next()) events.push(step.value)
      return events
    },
    leave: () => iterator.return?.(),
  }
}

export async function failureOf(work: Promise<unknown>): Promise<BridgeError> {
  const error = await work.then(
    (value: unknown) => new Error(`expected a failure, got ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  )
  if (!BridgeError.isInstance(error)) throw error
  return error
}

export const approve = (id: string): Answer => ({ id, decision: 'approve' })

/** A record that a worker wrote: an object with one field. */
export type Told = Readonly<Record<string, unknown>>

/** Creates a file in which a worker records what happens to it. */
export async function toldFile(): Promise<{ readonly env: Record<string, string>; told(): Told[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'bowline-worker-'))
  atEnd(() => rm(folder, { recursive: true }))
  const file = join(folder, 'told.jsonl')
  return {
    env: { TOLD_FILE: file },
    told: () =>
      existsSync(file)
        ? readFileSync(file, 'utf8')
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as Told)
        : [],
  }
}

/** Returns whether the process runs. A zombie does not count. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Polls until the condition is true. Fails after the time limit. */
export async function eventually(what: string, isSo: () => boolean, withinMs = 10_000): Promise<void> {
  for (let waitedMs = 0; !isSo(); waitedMs += 20) {
    if (waitedMs >= withinMs) throw new Error(`not within ${withinMs} ms: ${what}`)
    await setTimeout(20)
  }
}
