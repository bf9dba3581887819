import type { SessionStore } from '@bowline/sessions'
import { migratePostgres, postgresStore, type PostgresStore, type PostgresStoreOptions } from '@bowline/sessions/postgres'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { testDatabase, type TestDatabase } from '../../../../../scripts/postgres.ts'

/** Tables of one test file. */
export interface PostgresPlace {
  readonly url: string
  /** Options of stores that share connections: to open them costs more than what most tests do with them. */
  shared(listen?: boolean): Pick<PostgresStoreOptions, 'pool' | 'listen' | 'directConnectionString'>
  /** A store over tables with nothing in them. */
  empty(options?: PostgresStoreOptions): Promise<PostgresStore>
  /** Removes all that is in the tables. */
  clear(): Promise<void>
  /** One more store over the same tables. */
  store(options?: PostgresStoreOptions): PostgresStore
  /** Statements from outside. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
}

/** `pooled`: the same database, as the stores reach it. */
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
    // The tables are small: to truncate them takes many times as long.
    emptying = names.map(({ tablename }) => `delete from bowline.${String(tablename)}`).join('; ')
  })
  afterAll(async () => {
    await pool?.end()
    await outside?.end()
  })
  const store = (options: PostgresStoreOptions = {}): PostgresStore => {
    // A test that gives a pool wants nothing beside it.
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

/** The server may end connections that are idle, or are being closed. */
function sharedPool(connectionString: string): pg.Pool {
  const ignore = (): void => undefined
  return new pg.Pool({ connectionString, max: 8 }).on('error', ignore).on('connect', (client) => client.on('error', ignore))
}

/** The clock of a server: that of the first store that is opened over its tables. Others have clocks of their own. */
export class ServerClock {
  #clock: { now(): number } | undefined

  now(): number {
    if (!this.#clock) throw new TypeError('No store is open.')
    return this.#clock.now()
  }

  /** The same store, whose clock counts if it is the first. */
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
