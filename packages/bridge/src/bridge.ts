import manifest from '../package.json' with { type: 'json' }
import type { BridgeEvent } from './agent.ts'
import { AgentDirectory } from './agent-directory.ts'
import type { ListedAgent } from './agent-directory.ts'
import { checkDelegateInput, payloadHash } from './delegate-input.ts'
import type { DelegateInput } from './delegate-input.ts'
import { runDelegation } from './delegation.ts'
import type { Delegation } from './delegation.ts'
import { BridgeError } from './errors.ts'
import { createEventReaders } from './event-readers.ts'
import type { BridgeExecutor } from './executors/executor.ts'
import type { BridgeResult } from './outcome.ts'
import { RequestBook } from './request-book.ts'
import { settingsFrom } from './settings.ts'
import type { BridgeOptions, BridgeSettings } from './settings.ts'
import { settlesWithin, watchRequest } from './watch.ts'

/** Takes prompts to agents and brings back exactly one outcome of each. */
export interface Bridge {
  /** Starts the executors in order. When one fails, those that run are stopped and its error is thrown. Repeatable. */
  start(): Promise<void>
  /**
   * Takes no new work, cancels what runs and waits for it, then stops the executors in reverse order. Durable agents
   * are left to go on. Resolves within `deadlineMs` (default 10,000) plus one second.
   */
  stop(options?: { readonly deadlineMs?: number }): Promise<void>
  health(): BridgeHealth
  /** Executors in order, their agents in order of registration. `capability` must be in the agent's list exactly. */
  discover(query?: { readonly capability?: string }): readonly ListedAgent[]
  /** Opens a session, sends the prompt, closes the session. Never throws for a refused call: its result says so. */
  delegate(input: DelegateInput): BridgeRun
}

/** One request. Iterating gives its events from then on; to stop iterating does not stop the work. */
export interface BridgeRun extends AsyncIterable<BridgeEvent> {
  readonly requestId: string
  readonly sessionId: string
  /** Always settles, never rejects. */
  result(): Promise<BridgeResult>
}

export interface BridgeHealth {
  /** Started, with an agent, and every executor healthy. */
  readonly healthy: boolean
  readonly version: string
  readonly uptimeMs: number
  readonly agents: { readonly total: number; readonly ready: number }
  readonly requests: { readonly inFlight: number; readonly capacity: number }
  readonly executors: readonly { readonly kind: string; readonly healthy: boolean }[]
}

export function createBridge(options: BridgeOptions = {}): Bridge {
  return new ExecutorBridge(options)
}

const retryWhenFullMs = 1000
/** After the deadline of a stop: once for hooks that are still at it, once for the executors. */
const stopMarginMs = 450

class ExecutorBridge implements Bridge {
  readonly #settings: BridgeSettings
  readonly #directory: AgentDirectory
  readonly #requests: RequestBook<ActiveRequest>
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #state: 'new' | 'started' | 'stopped' = 'new'
  #startedAt = 0

  constructor(options: BridgeOptions) {
    this.#settings = settingsFrom(options)
    const { executors, defaultAgentId, clock, requestRetentionMs: retentionMs, maxRequestRecords: maxRecords } = this.#settings
    this.#directory = new AgentDirectory(executors, defaultAgentId)
    this.#requests = new RequestBook({ clock, retentionMs, maxRecords })
  }

  async start(): Promise<void> {
    if (this.#state === 'stopped') throw notRunning('stopped')
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined
      throw error
    })
    return this.#starting
  }

  async #start(): Promise<void> {
    const { clock, logger } = this.#settings
    const host = { clock, logger, sessionFailed: () => {}, notify: () => {} }
    const started: BridgeExecutor[] = []
    try {
      for (const executor of this.#settings.executors) {
        await executor.start(host)
        started.push(executor)
      }
      this.#directory.check(logger)
      if (this.#stopping) throw notRunning('stopped')
    } catch (error) {
      await this.#stopExecutors(started)
      throw error
    }
    this.#startedAt = clock.now()
    this.#state = 'started'
  }

  stop({ deadlineMs = 10_000 }: { readonly deadlineMs?: number } = {}): Promise<void> {
    this.#stopping ??= this.#stop(deadlineMs)
    return this.#stopping
  }

  async #stop(deadlineMs: number): Promise<void> {
    const before = this.#state
    this.#state = 'stopped'
    if (before === 'new' && this.#starting) await settlesWithin(this.#settings.clock, deadlineMs, this.#starting)
    if (before !== 'started') return
    const { clock, logger } = this.#settings
    const running = this.#requests.running()
    logger.info({ running: running.length, deadlineMs }, 'the bridge stops')
    for (const { watch } of running) watch.interrupt({ cause: 'shutdown', deadlineAt: clock.now() + deadlineMs })
    const settling = Promise.all(running.map(({ run }) => run.result()))
    await settlesWithin(clock, deadlineMs + stopMarginMs, settling)
    await settlesWithin(clock, stopMarginMs, this.#stopExecutors(this.#settings.executors))
  }

  async #stopExecutors(executors: readonly BridgeExecutor[]): Promise<void> {
    for (const executor of executors.toReversed()) {
      try {
        await executor.stop({ deadlineMs: stopMarginMs })
      } catch (error) {
        this.#settings.logger.error({ executor: executor.kind, cause: error }, 'the executor did not stop cleanly')
      }
    }
  }

  health(): BridgeHealth {
    const agents = this.#directory.list()
    const executors = this.#settings.executors.map((executor) => ({ kind: executor.kind, healthy: executor.health().healthy }))
    const running = this.#state === 'started'
    return {
      healthy: running && agents.length > 0 && executors.every(({ healthy }) => healthy),
      version: manifest.version,
      uptimeMs: running ? this.#settings.clock.now() - this.#startedAt : 0,
      agents: { total: agents.length, ready: agents.filter(({ status }) => status === 'ready').length },
      requests: { inFlight: this.#requests.runningCount, capacity: this.#settings.maxInFlight },
      executors,
    }
  }

  discover({ capability }: { readonly capability?: string } = {}): readonly ListedAgent[] {
    const agents = this.#directory.list()
    return capability === undefined ? agents : agents.filter(({ capabilities }) => capabilities.includes(capability))
  }

  delegate(input: DelegateInput): BridgeRun {
    try {
      return this.#accept(input).run
    } catch (error) {
      if (BridgeError.isInstance(error)) return this.#refused(input, error)
      throw error
    }
  }

  /** Everything that can refuse a call stands before the first thing that it would change. */
  #accept(input: DelegateInput): ActiveRequest {
    if (this.#state !== 'started') throw notRunning(this.#state)
    checkDelegateInput(input, this.#settings)
    const { owner = 'local', requestId = this.#settings.ids.next('req') } = input
    const hash = payloadHash(input)
    const joined = this.#requests.find({ owner, requestId }, hash)
    if (joined) {
      if (input.abortSignal) joined.watch.follow(input.abortSignal)
      return joined
    }
    const found = this.#directory.find(input.agentId)
    this.#checkCapacity()
    const { clock, ids, timeoutMs, inactivityMs } = this.#settings
    const sessionId = ids.next('bs')
    const watch = watchRequest({ clock, timeoutMs: input.timeoutMs ?? timeoutMs, inactivityMs })
    if (input.abortSignal) watch.follow(input.abortSignal)
    const request = this.#begin({
      found,
      session: {
        sessionId,
        conversationId: sessionId,
        depth: 0,
        path: [],
        agentId: found.agent.id,
        owner,
        metadata: structuredClone(input.metadata ?? {}),
        createdAt: clock.now(),
      },
      requestId,
      prompt: input.prompt,
      runtimeParams: structuredClone(input.runtimeParams ?? {}),
      watch,
      readers: createEventReaders(),
    })
    this.#requests.add({ owner, requestId }, hash, request)
    return request
  }

  #checkCapacity(): void {
    if (this.#requests.runningCount < this.#settings.maxInFlight) return
    const details = { reason: 'in-flight', retryAfterMs: retryWhenFullMs }
    throw new BridgeError('CAPACITY', `All ${this.#settings.maxInFlight} places are taken`, { details })
  }

  #begin(work: Delegation): ActiveRequest {
    const { requestId, session, readers, watch } = work
    // A tick later, so that a caller who iterates at once misses nothing.
    const result = Promise.resolve()
      .then(() => runDelegation(work, this.#settings))
      .finally(() => {
        this.#requests.finish({ owner: session.owner, requestId })
        readers.end()
      })
    return { watch, run: { requestId, sessionId: session.sessionId, result: () => result, [Symbol.asyncIterator]: () => readers.open() } }
  }

  #refused(input: DelegateInput, error: BridgeError): BridgeRun {
    const { ids, logger } = this.#settings
    const requestId = typeof input.requestId === 'string' ? input.requestId : ids.next('req')
    logger.info({ requestId, code: error.code, reason: error.details.reason }, 'request refused')
    const readers = createEventReaders()
    readers.end()
    const result = async (): Promise<BridgeResult> => ({ ok: false, error })
    return { requestId, sessionId: ids.next('bs'), result, [Symbol.asyncIterator]: () => readers.open() }
  }
}

interface ActiveRequest {
  readonly run: BridgeRun
  readonly watch: Delegation['watch']
}

function notRunning(state: 'new' | 'stopped' | 'started'): BridgeError {
  return new BridgeError('INTERNAL', state === 'stopped' ? 'The bridge is stopped' : 'The bridge is not started')
}
