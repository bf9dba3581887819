import { checkedSessionStore } from '../../contract/checked-calls.ts'
import type { SessionStore, StoreHint } from '../../contract/session-store.ts'
import { SessionError } from '../../errors.ts'
import { sqlOperations } from '../sql/sql-store.ts'
import { migrateDatabase, openDatabase } from './open-database.ts'
import type { OpenDatabase } from './open-database.ts'
import { checkMigrateOptions, checkStoreOptions } from './postgres-options.ts'
import type { PostgresOptions, PostgresStoreOptions } from './postgres-options.ts'

const maxRecordBytes = 16 * 1024 * 1024

/** Keeps sessions in Postgres, for many processes. */
export function postgresStore(options: PostgresStoreOptions): SessionStore {
  checkStoreOptions(options)
  const listeners = new Set<(hint: StoreHint) => void>()
  let database: OpenDatabase | undefined

  function opened(): OpenDatabase {
    if (!database) throw new SessionError('store-unavailable', 'The database of this store is not open: start the runtime that has it, or call open(), first.')
    return database
  }

  return checkedSessionStore({
    name: 'postgres',
    capabilities: { durable: 'power', processes: 'many', maxRecordBytes },
    async open(openOptions) {
      if (database) throw new SessionError('store-locked', 'The database is open in this store already: make another store for another runtime.')
      database = await openDatabase(options, openOptions, (hint) => {
        for (const listener of listeners) listener(hint)
      })
    },
    async close() {
      const closing = database
      database = undefined
      await closing?.close()
    },
    ...sqlOperations(() => opened().driver, maxRecordBytes, listeners),
    deltas: {
      push: async (batch) => opened().deltas.push(batch),
      read: async (key, after) => opened().deltas.read(key, after),
    },
  })
}

/** Brings the tables to the version of this package, as `postgresStore` does with `migrate: true`. */
export async function migratePostgres(options: PostgresOptions): Promise<void> {
  checkMigrateOptions(options)
  await migrateDatabase(options)
}
