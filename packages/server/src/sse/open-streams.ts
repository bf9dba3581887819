import type { Clock } from '@bowline/llm'
import type { EventStream } from './event-stream.ts'

/** How long a reader has to take its last frame. */
const lastFrameMs = 1000

/** The streams of this process that somebody reads. */
export class OpenStreams {
  readonly #streams = new Set<EventStream>()

  get count(): number {
    return this.#streams.size
  }

  add(stream: EventStream): EventStream {
    this.#streams.add(stream)
    void stream.closed.then(() => this.#streams.delete(stream))
    return stream
  }

  /** Lets streams finish for `drainMs`, then ends the rest with `drained`: readers come back to another process. */
  async drain(drainMs: number, clock: Clock): Promise<void> {
    await this.#settle(drainMs, clock)
    for (const stream of this.#streams) stream.end({ type: 'stream-end', reason: 'drained', resume: true })
    await this.#settle(lastFrameMs, clock)
  }

  /** Resolves when all streams of now are closed, at the latest after `withinMs`. */
  async #settle(withinMs: number, clock: Clock): Promise<void> {
    if (this.#streams.size === 0) return
    const late = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + withinMs, () => late.resolve())
    await Promise.race([Promise.all([...this.#streams].map((stream) => stream.closed)), late.promise])
    cancel()
  }
}
