import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { configChecks, methods, required } from '../arguments.ts'
import type { CreateRateLimiter } from '../rate/rate-limiter.ts'
import { flexibleRateLimiter } from './flexible-rate-limiter.ts'

/** Methods of a `pg` pool that the limiter uses. */
export interface RateLimitPool {
  query(query: { text: string; values?: unknown[] }): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** Pool and schema of a Postgres rate limiter. */
export interface PostgresRateLimiterOptions {
  /**
   * Pool for the queries. The caller must close it after the server. With its own pool the limiter does not wait for other work.
   */
  readonly pool: RateLimitPool
  /** Schema of the table. Default `bowline`. */
  readonly schema?: string
}

const tableName = 'rate_limits'
const schemaForm = /^[a-z_][a-z0-9_]{0,62}$/

const check = configChecks.record<PostgresRateLimiterOptions>({
  pool: required(methods('query', 'on', 'removeListener')),
  schema: (path, value) => {
    if (value === undefined) return
    configChecks.checkRequired(
      path,
      value,
      'a name of 1 to 63 letters a-z, digits and _',
      (given) => typeof given === 'string' && schemaForm.test(given),
    )
  },
})

/**
 * Creates a rate limiter in Postgres: all servers on one database share each limit. The first request creates the table, and so
 * does the first one after a failure. The pool may use a pooler in transaction mode.
 */
export function postgresRateLimiter(options: PostgresRateLimiterOptions): CreateRateLimiter {
  check('options', options)
  const { pool, schema = 'bowline' } = options
  listenToErrors(pool)
  const storeClient = clientWithTable(pool, schema)
  return flexibleRateLimiter(
    (limiter) =>
      new RateLimiterPostgres({ ...limiter, storeClient, storeType: 'client', schemaName: schema, tableName, tableCreated: true }),
  )
}

/** Creates the schema and the table if they do not exist. If they do, a user with read and write rights is enough. */
export async function makeRateLimitTable({ pool, schema = 'bowline' }: PostgresRateLimiterOptions): Promise<void> {
  const table = `"${schema}".${tableName}`
  const found = await pool.query({
    text: 'select to_regnamespace($1) is not null as "hasSchema", to_regclass($2) is not null as "hasTable"',
    values: [`"${schema}"`, table],
  })
  const { hasSchema, hasTable } = found.rows[0] as { readonly hasSchema: boolean; readonly hasTable: boolean }
  if (hasTable) return
  const statements = [
    ...(hasSchema ? [] : [`create schema if not exists "${schema}"`]),
    // An unlogged table needs no disk flush. After a crash of Postgres all buckets are full.
    `create unlogged table if not exists ${table} (key text primary key, points integer not null, expire bigint) with (fillfactor = 50)`,
  ]
  try {
    // Statements in one text run in one transaction.
    await pool.query({ text: statements.join('; ') })
  } catch (error) {
    // `if not exists` does not detect a table that another server is creating. That server has committed before this error.
    if (codeOf(error) !== uniqueViolation) throw error
    await makeRateLimitTable({ pool, schema })
  }
}

const uniqueViolation = '23505'

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** Returns a client that sends the queries of the library without prepared statements: a pooler changes the connection. */
function clientWithTable(pool: RateLimitPool, schema: string): Pick<RateLimitPool, 'query'> {
  let made: Promise<void> | undefined
  return {
    async query({ text, values = [] }) {
      try {
        made ??= makeRateLimitTable({ pool, schema })
        await made
        return await pool.query({ text, values })
      } catch (error) {
        made = undefined
        throw error
      }
    },
  }
}

/** Without a listener, the loss of an idle connection would end the process. The pool has already dropped the connection. */
function listenToErrors(pool: RateLimitPool): void {
  pool.removeListener('error', ignore)
  pool.on('error', ignore)
}

function ignore(): void {}
