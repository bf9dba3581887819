import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Clock } from '../clock.ts'
import { classifyError } from '../errors/classify.ts'
import { modelError } from '../errors/error-kinds.ts'
import type { MessageEvent } from '../events.ts'
import { field } from '../json.ts'
import type { AssistantMessage } from '../messages.ts'
import type { ModelError } from '../model-error.ts'
import type { ModelRequest, Timeouts } from '../model-request.ts'
import { unobserved, type CallObserver } from '../telemetry/call-observer.ts'
import type { Tariff } from '../usage/price.ts'
import { requestLength } from '../usage/request-length.ts'
import { abortReasonOf } from './abort-reason.ts'
import type { PreparedCall } from './call-options.ts'
import type { CallTarget } from './call-target.ts'
import { Deadlines, type Expired } from './deadlines.ts'
import { EventOutlet, type EventResult } from './event-outlet.ts'
import { MessageBuilder, type Abort } from './message-builder.ts'
import { nextTurn, partsPerTurn } from './next-turn.ts'

export interface PumpOptions {
  readonly messageId: string
  readonly target: CallTarget
  readonly tariff: Tariff | undefined
  readonly clock: Clock
  readonly timeouts: Timeouts
  readonly abortSignal: AbortSignal | undefined
  prepare(signal: AbortSignal): Promise<PreparedCall>
  readonly onRequest: ModelRequest['onRequest']
  /** Called when the call begins. */
  observe(): CallObserver
}

type Reader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>
type ReadResult = Awaited<ReturnType<Reader['read']>>

/** Time in ms for which the stream is read after an error, because usage may follow. */
const graceAfterErrorMs = 1_000
/** Time in ms for which a provider may keep its stream open after the finish. */
const graceAfterFinishMs = 250

/**
 * One call, from its first demand to its end. Reads from the provider only while a reader waits for an event, or once the result
 * was requested. Every end goes through `#end`, which releases everything.
 */
export class Pump {
  readonly #options: PumpOptions
  readonly #controller = new AbortController()
  readonly #outlet = new EventOutlet()
  readonly #deadlines: Deadlines
  #observer = unobserved
  #builder: MessageBuilder | undefined
  #reader: Reader | undefined
  /** State of the provider: not called, called, streaming, or stream ended. */
  #provider: 'idle' | 'opening' | 'streaming' | 'closed' = 'idle'
  #reading = false
  #flowing = false
  #sawPart = false
  #graceEndsAt = Infinity
  #message: AssistantMessage | undefined
  #settle: ((message: AssistantMessage) => void) | undefined

  constructor(options: PumpOptions) {
    this.#options = options
    this.#deadlines = new Deadlines(options.clock, options.timeouts, {
      isWaiting: () => this.#reading,
      isAwaited: () => this.#isAwaited(),
      onExpired: (limit) => this.#expire(limit),
    })
  }

  next(): Promise<EventResult> {
    const reader = this.#reading ? undefined : this.#reader
    if (reader && this.#outlet.reserve()) return this.#readReserved(reader)
    this.#begin()
    const result = this.#outlet.wait()
    this.#demand()
    return result
  }

  /** Passes all events to `onEvent` as they arrive, and runs the call to its end. `onEvent` must not throw. */
  push(onEvent: (event: MessageEvent) => void): void {
    this.#flowing = true
    this.#begin()
    this.#outlet.handTo(onEvent)
    this.#demand()
  }

  /** Runs the call to its end, whether or not its events are read. */
  settled(settle: (message: AssistantMessage) => void): void {
    this.#settle = settle
    this.#flowing = true
    this.#begin()
    if (this.#message) settle(this.#message)
    else this.#demand()
  }

  abort(abortReason: string | undefined): void {
    // Before the first demand there is nothing to end; the call then starts as aborted.
    this.#begin(false)
    this.#end({ abortReason })
  }

  /** Called when the reader leaves: aborts the call and discards its events. */
  leave(): void {
    this.abort('consumer-left')
    this.#outlet.discard()
  }

  #begin(callProvider = true): void {
    if (this.#builder) return
    const { messageId, target, tariff, clock } = this.#options
    const { provider, modelId, info } = target
    const at = clock.now()
    this.#builder = new MessageBuilder(
      { messageId, provider, modelId, at },
      { tariff, contextWindow: info.contextWindow },
      {
        now: () => clock.now(),
        emit: (event) => this.#outlet.emit(event),
        classify: (error, phase) => this.#classify(error, phase),
      },
    )
    this.#builder.start()
    this.#observer = this.#options.observe()
    this.#observer.begin(() => {
      if (callProvider) this.#call(at)
    })
  }

  #call(at: number): void {
    const { abortSignal } = this.#options
    if (abortSignal?.aborted) return this.#end({ abortReason: abortReasonOf(abortSignal.reason) })
    abortSignal?.addEventListener('abort', this.#onAbort)
    this.#provider = 'opening'
    this.#deadlines.start(at)
    this.#open().catch((error: unknown) => this.#fail(this.#classify(error, 'before-output')))
  }

  async #open(): Promise<void> {
    const model = await this.#options.target.open()
    const { options, repairs } = await this.#options.prepare(this.#controller.signal)
    if (this.#message) return
    this.#builder?.requested({ repairs, inputLength: () => requestLength(options) })
    this.#observer.called(options)
    const { onRequest } = this.#options
    if (onRequest) {
      const { abortSignal: _signal, headers: _headers, ...request } = options
      await onRequest(request)
      if (this.#message) return
    }
    const { stream, response } = await model.doStream(options)
    if (this.#message) return void stream.cancel().catch(ignore)
    this.#reader = stream.getReader()
    this.#provider = 'streaming'
    this.#builder?.accepted(response?.headers)
    this.#demand()
    if (!this.#reading) this.#deadlines.pause()
  }

  /** Reads for waiting readers, or to the end once the result was requested. */
  #demand(): void {
    if (this.#reading || this.#message) return
    if (!this.#reader) return this.#isAwaited() ? this.#deadlines.hold() : undefined
    if (this.#flowing) void this.#flow(this.#reader)
    else if (this.#outlet.isAwaited) this.#read(this.#reader).then(this.#onRead, this.#onReadError)
  }

  #isAwaited(): boolean {
    return this.#reading || this.#flowing || this.#outlet.isAwaited
  }

  /** Reads to the end, independent of readers. No other code reads in the meantime. */
  async #flow(reader: Reader): Promise<void> {
    try {
      for (let parts = 1; !this.#message; parts++) {
        // `await` is cheapest here: it needs no promise besides that of the read.
        const read = await this.#read(reader)
        const delta = this.#furtherDelta(read)
        if (delta) this.#outlet.send(delta)
        else this.#take(read)
        if (parts % partsPerTurn === 0) await nextTurn()
      }
    } catch (error) {
      this.#breakOff(error)
    }
  }

  /** Fast path of a delta: one `then` between the provider's read and the reader's `next`. */
  #readReserved(reader: Reader): Promise<EventResult> {
    return this.#read(reader).then(this.#onReservedRead, this.#onReservedReadError)
  }

  #read(reader: Reader): Promise<ReadResult> {
    this.#reading = true
    this.#deadlines.moved()
    return reader.read()
  }

  readonly #onRead = (read: ReadResult): void => {
    this.#reading = false
    this.#take(read)
    this.#demand()
  }

  readonly #onReadError = (error: unknown): void => this.#breakOff(error)

  readonly #onReservedRead = (read: ReadResult): EventResult | Promise<EventResult> => {
    this.#reading = false
    const delta = this.#furtherDelta(read)
    if (!delta) {
      this.#take(read)
      return this.#claim()
    }
    return (this.#flowing ? undefined : this.#outlet.handOver(delta)) ?? this.#claim(delta)
  }

  readonly #onReservedReadError = (error: unknown): EventResult | Promise<EventResult> => {
    this.#breakOff(error)
    return this.#claim()
  }

  #claim(event?: MessageEvent): EventResult | Promise<EventResult> {
    const claimed = this.#outlet.claim(event)
    if (claimed) {
      this.#demand()
      return claimed
    }
    // The part gave no event, so the reservation stays until one comes.
    return this.#reader ? this.#readReserved(this.#reader) : { value: undefined, done: true }
  }

  #furtherDelta({ done, value }: ReadResult): MessageEvent | undefined {
    return this.#message || done ? undefined : this.#builder?.furtherDelta(value)
  }

  #take({ done, value }: ReadResult): void {
    const builder = this.#builder
    if (this.#message || !builder) return
    if (done) {
      this.#provider = 'closed'
      return this.#end()
    }
    const type = field(value, 'type')
    if (!this.#sawPart && type !== 'stream-start') this.#onFirstPart()
    builder.accept(value)
    const isSignOfLife = type === 'ping' || type === 'raw'
    if (builder.progress !== 'content' && !isSignOfLife) this.#shortenWait(builder.progress)
    this.#outlet.flush()
  }

  #breakOff(error: unknown): void {
    this.#reading = false
    if (!this.#message) this.#fail(this.#classify(error, this.#builder?.phase))
  }

  readonly #onAbort = (): void => this.#end({ abortReason: abortReasonOf(this.#options.abortSignal?.reason) })

  #onFirstPart(): void {
    this.#sawPart = true
    this.#deadlines.firstPart(this.#options.clock.now())
  }

  /** After an error or finish, waits only briefly for a late finish and the end of the stream. */
  #shortenWait(progress: 'failed' | 'finished'): void {
    const now = this.#options.clock.now()
    if (this.#builder?.hasFailed) this.#graceEndsAt = Math.min(this.#graceEndsAt, now + graceAfterErrorMs)
    const latest = progress === 'finished' ? now + graceAfterFinishMs : Infinity
    this.#deadlines.endAt(Math.min(this.#graceEndsAt, latest), now)
  }

  #expire(limit: Expired): void {
    if (limit === 'grace') return this.#end()
    const { provider, modelId } = this.#options.target
    const phase = this.#builder?.phase
    this.#fail(modelError('timeout', timeoutMessages[limit], { code: limit, provider, modelId, phase }))
  }

  #fail(error: ModelError): void {
    if (this.#message) return
    // A finish is final: later errors do not affect the answer.
    if (this.#builder?.progress !== 'finished') this.#builder?.fail(error)
    this.#end()
  }

  #classify(error: unknown, phase: ModelError['phase'] | undefined): ModelError {
    const { target, clock, abortSignal } = this.#options
    return classifyError(error, {
      provider: target.provider,
      modelId: target.modelId,
      now: clock.now(),
      ...(abortSignal && { abortSignal }),
      ...(phase && { phase }),
    })
  }

  #end(abort?: Abort): void {
    if (this.#message || !this.#builder) return
    this.#deadlines.stop()
    this.#options.abortSignal?.removeEventListener('abort', this.#onAbort)
    this.#message = this.#builder.end(abort)
    this.#release()
    this.#observer.ended(this.#message)
    this.#outlet.close()
    this.#outlet.flush()
    this.#settle?.(this.#message)
  }

  /** Tells the provider to stop, unless its stream has ended. Its late parts are ignored. */
  #release(): void {
    if (this.#provider !== 'opening' && this.#provider !== 'streaming') return
    this.#provider = 'closed'
    this.#controller.abort()
    this.#reader?.cancel().catch(ignore)
  }
}

const timeoutMessages: Readonly<Record<Exclude<Expired, 'grace'>, string>> = {
  'first-part': 'the provider sent nothing within the time limit',
  idle: 'the provider stopped sending in the middle of the answer',
  total: 'the call took longer than its time limit',
}

/** Ignores the outcome of a promise that is no longer needed. */
function ignore(): void {}
