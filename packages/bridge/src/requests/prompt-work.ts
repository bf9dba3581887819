import { isSuspended } from '@bowline/agent-loop/events'
import type { Answer, BridgeEvent, CancelReason, PromptContext, SessionContext } from '../agent.ts'
import type { FoundAgent } from '../agent-directory.ts'
import type { BridgeResult, RequestIds } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import type { Core } from '../core.ts'
import { inSession } from '../context.ts'
import type { LiveRequest } from './live-request.ts'
import { abortedResult, detached, outcomeResult, timedOut } from './outcome.ts'
import { readEvents } from './read-events.ts'
import type { Reading } from './read-events.ts'
import { collectResult, waitingFor } from './result-collector.ts'
import type { ResultCollector } from './result-collector.ts'
import type { Settled } from './run-result.ts'
import { settlesWithin } from '../settles-within.ts'
import type { Interruption } from './watch.ts'

export interface WorkInput {
  readonly request: LiveRequest
  readonly session: SessionContext
  readonly found: FoundAgent
  readonly runtimeParams: PromptContext['runtimeParams']
}

/** One prompt to an agent; with `answers` if it continues after waiting. */
export type AttemptInput = Pick<PromptContext, 'prompt' | 'answers'>

export interface WorkEnd {
  readonly result: BridgeResult
  /** False if the agent did not stop in time. */
  readonly settled: boolean
  /** Whether the agent continues without this process, so that the record stays open. */
  readonly detached: boolean
}

/** The work of an agent on one request: its prompts, and the waits for answers in between. Ends once. */
export class PromptWork {
  readonly #core: Core
  readonly #input: WorkInput
  /** Called when the agent waits for input, with its output so far. */
  readonly #onWaiting: (settled: Settled) => void
  readonly #abort = new AbortController()
  /** Answers to send with the next prompt. */
  readonly #answers: Answer[] = []
  #wake = (): void => {}
  #reading: Reading | undefined
  #onComplete = (): void => {}
  #collector: ResultCollector

  constructor(core: Core, input: WorkInput, onWaiting: (settled: Settled) => void) {
    this.#core = core
    this.#input = input
    this.#onWaiting = onWaiting
    this.#collector = this.#newCollector()
  }

  /** Runs the prompts of the request until it ends. Never rejects. */
  async run(first: AttemptInput): Promise<WorkEnd> {
    const { request, session } = this.#input
    try {
      return await inSession(session, request.ids.requestId, () => this.#attempts(first))
    } catch (error) {
      return { result: { ok: false, error: asBridgeError(this.#core, error, request) }, settled: true, detached: false }
    } finally {
      request.watch.dispose()
    }
  }

  /** Returns true if the open prompt took the answers; else they are sent with the next prompt. */
  async answer(answers: readonly Answer[]): Promise<boolean> {
    const { found, session, request } = this.#input
    const { requestId } = request.ids
    const taken =
      this.#reading?.open && (await inSession(session, requestId, () => found.executor.answer?.({ session, requestId, answers })))
    if (taken) return true
    this.#answers.push(...answers)
    this.#wake()
    return false
  }

  async #attempts(first: AttemptInput): Promise<WorkEnd> {
    const { watch } = this.#input.request
    for (let input: AttemptInput = first; ; input = { prompt: '', answers: this.#answers.splice(0) }) {
      if (watch.interruption) return this.#interrupt(watch.interruption)
      const settled = await this.#attempt(input)
      if ('detached' in settled) return settled
      if (!isSuspended(settled.status)) return { result: outcomeResult(this.#input.request.ids, settled), settled: true, detached: false }
      if (this.#answers.length === 0) {
        this.#onWaiting(settled)
        const interruption = await Promise.race([this.#answered(), watch.fired])
        if (interruption) return this.#interrupt(interruption)
      }
      watch.pause(false)
    }
  }

  async #answered(): Promise<undefined> {
    if (this.#answers.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve))
    return undefined
  }

  async #attempt(input: AttemptInput): Promise<Settled | WorkEnd> {
    const { found, request } = this.#input
    this.#collector = this.#newCollector()
    const reading = readEvents(() => found.executor.prompt(this.#promptContext(input)), {
      onEvent: (event) => this.#take(event),
      onLate: () => this.#dropLate(),
    })
    this.#reading = reading
    try {
      const interruption = await Promise.race([this.#over(reading), request.watch.fired]).catch((error: unknown) => {
        // The result is complete, so a later failure of the stream is ignored.
        if (!this.#collector.complete) throw error
        return undefined
      })
      if (interruption && !this.#collector.complete) return await this.#interrupt(interruption)
      return this.#collector.finish()
    } finally {
      this.#reading = undefined
      if (reading.open) this.#letGo(reading)
    }
  }

  /** Waits for the end of the stream, or for the grace period once the result is complete. */
  async #over(reading: Reading): Promise<undefined> {
    const { clock, cancelGraceMs } = this.#core.settings
    const complete = new Promise<void>((resolve) => (this.#onComplete = resolve))
    const lingered = complete.then(() => {
      this.#input.request.watch.pause(true)
      return settlesWithin(clock, cancelGraceMs, reading.ended)
    })
    await Promise.race([reading.ended, lingered])
    return undefined
  }

  #newCollector(): ResultCollector {
    return collectResult(this.#input.session.agentId, this.#core.settings.maxResultBytes)
  }

  #promptContext(input: AttemptInput): PromptContext {
    const { session, request, runtimeParams } = this.#input
    const { watch, ids } = request
    return { session, requestId: ids.requestId, ...input, runtimeParams, abortSignal: this.#abort.signal, deadlineAt: watch.deadlineAt }
  }

  #take(event: BridgeEvent): void {
    const { request } = this.#input
    request.watch.touch()
    if (this.#collector.complete) return this.#dropLate()
    this.#collector.add(event)
    request.note(event, this.#collector.chars)
    if (this.#collector.complete) this.#onComplete()
    if (event.type === 'needs-input') this.#onWaiting(waitingFor(event.pending, this.#collector.text))
  }

  async #interrupt(interruption: Interruption): Promise<WorkEnd> {
    const { ids } = this.#input.request
    if (this.#isDetached(interruption)) return { result: detached(ids), settled: true, detached: true }
    const settled = await this.#stopAgent(interruption)
    if (interruption.cause === 'timeout') {
      if (this.#collector.complete) this.#dropLate()
      return { result: timedOut(ids, interruption.stage, settled), settled, detached: false }
    }
    return { result: this.#cancelledResult(), settled, detached: false }
  }

  #cancelledResult(): BridgeResult {
    const { ids } = this.#input.request
    try {
      return outcomeResult(ids, this.#collector.finishCancelled())
    } catch (error) {
      this.#log('warn', 'the cancelled request has no text', { cause: error })
      return abortedResult(ids)
    }
  }

  /** Returns true if the agent stopped within the grace period. */
  async #stopAgent(interruption: Interruption): Promise<boolean> {
    const ended = this.#reading?.ended.catch(() => {})
    const settling = this.#tellAgent(interruption.cause).then(() => ended)
    const settled = await settlesWithin(this.#core.settings.clock, this.#graceMs(interruption), settling)
    this.#log('info', 'request cancelled', { cause: interruption.cause, settled })
    return settled
  }

  #graceMs(interruption: Interruption): number {
    const { clock, cancelGraceMs } = this.#core.settings
    return interruption.cause === 'shutdown' ? Math.min(cancelGraceMs, interruption.deadlineAt - clock.now()) : cancelGraceMs
  }

  async #tellAgent(reason: CancelReason): Promise<void> {
    const { found, session, request } = this.#input
    this.#abort.abort(reason)
    await this.#core.attempt('onCancel failed', () => found.executor.cancel({ session, requestId: request.ids.requestId, reason }))
  }

  /** Cancels an agent that still runs although its result is known, unless it is detached, and stops reading. */
  #letGo(reading: Reading): void {
    const isTold = this.#abort.signal.aborted
    if (!isTold && !this.#isDetached(this.#input.request.watch.interruption)) void this.#tellAgent('closing')
    reading.stop()
  }

  #isDetached(interruption: Interruption | undefined): boolean {
    return interruption?.cause === 'shutdown' && this.#input.found.agent.durable
  }

  #dropLate(): void {
    const { sessionId, requestId } = this.#input.request.ids
    this.#core.observer.notify({ type: 'dropped', what: 'late event', sessionId, requestId })
  }

  #log(level: 'info' | 'warn', message: string, fields: Readonly<Record<string, unknown>>): void {
    const { ids, owner } = this.#input.request
    this.#core.settings.logger[level]({ ...fields, owner, ...ids }, message)
  }
}

/** Owner and known ids of the work that failed. */
export interface FailedWork {
  readonly owner: string
  readonly ids: Partial<RequestIds> & Pick<RequestIds, 'agentId'>
}

/** Converts anything that an agent threw to the error that the caller gets. */
export function asBridgeError({ settings, redaction }: Core, error: unknown, { ids, owner }: FailedWork): BridgeError {
  if (BridgeError.isInstance(error)) {
    const { code, retryable, details } = error
    const message = redaction.message(error.message)
    return message === error.message ? error : new BridgeError(code, message, { retryable, details })
  }
  settings.logger.error({ cause: error, owner, ...ids }, 'the agent failed')
  return new BridgeError('UPSTREAM', `Agent ${ids.agentId} failed`, { details: ids })
}
