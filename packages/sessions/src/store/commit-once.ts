import { SessionError } from '../errors.ts'
import type { Batch, CommitResult } from './batch.ts'
import type { SessionStore } from './contract.ts'

const maxTries = 3

/** A store that fails may have applied the batch all the same: given again under its id, it is applied once. */
export async function commitOnce(store: SessionStore, batch: Batch): Promise<CommitResult> {
  for (let tries = 1; ; tries++) {
    try {
      return await store.commit(batch)
    } catch (error) {
      if (tries === maxTries || !SessionError.isInstance(error) || !error.retryable) throw error
    }
  }
}
