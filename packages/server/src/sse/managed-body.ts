import { StreamTimer, type StreamTimes } from './stream-timer.ts'

/** More than a socket buffers, so that each requested piece is progress. */
const pieceBytes = 64 * 1024

/**
 * Passes on a body of another source, with the timeouts of a stream. It has no last frame: if it must end early, it is cut off with
 * an error and its source is cancelled.
 */
export class ManagedBody {
  readonly body: ReadableStream<Uint8Array>
  /** Resolves when the body was read to its end, failed, was cut off, or its reader disconnected. */
  readonly closed: Promise<void>
  readonly #source: ReadableStreamDefaultReader<Uint8Array>
  readonly #timer: StreamTimer
  readonly #close: () => void
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  /** Rest of a piece that was too large. */
  #rest: Uint8Array | undefined
  #isClosed = false

  constructor(source: ReadableStream<Uint8Array>, times: Omit<StreamTimes, 'heartbeatMs'>) {
    this.#source = source.getReader()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    this.#close = resolve
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: () => this.#leave(),
      },
      { highWaterMark: 0 },
    )
    this.#timer = new StreamTimer(
      { ...times, heartbeatMs: Infinity },
      {
        onSilence: () => undefined,
        onSlow: () => this.#cutOff(new Error('The reader takes nothing.')),
        onEnd: () => this.end({ reason: 'time' }),
      },
    )
  }

  end({ reason }: { readonly reason: string }): void {
    this.#cutOff(new Error(`The body was ended: ${reason}.`))
  }

  async #pull(): Promise<void> {
    this.#timer.asked()
    try {
      const bytes = this.#rest ?? (await this.#source.read()).value
      if (this.#isClosed) return
      if (bytes) this.#give(bytes)
      else {
        await this.#leave()
        this.#controller?.close()
      }
    } catch (error) {
      this.#cutOff(error)
    }
  }

  #give(bytes: Uint8Array): void {
    this.#rest = bytes.length > pieceBytes ? bytes.subarray(pieceBytes) : undefined
    this.#timer.given()
    this.#controller?.enqueue(bytes.subarray(0, pieceBytes))
  }

  #cutOff(error: unknown): void {
    if (this.#isClosed) return
    // An error of the cancellation can be reported to no caller.
    this.#leave().catch(() => undefined)
    this.#controller?.error(error)
  }

  async #leave(): Promise<void> {
    this.#isClosed = true
    this.#rest = undefined
    this.#timer.stop()
    this.#close()
    await this.#source.cancel()
  }
}
