import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { sqliteDialect } from '../sql/dialect.ts'
import { boundValues, compileStatement } from '../sql/statement.ts'
import { boundValue, fromStored } from '../sql/stored-text.ts'
import type { Call, CompiledStatement, Request, Statement, Steps } from '../sql/statement.ts'
import type { Database } from '../sql/tables.ts'

interface PreparedStatement {
  readonly statement: StatementSync
  readonly compiled: CompiledStatement
  readonly givesRows: boolean
}

/** Steps that wait for their turn to write. */
interface Write {
  readonly steps: Steps<unknown>
  /** A power failure, which also ends this process, may undo it. */
  readonly isProvisional: boolean
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Limit of writes per transaction: this many block the process for some milliseconds. */
const mostAtOnce = 32

/** Compiled statements. They are the same for every database of this process. */
const compiled = new WeakMap<Statement<object, unknown>, CompiledStatement>()

/** Result of the steps of a write, once their transaction is stored. */
type Written = { readonly result: unknown } | { readonly error: unknown }

/**
 * Runs steps synchronously. Compiles each statement once per process and prepares it once per connection.
 *
 * Writes of one turn of the event loop share a transaction, and so the wait for the disk, which is most of the cost. Each of them
 * fails alone.
 */
export class SqliteConnection {
  readonly #database: DatabaseSync
  readonly #builder: Database
  /** Transactions wait for the disk. */
  readonly #isSynced: boolean
  readonly #prepared = new Map<Statement<object, unknown>, PreparedStatement>()
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync
  readonly #mark: StatementSync
  readonly #release: StatementSync
  readonly #rollbackToMark: StatementSync
  readonly #waiting: Write[] = []

  /** `builder` only builds statements. `synchronous` is the mode in which the database was opened. */
  constructor(database: DatabaseSync, builder: Database, synchronous: 'full' | 'normal') {
    this.#database = database
    this.#isSynced = synchronous === 'full'
    this.#builder = builder
    // Takes the write lock at once: a transaction that reads first could find it taken when it writes.
    this.#begin = database.prepare('begin immediate')
    this.#commit = database.prepare('commit')
    this.#rollback = database.prepare('rollback')
    this.#mark = database.prepare('savepoint write')
    this.#release = database.prepare('release write')
    this.#rollbackToMark = database.prepare('rollback to write')
  }

  /** Resolves when the steps are stored. */
  transaction<T>(steps: Steps<T>): Promise<T> {
    return this.#add(steps, false)
  }

  /** Does not wait for the disk, unless it shares a transaction with a write that does. */
  provisional<T>(steps: Steps<T>): Promise<T> {
    return this.#add(steps, true)
  }

  #add<T>(steps: Steps<T>, isProvisional: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ steps, isProvisional, resolve: resolve as (result: unknown) => void, reject })
      if (this.#waiting.length === 1) setImmediate(() => this.#storeSome())
    })
  }

  /** Stores all pending writes. Must be called before the database is closed. */
  flush(): void {
    while (this.#waiting.length > 0) this.#storeNext()
  }

  #storeSome(): void {
    this.#storeNext()
    if (this.#waiting.length > 0) setImmediate(() => this.#storeSome())
  }

  #storeNext(): void {
    const writes = this.#waiting.splice(0, mostAtOnce)
    if (writes.length === 0) return
    try {
      const written = this.#store(writes)
      written.forEach((each, index) => ('error' in each ? writes[index]?.reject(each.error) : writes[index]?.resolve(each.result)))
    } catch (error) {
      // None of them is stored.
      for (const { reject } of writes) reject(error)
    }
  }

  #store(writes: readonly Write[]): readonly Written[] {
    if (!this.#isSynced || writes.some(({ isProvisional }) => !isProvisional)) return this.#storeTogether(writes)
    this.#database.exec('pragma synchronous = normal')
    try {
      return this.#storeTogether(writes)
    } finally {
      this.#database.exec('pragma synchronous = full')
    }
  }

  #storeTogether(writes: readonly Write[]): readonly Written[] {
    this.#begin.run()
    try {
      const written = writes.map(({ steps }) => (writes.length === 1 ? { result: this.run(steps) } : this.#write(steps)))
      this.#commit.run()
      return written
    } catch (error) {
      // A full disk has already ended the transaction.
      if (this.#database.isTransaction) this.#rollback.run()
      throw error
    }
  }

  /** Runs the steps of one write. If they fail, undoes only them. Throws if the whole transaction was rolled back. */
  #write(steps: Steps<unknown>): Written {
    this.#mark.run()
    try {
      return { result: this.run(steps) }
    } catch (error) {
      if (!this.#database.isTransaction) throw error
      this.#rollbackToMark.run()
      return { error }
    } finally {
      if (this.#database.isTransaction) this.#release.run()
    }
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
