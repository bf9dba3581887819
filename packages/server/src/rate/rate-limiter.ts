/** What is counted apart from each other. */
export type RateLimitName = 'requests' | 'work' | 'control' | 'auth-failures'

/** A bucket with so many points, which is full again when so much time has passed since the first one was taken. */
export interface RateLimitPolicy {
  /** Which limit it is. */
  readonly name: RateLimitName
  /** Uses within one window. */
  readonly points: number
  /** Length of the window in milliseconds. */
  readonly windowMs: number
}

export interface RateLimitState {
  /** Of `take`: the point was there. Of `look`: there is one left. */
  readonly allowed: boolean
  readonly remaining: number
  /** Until the bucket is full again. */
  readonly resetMs: number
}

/** Buckets of one policy, by key. Must reject when it cannot count: it never passes what it did not count. */
export interface RateLimiter {
  /** Takes one point, if there is one. Of points taken at the same time, in whichever process, each counts. */
  take(key: string): Promise<RateLimitState>
  /** Takes nothing. */
  look(key: string): Promise<RateLimitState>
}

/** Called once for each policy. `flexibleRateLimiter` of `./node` makes one of rate-limiter-flexible. */
export type CreateRateLimiter = (policy: RateLimitPolicy) => RateLimiter
