import { RateLimiterMemory, type RateLimiterAbstract, type RateLimiterRes } from 'rate-limiter-flexible'
import { configChecks } from '../arguments.ts'
import type { CreateRateLimiter, RateLimitState } from '../rate/rate-limiter.ts'

/** Arguments of a limiter of rate-limiter-flexible. */
export interface FlexibleLimiterOptions {
  /** Prefix of each key: the name of the limit. */
  readonly keyPrefix: string
  /** Maximum uses within `duration`. */
  readonly points: number
  /** Length of the window in seconds. */
  readonly duration: number
}

const msPerSecond = 1000

/**
 * Returns a limiter on rate-limiter-flexible: in memory, or for many processes with one of its stores, for example
 * `flexibleRateLimiter((options) => new RateLimiterRedis({ storeClient, useRedisPackage: true, ...options }))` with a client
 * of the package `redis`.
 */
export function flexibleRateLimiter(
  make: (options: FlexibleLimiterOptions) => Pick<RateLimiterAbstract, 'consume' | 'get'> = (options) => new RateLimiterMemory(options),
): CreateRateLimiter {
  configChecks.checkFunction('make', make)
  return ({ name, points, windowMs }) => {
    const limiter = make({ keyPrefix: `bowline-${name}`, points, duration: windowMs / msPerSecond })
    const state = ({ consumedPoints, msBeforeNext }: RateLimiterRes, allowed: boolean): RateLimitState => ({
      allowed,
      remaining: Math.max(points - consumedPoints, 0),
      resetMs: Math.max(msBeforeNext, 0),
    })
    return {
      async take(key) {
        try {
          return state(await limiter.consume(key), true)
        } catch (refused) {
          // The library rejects with an error if it failed, and with a result if no point was left.
          if (!isResult(refused)) throw refused
          return state(refused, false)
        }
      },
      async look(key) {
        const result = await limiter.get(key)
        // A record may be slightly older than its window.
        if (result === null || result.msBeforeNext <= 0) return { allowed: points > 0, remaining: points, resetMs: 0 }
        return state(result, result.consumedPoints < points)
      },
    }
  }
}

function isResult(value: unknown): value is RateLimiterRes {
  return typeof value === 'object' && value !== null && !(value instanceof Error) && 'msBeforeNext' in value
}
