import type { SessionStore } from '@bowline/sessions'
import { migratePostgres, postgresStore, type PostgresStore, type PostgresStoreOptions } from '@bowline/postgres'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { testDatabase, type TestDatabase } from '../../../scripts/postgres.ts'

/** Tables of one test file. */
export interface PostgresPlace {
  readonly url: string
  /** Returns options for stores that share connections, because opening them costs more than most tests. */
  shared(listen?: boolean): Pick<PostgresStoreOptions, 'pool' | 'listen' | 'directConnectionString'>
  /** Opens a store on empty tables. */
  empty(options?: PostgresStoreOptions): Promise<PostgresStore>
  /** Empties the tables. */
  clear(): Promise<void>
  /** Opens another store on the same tables. */
  store(options?: PostgresStoreOptions): PostgresStore
  /** Executes a statement from outside the stores. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
}

/** `pooled` is the same database, through the pooler that the stores use. */
export function postgresPlace(database: TestDatabase = testDatabase(), pooled: TestDatabase = database): PostgresPlace {
  let outside: pg.Client | undefined
  let emptying = ''
  let pool: pg.Pool | undefined
  const query = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> => {
    if (!outside) throw new TypeError('The database is there in hooks and tests only.')
    return (await outside.query<Record<string, unknown>>(text, values)).rows
  }
  beforeAll(async () => {
    await migratePostgres({ connectionString: database.url })
    outside = new pg.Client({ connectionString: database.url })
    await outside.connect()
    const names = await query("select tablename from pg_tables where schemaname = 'bowline' and tablename <> 'meta'")
    // The tables are small: truncating them would take many times as long.
    emptying = names.map(({ tablename }) => `delete from bowline.${String(tablename)}`).join('; ')
  })
  afterAll(async () => {
    await pool?.end()
    await outside?.end()
  })
  const store = (options: PostgresStoreOptions = {}): PostgresStore => {
    // A test that gives a pool wants no other connection.
    const source = options.pool ? { listen: options.directConnectionString !== undefined } : { connectionString: pooled.url }
    const direct = pooled === database || options.listen === false ? {} : { directConnectionString: database.url }
    return postgresStore({ ...source, ...direct, ...options })
  }
  const clear = async (): Promise<void> => void (await outside?.query(emptying))
  return {
    get url() {
      return database.url
    },
    shared(listen = true) {
      pool ??= sharedPool(pooled.url)
      return { pool, listen, ...(listen && { directConnectionString: database.url }) }
    },
    async empty(options) {
      await clear()
      return store(options)
    },
    clear,
    store,
    query,
  }
}

/** Ignores errors of connections: the server may end those that are idle or being closed. */
function sharedPool(connectionString: string): pg.Pool {
  const ignore = (): void => undefined
  return new pg.Pool({ connectionString, max: 8 }).on('error', ignore).on('connect', (client) => client.on('error', ignore))
}

/** Clock of a server: that of the first store opened on its tables. Other processes have clocks of their own. */
export class ServerClock {
  #clock: { now(): number } | undefined

  now(): number {
    if (!this.#clock) throw new TypeError('No store is open.')
    return this.#clock.now()
  }

  /** Wraps a store. Its clock is used if it is opened first. */
  under(store: SessionStore): SessionStore {
    return {
      ...store,
      open: (options) => {
        this.#clock ??= options.clock
        return store.open(options)
      },
    }
  }
}
