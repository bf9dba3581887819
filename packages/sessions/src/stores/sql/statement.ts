import type { Compilable } from 'kysely'
import type { SqlDialect } from './dialect.ts'
import type { Database } from './tables.ts'

/** A statement with slots for its values. Built once per store, however often it is executed. */
export interface Statement<P, R> {
  build(this: void, db: Database, slots: P, dialect: SqlDialect): Compilable<R>
}

/** A statement with its values. */
export interface Call<R = unknown> {
  readonly statement: Statement<object, R>
  readonly values: object
}

/** Work on the database, written once for all drivers: calls, each of which is answered with its rows. */
export type Steps<T> = Generator<Call, T, readonly unknown[]>

/** Creates a statement, which is built once and runs with different values. */
export function statement<P extends object, R>(build: (db: Database, slots: P, dialect: SqlDialect) => Compilable<R>): Statement<P, R> {
  return { build }
}

export function* all<P extends object, R>(wanted: Statement<P, R>, values: P): Steps<readonly R[]> {
  return (yield { statement: wanted, values }) as readonly R[]
}

export function* first<P extends object, R>(wanted: Statement<P, R>, values: P): Steps<R | undefined> {
  return (yield* all(wanted, values))[0]
}

/** Text of a statement and its parameters: the name of a slot, or a constant. */
export interface CompiledStatement {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

export type Parameter = { readonly slot: string } | { readonly value: unknown }

class Slot {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** Builds the text of a statement for one database. */
export function compileStatement({ build }: Statement<object, unknown>, db: Database, dialect: SqlDialect): CompiledStatement {
  const slots = new Proxy({}, { get: (_target, name) => new Slot(String(name)) })
  const { sql, parameters } = build(db, slots, dialect).compile()
  return { sql, parameters: parameters.map((value) => (value instanceof Slot ? { slot: value.name } : { value })) }
}

/** Returns the values to bind. Throws if a slot has no value. */
export function boundValues({ parameters }: CompiledStatement, values: object): readonly unknown[] {
  return parameters.map((parameter) => {
    if ('value' in parameter) return parameter.value
    const value: unknown = Reflect.get(values, parameter.slot)
    if (value === undefined) throw new TypeError(`The statement has no value for ${parameter.slot}.`)
    return value
  })
}

/** Returns these columns of a row as slots of a statement. */
export function columnsOf<P extends object, K extends keyof P>(row: P, names: readonly K[]): Pick<P, K> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<P, K>
}
