import type { Clock } from '@bowline/llm'

export interface RetentionOptions {
  readonly clock: Clock
  readonly retentionMs: number
  readonly maxRecords: number
  readonly onError: (error: unknown) => void
}

/** What is over is kept for a while, and not too much of it: oldest first it is forgotten. */
export class Retention {
  readonly #options: RetentionOptions
  /** In order of their end. */
  readonly #kept = new Map<number, { readonly endedAt: number; readonly forget: () => Promise<void> }>()
  #next = 0

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  add(forget: () => Promise<void>): void {
    const { clock, retentionMs, maxRecords, onError } = this.#options
    this.#kept.set(this.#next++, { endedAt: clock.now(), forget })
    const oldest = clock.now() - retentionMs
    for (const [key, { endedAt, forget: forgetOld }] of this.#kept) {
      if (endedAt >= oldest && this.#kept.size <= maxRecords) return
      this.#kept.delete(key)
      forgetOld().catch(onError)
    }
  }
}
