import { systemClock, type Clock } from '@bowline/llm'
import type { StateRead, StateStore } from '@bowline/sessions'
import { configChecks } from '../arguments.ts'
import { base64url } from '../base64url.ts'
import { sha256 } from '../hash.ts'
import type { CreateRateLimiter, RateLimiter, RateLimitPolicy, RateLimitState } from './rate-limiter.ts'

/** Clock of a state rate limiter. */
export interface StateRateLimiterOptions {
  /** Source of the current time. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'>
}

/** Stored state of a bucket. */
interface Taken {
  readonly taken: number
  /** End of the window by the clock of the process that took the first point. */
  readonly endsAt: number
}

interface Waiter {
  readonly resolve: (state: RateLimitState) => void
  readonly reject: (error: unknown) => void
}

const space = 'server-rate-limits'
const mostTries = 20

const checkOptions = configChecks.optionalRecord<StateRateLimiterOptions>({ clock: configChecks.methods('now') })
const checkStore = configChecks.requiredMethods('get', 'compareAndSet')

/**
 * Returns a rate limiter in a state store, shared by all processes on it: `stateRateLimiter(redisStateStore())`,
 * `stateRateLimiter(kvStateStore())` or `stateRateLimiter(runtime.store.state)`. Concurrent requests are counted in one write.
 */
export function stateRateLimiter(store: StateStore, options: StateRateLimiterOptions = {}): CreateRateLimiter {
  checkStore('stateRateLimiter.store', store)
  checkOptions('stateRateLimiter.options', options)
  const { clock = systemClock } = options
  return (policy) => new StateBuckets(store, policy, clock)
}

class StateBuckets implements RateLimiter {
  readonly #store: StateStore
  readonly #policy: RateLimitPolicy
  readonly #clock: Pick<Clock, 'now'>
  /** Callers that wait for a point, by key. A key is in the map while its state is being written. */
  readonly #waiting = new Map<string, Waiter[]>()

  constructor(store: StateStore, policy: RateLimitPolicy, clock: Pick<Clock, 'now'>) {
    this.#store = store
    this.#policy = policy
    this.#clock = clock
  }

  take(key: string): Promise<RateLimitState> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(key)
      if (waiting) return waiting.push({ resolve, reject })
      this.#waiting.set(key, [{ resolve, reject }])
      void this.#takeAll(key)
    })
  }

  async look(key: string): Promise<RateLimitState> {
    const { taken, endsAt } = this.#takenOf(await this.#store.get(space, await this.#idOf(key)))
    const { points } = this.#policy
    return { allowed: taken < points, remaining: Math.max(0, points - taken), resetMs: taken === 0 ? 0 : this.#msUntil(endsAt) }
  }

  /**
   * Takes points for all waiting callers in one write, and repeats for those that came meanwhile. So writes of one process never
   * conflict.
   */
  async #takeAll(key: string): Promise<void> {
    for (let batch = this.#nextOf(key); batch.length > 0; batch = this.#nextOf(key)) {
      try {
        const { before, granted, resetMs } = await this.#takePoints(key, batch.length)
        const { points } = this.#policy
        batch.forEach(({ resolve }, index) =>
          resolve({ allowed: index < granted, remaining: Math.max(0, points - before - index - 1), resetMs }),
        )
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#waiting.delete(key)
  }

  #nextOf(key: string): readonly Waiter[] {
    return this.#waiting.get(key)?.splice(0) ?? []
  }

  /** Takes as many of the wanted points as are left. */
  async #takePoints(key: string, wanted: number): Promise<{ readonly before: number; readonly granted: number; readonly resetMs: number }> {
    const { points, windowMs } = this.#policy
    const id = await this.#idOf(key)
    for (let tried = 0; tried < mostTries; tried++) {
      const read = await this.#store.get(space, id)
      const { taken, endsAt } = this.#takenOf(read)
      const granted = Math.min(wanted, Math.max(0, points - taken))
      const result = { before: taken, granted, resetMs: this.#msUntil(endsAt) }
      if (granted === 0) return result
      const expected = read.status === 'found' ? read.value.version : null
      const written = await this.#store.compareAndSet(space, id, expected, { taken: taken + granted, endsAt }, { ttlMs: windowMs })
      if (written.ok) return result
    }
    throw new Error(`A rate limit was changed by other processes in each of ${mostTries} tries to count a request.`)
  }

  /** Returns the stored state, or a new window if the bucket is full again. */
  #takenOf(read: StateRead): Taken {
    const now = this.#clock.now()
    const known = read.status === 'found' ? (read.value.value as unknown as Taken) : undefined
    return known && known.endsAt > now ? known : { taken: 0, endsAt: now + this.#policy.windowMs }
  }

  /** Returns the time in ms, at most one window: the clock of another process may be ahead. */
  #msUntil(endsAt: number): number {
    return Math.min(this.#policy.windowMs, Math.max(0, endsAt - this.#clock.now()))
  }

  /** Returns an id of fixed length that does not contain the name of the principal. */
  async #idOf(key: string): Promise<string> {
    return `${this.#policy.name}.${base64url(await sha256(key))}`
  }
}
