import type { StoreHint, StoreOpenOptions } from '@bowline/sessions'
import type { RowStore } from '@bowline/sessions/sql'
import { SessionError } from '@bowline/sessions/store-parts'
import { openDatabase, type OpenDatabase } from './open-database.ts'
import { maxRecordBytes } from './postgres-options.ts'
import type { PostgresStoreOptions } from './postgres-options.ts'

/** Rows in Postgres, for many processes. */
export interface PostgresRows extends RowStore {
  /** Throws `store-unavailable` if the database is not open. */
  opened(): OpenDatabase
}

export function postgresRows(options: PostgresStoreOptions): PostgresRows {
  const listeners = new Set<(hint: StoreHint) => void>()
  const hear = (hint: StoreHint): void => {
    for (const listener of listeners) listener(hint)
  }
  let database: OpenDatabase | undefined
  const opened = (): OpenDatabase => {
    if (database) return database
    throw new SessionError(
      'store-unavailable',
      'The database of this store is not open. First start the runtime that uses it, or call open().',
    )
  }
  return {
    name: 'postgres',
    capabilities: { durable: 'power', processes: 'many', maxRowBytes: maxRecordBytes },
    opened,
    async open(scope: StoreOpenOptions) {
      if (database)
        throw new SessionError('store-locked', 'The database is already open in this store. Create another store for another runtime.')
      database = await openDatabase(options, scope, hear)
    },
    async close() {
      const closing = database
      database = undefined
      await closing?.close()
    },
    read: async (reads) => opened().rows.read(reads),
    async write(changes) {
      const { rows, wakes } = opened()
      const stored = await rows.write(changes)
      for (const [at, { hints = [] }] of changes.entries()) {
        for (const hint of stored[at] ? hints : []) {
          hear(hint)
          const { key, wake, deltas = false } = hint
          // Listeners only need to know whether something was committed.
          if (key !== undefined) wakes.add({ key, seq: deltas ? undefined : 0, wake, deltas })
        }
      }
      return stored
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
