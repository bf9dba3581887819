import { systemClock, type Clock } from '@bowline/llm'
import type { SessionStore, StateSearch } from '@bowline/sessions'
import { coreStore } from '@bowline/sessions/sql'
import { checkedSessionStore, forwardedState } from '@bowline/sessions/store-parts'
import type { PostgresReport } from './check-database.ts'
import { migrateDatabase } from './open-database.ts'
import type { DatabaseMetrics } from './open-database.ts'
import { postgresWordIndex } from './postgres-states.ts'
import { mayRepeat } from './postgres-errors.ts'
import { checkMigrateOptions, checkStoreOptions } from './postgres-options.ts'
import type { PostgresOptions, PostgresStoreOptions } from './postgres-options.ts'
import { postgresRows, type PostgresRows } from './postgres-rows.ts'

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
  const rows = postgresRows(options)
  let clock: Pick<Clock, 'now'> = systemClock
  let counts = { claims: 0, recovered: 0, lostLeases: 0 }
  const store = coreStore(rows, {
    loss: 'lease',
    state: {
      ...forwardedState(() => rows.opened().state),
      search: {
        kind: postgresWordIndex.kind,
        find: async (space, query) => searchOf(rows).find(space, query),
        count: async (space, group) => searchOf(rows).count(space, group),
      },
    },
    localTime: (at, now) => (options.clock ? at : at + clock.now() - now),
  })
  return checkedSessionStore<PostgresStore>({
    ...store,
    async open(openOptions) {
      await store.open(openOptions)
      ;({ clock } = openOptions)
      counts = { claims: 0, recovered: 0, lostLeases: 0 }
    },
    async commit(batch) {
      try {
        return await store.commit(batch)
      } catch (error) {
        if (!mayRepeat(error)) throw error
        // A batch that was stored is found by its id.
        return store.commit(batch)
      }
    },
    async claim(request) {
      const { mayClaim, wakes } = rows.opened()
      const claims = await wakes.claiming(async () => (mayClaim() ? store.claim(request) : []))
      counts.claims += claims.length
      counts.recovered += claims.filter(({ previous }) => previous === 'running').length
      return claims
    },
    async renew(leases, leaseMs) {
      const states = await store.renew(leases, leaseMs)
      counts.lostLeases += states.filter(({ held }) => !held).length
      return states
    },
    async prune(rules, limit) {
      const report = await store.prune(rules, limit)
      await rows.opened().deltas.prune()
      return report
    },
    metrics: () => ({ ...rows.opened().metrics(), ...counts }),
    check: async () => rows.opened().check(),
    deltas: {
      push: async (batch) => rows.opened().deltas.push(batch),
      read: async (key, after) => rows.opened().deltas.read(key, after),
    },
  })
}

function searchOf(rows: PostgresRows): StateSearch {
  const { search } = rows.opened().state
  if (!search) throw new TypeError('The state of a Postgres store can be searched.')
  return search
}

/** Migrates the tables to the version of this package, like `postgresStore` with `migrate: true`. Can be repeated. */
export async function migratePostgres(options: PostgresOptions): Promise<void> {
  checkMigrateOptions(options)
  await migrateDatabase(options)
}
