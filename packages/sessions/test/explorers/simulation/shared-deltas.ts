import type { Batch } from '../../../src/contract/batch.ts'
import type { DeltaBatch, DeltaPlace, DeltaStore, SessionStore } from '../../../src/contract/session-store.ts'

/** Live deltas, kept as a store for many processes keeps them: only until the run commits. */
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

  /** Deletes the deltas of a run after its commit. */
  applied({ key, expect }: Batch): void {
    if (expect.some(({ that }) => that === 'fence')) this.#kept.delete(key)
  }
}
