import { Kysely } from 'kysely'
import { configChecks } from '../../arguments.ts'
import { SessionError } from '../../errors.ts'
import { checkedSessionStore } from '../../contract/checked-calls.ts'
import type { SessionStore, StoreOpenOptions } from '../../contract/session-store.ts'
import { sqliteDialect, sqliteWordIndex } from '../sql/dialect.ts'
import { migrate } from '../sql/migrate.ts'
import { sqlOperations } from '../sql/sql-store.ts'
import type { SqlDriver } from '../sql/driver.ts'
import type { Tables } from '../sql/tables.ts'
import { NodeSqliteDialect } from './node-sqlite-dialect.ts'
import type { ConnectionSettings } from './open-file.ts'
import { openOwnedFile } from './owned-file.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { sqliteCode, sqliteCodes, storeError } from './sqlite-errors.ts'

/** File and durability of a SQLite store. */
export interface SqliteStoreOptions {
  /** Path of the file. The file and its directory are created if missing. */
  readonly file: string
  /** With `full` (default), a commit survives a power failure. With `normal`, it survives only the death of the process. */
  readonly synchronous?: 'full' | 'normal'
  /** Longest wait in ms while a tool outside this package locks the file. Default 5,000. */
  readonly busyTimeoutMs?: number
}

/** Longest wait that SQLite supports, in ms. */
const longestBusyMs = 2 ** 31 - 1

export const sqliteOptionChecks = {
  file: configChecks.checkName,
  synchronous: configChecks.oneOf('full', 'normal'),
  busyTimeoutMs: configChecks.whole(0, longestBusyMs),
} as const

const checkEach = configChecks.record<SqliteStoreOptions>(sqliteOptionChecks)

function checkOptions(options: SqliteStoreOptions): void {
  configChecks.checkRequired(
    'sqliteStore.options',
    options,
    'an object, { file }',
    (given) => given !== undefined && typeof given !== 'string',
  )
  checkEach('sqliteStore.options', options)
}

const maxRecordBytes = 16 * 1024 * 1024

/**
 * Creates a session store in one SQLite file. One process at a time: a second `open` rejects with `store-locked`. A commit
 * resolves after fsync unless `synchronous` is `normal`. Throws `invalid-config`, also for `:memory:`.
 */
export function sqliteStore(options: SqliteStoreOptions): SessionStore {
  checkOptions(options)
  const { synchronous = 'full', busyTimeoutMs = 5000 } = options
  if (options.file === ':memory:') {
    throw new SessionError(
      'invalid-config',
      'sqliteStore needs the name of a file; received ":memory:". Use memoryStore() to keep sessions in memory',
    )
  }
  let opened: OpenDatabase | undefined

  function driver(): SqlDriver {
    if (!opened)
      throw new SessionError(
        'store-unavailable',
        'The database of this store is not open. First start the runtime that uses it, or call open().',
      )
    return opened.driver
  }

  return checkedSessionStore({
    name: 'sqlite',
    capabilities: { durable: synchronous === 'full' ? 'power' : 'process', processes: 'one', maxRecordBytes },

    async open(openOptions) {
      if (opened)
        throw new SessionError(
          'store-locked',
          `The database ${opened.file} is already open in this store. Create another store for another runtime`,
        )
      try {
        opened = await openDatabase(options.file, openOptions, { synchronous, busyTimeoutMs })
      } catch (error) {
        throw storeError(error, options.file)
      }
    },
    async close() {
      opened?.close()
      opened = undefined
    },
    ...sqlOperations(driver, maxRecordBytes, sqliteWordIndex),
  })
}

interface OpenDatabase {
  readonly driver: SqlDriver
  readonly file: string
  close(): void
}

async function openDatabase(name: string, options: StoreOpenOptions, settings: ConnectionSettings): Promise<OpenDatabase> {
  const { database, file, close } = openOwnedFile(name, settings)
  try {
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    await migrate(db, sqliteDialect, `The database ${file}`)
    const connection = new SqliteConnection(database, db, settings.synchronous)
    return {
      driver: sqliteDriver(connection, file, options),
      file,
      close() {
        try {
          // Stores pending writes.
          connection.flush()
        } finally {
          close()
        }
      },
    }
  } catch (error) {
    close()
    throw error
  }
}

/** Adds the name of the file to errors. */
function sqliteDriver(connection: SqliteConnection, file: string, { namespace, clock }: StoreOpenOptions): SqlDriver {
  async function named<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw violatesConstraint(error) ? error : storeError(error, file)
    }
  }
  return {
    namespace,
    now: () => clock.now(),
    localTime: (at) => at,
    isShared: false,
    loss: 'owner',
    mayClaim: () => true,
    processCheck: () => undefined,
    tell: () => undefined,
    transaction: (makeSteps) => named(() => connection.transaction(makeSteps())),
    provisional: (makeSteps) => named(() => connection.provisional(makeSteps())),
    patient: (makeSteps) => named(() => connection.provisional(makeSteps('skip'))),
    statement: (makeSteps) => named(() => connection.transaction(makeSteps())),
    snapshot: (makeSteps) => named(() => connection.run(makeSteps())),
    read: (makeSteps) => named(() => connection.run(makeSteps())),
    violatesConstraint,
  }
}

function violatesConstraint(error: unknown): boolean {
  return sqliteCode(error) === sqliteCodes.constraint
}
