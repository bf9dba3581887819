import type { Clock } from '@bowline/llm'
import { SessionError, type SessionErrorCode } from '../errors.ts'
import type { SessionStore } from './session-store.ts'

/** Failures of a store after which the same call may succeed later, once the store is back, has room or is repaired. */
const storeFailures: ReadonlySet<SessionErrorCode> = new Set([
  'store-unavailable',
  'store-full',
  'store-locked',
  'store-corrupt',
  'schema-too-new',
])

/** Retries without a delay, for an answer that was lost or a conflict of transactions. */
const promptRetries = 2
const firstDelayMs = 25
const longestDelayMs = 1_000

export interface Patience {
  readonly clock: Clock
  /** No retry follows once it is aborted. */
  readonly over?: AbortSignal
  /** No retry follows after this time. Default: none. */
  readonly forMs?: number
  /** Returns false for a failure that is not retried. Default: every failure of the store is. */
  readonly isPassing?: (failure: SessionError) => boolean
  /** Called with the first failure that is waited for. Must not throw. */
  readonly onWait?: (error: unknown) => void
}

/**
 * Retries while the store fails, first at once and then with backoff. `ask` must be idempotent. Rejects with the last failure of
 * the store, or with the first error of another kind.
 */
export async function askAgain<T>(
  ask: () => Promise<T>,
  { clock, over, forMs = Infinity, isPassing = isStoreFailure, onWait }: Patience,
): Promise<T> {
  const untilMs = clock.now() + forMs
  for (let retries = 0; ; retries++) {
    try {
      return await ask()
    } catch (error) {
      if (!SessionError.isInstance(error) || !isPassing(error) || over?.aborted) throw error
      if (retries < promptRetries) continue
      const atMs = clock.now() + Math.min(longestDelayMs, firstDelayMs * 2 ** (retries - promptRetries))
      if (atMs > untilMs) throw error
      if (retries === promptRetries) onWait?.(error)
      await timeOr(clock, atMs, over)
      if (over?.aborted) throw error
    }
  }
}

function isStoreFailure({ code }: SessionError): boolean {
  return storeFailures.has(code)
}

/** Holds the process: what waits here may be known to this process only. */
function timeOr(clock: Clock, atMs: number, over: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel()
      over?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.setTimer(atMs, end, { hold: true })
    over?.addEventListener('abort', end)
  })
}

/** Returns a store whose methods retry while the store fails. The id of a batch makes the retry of a commit idempotent. */
export function steadyStore(store: SessionStore, patience: Patience): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function' || name === 'subscribe') return value
      return (...args: unknown[]) => askAgain(() => Reflect.apply(value, target, args) as Promise<unknown>, patience)
    },
  })
}
