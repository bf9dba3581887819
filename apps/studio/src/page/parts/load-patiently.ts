import { ClientError } from '@bowline/client'

const firstWaitMs = 250
const longestWaitMs = 10_000

interface Patience {
  /** Returns true if the same call may succeed later. */
  readonly isPassing: (error: unknown) => boolean
  /** Ends the waiting. */
  readonly signal?: AbortSignal
}

/** Calls `load` again, after longer and longer waits, until it succeeds. Rejects with an error that will not pass, or on abort. */
async function loadPatiently<T>(load: () => Promise<T>, { isPassing, signal }: Patience): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return await load()
    } catch (error) {
      if (signal?.aborted || !isPassing(error)) throw error
      await pause(waitMs, signal)
      signal?.throwIfAborted()
    }
  }
}

/** Imports code. Browsers throw a TypeError if it does not arrive. */
export function loadCode<T>(load: () => Promise<T>): Promise<T> {
  return loadPatiently(load, { isPassing: (error) => error instanceof TypeError })
}

/** Loads facts that the page needs for its actions. The conversation reports errors of the connection. */
export function loadFacts<T>(load: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return loadPatiently(() => load(signal), { isPassing: (error) => !isRefusal(error), signal })
}

function isRefusal(error: unknown): boolean {
  return ClientError.isInstance(error) && error.status !== undefined && error.status >= 400 && error.status < 500
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
