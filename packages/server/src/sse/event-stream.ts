import type { ExecuteComplete, StreamEnd, StreamError } from '@bowline/client'
import type { LogEvents, LoggedEvent, LogIterator } from '@bowline/sessions'
import { hasCode } from '../to-problem-error.ts'
import { SseBatch } from './sse-batch.ts'
import { concatenate } from './concatenate.ts'
import { logForm, type FrameForm } from './frame-form.ts'
import { heartbeatBytes, openingBytes } from './frames.ts'
import type { SharedFrames } from './shared-frames.ts'
import { StreamTimer, type StreamTimes } from './stream-timer.ts'

export interface EventSource {
  /** Key of the session whose log is read. */
  readonly log: string
  /**
   * Opens the log. Called at the first read, and again with the current cursor after each `complete` that returned no frame. The
   * events must end when the signal aborts.
   */
  readonly open: (abortSignal: AbortSignal, cursor: string | undefined) => LogEvents
  /** Position before the first event. Absent if unknown. */
  readonly cursor?: string
  /** Called with each event. Returns false to leave it out of the stream. */
  readonly select?: (event: LoggedEvent) => boolean
  /** Returns true for the event after which the stream ends. */
  readonly isLast?: (event: LoggedEvent) => boolean
  /** Returns the last frame when the events have ended. Returns undefined if there are more events after this cursor. */
  readonly complete: (cursor: string | undefined) => Promise<ExecuteComplete | StreamEnd | undefined>
  /** Converts an error to the frame for the reader. */
  readonly toFrame: (error: unknown) => StreamError
  /** Creates the form of the stream. Default: that of the log. */
  readonly form?: (shared: SharedFrames, log: string) => FrameForm
}

export interface EventStreamOptions extends EventSource, StreamTimes {
  readonly shared: SharedFrames
  /** Last frame at `endsAt`. */
  readonly endsWith?: StreamEnd
}

/** Result of a closed stream. `left` means that the reader disconnected. */
export interface StreamSummary {
  readonly endReason: 'complete' | StreamEnd['reason'] | 'error' | 'left'
  readonly frames: number
  readonly bytes: number
  readonly durationMs: number
  /** Maximum number of events that were ready after the first one when the reader asked. */
  readonly lagEvents: number
}

type Last = { readonly frame: ExecuteComplete | StreamEnd | StreamError; readonly error?: unknown }

/** Time for a reader to take its last frame. */
export const lastFrameMs = 1000

const slowReader: StreamEnd = { type: 'stream-end', reason: 'slow-reader', resume: true }
const deleted: StreamEnd = { type: 'stream-end', reason: 'deleted', resume: false }

/**
 * Encodes events as frames on demand of the reader: nothing is encoded ahead, and all events that are ready are sent at once. A
 * stream ends with its last frame or is cut off with an error; it never just stops. A reader that disconnects ends only its own
 * reading.
 */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>
  /** Resolves when the last frame was taken, the reader disconnected, or the stream was cut off. */
  readonly closed: Promise<StreamSummary>
  readonly #options: EventStreamOptions
  readonly #form: FrameForm
  readonly #reading = new AbortController()
  readonly #close: (summary: StreamSummary) => void
  readonly #openedAt: number
  readonly #timer: StreamTimer
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #events: LogIterator | undefined
  /** False once reading was aborted. A field, since it is read at every event. */
  #isReading = true
  #isWaiting = false
  #arrived: LoggedEvent | undefined
  /** Pieces that the reader has not taken yet. No other frame may come between the pieces of a frame. */
  #pieces: Uint8Array[] = []
  #isOver = false
  #isDeleted = false
  #failure: { readonly error: unknown } | undefined
  #ending: StreamEnd | undefined
  #isSilent = false
  #wake: () => void = () => undefined
  #cursor: string | undefined
  #cut: { readonly error: unknown } | undefined
  #isClosed = false
  #endReason: StreamSummary['endReason'] = 'left'
  #frames = 0
  #bytes = openingBytes.length
  #lagEvents = 0

  constructor(options: EventStreamOptions) {
    const { cursor, clock, endsWith, shared, log, form = logForm } = options
    this.#options = options
    this.#form = form(shared, log)
    this.#cursor = cursor
    this.#openedAt = clock.now()
    const { promise, resolve } = Promise.withResolvers<StreamSummary>()
    this.closed = promise
    this.#close = resolve
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
          controller.enqueue(openingBytes)
        },
        pull: () => this.#pull(),
        cancel: () => this.#leave(),
      },
      { highWaterMark: 0 },
    )
    this.#timer = new StreamTimer(options, {
      onSilence: () => {
        this.#isSilent = true
        this.#wake()
      },
      onSlow: () => this.#onSlow(),
      onEnd: () => endsWith && this.end(endsWith),
    })
  }

  /** Ends the stream with a last frame at the next read. */
  end(frame: StreamEnd): void {
    this.#ending ??= frame
    this.#wake()
  }

  async #pull(): Promise<void> {
    if (this.#cut) return this.#cutOff(this.#cut.error)
    this.#timer.asked()
    const next = await this.#next()
    if (next === undefined || this.#isClosed) return
    this.#timer.given()
    if (next instanceof Uint8Array) this.#enqueue(next)
    else this.#giveLast(next)
  }

  /** Returns undefined if the reader has disconnected. */
  async #next(): Promise<Uint8Array | Last | undefined> {
    try {
      if (this.#pieces.length > 0) return this.#pieces.shift()
      while (this.#isReading) {
        if (this.#failure) throw this.#failure.error
        if (this.#ending) return { frame: this.#ending }
        if (this.#arrived) this.#gather(this.#arrived)
        if (this.#pieces.length > 0) return this.#pieces.shift()
        if (this.#isOver) {
          const frame = this.#isDeleted ? deleted : await this.#options.complete(this.#cursor)
          if (frame) return { frame }
          this.#isOver = false
          this.#events = undefined
        }
        if (this.#isSilent) return heartbeatBytes
        await this.#wait()
      }
      // A slow reader may still ask for the last frame in time.
      return this.#ending && { frame: this.#ending }
    } catch (error) {
      // The session was deleted between its last event and the last frame.
      if (hasCode(error, 'session-deleted')) return { frame: deleted }
      return { frame: this.#options.toFrame(error), error }
    }
  }

  /** Collects all events that are ready, up to the size of one write. */
  #gather(first: LoggedEvent): void {
    const { select, isLast } = this.#options
    const batch = new SseBatch(this.#form)
    this.#arrived = undefined
    let events = 0
    for (let event: LoggedEvent | undefined = first; event; event = batch.isFull ? undefined : this.#events?.take()) {
      events++
      if (!select || select(event)) batch.add(event)
      this.#isDeleted = event.type === 'session-end'
      this.#isOver = this.#isDeleted || (isLast?.(event) ?? false)
      if (this.#isOver) break
    }
    this.#lagEvents = Math.max(this.#lagEvents, events - 1)
    // Reads one event ahead: a pending `next` listens, so that the log misses no delta meanwhile.
    if (!this.#isOver) this.#readOn()
    const { pieces, frames } = batch.close()
    this.#cursor = batch.cursor ?? this.#cursor
    this.#pieces = pieces
    this.#frames += frames
  }

  #giveLast({ frame, ...last }: Last): void {
    const frames = this.#form.last(frame, this.#cursor)
    this.#endReason = frame.type === 'stream-end' ? frame.reason : frame.type === 'stream-error' ? 'error' : 'complete'
    if (frames.length === 0) return this.#cutOff(new Error('The stream ends before its time.'))
    this.#frames += frames.length
    this.#enqueue(concatenate(frames))
    // An error would discard the last frame, so it is raised at the next read.
    if ('error' in last) this.#cut = { error: last.error }
    else {
      this.#controller?.close()
      this.#leave()
    }
  }

  #enqueue(bytes: Uint8Array): void {
    this.#bytes += bytes.length
    this.#isSilent = false
    this.#controller?.enqueue(bytes)
  }

  /** Waits for an event, the end, a failure or silence. There is only one waiter, so a quiet stream accumulates nothing. */
  async #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    this.#readOn()
    await promise
  }

  #readOn(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#events ??= this.#options.open(this.#reading.signal, this.#cursor)[Symbol.asyncIterator]()
    this.#events.next().then(
      (result) => {
        this.#isWaiting = false
        if (result.done) this.#isOver = true
        else this.#arrived = result.value
        this.#wake()
      },
      (error: unknown) => {
        this.#failure = { error }
        this.#wake()
      },
    )
  }

  /** Ends the stream of a slow reader. It gets the missing events when it reconnects; nothing is buffered for it. */
  #onSlow(): void {
    if (this.#ending || this.#cut) {
      this.#endReason = this.#ending?.reason ?? 'error'
      this.#cutOff(new Error('The reader takes nothing.'))
      return
    }
    this.#stopReading()
    this.end(slowReader)
    this.#timer.giveTime(lastFrameMs)
  }

  #cutOff(error: unknown): void {
    this.#controller?.error(error)
    this.#leave()
  }

  #leave(): void {
    this.#isClosed = true
    this.#pieces = []
    this.#timer.stop()
    this.#stopReading()
    this.#wake()
    const durationMs = this.#options.clock.now() - this.#openedAt
    this.#close({ endReason: this.#endReason, frames: this.#frames, bytes: this.#bytes, durationMs, lagEvents: this.#lagEvents })
  }

  #stopReading(): void {
    this.#isReading = false
    this.#reading.abort()
    this.#arrived = undefined
    // If reading fails after the reader has disconnected, the error can be reported to no reader.
    void this.#events?.return?.().catch(() => undefined)
  }
}
