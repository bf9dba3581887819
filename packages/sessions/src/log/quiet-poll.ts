import type { Clock } from '@bowline/llm'
import type { ReaderQueue } from './reader-queue.ts'

/**
 * Wakes the waiting readers of a session when nothing was published for `firstMs`; then less and less often, down to every `mostMs`.
 * They are woken together, so that they share what they read.
 */
export class QuietPoll {
  /** Number of published events and deltas, to detect a change. */
  published = 0
  readonly #queues = new Set<ReaderQueue>()
  #dueAt = Infinity
  #cancel: () => void = () => undefined

  /** Polls for this reader, for the first time within `firstMs`. Returns a function that stops this. */
  attend(queue: ReaderQueue, clock: Clock, { firstMs, mostMs }: { readonly firstMs: number; readonly mostMs: number }): () => void {
    const arm = (quietMs: number): void => {
      const before = this.published
      this.#cancel()
      this.#dueAt = clock.now() + quietMs
      this.#cancel = clock.setTimer(this.#dueAt, () => {
        const isQuiet = this.published === before
        arm(isQuiet ? Math.min(quietMs * 4, mostMs) : firstMs)
        for (const each of this.#queues) each.poll(isQuiet)
      })
    }
    this.#queues.add(queue)
    // A poll is never put off, however often readers come.
    if (clock.now() + firstMs < this.#dueAt) arm(firstMs)
    return () => {
      this.#queues.delete(queue)
      queue.letProcessEnd()
      if (this.#queues.size > 0) return
      this.#cancel()
      this.#dueAt = Infinity
    }
  }
}
