import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { sqliteDialect } from '../sql/dialect.ts'
import { boundValues, compileStatement } from '../sql/statement.ts'
import { boundValue, fromStored } from '../../rows/sql/stored-text.ts'
import type { Call, CompiledStatement, Request, Statement, Steps } from '../sql/statement.ts'
import type { Database } from '../sql/tables.ts'
import { GroupCommit } from './group-commit.ts'

interface PreparedStatement {
  readonly statement: StatementSync
  readonly compiled: CompiledStatement
  readonly givesRows: boolean
}

/** Compiled statements. They are the same for every database of this process. */
const compiled = new WeakMap<Statement<object, unknown>, CompiledStatement>()

/** Runs steps synchronously. Compiles each statement once per process and prepares it once per connection. */
export class SqliteConnection {
  readonly #database: DatabaseSync
  readonly #builder: Database
  readonly #writes: GroupCommit
  readonly #prepared = new Map<Statement<object, unknown>, PreparedStatement>()

  /** `builder` only builds statements. `synchronous` is the mode in which the database was opened. */
  constructor(database: DatabaseSync, builder: Database, synchronous: 'full' | 'normal') {
    this.#database = database
    this.#writes = new GroupCommit(database, synchronous)
    this.#builder = builder
  }

  /** Resolves when the steps are stored. */
  transaction<T>(steps: Steps<T>): Promise<T> {
    return this.#writes.write(() => this.run(steps), false)
  }

  /** Does not wait for the disk, unless it shares a transaction with a write that does. */
  provisional<T>(steps: Steps<T>): Promise<T> {
    return this.#writes.write(() => this.run(steps), true)
  }

  /** Stores all pending writes. Must be called before the database is closed. */
  flush(): void {
    this.#writes.flush()
  }

  run<T>(steps: Steps<T>): T {
    let step = steps.next([])
    while (!step.done) step = this.#answer(steps, step.value)
    return step.value
  }

  /** Executes a request. A failure throws at the step that made the request. */
  #answer<T>(steps: Steps<T>, request: Request): IteratorResult<Request, T> {
    let answers: readonly (readonly unknown[])[]
    try {
      answers = 'write' in request ? [this.#execute(request.write)] : request.reads.map((read) => this.#execute(read))
    } catch (error) {
      return steps.throw(error)
    }
    return steps.next(answers)
  }

  #execute({ statement, values }: Call): readonly unknown[] {
    const prepared = this.#prepared.get(statement) ?? this.#prepare(statement)
    const bound = boundValues(prepared.compiled, values).map(columnValue)
    if (prepared.givesRows) return prepared.statement.all(...bound).map(readRow)
    prepared.statement.run(...bound)
    return []
  }

  #prepare(wanted: Statement<object, unknown>): PreparedStatement {
    const text = compiled.get(wanted) ?? compileStatement(wanted, this.#builder, sqliteDialect)
    compiled.set(wanted, text)
    const statement = this.#database.prepare(text.sql)
    const prepared = { statement, compiled: text, givesRows: statement.columns().length > 0 }
    this.#prepared.set(wanted, prepared)
    return prepared
  }
}

/** A list is bound as one JSON text. */
function columnValue(given: unknown): SQLInputValue {
  const value = boundValue(given)
  return Array.isArray(value) ? JSON.stringify(value) : (value as SQLInputValue)
}

/** Changes the row, because copying every row costs more. */
function readRow(row: Record<string, unknown>): Record<string, unknown> {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'string') row[name] = fromStored(value)
  }
  return row
}
