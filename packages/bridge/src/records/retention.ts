import type { Clock } from '@bowline/llm'

export interface RetentionOptions {
  readonly clock: Clock
  readonly retentionMs: number
  readonly maxRecords: number
  readonly onError: (error: unknown) => void
}

/** Keeps ended records for a limited time and number; drops the oldest first. */
export class Retention {
  readonly #options: RetentionOptions
  /** Ordered by the time of their end. */
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
