import type { ExecuteComplete, StreamEnd, StreamError } from '@bowline/client'
import type { LogEvents, LoggedEvent, LogIterator } from '@bowline/sessions'
import { hasCode } from '../to-problem-error.ts'
import { Chunk } from './chunk.ts'
import { concatenate } from './concatenate.ts'
import { logForm, type FrameForm } from './frame-form.ts'
import { heartbeatBytes, openingBytes } from './frames.ts'
import type { SharedFrames } from './shared-frames.ts'
import { StreamTimer, type StreamTimes } from './stream-timer.ts'

export interface EventSource {
  /** The key of the session whose log is read. */
  readonly log: string
  /** Called at the first read, and after each `complete` that gave no frame: then with the cursor to go on from. Must end when the signal is aborted. */
  readonly open: (abortSignal: AbortSignal, cursor: string | undefined) => LogEvents
  /** The position before the first event; absent when nobody knows it. */
  readonly cursor?: string
  /** Sees each event; false leaves it out of the stream. */
  readonly select?: (event: LoggedEvent) => boolean
  /** True for the event after which the stream ends. */
  readonly isLast?: (event: LoggedEvent) => boolean
  /** Returns the last frame once the events have ended, or undefined if there are more of them after this cursor. */
  readonly complete: (cursor: string | undefined) => Promise<ExecuteComplete | StreamEnd | undefined>
  /** What a failure is to the reader. */
  readonly toFrame: (error: unknown) => StreamError
  /** Makes the form of the stream. Default: that of the log. */
  readonly form?: (shared: SharedFrames, log: string) => FrameForm
}

export interface EventStreamOptions extends EventSource, StreamTimes {
  readonly shared: SharedFrames
  /** The last frame at `endsAt`. */
  readonly endsWith?: StreamEnd
}

/** How a stream went, once it is closed. `left`: its reader went away. */
export interface StreamSummary {
  readonly endReason: 'complete' | StreamEnd['reason'] | 'error' | 'left'
  readonly frames: number
  readonly bytes: number
  readonly durationMs: number
  /** The most events that were at hand behind one when the reader asked. */
  readonly lagEvents: number
}

type Last = { readonly frame: ExecuteComplete | StreamEnd | StreamError; readonly error?: unknown }

/** How long a reader has to take its last frame. */
export const lastFrameMs = 1000

const slowReader: StreamEnd = { type: 'stream-end', reason: 'slow-reader', resume: true }
const deleted: StreamEnd = { type: 'stream-end', reason: 'deleted', resume: false }

/**
 * Events as frames, pulled by the reader: nothing is encoded ahead of it, and what is at hand when it asks comes at once.
 * A stream ends with its last frame, or is cut with an error; it never just stops. A reader that leaves ends its own
 * reading only.
 */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>
  /** Resolves when the last frame was taken, the reader left, or it was cut off. */
  readonly closed: Promise<StreamSummary>
  readonly #options: EventStreamOptions
  readonly #form: FrameForm
  readonly #reading = new AbortController()
  readonly #close: (summary: StreamSummary) => void
  readonly #openedAt: number
  readonly #timer: StreamTimer
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #events: LogIterator | undefined
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

  /** Undefined when the reader has left. */
  async #next(): Promise<Uint8Array | Last | undefined> {
    try {
      if (this.#pieces.length > 0) return this.#pieces.shift()
      while (!this.#reading.signal.aborted) {
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
      // Who was too slow may still come back in time for the last frame.
      return this.#ending && { frame: this.#ending }
    } catch (error) {
      // The session was deleted between its last event and the last frame.
      if (hasCode(error, 'session-deleted')) return { frame: deleted }
      return { frame: this.#options.toFrame(error), error }
    }
  }

  /** Takes all that is at hand, up to a measure. */
  #gather(first: LoggedEvent): void {
    const { select, isLast } = this.#options
    const chunk = new Chunk(this.#form)
    this.#arrived = undefined
    let events = 0
    for (let event: LoggedEvent | undefined = first; event; event = chunk.isFull ? undefined : this.#events?.take()) {
      events++
      if (!select || select(event)) chunk.add(event)
      this.#isDeleted = event.type === 'session-end'
      this.#isOver = this.#isDeleted || (isLast?.(event) ?? false)
      if (this.#isOver) break
    }
    this.#lagEvents = Math.max(this.#lagEvents, events - 1)
    // One event ahead: a log that is asked for its next event listens, and misses no delta meanwhile.
    if (!this.#isOver) this.#readOn()
    const { pieces, frames } = chunk.close()
    this.#cursor = chunk.cursor ?? this.#cursor
    this.#pieces = pieces
    this.#frames += frames
  }

  #giveLast({ frame, ...last }: Last): void {
    const frames = this.#form.last(frame, this.#cursor)
    this.#endReason = frame.type === 'stream-end' ? frame.reason : frame.type === 'stream-error' ? 'error' : 'complete'
    if (frames.length === 0) return this.#cutOff(new Error('The stream ends before its time.'))
    this.#frames += frames.length
    this.#enqueue(concatenate(frames))
    // An error would take the last frame with it: it comes at the next read.
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

  /** Until an event, the end, a failure or silence. One waiter at a time, so nothing piles up behind a quiet stream. */
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

  /** What the reader has not seen it gets when it comes back. Until then nothing is held for it. */
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
    this.#reading.abort()
    this.#arrived = undefined
    // A reading that fails after everybody left has nobody to tell.
    void this.#events?.return?.().catch(() => undefined)
  }
}
