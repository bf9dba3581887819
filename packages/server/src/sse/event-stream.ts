import type { ExecuteComplete, StreamEnd, StreamError } from '@bowline/client'
import type { Clock } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { eventFrame, heartbeatBytes, openingBytes, transportFrame } from './frames.ts'

export interface EventStreamOptions {
  /** Called at the first read. Must end when the signal is aborted. */
  readonly open: (abortSignal: AbortSignal) => AsyncIterable<LoggedEvent>
  /** The position before the first event; absent when nobody knows it. */
  readonly cursor?: string
  /** Sees each event; false leaves it out of the stream. */
  readonly select?: (event: LoggedEvent) => boolean
  /** True for the event after which the stream ends. */
  readonly isLast?: (event: LoggedEvent) => boolean
  /** The last frame, when the events have come to their end. */
  readonly complete: () => Promise<ExecuteComplete | StreamEnd>
  /** What a failure is to the reader. */
  readonly toFrame: (error: unknown) => StreamError
  readonly clock: Clock
  readonly heartbeatMs: number
}

type Last = { readonly frame: Uint8Array; readonly error?: unknown }

/**
 * Events as frames, pulled by the reader: nothing is read ahead of it. A stream ends with its last frame, or is cut
 * with an error; it never just stops. A reader that leaves ends its own reading only.
 */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>
  /** Resolves when the last frame was taken, or the reader left. */
  readonly closed: Promise<void>
  readonly #options: EventStreamOptions
  readonly #reading = new AbortController()
  readonly #close: () => void
  #events: AsyncIterator<LoggedEvent> | undefined
  #waiting = false
  #arrived: IteratorResult<LoggedEvent, unknown> | undefined
  #failure: { readonly error: unknown } | undefined
  #ending: StreamEnd | undefined
  #silent = false
  #wake: () => void = () => undefined
  #cursor: string | undefined
  #sentAt: number
  #cancelHeartbeat: () => void = () => undefined
  #cut: { readonly error: unknown } | undefined

  constructor(options: EventStreamOptions) {
    this.#options = options
    this.#cursor = options.cursor
    this.#sentAt = options.clock.now()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    this.#close = resolve
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          controller.enqueue(openingBytes)
          this.#armHeartbeat()
        },
        pull: (controller) => this.#pull(controller),
        cancel: () => this.#leave(),
      },
      { highWaterMark: 0 },
    )
  }

  /** Ends the stream with a last frame at the next read. */
  end(frame: StreamEnd): void {
    this.#ending ??= frame
    this.#wake()
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#cut) {
      controller.error(this.#cut.error)
      this.#leave()
      return
    }
    const next = await this.#next()
    if (next === undefined) return
    if (next instanceof Uint8Array) {
      this.#sentAt = this.#options.clock.now()
      controller.enqueue(next)
      return
    }
    controller.enqueue(next.frame)
    // An error would take the last frame with it: it comes at the next read.
    if ('error' in next) this.#cut = { error: next.error }
    else {
      controller.close()
      this.#leave()
    }
  }

  /** Undefined when the reader has left. */
  async #next(): Promise<Uint8Array | Last | undefined> {
    try {
      while (!this.#reading.signal.aborted) {
        if (this.#failure) throw this.#failure.error
        if (this.#ending) return this.#last(this.#ending)
        const arrived = this.#arrived
        if (arrived?.done) return this.#last(await this.#options.complete())
        if (arrived) {
          const frame = this.#take(arrived.value)
          if (frame) return frame
          continue
        }
        if (this.#silent) {
          this.#silent = false
          return heartbeatBytes
        }
        await this.#wait()
      }
      return undefined
    } catch (error) {
      return { frame: transportFrame(this.#cursor, this.#options.toFrame(error)), error }
    }
  }

  #take(event: LoggedEvent): Uint8Array | undefined {
    this.#arrived = this.#options.isLast?.(event) ? { done: true, value: undefined } : undefined
    if (this.#options.select && !this.#options.select(event)) return undefined
    this.#cursor = event.cursor
    return eventFrame(event)
  }

  #last(frame: ExecuteComplete | StreamEnd): Last {
    return { frame: transportFrame(this.#cursor, frame) }
  }

  /** Until an event, the end, a failure or silence. One waiter at a time, so nothing piles up behind a quiet stream. */
  async #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    this.#readOn()
    await promise
  }

  #readOn(): void {
    if (this.#waiting) return
    this.#waiting = true
    this.#events ??= this.#options.open(this.#reading.signal)[Symbol.asyncIterator]()
    this.#events.next().then(
      (result) => {
        this.#waiting = false
        this.#arrived = result
        this.#wake()
      },
      (error: unknown) => {
        this.#failure = { error }
        this.#wake()
      },
    )
  }

  #armHeartbeat(): void {
    const { clock, heartbeatMs } = this.#options
    this.#cancelHeartbeat = clock.setTimer(this.#sentAt + heartbeatMs, () => {
      if (clock.now() - this.#sentAt >= heartbeatMs) {
        this.#silent = true
        this.#sentAt = clock.now()
        this.#wake()
      }
      this.#armHeartbeat()
    })
  }

  #leave(): void {
    this.#cancelHeartbeat()
    this.#reading.abort()
    this.#wake()
    this.#close()
    // A reading that fails after everybody left has nobody to tell.
    void this.#events?.return?.().catch(() => undefined)
  }
}
