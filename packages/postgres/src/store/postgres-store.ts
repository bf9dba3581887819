import type { SessionStore, StoreHint } from '@bowline/sessions'
import { sqlOperations } from '@bowline/sessions/sql'
import { checkedSessionStore, SessionError } from '@bowline/sessions/store-parts'
import type { PostgresReport } from './check-database.ts'
import { migrateDatabase, openDatabase } from './open-database.ts'
import type { DatabaseMetrics, OpenDatabase } from './open-database.ts'
import { postgresWordIndex } from './postgres-dialect.ts'
import { checkMigrateOptions, checkStoreOptions, maxRecordBytes } from './postgres-options.ts'
import type { PostgresOptions, PostgresStoreOptions } from './postgres-options.ts'

/** A session store on Postgres with figures for operators. */
export interface PostgresStore extends SessionStore {
  /** Returns the counts of this process since the store was opened. Throws `store-unavailable` if it is not open. */
  metrics(): PostgresMetrics
  /** Queries the database once for waiting work and for conditions that an operator should fix. */
  check(): Promise<PostgresReport>
}

/** Counts of this process since the store was opened. */
export interface PostgresMetrics extends DatabaseMetrics {
  /** Runs that this process claimed, and how many of them other processes had lost by death or by the end of a lease. */
  readonly claims: number
  readonly recovered: number
  /** Leases of this process that another one already held when this one renewed them. */
  readonly lostLeases: number
}

/**
 * Creates a session store on Postgres, for many processes. Connects in `open`, which a runtime calls. A commit resolves after
 * Postgres has committed it. Throws `invalid-config`.
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  checkStoreOptions(options)
  const listeners = new Set<(hint: StoreHint) => void>()
  let database: OpenDatabase | undefined
  let counts = { claims: 0, recovered: 0, lostLeases: 0 }

  function opened(): OpenDatabase {
    if (!database)
      throw new SessionError(
        'store-unavailable',
        'The database of this store is not open. First start the runtime that uses it, or call open().',
      )
    return database
  }

  const operations = sqlOperations(() => opened().driver, maxRecordBytes, postgresWordIndex, listeners)
  return checkedSessionStore<PostgresStore>({
    ...operations,
    name: 'postgres',
    capabilities: { durable: 'power', processes: 'many', maxRecordBytes },
    async open(openOptions) {
      if (database)
        throw new SessionError('store-locked', 'The database is already open in this store. Create another store for another runtime.')
      counts = { claims: 0, recovered: 0, lostLeases: 0 }
      database = await openDatabase(options, openOptions, (hint) => {
        for (const listener of listeners) listener(hint)
      })
    },
    async close() {
      const closing = database
      database = undefined
      await closing?.close()
    },
    async claim(request) {
      const claims = await opened().wakes.claiming(() => operations.claim(request))
      counts.claims += claims.length
      counts.recovered += claims.filter(({ previous }) => previous === 'running').length
      return claims
    },
    async renew(leases, leaseMs) {
      const states = await operations.renew(leases, leaseMs)
      counts.lostLeases += states.filter(({ held }) => !held).length
      return states
    },
    metrics: () => ({ ...opened().metrics(), ...counts }),
    check: async () => opened().check(),
    deltas: {
      push: async (batch) => opened().deltas.push(batch),
      read: async (key, after) => opened().deltas.read(key, after),
    },
  })
}

/** Migrates the tables to the version of this package, like `postgresStore` with `migrate: true`. Can be repeated. */
export async function migratePostgres(options: PostgresOptions): Promise<void> {
  checkMigrateOptions(options)
  await migrateDatabase(options)
}
