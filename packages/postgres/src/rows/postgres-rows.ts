import type { StoreHint, StoreOpenOptions } from '@bowline/sessions'
import type { Answer, Change, Read, Row, RowCall, RowStore } from '@bowline/sessions/sql'
import { columnTypes, RowStatements } from '@bowline/sessions/sql'
import { parseStored, SessionError, warnProcess } from '@bowline/sessions/store-parts'
import { checkServer } from '../store/check-server.ts'
import { longestAnswerMs } from '../store/flight.ts'
import type { LiveConnection } from '../store/live-connection.ts'
import { openLive, poolOf } from '../store/open-database.ts'
import type { Pool } from '../store/pool.ts'
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
      const to = rows()
      // Before anything is sent: a row that is too long refuses all of them.
      const calls = changes.map(({ writes }) => writes.map((write) => to.statements.write(write)))
      const stored: boolean[] = []
      for (const [at, change] of changes.entries()) {
        const isStored = await to.write(calls[at] ?? [], change)
        stored.push(isStored)
        if (isStored) for (const hint of change.hints ?? []) hear(hint)
      }
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
/** Attempts after a deadlock, and of a read whose connection was lost. */
const mostTries = { passing: 10, lost: 3 }

class OpenRows {
  readonly statements: RowStatements
  readonly #pool: Pool
  readonly #live: LiveConnection
  readonly #clock: PostgresStoreOptions['clock']
  readonly #nameOf: (text: string) => string | undefined

  constructor(pool: Pool, live: LiveConnection, statements: RowStatements, clock: PostgresStoreOptions['clock']) {
    this.statements = statements
    this.#pool = pool
    this.#live = live
    this.#clock = clock
    this.#nameOf = statementNames(pool)
  }

  /** Takes one round trip. */
  async read(reads: readonly Read[]): Promise<Answer> {
    const calls = reads.map((read) => this.statements.read(read))
    const queries = calls.flat().map((call) => this.#query(call))
    const results = await this.#retry('read', ['passing', 'lost'], () =>
      queries.length > 1 ? this.#send([command(beginRead), ...queries, command('commit')]) : this.#send([command(now), ...queries]),
    )
    const [time, ...answers] = results.map(rowsOf)
    let place = 0
    return {
      now: this.#clock?.now() ?? (time?.[0] as { readonly now: number }).now,
      rows: calls.map(({ length }) => answers.slice(place, (place += length)).flat().map(parsed)), // oxfmt-ignore
    }
  }

  /** Takes one round trip. The server stops the transaction at the first condition that does not hold. */
  async write(calls: readonly RowCall[], { provisional = false, hints = [] }: Change): Promise<boolean> {
    const queries = calls.map((call) => this.#query(call))
    const begin = provisional ? `${beginWrite()}; set local synchronous_commit = off` : beginWrite()
    try {
      await this.#retry('write', ['passing'], () =>
        queries.length > 1 || provisional ? this.#send([command(begin), ...queries, command('commit')]) : this.#send(queries),
      )
    } catch (error) {
      if (violatesConstraint(error)) return false
      throw error
    }
    for (const { key, wake, deltas = false } of hints) {
      // Listeners only need to know whether something was committed.
      if (key !== undefined) this.#live.tell({ key, seq: deltas ? undefined : 0, wake, deltas })
    }
    return true
  }

  async close(): Promise<void> {
    await this.#live.close()
    await this.#pool.close()
  }

  /** Sends everything at once, and waits for all answers. Throws the first failure. */
  async #send(queries: readonly PostgresQuery[]): Promise<readonly PostgresResult[]> {
    if (queries.length === 0) return []
    const client = await this.#pool.acquire()
    const answers = await Promise.allSettled(queries.map((query) => client.query(query)))
    const failed = answers.find((answer) => answer.status === 'rejected')
    client.release(failed !== undefined && isLost(failed.reason))
    if (failed) throw failed.reason
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  }

  async #retry<T>(doing: string, kinds: readonly (keyof typeof mostTries)[], attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt()
      } catch (error) {
        const kind = isPassing(error) ? 'passing' : 'lost'
        if (violatesConstraint(error)) throw error
        if (!kinds.includes(kind) || (kind === 'lost' && !isLost(error)) || tries >= mostTries[kind]) throw storeError(error, doing)
        if (kind === 'passing') await pause(tries)
      }
    }
  }

  #query({ statement: { text }, values }: RowCall): PostgresQuery {
    const name = this.#nameOf(text)
    return { ...command(text), values: [...values], ...(name !== undefined && { name }) }
  }
}

function command(text: string): PostgresQuery {
  return { text, types: columnTypes, query_timeout: longestAnswerMs }
}

/** Several commands in one text have several results; the last one counts. */
function rowsOf(result: PostgresResult): readonly unknown[] {
  const last = [result].flat().at(-1)
  return last?.rows ?? []
}

function parsed(found: unknown): Row {
  const row = found as Record<string, unknown>
  return { ...row, body: parseStored(row['body'] as string, 'A row of the database') } as Row
}
