import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { StateStore } from '../../contract/state-store.ts'
import type { StoreHint, StoreOpenOptions } from '../../contract/session-store.ts'
import { SessionError } from '../../errors.ts'
import { parseStored } from '../../json.ts'
import type { Change, Id, Read, Row, RowStore, Write } from '../../rows/contract.ts'
import { sqliteRowDialect } from '../../rows/sql/dialect.ts'
import { RowStatements } from '../../rows/sql/statements.ts'
import type { RowCall, RowStatement, StoredValue } from '../../rows/sql/statements.ts'
import { fromStored } from '../../rows/sql/stored-text.ts'
import { sqliteWordIndex } from '../sql/dialect.ts'
import { sqlStateStore } from '../sql/state-store.ts'
import type { StateDriver } from '../sql/state-store.ts'
import { GroupCommit } from './group-commit.ts'
import type { ConnectionSettings } from './open-file.ts'
import { openOwnedFile } from './owned-file.ts'
import { idOf, RowCache } from './row-cache.ts'
import { createSchema, hasTables } from './schema.ts'
import { storeError } from './sqlite-errors.ts'
import { StateConnection } from './state-connection.ts'

const maxRowBytes = 16 * 1024 * 1024

/** File and durability of a SQLite store. */
export interface SqliteStoreOptions {
  /** Path of the file. The file and its directory are created if missing. */
  readonly file: string
  /** With `full` (default), a commit survives a power failure. With `normal`, it survives only the death of the process. */
  readonly synchronous?: 'full' | 'normal'
  /** Longest wait in ms while a tool outside this package locks the file. Default 5,000. */
  readonly busyTimeoutMs?: number
}

/** Rows in a SQLite file, and the states in the same file. */
export interface SqliteRows extends RowStore {
  readonly state: StateStore
}

/** Rows in one SQLite file, for one process at a time. */
export function sqliteRows({ file: name, synchronous = 'full', busyTimeoutMs = 5000 }: SqliteStoreOptions): SqliteRows {
  const listeners = new Set<(hint: StoreHint) => void>()
  let opened: OpenFile | undefined
  const open = (): OpenFile => {
    if (opened) return opened
    throw new SessionError(
      'store-unavailable',
      'The database of this store is not open. First start the runtime that uses it, or call open().',
    )
  }
  return {
    name: 'sqlite',
    capabilities: { durable: synchronous === 'full' ? 'power' : 'process', processes: 'one', maxRowBytes },
    state: sqlStateStore(() => open().states, maxRowBytes, sqliteWordIndex),
    async open(options) {
      if (opened)
        throw new SessionError(
          'store-locked',
          `The database ${opened.file} is already open in this store. Create another store for another runtime`,
        )
      opened = naming(name, () => openFile(name, options, { synchronous, busyTimeoutMs }))
    },
    async close() {
      const closing = opened
      opened = undefined
      closing?.close()
    },
    async read(reads) {
      const { file, now, rows } = open()
      return naming(file, () => ({ now: now(), rows: reads.map((read) => rows.read(read)) }))
    },
    async write(changes) {
      const { file, rows } = open()
      // Refuses a row that is too long before anything is stored.
      const calls = naming(file, () => changes.map(({ writes }) => rows.callsOf(writes)))
      const stored = await Promise.all(changes.map((change, at) => rows.write(change, calls[at] ?? []))).catch((error: unknown) => {
        throw storeError(error, file)
      })
      for (const [at, { hints = [] }] of changes.entries())
        if (stored[at]) for (const hint of hints) for (const listener of listeners) listener(hint)
      return stored
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Adds the name of the file to errors. */
function naming<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storeError(error, file)
  }
}

interface OpenFile {
  readonly file: string
  readonly now: () => number
  readonly rows: OpenRows
  readonly states: StateDriver
  close(): void
}

function openFile(name: string, { namespace, clock }: StoreOpenOptions, settings: ConnectionSettings): OpenFile {
  const owned = openOwnedFile(name, settings)
  const { database, file } = owned
  try {
    if (!hasTables(database)) createSchema(database)
    const commits = new GroupCommit(database, settings.synchronous)
    const states = new StateConnection(database, commits)
    const now = (): number => clock.now()
    return {
      file,
      now,
      rows: new OpenRows(database, namespace, commits),
      states: {
        namespace,
        now,
        statement: async (makeSteps) =>
          states.write(makeSteps()).catch((error: unknown) => {
            throw storeError(error, file)
          }),
        read: (makeSteps) => naming(file, () => states.read(makeSteps())),
      },
      close() {
        try {
          // Stores pending writes.
          commits.flush()
        } finally {
          owned.close()
        }
      },
    }
  } catch (error) {
    owned.close()
    throw error
  }
}

/** A condition of a change does not hold. */
const refusal = new Error('A condition does not hold.')

class OpenRows {
  readonly #database: DatabaseSync
  readonly #commits: GroupCommit
  readonly #statements: RowStatements
  readonly #prepared = new Map<RowStatement, StatementSync>()
  readonly #cache = new RowCache()

  constructor(database: DatabaseSync, namespace: string, commits: GroupCommit) {
    this.#database = database
    this.#commits = commits
    this.#statements = new RowStatements(sqliteRowDialect, namespace, maxRowBytes)
    commits.onRollback(() => this.#cache.clear())
  }

  /** Reads in one turn of the event loop see one moment: no other process writes. */
  read(read: Read): readonly Row[] {
    if ('get' in read && this.#cache.holds(read.get)) return this.#get(read.get, read.ids)
    return this.#query('scan' in read ? read.scan : 'get' in read ? read.get : read.walk, read)
  }

  #get(table: string, ids: readonly Id[]): readonly Row[] {
    const known = ids.map((id) => this.#cache.find(table, id))
    const unknown = ids.filter((_, at) => known[at] === undefined)
    const rows = unknown.length > 0 ? this.#query(table, { get: table, ids: unknown }) : []
    for (const id of unknown) this.#cache.keep(table, id, null)
    for (const row of rows) this.#cache.keep(table, idOf(table, row), row)
    return [...known.flatMap((row) => row ?? []), ...rows]
  }

  #query(table: string, read: Read): readonly Row[] {
    return this.#statements.read(read).flatMap((call) =>
      this.#prepare(call)
        .all(...bound(call))
        .map((row) => rowOf(table, row)),
    )
  }

  callsOf(writes: readonly Write[]): readonly RowCall[] {
    return writes.map((write) => this.#statements.write(write))
  }

  /** Resolves with false if a condition does not hold. */
  async write({ writes, provisional = false }: Change, calls: readonly RowCall[]): Promise<boolean> {
    const execute = (): void => {
      this.#execute(calls)
      for (const write of writes) this.#cache.apply(write)
    }
    try {
      await this.#commits.write(execute, provisional)
      return true
    } catch (error) {
      if (error === refusal) return false
      throw error
    }
  }

  #execute(calls: readonly RowCall[]): void {
    for (const call of calls) {
      const { must } = call.statement
      const statement = this.#prepare(call)
      const found = must === 'find' ? statement.all(...bound(call)).length : statement.run(...bound(call)).changes
      if (must && found === 0) throw refusal
    }
  }

  #prepare({ statement }: RowCall): StatementSync {
    const prepared = this.#prepared.get(statement) ?? this.#database.prepare(statement.text)
    this.#prepared.set(statement, prepared)
    return prepared
  }
}

/** A list is bound as one JSON text. */
function bound({ values }: RowCall): SQLInputValue[] {
  return values.map((value: StoredValue) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value))
}

/** Changes the row, because copying every row costs more. */
function rowOf(table: string, row: Record<string, unknown>): Row {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'string' && name !== 'body') row[name] = fromStored(value)
  }
  row['body'] = parseStored(row['body'] as string, `The row ${idOf(table, row as Row).join(' ')} of the table ${table}`)
  return row as Row
}
