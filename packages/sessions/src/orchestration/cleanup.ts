import type { Clock } from '@bowline/llm'
import type { StateStore } from '../contract/state-store.ts'
import type { CleanupOptions } from './types.ts'

const batchSize = 100
const pageSize = 1_000
const defaultIntervalMs = 300_000

export interface CleanupParts extends CleanupOptions {
  readonly store: StateStore
  readonly space: string
  readonly clock: Clock
  /** Of a cleanup that the timer began. */
  readonly onFailure: (error: unknown) => void
}

/** Removes what is over, when asked and, if enabled, every so often. */
export class Cleanup {
  readonly #parts: CleanupParts
  readonly #intervalMs: number
  #cancelTimer: (() => void) | undefined
  #stopped = false

  constructor(parts: CleanupParts) {
    const { enabled = false, intervalMs = defaultIntervalMs } = parts
    this.#parts = parts
    this.#intervalMs = intervalMs
    if (enabled) this.#arm()
  }

  /** The number of expired records. */
  async run(): Promise<number> {
    const { store, maxSessions } = this.#parts
    let swept = 0
    for (;;) {
      const batch = await store.sweep(batchSize)
      swept += batch
      if (batch < batchSize) break
    }
    if (maxSessions !== undefined) await this.#keepNewest(maxSessions)
    return swept
  }

  stop(): void {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  /** The next one is timed when this one has ended. */
  #arm(): void {
    if (this.#stopped) return
    const { clock, onFailure } = this.#parts
    this.#cancelTimer = clock.setTimer(clock.now() + this.#intervalMs, () => {
      void this.run()
        .catch(onFailure)
        .then(() => this.#arm())
    })
  }

  /** What was changed since it was looked at has another version, and stays. */
  async #keepNewest(maxSessions: number): Promise<void> {
    const { store, space } = this.#parts
    const records: { readonly id: string; readonly version: number; readonly usedAt: number }[] = []
    let page: string | undefined
    do {
      const found = await store.list(space, { limit: pageSize, ...(page === undefined ? {} : { page }) })
      for (const { id, version, usedAt } of found.items) records.push({ id, version, usedAt })
      page = found.next
    } while (page !== undefined)
    const surplus = records.sort((left, right) => left.usedAt - right.usedAt).slice(0, Math.max(0, records.length - maxSessions))
    for (const { id, version } of surplus) await store.delete(space, id, version)
  }
}
