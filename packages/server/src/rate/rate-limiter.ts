/** Name of a rate limit. Each has buckets of its own. */
export type RateLimitName = 'requests' | 'work' | 'control' | 'auth-failures'

/** A bucket with a number of points. It is full again a fixed time after the first point was taken. */
export interface RateLimitPolicy {
  /** Which limit it is. */
  readonly name: RateLimitName
  /** Uses within one window. */
  readonly points: number
  /** Length of the window in milliseconds. */
  readonly windowMs: number
}

/** State of one bucket after a call. */
export interface RateLimitState {
  /** For `take`: whether the point was there. For `look`: whether one is left. */
  readonly allowed: boolean
  readonly remaining: number
  /** Milliseconds until the bucket is full again. */
  readonly resetMs: number
}

/** Buckets of one policy, by key. It must reject if it cannot count; it must not let an uncounted request pass. */
export interface RateLimiter {
  /** Takes one point, if there is one. Of points taken at the same time, in whichever process, each counts. */
  take(key: string): Promise<RateLimitState>
  /** Takes nothing. */
  look(key: string): Promise<RateLimitState>
}

/** Factory of rate limiters, called once per policy. `flexibleRateLimiter` of `./node` returns one. */
export type CreateRateLimiter = (policy: RateLimitPolicy) => RateLimiter
