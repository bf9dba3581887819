import type { Answer, Change, Read, Row, RowCall } from '@bowline/sessions/sql'
import { RowStatements } from '@bowline/sessions/sql'
import { parseStored } from '@bowline/sessions/store-parts'
import { deleteDeltas } from './delta-table.ts'
import { command, type Pipeline, type Sent } from './pipeline.ts'
import type { PostgresQuery } from './pool-types.ts'
import { isLockTimeout, storeError, violatesConstraint } from './postgres-errors.ts'
import { keepProcess } from './process-table.ts'
import { postgresRowDialect } from './row-tables.ts'

export interface OpenRowsOptions {
  readonly pipeline: Pipeline
  readonly schema: string
  readonly namespace: string
  readonly maxRowBytes: number
  /** Time of the store. Undefined: the server's clock gives it. */
  readonly now: () => number | undefined
  /** Name under which this process must be registered to claim. Undefined: only its leases show that it is alive. */
  readonly processName: () => string | undefined
}

const now = 'select cast(floor(extract(epoch from statement_timestamp()) * 1000) as float8) as now'
const beginRead = `begin isolation level repeatable read read only; ${now}`

/** Limits in ms: the server ends an idle transaction after the first, and a wait for locked rows after the second. */
const beginWrite =
  'begin isolation level read committed; set local idle_in_transaction_session_timeout = 10000; set local lock_timeout = 20000'
const beginProvisional = `${beginWrite}; set local synchronous_commit = off`
/** A write takes some milliseconds, unless its process is frozen in the middle of it. Brief changes do not wait for that. */
const beginBrief = beginWrite.replace('20000', '250')
const usualWait = 'set local lock_timeout = 20000'

/** The rows of one namespace. */
export class OpenRows {
  readonly #options: OpenRowsOptions
  readonly #statements: RowStatements

  constructor(options: OpenRowsOptions) {
    this.#options = options
    this.#statements = new RowStatements(postgresRowDialect(options.schema), options.namespace, options.maxRowBytes)
  }

  /** Takes one round trip. */
  async read(reads: readonly Read[]): Promise<Answer> {
    const calls = reads.map((read) => this.#statements.read(read))
    const queries = calls.flat().map((call) => this.#query(call))
    const sent = queries.length > 1 ? [command(beginRead), ...queries, command('commit')] : [command(now), ...queries]
    const results = await this.#options.pipeline.read(sent)
    const [[time] = [], ...answers] = results.filter(({ command }) => command === 'SELECT').map(({ rows }) => rows)
    let place = 0
    return {
      now: this.#options.now() ?? (time as { readonly now: number }).now,
      rows: calls.map(({ length }) => {
        const own = answers.slice(place, place + length)
        place += length
        return own.flat().map(parsed)
      }),
    }
  }

  /** Takes one round trip. The server ends the transaction of a change at the first condition that does not hold. */
  async write(changes: readonly Change[]): Promise<readonly boolean[]> {
    const sent = await this.#options.pipeline.write(changes.map((change) => this.#transaction(change)))
    return sent.map((each, at) => isStored(each, changes[at]))
  }

  /** Throws `entry-too-large`. */
  #transaction(change: Change): readonly PostgresQuery[] {
    const queries = change.writes.map((write) => this.#query(this.#statements.write(write)))
    if (change.isClaim || change.isBrief) return this.#brief(queries, change.isClaim)
    const { schema, namespace, pipeline } = this.#options
    const deltas = (change.replacesDeltas ?? []).map((key) => pipeline.query(deleteDeltas(schema), [namespace, key]))
    if (queries.length + deltas.length < 2 && !change.provisional) return queries
    return [command(change.provisional ? beginProvisional : beginWrite), ...queries, ...deltas, command('commit')]
  }

  /**
   * The first write locks a row, for which a brief change waits a short time only. A claim is never provisional here: the server may fail
   * while this process lives, and the epoch of a lost claim would be given twice.
   */
  #brief([first, ...others]: readonly PostgresQuery[], isClaim = false): readonly PostgresQuery[] {
    const { schema, namespace, pipeline, processName } = this.#options
    const name = isClaim ? processName() : undefined
    const kept = name === undefined ? [] : [pipeline.query(keepProcess(schema), [namespace, name])]
    return [command(beginBrief), ...kept, ...(first ? [first] : []), command(usualWait), ...others, command('commit')]
  }

  #query({ statement: { text }, values }: RowCall): PostgresQuery {
    return this.#options.pipeline.query(text, values)
  }
}

/** Rows that another process keeps locked count as changed. */
function isStored({ error }: Sent, change: Change | undefined): boolean {
  if (error === undefined) return true
  if (violatesConstraint(error) || ((change?.isClaim || change?.isBrief) && isLockTimeout(error))) return false
  throw storeError(error, 'write')
}

function parsed(found: unknown): Row {
  const row = found as Record<string, unknown>
  return { ...row, body: parseStored(row['body'] as string, 'A row of the database') }
}
