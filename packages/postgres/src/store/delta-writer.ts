import type { DeltaBatch } from '@bowline/sessions/store-parts'

interface Waiting {
  readonly batch: DeltaBatch
  readonly stored: PromiseWithResolvers<void>
}

/** Writes the deltas of all runs of a process in one batch at a time: they never take more than one connection. */
export class DeltaWriter {
  readonly #write: (batches: readonly DeltaBatch[]) => Promise<void>
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(write: (batches: readonly DeltaBatch[]) => Promise<void>) {
    this.#write = write
  }

  push(batch: DeltaBatch): Promise<void> {
    const stored = Promise.withResolvers<void>()
    this.#waiting.push({ batch, stored })
    if (!this.#isWriting) void this.#writeAll()
    return stored.promise
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const taken = this.#waiting
      this.#waiting = []
      try {
        await this.#write(taken.map(({ batch }) => batch))
        for (const { stored } of taken) stored.resolve()
      } catch (error) {
        for (const { stored } of taken) stored.reject(error)
      }
    }
    this.#isWriting = false
  }
}
