import { missingFor } from '../config/config-error.ts'
import { makeRateLimitTable } from '../node/rate-limit-table.ts'
import { postgresRateLimiter } from '../node/rate-limiters.ts'
import type { CreateRateLimiter } from '../rate/rate-limiter.ts'

/** Rate limits shared by all servers on one database. */
export interface SharedRateLimits {
  readonly rateLimiter: CreateRateLimiter
  /** Creates the table if it does not exist. */
  makeTable(): Promise<void>
  close(): Promise<void>
}

/** Together with the 10 connections of the store, a process has 12. */
const poolSize = 2
/** Timeout of a query. The server itself waits one second for a limiter. */
const timeoutMs = 10_000

/** Creates limits with their own connections, so that no request waits for the work of runs. Connects on first use. */
export async function sharedRateLimits(connectionString: string): Promise<SharedRateLimits> {
  const { Pool } = (await import('pg').catch(missingFor('store', 'pg'))).default
  const pool = new Pool({
    connectionString,
    max: poolSize,
    application_name: 'bowline-limits',
    keepAlive: true,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  })
  return {
    rateLimiter: postgresRateLimiter({ pool }),
    async makeTable() {
      try {
        await makeRateLimitTable({ pool })
      } catch (error) {
        throw new Error(
          'the table of the rate limits could not be made: run bowline-server migrate as a user of Postgres who may create tables',
          { cause: error },
        )
      }
    },
    close: () => pool.end(),
  }
}
