import type { Clock, RuntimeParams } from '@bowline/llm'
import type { BridgeEvent, CancelReason, CloseReason, PromptContext, SessionContext } from './agent.ts'
import { BridgeError } from './errors.ts'
import type { EventReaders } from './event-readers.ts'
import type { FoundAgent } from './agent-directory.ts'
import type { BridgeLogger } from './logger.ts'
import { interruptedResult, outcomeResult } from './outcome.ts'
import type { BridgeResult, RequestIds } from './outcome.ts'
import { readEvents } from './read-events.ts'
import type { Reading } from './read-events.ts'
import { collectResult } from './result-collector.ts'
import type { ResultCollector } from './result-collector.ts'
import { settlesWithin } from './watch.ts'
import type { Interruption, Watch } from './watch.ts'

/** One delegation: a session with one prompt in it. */
export interface Delegation {
  readonly found: FoundAgent
  readonly session: SessionContext
  readonly requestId: string
  readonly prompt: string
  readonly runtimeParams: RuntimeParams
  readonly watch: Watch
  readonly readers: EventReaders
}

export interface DelegationSettings {
  readonly clock: Clock
  readonly logger: BridgeLogger
  readonly maxResultBytes: number
  readonly cancelGraceMs: number
}

const closeHookMs = 10_000

/** Create, prompt, close. Never rejects. */
export async function runDelegation(work: Delegation, settings: DelegationSettings): Promise<BridgeResult> {
  const task = new DelegationTask(work, settings)
  try {
    return await task.run()
  } catch (error) {
    return { ok: false, error: task.asBridgeError(error) }
  } finally {
    work.watch.dispose()
  }
}

class DelegationTask {
  readonly #work: Delegation
  readonly #settings: DelegationSettings
  readonly #ids: RequestIds
  readonly #collector: ResultCollector
  readonly #abort = new AbortController()
  #lateEvents = 0

  constructor(work: Delegation, settings: DelegationSettings) {
    this.#work = work
    this.#settings = settings
    const { sessionId, agentId } = work.session
    this.#ids = { sessionId, agentId, requestId: work.requestId }
    this.#collector = collectResult(agentId, settings.maxResultBytes)
  }

  async run(): Promise<BridgeResult> {
    const { watch } = this.#work
    if (watch.interruption) return this.#interrupted(watch.interruption)
    const early = await this.#open()
    if (early) return this.#interrupted(early)
    const result = await this.#prompt().catch((error: unknown): BridgeResult => ({ ok: false, error: this.asBridgeError(error) }))
    await this.#close(this.#closeReason(result))
    return result
  }

  /** Gives the interruption that came before the session was there. */
  async #open(): Promise<Interruption | undefined> {
    const { found, session, watch } = this.#work
    const opening = found.executor.open(session, 'create')
    const early = await Promise.race([opening.then(() => undefined), watch.fired])
    if (!early) return undefined
    // The hook still runs: the session that it may yet open must not stay.
    void opening.then(
      () => this.#close('failed'),
      (error: unknown) => this.#log('warn', 'an abandoned session could not be created', { cause: error }),
    )
    return early
  }

  async #prompt(): Promise<BridgeResult> {
    const { found, watch } = this.#work
    if (watch.interruption) return this.#interrupted(watch.interruption)
    const reading = readEvents(() => found.executor.prompt(this.#promptContext()), {
      onEvent: (event) => this.#take(event),
      onLate: () => this.#dropLate(),
    })
    try {
      const interruption = await Promise.race([reading.ended.then(() => undefined), watch.fired]).catch((error: unknown) => {
        // A result is recorded: a stream that breaks afterwards changes nothing.
        if (!this.#collector.complete) throw error
        return undefined
      })
      if (interruption && !this.#collector.complete) return await this.#cancel(reading, interruption)
      return outcomeResult(this.#ids, this.#collector.finish())
    } finally {
      if (reading.open) this.#letGo(reading)
    }
  }

  #take(event: BridgeEvent): void {
    const { watch, readers } = this.#work
    watch.touch()
    if (this.#collector.complete) return this.#dropLate()
    this.#collector.add(event)
    readers.publish(event)
    if (this.#collector.complete) watch.shorten(this.#settings.cancelGraceMs)
  }

  #promptContext(): PromptContext {
    const { session, requestId, prompt, runtimeParams, watch } = this.#work
    return { session, requestId, prompt, runtimeParams, abortSignal: this.#abort.signal, deadlineAt: watch.deadlineAt }
  }

  async #cancel(reading: Reading, interruption: Interruption): Promise<BridgeResult> {
    if (this.#isDetached(interruption)) return this.#interrupted(interruption)
    const settling = Promise.all([this.#tellAgent(interruption.cause), reading.ended.catch(() => {})])
    const settled = await settlesWithin(this.#settings.clock, this.#graceMs(interruption), settling)
    this.#log('info', 'request cancelled', { cause: interruption.cause, settled })
    if (interruption.cause === 'timeout') {
      if (this.#collector.complete) this.#dropLate()
      return this.#interrupted(interruption)
    }
    return outcomeResult(this.#ids, this.#collector.finishCancelled())
  }

  #graceMs(interruption: Interruption): number {
    const { clock, cancelGraceMs } = this.#settings
    return interruption.cause === 'shutdown' ? Math.min(cancelGraceMs, interruption.deadlineAt - clock.now()) : cancelGraceMs
  }

  async #tellAgent(reason: CancelReason): Promise<void> {
    const { found, session, requestId } = this.#work
    this.#abort.abort(reason)
    try {
      await found.executor.cancel({ session, requestId, reason })
    } catch (error) {
      this.#log('warn', 'onCancel failed', { cause: error })
    }
  }

  /** The agent still runs although its answer is known. A detached one may. */
  #letGo(reading: Reading): void {
    if (!this.#abort.signal.aborted && !this.#isDetached(this.#work.watch.interruption)) void this.#tellAgent('closing')
    reading.stop()
  }

  #interrupted(interruption: Interruption): BridgeResult {
    return interruptedResult(this.#ids, interruption, this.#isDetached(interruption))
  }

  /** A durable agent goes on without the bridge. */
  #isDetached(interruption: Interruption | undefined): boolean {
    return interruption?.cause === 'shutdown' && this.#work.found.agent.durable
  }

  #closeReason(result: BridgeResult): CloseReason | undefined {
    const { interruption } = this.#work.watch
    if (this.#isDetached(interruption)) return undefined
    if (interruption?.cause === 'shutdown') return 'shutdown'
    return result.ok ? 'closed' : 'failed'
  }

  /** The answer waits for the hook until the deadline, and never longer than the limit of hooks. */
  async #close(reason: CloseReason | undefined): Promise<void> {
    if (!reason) return
    const { found, session, watch } = this.#work
    const { clock } = this.#settings
    const closing = found.executor.close(session, reason).catch((error: unknown) => {
      this.#log('warn', 'onSessionClose failed', { cause: error })
    })
    await settlesWithin(clock, Math.min(closeHookMs, watch.deadlineAt - clock.now()), closing)
  }

  asBridgeError(error: unknown): BridgeError {
    if (BridgeError.isInstance(error)) return error
    this.#log('error', 'the agent failed', { cause: error })
    return new BridgeError('UPSTREAM', `Agent ${this.#ids.agentId} failed`, { details: this.#ids })
  }

  #dropLate(): void {
    this.#lateEvents += 1
    this.#log('warn', 'late event dropped', { lateEvents: this.#lateEvents })
  }

  #log(level: keyof BridgeLogger, message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#settings.logger[level]({ ...fields, owner: this.#work.session.owner, ...this.#ids }, message)
  }
}
