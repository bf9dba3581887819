import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { sqliteDialect } from '../sql/dialect.ts'
import { compileStatement } from '../sql/statement.ts'
import type { Call, Parameter, Statement, Steps } from '../sql/statement.ts'
import type { Database } from '../sql/tables.ts'

type Values = Readonly<Record<string, SQLInputValue>>

const noRows: readonly unknown[] = []

interface PreparedStatement {
  readonly statement: StatementSync
  readonly parameters: readonly Parameter[]
  readonly givesRows: boolean
}

/**
 * Runs steps in one go, without a promise in between. Every statement is built and prepared once; what is prepared goes
 * with the connection.
 */
export class SqliteConnection {
  readonly #database: DatabaseSync
  readonly #builder: Database
  readonly #prepared = new Map<Statement<object, unknown>, PreparedStatement>()
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync

  /** `builder` builds statements and executes none. */
  constructor(database: DatabaseSync, builder: Database) {
    this.#database = database
    this.#builder = builder
    // Takes the write lock at once: a transaction that reads first could find it taken when it comes to write.
    this.#begin = database.prepare('begin immediate')
    this.#commit = database.prepare('commit')
    this.#rollback = database.prepare('rollback')
  }

  transaction<T>(steps: Steps<T>): T {
    this.#begin.run()
    try {
      const result = this.run(steps)
      this.#commit.run()
      return result
    } catch (error) {
      // A full disk ends the transaction by itself.
      if (this.#database.isTransaction) this.#rollback.run()
      throw error
    }
  }

  run<T>(steps: Steps<T>): T {
    let step = steps.next([])
    while (!step.done) step = steps.next(this.#execute(step.value))
    return step.value
  }

  #execute({ statement, values }: Call): readonly unknown[] {
    const prepared = this.#prepared.get(statement) ?? this.#prepare(statement)
    const bound: SQLInputValue[] = []
    for (const parameter of prepared.parameters) bound.push(valueOf(parameter, values as Values))
    if (prepared.givesRows) return prepared.statement.all(...bound)
    prepared.statement.run(...bound)
    return noRows
  }

  #prepare(wanted: Statement<object, unknown>): PreparedStatement {
    const { sql, parameters } = compileStatement(wanted, this.#builder, sqliteDialect)
    const statement = this.#database.prepare(sql)
    const prepared = { statement, parameters, givesRows: statement.columns().length > 0 }
    this.#prepared.set(wanted, prepared)
    return prepared
  }
}

function valueOf(parameter: Parameter, values: Values): SQLInputValue {
  if (parameter.slot === undefined) return parameter.value as SQLInputValue
  const value = values[parameter.slot]
  if (value === undefined) throw new TypeError(`The statement has no value for ${parameter.slot}.`)
  return value
}
