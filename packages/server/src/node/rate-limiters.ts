import { RateLimiterMemory, RateLimiterPostgres, type RateLimiterAbstract, type RateLimiterRes } from 'rate-limiter-flexible'
import { configChecks, methods, required } from '../arguments.ts'
import type { CreateRateLimiter, RateLimitState } from '../rate/rate-limiter.ts'
import { makeRateLimitTable, tableName, type PostgresRateLimiterOptions, type RateLimitPool } from './rate-limit-table.ts'

export type { PostgresRateLimiterOptions, RateLimitPool }

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

const schemaForm = /^[a-z_][a-z0-9_]{0,62}$/

const check = configChecks.record<PostgresRateLimiterOptions>({
  pool: required(methods('query', 'on', 'removeListener')),
  schema: (path, value) => {
    if (value === undefined) return
    configChecks.checkRequired(
      path,
      value,
      'a name of 1 to 63 letters a-z, digits and _',
      (given) => typeof given === 'string' && schemaForm.test(given),
    )
  },
})

/**
 * Creates a rate limiter in Postgres: all servers on one database share each limit. The first request creates the table, and so
 * does the first one after a failure. The pool may use a pooler in transaction mode.
 */
export function postgresRateLimiter(options: PostgresRateLimiterOptions): CreateRateLimiter {
  check('options', options)
  const { pool, schema = 'bowline' } = options
  listenToErrors(pool)
  const storeClient = clientWithTable(pool, schema)
  return flexibleRateLimiter(
    (limiter) =>
      new RateLimiterPostgres({ ...limiter, storeClient, storeType: 'client', schemaName: schema, tableName, tableCreated: true }),
  )
}

/** Returns a client that sends the queries of the library without prepared statements: a pooler changes the connection. */
function clientWithTable(pool: RateLimitPool, schema: string): Pick<RateLimitPool, 'query'> {
  let made: Promise<void> | undefined
  return {
    async query({ text, values = [] }) {
      try {
        made ??= makeRateLimitTable({ pool, schema })
        await made
        return await pool.query({ text, values })
      } catch (error) {
        made = undefined
        throw error
      }
    },
  }
}

/** Without a listener, the loss of an idle connection would end the process. The pool has already dropped the connection. */
function listenToErrors(pool: RateLimitPool): void {
  pool.removeListener('error', ignore)
  pool.on('error', ignore)
}

function ignore(): void {}
