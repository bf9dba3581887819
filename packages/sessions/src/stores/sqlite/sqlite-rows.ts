import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Clock } from '@bowline/llm'
import type { StoreHint } from '../../contract/session-store.ts'
import { SessionError } from '../../errors.ts'
import { parseStored } from '../../json.ts'
import { checkSchemaVersion } from '../sql/migrate.ts'
import { fromStored } from '../../rows/sql/stored-text.ts'
import { GroupCommit } from './group-commit.ts'
import { openOwnedFile } from './owned-file.ts'
import { storeError } from './sqlite-errors.ts'
import type { SqliteStoreOptions } from './sqlite-store.ts'
import type { Change, Read, Row, RowStore } from '../../rows/contract.ts'
import { createTables } from '../../rows/sql/create-tables.ts'
import { sqliteRowDialect } from '../../rows/sql/dialect.ts'
import { RowStatements } from '../../rows/sql/statements.ts'
import type { RowCall, RowStatement, StoredValue } from '../../rows/sql/statements.ts'

const maxRowBytes = 16 * 1024 * 1024

/** Rows in one SQLite file, for one process at a time. */
export function sqliteRows({ file, synchronous = 'full', busyTimeoutMs = 5000 }: SqliteStoreOptions): RowStore {
  const listeners = new Set<(hint: StoreHint) => void>()
  let opened: OpenRows | undefined
  const rows = (): OpenRows => {
    if (opened) return opened
    throw new SessionError('store-unavailable', `The database ${file} is not open. First call open().`)
  }
  return {
    name: 'sqlite',
    capabilities: { durable: synchronous === 'full' ? 'power' : 'process', processes: 'one', maxRowBytes },
    async open({ namespace, clock }) {
      if (opened) throw new SessionError('store-locked', `The database ${file} is already open in this store. Create another store`)
      opened = naming(file, () => {
        const owned = openOwnedFile(file, { synchronous, busyTimeoutMs })
        try {
          migrate(owned.database, owned.file)
          return new OpenRows(owned.database, owned.close, { namespace, clock, synchronous })
        } catch (error) {
          owned.close()
          throw error
        }
      })
    },
    async close() {
      const closing = opened
      opened = undefined
      closing?.close()
    },
    async read(reads) {
      const from = rows()
      return naming(file, () => ({ now: from.now(), rows: reads.map((read) => from.read(read)) }))
    },
    async write(changes) {
      const to = rows()
      const stored = await Promise.all(changes.map((change) => to.write(change))).catch((error: unknown) => {
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

const version = 1

/** Creates the tables of a new file in one transaction. */
function migrate(database: DatabaseSync, file: string): void {
  if (database.prepare("select 1 from sqlite_schema where name = 'meta'").get()) {
    const found = database.prepare("select value from meta where name = 'schema'").get()
    return checkSchemaVersion(Number(found?.['value']), `The database ${file}`, version)
  }
  const statements = ['create table meta (name text primary key, value text)', ...createTables(sqliteRowDialect)]
  database.exec(['begin immediate', ...statements, `insert into meta values ('schema', '${version}')`, 'commit'].join(';\n'))
}

interface Settings {
  readonly namespace: string
  readonly clock: Clock
  readonly synchronous: 'full' | 'normal'
}

/** A condition of a change does not hold. */
const refusal = new Error('A condition does not hold.')

class OpenRows {
  readonly now: () => number
  readonly #database: DatabaseSync
  readonly #closeFile: () => void
  readonly #commits: GroupCommit
  readonly #statements: RowStatements
  readonly #prepared = new Map<RowStatement, StatementSync>()

  constructor(database: DatabaseSync, closeFile: () => void, { namespace, clock, synchronous }: Settings) {
    this.now = () => clock.now()
    this.#database = database
    this.#closeFile = closeFile
    this.#commits = new GroupCommit(database, synchronous)
    this.#statements = new RowStatements(sqliteRowDialect, namespace, maxRowBytes)
  }

  /** Reads in one turn of the event loop see one moment: no other process writes. */
  read(read: Read): readonly Row[] {
    return this.#statements.read(read).flatMap((call) =>
      this.#prepare(call)
        .all(...bound(call))
        .map(rowOf),
    )
  }

  /** Resolves with false if a condition does not hold. */
  async write({ writes, provisional = false }: Change): Promise<boolean> {
    const calls = writes.map((write) => this.#statements.write(write))
    try {
      await this.#commits.write(() => this.#execute(calls), provisional)
      return true
    } catch (error) {
      if (error === refusal) return false
      throw error
    }
  }

  close(): void {
    try {
      this.#commits.flush()
    } finally {
      this.#closeFile()
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
function rowOf(row: Record<string, unknown>): Row {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'string' && name !== 'body') row[name] = fromStored(value)
  }
  row['body'] = parseStored(row['body'] as string, 'A row of the database')
  return row as Row
}
