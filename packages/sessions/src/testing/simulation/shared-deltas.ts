import type { Batch } from '../../contract/batch.ts'
import type { DeltaBatch, DeltaPlace, DeltaStore, SessionStore } from '../../contract/session-store.ts'

/** Live deltas as a store of many processes keeps them: until the run commits, and no longer. */
export class SharedDeltas implements DeltaStore {
  readonly #base: SessionStore
  readonly #kept = new Map<string, readonly DeltaBatch[]>()

  constructor(base: SessionStore) {
    this.#base = base
  }

  async push(batch: DeltaBatch): Promise<void> {
    const run = await this.#base.readRun(batch.runId)
    if (run.status !== 'found' || run.value.status !== 'running' || run.value.epoch !== batch.epoch) return
    this.#kept.set(batch.key, [...(this.#kept.get(batch.key) ?? []), batch])
  }

  async read(key: string, { base, n }: DeltaPlace): Promise<readonly DeltaBatch[]> {
    const kept = this.#kept.get(key) ?? []
    return kept.filter((batch) => batch.base > base || (batch.base === base && batch.n + batch.events.length - 1 > n))
  }

  /** The batch was applied. */
  applied({ key, expect }: Batch): void {
    if (expect.some(({ that }) => that === 'fence')) this.#kept.delete(key)
  }
}
