import { SessionError } from '../errors.ts'
import type { Batch, CommitResult } from './batch.ts'
import type { SessionStore } from './session-store.ts'

const maxTries = 3

/** A store that fails may have applied the batch all the same: given again under its id, it is applied once. */
export function commitOnce(store: SessionStore, batch: Batch): Promise<CommitResult> {
  return askAgain(() => store.commit(batch))
}

/** Repeats what a store did not answer. Asking must be harmless however often the store has done it. */
export async function askAgain<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries === maxTries || !SessionError.isInstance(error) || !error.retryable) throw error
    }
  }
}
