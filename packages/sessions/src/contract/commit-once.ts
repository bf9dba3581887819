import { SessionError } from '../errors.ts'
import type { Batch, CommitResult } from './batch.ts'
import type { SessionStore } from './session-store.ts'

const maxTries = 3

/** Commits with retry. A failed commit may have been applied; the batch id makes the retry idempotent. */
export function commitOnce(store: SessionStore, batch: Batch): Promise<CommitResult> {
  return askAgain(() => store.commit(batch))
}

/** Retries while the store fails with a retryable error. `ask` must be idempotent. */
export async function askAgain<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries === maxTries || !SessionError.isInstance(error) || !error.retryable) throw error
    }
  }
}
