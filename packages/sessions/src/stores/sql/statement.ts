import type { Compilable } from 'kysely'
import type { SqlDialect } from './dialect.ts'
import type { Database } from './tables.ts'

/** A statement with slots for its values. It is built once per store, however often it is executed. */
export interface Statement<P, R> {
  build(this: void, db: Database, slots: P, dialect: SqlDialect): Compilable<R>
}

/** What a generator asks its driver to execute. */
export interface Call {
  readonly statement: Statement<object, unknown>
  readonly values: object
}

/**
 * Work on the database, written once for all drivers: it yields statements and gets their rows. A driver that answers at
 * once runs it in one go, another one awaits each answer.
 */
export type Steps<T> = Generator<Call, T, readonly unknown[]>

export function statement<P extends object, R>(
  build: (db: Database, slots: P, dialect: SqlDialect) => Compilable<R>,
): Statement<P, R> {
  return { build }
}

export function* all<P extends object, R>(wanted: Statement<P, R>, values: P): Steps<readonly R[]> {
  return (yield { statement: wanted, values }) as readonly R[]
}

export function* first<P extends object, R>(wanted: Statement<P, R>, values: P): Steps<R | undefined> {
  return ((yield { statement: wanted, values }) as readonly R[])[0]
}

export function* execute<P extends object, R>(wanted: Statement<P, R>, values: P): Steps<void> {
  yield { statement: wanted, values }
}

/** The text of a statement and what to bind to it: the name of a slot, or a value that never changes. */
export interface CompiledStatement {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

export type Parameter = { readonly slot: string; readonly value?: never } | { readonly slot?: never; readonly value: unknown }

class Slot {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

const slots = new Proxy({}, { get: (_target, name) => new Slot(String(name)) })

export function compileStatement({ build }: Statement<object, unknown>, db: Database, dialect: SqlDialect): CompiledStatement {
  const { sql, parameters } = build(db, slots, dialect).compile()
  return { sql, parameters: parameters.map((value) => (value instanceof Slot ? { slot: value.name } : { value })) }
}

/** These columns of a row as the slots of a statement. */
export function columnsOf<P extends object, K extends keyof P>(row: P, names: readonly K[]): Pick<P, K> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<P, K>
}
