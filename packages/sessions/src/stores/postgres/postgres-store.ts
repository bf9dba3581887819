import type { Clock } from '@bowline/llm'
import { configChecks } from '../../arguments.ts'
import { checkedSessionStore } from '../../contract/checked-calls.ts'
import type { SessionStore, StoreOpenOptions } from '../../contract/session-store.ts'
import { SessionError, warnProcess } from '../../errors.ts'
import type { SqlDriver } from '../sql/driver.ts'
import { sqlOperations } from '../sql/sql-store.ts'
import type { Steps } from '../sql/statement.ts'
import { checkServer } from './check-server.ts'
import { givenPool, ownPool } from './pool.ts'
import type { Pool } from './pool.ts'
import type { PostgresPool } from './pool-types.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { postgresDialect, statementBuilder } from './postgres-dialect.ts'
import { storeError, violatesConstraint } from './postgres-errors.ts'
import { migrateSchema } from './postgres-migrations.ts'

/** Which server and which tables. */
export interface PostgresOptions {
  /** `postgresql://user:password@host:port/database`. A pooler may be in between. */
  readonly connectionString?: string
  /** A pool of the package `pg`, in place of a connection string. The store never closes it. */
  readonly pool?: PostgresPool
  /** Where the tables are. Made when it is missing. Default `bowline`. */
  readonly schema?: string
}

export interface PostgresStoreOptions extends PostgresOptions {
  /** False: `open` throws if the tables are not of this version. Default true: it brings them there. */
  readonly migrate?: boolean
  /** How many connections to the server it may have. Default 8. */
  readonly poolSize?: number
  /** Told about settings of the server with which commits can be lost. Default: a warning of the process. */
  readonly onWarning?: (message: string) => void
  /** For tests: in the place of the time of the server. */
  readonly clock?: Pick<Clock, 'now'>
}

const schemaForm = /^[a-z_][a-z0-9_]{0,62}$/
const mostConnections = 1000

const optionsOfServer = {
  connectionString: configChecks.optionalName,
  pool: configChecks.methods('connect', 'on', 'removeListener'),
  schema: (path: string, value: unknown) => {
    if (value === undefined) return
    configChecks.checkRequired(path, value, 'a name of 1 to 63 letters a-z, digits and _', (given) => typeof given === 'string' && schemaForm.test(given))
  },
} as const

const checkServerOptions = configChecks.record<PostgresOptions>(optionsOfServer)

const checkOptions = configChecks.record<PostgresStoreOptions>({
  ...optionsOfServer,
  migrate: configChecks.checkBoolean,
  poolSize: configChecks.whole(1, mostConnections),
  onWarning: configChecks.checkFunction,
  clock: configChecks.methods('now'),
})

const maxRecordBytes = 16 * 1024 * 1024

/** Keeps sessions in Postgres, for many processes. */
export function postgresStore(options: PostgresStoreOptions): SessionStore {
  checkOptions('postgresStore.options', options)
  checkSource('postgresStore', options)
  let opened: OpenDatabase | undefined

  function driver(): SqlDriver {
    if (!opened) throw new SessionError('store-unavailable', 'The database of this store is not open: start the runtime that has it, or call open(), first.')
    return opened.driver
  }

  return checkedSessionStore({
    name: 'postgres',
    capabilities: { durable: 'power', processes: 'many', maxRecordBytes },
    async open(openOptions) {
      if (opened) throw new SessionError('store-locked', 'The database is open in this store already: make another store for another runtime.')
      opened = await openDatabase(options, openOptions)
    },
    async close() {
      const closing = opened
      opened = undefined
      await closing?.pool.close()
    },
    ...sqlOperations(driver, maxRecordBytes),
  })
}

/** Brings the tables to the version of this package, as `postgresStore` does with `migrate: true`. */
export async function migratePostgres(options: PostgresOptions): Promise<void> {
  checkServerOptions('migratePostgres.options', options)
  checkSource('migratePostgres', options)
  const pool = await poolOf(options, 1)
  try {
    await checkServer(pool, () => undefined)
    await migrateSchema({ pool, schema: schemaOf(options), migrate: true })
  } finally {
    await pool.close()
  }
}

interface OpenDatabase {
  readonly driver: SqlDriver
  readonly pool: Pool
}

async function openDatabase(options: PostgresStoreOptions, openOptions: StoreOpenOptions): Promise<OpenDatabase> {
  const { poolSize = 8, migrate = true, onWarning = warnProcess } = options
  const schema = schemaOf(options)
  const pool = await poolOf(options, poolSize)
  try {
    await checkServer(pool, onWarning)
    await migrateSchema({ pool, schema, migrate })
    const connection = new PostgresConnection(pool, statementBuilder(schema), postgresDialect(schema))
    return { driver: postgresDriver(connection, openOptions, options.clock), pool }
  } catch (error) {
    await pool.close()
    throw error
  }
}

function postgresDriver(connection: PostgresConnection, { namespace, clock }: StoreOpenOptions, given: PostgresStoreOptions['clock']): SqlDriver {
  const run = (doing: string, method: 'transaction' | 'statement' | 'snapshot' | 'read') => {
    return async <T>(makeSteps: () => Steps<T>): Promise<T> => {
      try {
        return await connection[method](makeSteps)
      } catch (error) {
        throw violatesConstraint(error) ? error : storeError(error, doing)
      }
    }
  }
  return {
    namespace,
    now: () => given?.now() ?? null,
    localTime: (at, now) => (given ? at : at + clock.now() - now),
    isShared: true,
    loss: 'lease',
    transaction: run('write', 'transaction'),
    statement: run('write', 'statement'),
    snapshot: run('read', 'snapshot'),
    read: run('read', 'read'),
    violatesConstraint,
  }
}

function schemaOf({ schema = 'bowline' }: PostgresOptions): string {
  return schema
}

async function poolOf({ connectionString, pool }: PostgresOptions, size: number): Promise<Pool> {
  return pool ? givenPool(pool) : ownPool(connectionString ?? '', size)
}

function checkSource(name: string, { connectionString, pool }: PostgresOptions): void {
  if (connectionString !== undefined && pool) throw new SessionError('invalid-config', `${name}.options has both connectionString and pool: give one of them.`)
  if (pool) return
  // It may hold a password: no error shows it.
  if (/^postgres(ql)?:\/\/./.test(connectionString ?? '')) return
  throw new SessionError('invalid-config', `${name} needs a server: give it a connectionString of the form postgresql://user:password@host:port/database, or a pool.`)
}
