import { StreamTimer, type StreamTimes } from './stream-timer.ts'

/** More than a socket holds, so that each piece that is asked for is progress. */
const pieceBytes = 64 * 1024

/**
 * A body that others make, with the times of a stream. It has no last frame of ours: what ends it early cuts it with an
 * error, and tells whoever makes it.
 */
export class HeldBody {
  readonly body: ReadableStream<Uint8Array>
  /** Resolves when it was read to the end, failed, was cut, or its reader left. */
  readonly closed: Promise<void>
  readonly #source: ReadableStreamDefaultReader<Uint8Array>
  readonly #timer: StreamTimer
  readonly #close: () => void
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  /** What is left of a piece that was too large. */
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
    // One that cannot even be left has nobody to tell.
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
