import { SessionError } from '../errors.ts'

const maxTries = 20

/** Result of an attempt whose commit conflicted with another writer. */
export const tryAgain = Symbol('try again')

/** Reads, decides and commits. `tried` is the number of earlier attempts. */
type Attempt<T> = (tried: number) => Promise<T | typeof tryAgain>

/** Compare-and-set with retry. Throws `conflict` with the text of `failure` if another writer is faster in every attempt. */
export async function retryOnConflict<T>(attempt: Attempt<T>, failure: (tries: number) => string, tries = maxTries): Promise<T> {
  const result = await attemptUpTo(attempt, tries)
  if (result !== tryAgain) return result
  throw new SessionError('conflict', failure(tries))
}

/** Compare-and-set with retry. Resolves with `tryAgain` if another writer is faster in every attempt. */
export async function attemptUpTo<T>(attempt: Attempt<T>, tries = maxTries): Promise<T | typeof tryAgain> {
  for (let tried = 0; tried < tries; tried++) {
    const result = await attempt(tried)
    if (result !== tryAgain) return result
  }
  return tryAgain
}
