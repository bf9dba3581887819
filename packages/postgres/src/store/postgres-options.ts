import type { Clock } from '@bowline/llm'
import { checkNamespace, configChecks, databaseVariable, SessionError } from '@bowline/sessions/store-parts'
import type { PostgresPool } from './pool-types.ts'

/** Server, schema and credentials of a Postgres store. */
export interface PostgresOptions {
  /** `postgresql://user:password@host:port/database`, of a server or a pooler. */
  readonly connectionString?: string
  /** Pool of the package `pg`, instead of a connection string. The store never closes it. */
  readonly pool?: PostgresPool
  /** Schema of the tables, created if missing. Default `bowline`. */
  readonly schema?: string
}

/** Connections, migration and clock of a Postgres session store. */
export interface PostgresStoreOptions extends PostgresOptions {
  /**
   * Address for connections that need a session of their own: the server, or a pooler in session mode. Default: `connectionString`.
   */
  readonly directConnectionString?: string
  /**
   * If true (default), keeps two connections besides the pool, sees writes of other processes within milliseconds, and takes over
   * dead processes at once. If false, for hosts that freeze processes, polls each second and detects a dead process when its leases
   * end.
   */
  readonly listen?: boolean
  /** If true (default), `open` migrates older tables. If false, it throws for them. */
  readonly migrate?: boolean
  /** Maximum number of connections in the pool. Default 8. */
  readonly poolSize?: number
  /** Called with conditions that slow the store, and with failures that are retried. Default: a process warning. */
  readonly onWarning?: (message: string) => void
  /** For tests: clock instead of the server's. */
  readonly clock?: Pick<Clock, 'now'>
}

/** Connections, namespace and clock of a Postgres state store. */
export interface PostgresStateStoreOptions extends PostgresOptions {
  /** Connection string. Default: the variable `DATABASE_URL`. */
  readonly connectionString?: string
  /** Namespace of the records; others are invisible. Default `default`, like a runtime. */
  readonly namespace?: string
  /** If true (default), the first call migrates older tables. If false, it rejects for them. */
  readonly migrate?: boolean
  /** Maximum number of connections in the pool. Default 8. */
  readonly poolSize?: number
  /** Called with conditions that slow the store. Default: a process warning. */
  readonly onWarning?: (message: string) => void
  /** For tests: clock instead of the server's. */
  readonly clock?: Pick<Clock, 'now'>
  /** Environment variables. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

const schemaForm = /^[a-z_][a-z0-9_]{0,62}$/
const mostConnections = 1000
export const maxRecordBytes = 16 * 1024 * 1024

const optionsOfServer = {
  connectionString: configChecks.optionalName,
  pool: configChecks.methods('connect', 'on', 'removeListener'),
  schema: (path: string, value: unknown) => {
    if (value === undefined) return
    configChecks.checkRequired(
      path,
      value,
      'a name of 1 to 63 letters a-z, digits and _',
      (given) => typeof given === 'string' && schemaForm.test(given),
    )
  },
} as const

const checkServerOptions = configChecks.record<PostgresOptions>(optionsOfServer)

const checkOptions = configChecks.record<PostgresStoreOptions>({
  ...optionsOfServer,
  directConnectionString: configChecks.optionalName,
  listen: configChecks.checkBoolean,
  migrate: configChecks.checkBoolean,
  poolSize: configChecks.whole(1, mostConnections),
  onWarning: configChecks.checkFunction,
  clock: configChecks.methods('now'),
})

export function checkStoreOptions(options: PostgresStoreOptions): void {
  checkOptions('postgresStore.options', options)
  checkSource('postgresStore', options)
  const { directConnectionString: direct, listen } = options
  if (direct === undefined) return
  if (!isUrl(direct)) throw new SessionError('invalid-config', `postgresStore.options.directConnectionString must have ${urlForm}.`)
  if (listen === false)
    throw new SessionError(
      'invalid-config',
      'postgresStore.options has directConnectionString, which is not used with listen: false: leave one of them out.',
    )
}

const checkEachForStates = configChecks.optionalRecord<PostgresStateStoreOptions>({
  ...optionsOfServer,
  namespace: configChecks.optional((_path, value) => checkNamespace(value as string)),
  migrate: configChecks.checkBoolean,
  poolSize: configChecks.whole(1, mostConnections),
  onWarning: configChecks.checkFunction,
  clock: configChecks.methods('now'),
  environment: configChecks.checkObject,
})

/** Returns the options with the server from the options or the environment. Throws if there is none. */
export function checkedStateOptions(options: PostgresStateStoreOptions): PostgresStateStoreOptions {
  checkEachForStates('postgresStateStore.options', options)
  const { environment = process.env, pool, connectionString = pool ? undefined : environment[databaseVariable] } = options
  if (options.connectionString === undefined && connectionString && !isUrl(connectionString)) {
    throw new SessionError('invalid-config', `The variable ${databaseVariable} must have ${urlForm}.`)
  }
  const complete = { ...options, ...(connectionString && { connectionString }) }
  checkSource('postgresStateStore', complete, `, or set the variable ${databaseVariable}`)
  return complete
}

export function checkMigrateOptions(options: PostgresOptions): void {
  checkServerOptions('migratePostgres.options', options)
  checkSource('migratePostgres', options)
}

export function schemaOf({ schema = 'bowline' }: PostgresOptions): string {
  return schema
}

const urlForm = 'the form postgresql://user:password@host:port/database'

function isUrl(text: string | undefined): text is string {
  return /^postgres(ql)?:\/\/./.test(text ?? '')
}

function checkSource(name: string, { connectionString, pool }: PostgresOptions, orElse = ''): void {
  if (connectionString !== undefined && pool)
    throw new SessionError('invalid-config', `${name}.options has both connectionString and pool: give one of them.`)
  // Errors never show the connection string, which may contain a password.
  if (pool || isUrl(connectionString)) return
  throw new SessionError('invalid-config', `${name} needs a server: give it a connectionString of ${urlForm}, or a pool${orElse}.`)
}
