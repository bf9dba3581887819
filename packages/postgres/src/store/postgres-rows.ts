import type { StoreHint, StoreOpenOptions } from '@bowline/sessions'
import type { Answer, Change, Read, Row, RowCall, RowStore } from '@bowline/sessions/sql'
import { columnTypes, RowStatements } from '@bowline/sessions/sql'
import { parseStored, SessionError, warnProcess } from '@bowline/sessions/store-parts'
import { checkServer } from '../store/check-server.ts'
import { longestAnswerMs } from '../store/flight.ts'
import type { LiveConnection } from '../store/live-connection.ts'
import { openLive, poolOf } from '../store/open-database.ts'
import type { Pool, PooledClient } from '../store/pool.ts'
import type { PostgresQuery, PostgresResult } from '../store/pool-types.ts'
import { beginWrite, pause } from '../store/postgres-connection.ts'
import { isLost, isPassing, storeError, violatesConstraint } from '../store/postgres-errors.ts'
import { migrateSchema } from '../store/postgres-migrations.ts'
import { checkStoreOptions, maxRecordBytes, schemaOf } from '../store/postgres-options.ts'
import type { PostgresStoreOptions } from '../store/postgres-options.ts'
import { statementNames } from '../store/statement-names.ts'
import { postgresRowDialect, rowMigrations } from './row-tables.ts'

/** Rows in Postgres, for many processes. */
export function postgresRows(options: PostgresStoreOptions): RowStore {
  checkStoreOptions(options)
  const listeners = new Set<(hint: StoreHint) => void>()
  const hear = (hint: StoreHint): void => {
    for (const listener of listeners) listener(hint)
  }
  let opened: OpenRows | undefined
  const rows = (): OpenRows => {
    if (opened) return opened
    throw new SessionError('store-unavailable', 'The database of this store is not open. First call open().')
  }
  return {
    name: 'postgres',
    capabilities: { durable: 'power', processes: 'many', maxRowBytes: maxRecordBytes },
    async open(scope) {
      if (opened) throw new SessionError('store-locked', 'The database is already open in this store. Create another store.')
      opened = await openRows(options, { ...scope, placement: 'host' }, hear)
    },
    async close() {
      const closing = opened
      opened = undefined
      await closing?.close()
    },
    read: async (reads) => rows().read(reads),
    async write(changes) {
      const stored = await rows().write(changes)
      for (const [at, { hints = [] }] of changes.entries()) if (stored[at]) hints.forEach(hear)
      return stored
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

async function openRows(options: PostgresStoreOptions, scope: StoreOpenOptions, hear: (hint: StoreHint) => void): Promise<OpenRows> {
  const { poolSize = 8, migrate = true, onWarning = warnProcess, clock } = options
  const schema = schemaOf(options)
  const pool = await poolOf(options, poolSize)
  try {
    await checkServer(pool, onWarning)
    await migrateSchema({ pool, schema, migrate, steps: rowMigrations(schema) })
    const live = await openLive(options, scope, pool, hear)
    return new OpenRows(pool, live, new RowStatements(postgresRowDialect(schema), scope.namespace, maxRecordBytes), clock)
  } catch (error) {
    await pool.close()
    throw error
  }
}

const now = 'select cast(floor(extract(epoch from statement_timestamp()) * 1000) as bigint) as now'
const beginRead = `begin isolation level repeatable read read only; ${now}`
/** Attempts of a change that meets deadlocks, and of a read whose connection is lost. */
const mostTries = 10
const mostReadTries = 3

class OpenRows {
  readonly #pool: Pool
  readonly #live: LiveConnection
  readonly #statements: RowStatements
  readonly #clock: PostgresStoreOptions['clock']
  readonly #nameOf: (text: string) => string | undefined

  constructor(pool: Pool, live: LiveConnection, statements: RowStatements, clock: PostgresStoreOptions['clock']) {
    this.#pool = pool
    this.#live = live
    this.#statements = statements
    this.#clock = clock
    this.#nameOf = statementNames(pool)
  }

  /** Takes one round trip. */
  async read(reads: readonly Read[]): Promise<Answer> {
    const calls = reads.map((read) => this.#statements.read(read))
    const queries = calls.flat().map((call) => this.#query(call))
    const sent = queries.length > 1 ? [command(beginRead), ...queries, command('commit')] : [command(now), ...queries]
    const [[time] = [], ...answers] = (await this.#readAll(sent)).filter(({ command }) => command === 'SELECT').map(({ rows }) => rows)
    let place = 0
    return {
      now: this.#clock?.now() ?? (time as { readonly now: number }).now,
      rows: calls.map(({ length }) => {
        const own = answers.slice(place, place + length)
        place += length
        return own.flat().map(parsed)
      }),
    }
  }

  /**
   * Takes one round trip. The server ends the transaction of a change at the first condition that does not hold. A change that meets a
   * deadlock is repeated after the others.
   */
  async write(changes: readonly Change[]): Promise<readonly boolean[]> {
    const sent = changes.map((change) => this.#transaction(change))
    const stored: boolean[] = []
    for (const [at, sending] of (await this.#send(sent)).entries()) {
      stored.push(await this.#isStored(sending, sent[at] ?? []))
      if (stored[at]) this.#tell(changes[at]?.hints ?? [])
    }
    return stored
  }

  async close(): Promise<void> {
    await this.#live.close()
    await this.#pool.close()
  }

  /** Throws `entry-too-large`. */
  #transaction({ writes, provisional = false }: Change): readonly PostgresQuery[] {
    const queries = writes.map((write) => this.#query(this.#statements.write(write)))
    if (queries.length < 2 && !provisional) return queries
    const begin = provisional ? `${beginWrite()}; set local synchronous_commit = off` : beginWrite()
    return [command(begin), ...queries, command('commit')]
  }

  async #isStored(first: Sent, queries: readonly PostgresQuery[]): Promise<boolean> {
    let sent = first
    for (let tries = 1; isPassing(sent.error) && tries < mostTries; tries++) {
      await pause(tries)
      sent = (await this.#send([queries]))[0] ?? sent
    }
    if (sent.error === undefined) return true
    if (violatesConstraint(sent.error)) return false
    throw storeError(sent.error, 'write')
  }

  async #readAll(queries: readonly PostgresQuery[]): Promise<readonly PostgresResult[]> {
    for (let tries = 1; ; tries++) {
      const [{ error, results } = nothingSent] = await this.#send([queries])
      if (error === undefined) return results
      if (!isLost(error) || tries >= mostReadTries) throw storeError(error, 'read')
    }
  }

  /** Sends everything at once, and waits for all answers. Each group has its own first failure. */
  async #send(groups: readonly (readonly PostgresQuery[])[]): Promise<readonly Sent[]> {
    if (groups.flat().length === 0) return groups.map(() => nothingSent)
    const client = await this.#pool.acquire()
    const query = preparingOnce(client)
    const sent = await Promise.all(
      groups.map(async (queries) => {
        const answers = await Promise.allSettled(queries.map(query))
        const results = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
        return { results, error: answers.find((answer) => answer.status === 'rejected')?.reason as unknown }
      }),
    )
    client.release(sent.some(({ error }) => isLost(error)))
    return sent
  }

  #tell(hints: readonly StoreHint[]): void {
    for (const { key, wake, deltas = false } of hints) {
      // Listeners only need to know whether something was committed.
      if (key !== undefined) this.#live.tell({ key, seq: deltas ? undefined : 0, wake, deltas })
    }
  }

  #query({ statement: { text }, values }: RowCall): PostgresQuery {
    const name = this.#nameOf(text)
    return { ...command(text), values: [...values], ...(name !== undefined && { name }) }
  }
}

/** Answers to statements that were sent together, and their first failure. */
interface Sent {
  readonly results: readonly PostgresResult[]
  readonly error: unknown
}

const nothingSent: Sent = { results: [], error: undefined }

/**
 * A statement that is new to a connection is prepared by its first use. If that fails together with its transaction, others of the same
 * name would fail too: they are sent without the name.
 */
function preparingOnce(client: PooledClient): (query: PostgresQuery) => Promise<PostgresResult> {
  const used = new Set<string>()
  return ({ name, ...query }) => {
    if (name === undefined || (used.has(name) && !client.isPrepared(name))) return client.query(query)
    used.add(name)
    return client.query({ name, ...query })
  }
}

function command(text: string): PostgresQuery {
  return { text, types: columnTypes, query_timeout: longestAnswerMs }
}

function parsed(found: unknown): Row {
  const row = found as Record<string, unknown>
  return { ...row, body: parseStored(row['body'] as string, 'A row of the database') }
}
