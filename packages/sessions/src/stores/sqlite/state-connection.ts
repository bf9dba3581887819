import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { boundValue, fromStored } from '../../rows/sql/stored-text.ts'
import { sqliteDialect } from '../sql/dialect.ts'
import { boundValues, compileStatement } from '../sql/statement.ts'
import type { Call, CompiledStatement, Statement, Steps } from '../sql/statement.ts'
import type { Tables } from '../sql/tables.ts'
import type { GroupCommit } from './group-commit.ts'

interface PreparedStatement {
  readonly statement: StatementSync
  readonly compiled: CompiledStatement
}

/** Builds the texts of statements, and executes none. */
const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** Compiled statements. They are the same for every database of this process. */
const compiled = new WeakMap<Statement<object, unknown>, CompiledStatement>()

/** Runs the steps of a state store. Prepares each statement once. */
export class StateConnection {
  readonly #database: DatabaseSync
  readonly #commits: GroupCommit
  readonly #prepared = new Map<Statement<object, unknown>, PreparedStatement>()

  constructor(database: DatabaseSync, commits: GroupCommit) {
    this.#database = database
    this.#commits = commits
  }

  /** Resolves when the steps are stored, together with all other writes of this turn of the event loop. */
  write<T>(steps: Steps<T>): Promise<T> {
    return this.#commits.write(() => this.read(steps), false)
  }

  read<T>(steps: Steps<T>): T {
    let step = steps.next([])
    while (!step.done) step = steps.next(this.#execute(step.value))
    return step.value
  }

  #execute({ statement, values }: Call): readonly unknown[] {
    const prepared = this.#prepared.get(statement) ?? this.#prepare(statement)
    return prepared.statement.all(...boundValues(prepared.compiled, values).map(columnValue)).map(readRow)
  }

  #prepare(wanted: Statement<object, unknown>): PreparedStatement {
    const text = compiled.get(wanted) ?? compileStatement(wanted, builder, sqliteDialect)
    compiled.set(wanted, text)
    const prepared = { statement: this.#database.prepare(text.sql), compiled: text }
    this.#prepared.set(wanted, prepared)
    return prepared
  }
}

function columnValue(given: unknown): SQLInputValue {
  return boundValue(given) as SQLInputValue
}

/** Changes the row, because copying every row costs more. */
function readRow(row: Record<string, unknown>): Record<string, unknown> {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'string') row[name] = fromStored(value)
  }
  return row
}
