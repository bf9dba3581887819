/** Name of a rate limit. Each limit has its own buckets. */
export type RateLimitName = 'requests' | 'work' | 'control' | 'auth-failures'

/** Bucket with a number of points. A fixed time after the first point was taken it is full again. */
export interface RateLimitPolicy {
  /** Limit that the policy is for. */
  readonly name: RateLimitName
  /** Maximum uses within one window. */
  readonly points: number
  /** Length of the window in milliseconds. */
  readonly windowMs: number
}

/** State of one bucket after a call. */
export interface RateLimitState {
  /** For `take`: true if a point was taken. For `look`: true if a point is left. */
  readonly allowed: boolean
  readonly remaining: number
  /** Milliseconds until the bucket is full again. */
  readonly resetMs: number
}

/** Buckets of one policy by key. It must reject if it cannot count: an uncounted request must not pass. */
export interface RateLimiter {
  /** Takes one point if there is one. Concurrent calls, in any process, are all counted. */
  take(key: string): Promise<RateLimitState>
  /** Reads the state without taking a point. */
  look(key: string): Promise<RateLimitState>
}

/** Factory of rate limiters, called once per policy. `flexibleRateLimiter` of `./rate-limits` returns one. */
export type CreateRateLimiter = (policy: RateLimitPolicy) => RateLimiter
