import type { Clock } from '@bowline/llm'
import type { StateStore, Versioned } from '../contract/state-store.ts'
import { ttlOf } from './state-record.ts'
import { heldMs } from './time-to-live.ts'
import type { CleanupOptions } from './types.ts'

const batchSize = 100
const pageSize = 1_000
const defaultIntervalMs = 300_000

export interface CleanupParts extends CleanupOptions {
  readonly store: StateStore
  readonly space: string
  readonly clock: Clock
  /** Called if a cleanup by the timer fails. */
  readonly onFailure: (error: unknown) => void
}

/** Removes expired and surplus records: on request and, if enabled, at an interval. */
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

  /** Runs one cleanup. Resolves with the number of removed expired records. */
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

  /** Arms the timer for the next cleanup after the present one has ended. */
  #arm(): void {
    if (this.#stopped) return
    const { clock, onFailure } = this.#parts
    this.#cancelTimer = clock.setTimer(clock.now() + this.#intervalMs, () => {
      void this.run()
        .catch(onFailure)
        .then(() => this.#arm())
    })
  }

  /**
   * Removes the records that were used least recently; those that an open run holds only if the others do not suffice. A record
   * that was changed meanwhile has another version and stays.
   */
  async #keepNewest(maxSessions: number): Promise<void> {
    const { store, space } = this.#parts
    const records: (Pick<Versioned, 'version' | 'usedAt'> & { readonly id: string; readonly isHeld: boolean })[] = []
    let page: string | undefined
    do {
      const found = await store.list(space, { limit: pageSize, ...(page === undefined ? {} : { page }) })
      for (const { id, ...each } of found.items)
        records.push({ id, version: each.version, usedAt: each.usedAt, isHeld: ttlOf(each) === heldMs })
      page = found.next
    } while (page !== undefined)
    records.sort((left, right) => Number(left.isHeld) - Number(right.isHeld) || left.usedAt - right.usedAt)
    const surplus = records.slice(0, Math.max(0, records.length - maxSessions))
    for (const { id, version } of surplus) await store.delete(space, id, version)
  }
}
