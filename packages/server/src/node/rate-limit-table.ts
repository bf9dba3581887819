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

export const tableName = 'rate_limits'

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
