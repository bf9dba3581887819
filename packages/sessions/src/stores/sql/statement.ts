import { sql } from 'kysely'
import type { Compilable } from 'kysely'
import type { SqlDialect } from './dialect.ts'
import type { Database } from './tables.ts'

/** A statement with slots for its values. Built once per store, however often it is executed. */
export interface Statement<P, R> {
  build(this: void, db: Database, slots: P, dialect: SqlDialect): Compilable<R>
}

/**
 * Creates statements that differ in their conditions: one for each combination of names, so that the database can use the index for
 * it. A combination is built once.
 */
export function statementsFor<N extends string, P, R>(
  build: (db: Database, slots: P, dialect: SqlDialect, names: readonly N[]) => Compilable<R>,
): (wanted: { readonly [Name in N]?: boolean }) => Statement<P, R> {
  const built = new Map<string, Statement<P, R>>()
  return (wanted) => {
    const names = Object.entries(wanted).flatMap(([name, isWanted]) => (isWanted ? [name as N] : []))
    const found = built.get(names.join()) ?? { build: (db: Database, slots: P, dialect: SqlDialect) => build(db, slots, dialect, names) }
    built.set(names.join(), found)
    return found
  }
}

/** Row that a statement returns. */
export type RowOf<S> = S extends Statement<infer _P, infer R> ? R : never

/** A statement with its values. */
export interface Call<R = unknown> {
  readonly statement: Statement<object, R>
  readonly values: object
}

/** Request of the steps to their driver: reads, whose rows they wait for, or a write. */
export type Request = { readonly reads: readonly Call[] } | { readonly write: Call }

/**
 * Work on the database, written once for all drivers. A driver that answers at once runs it in one go. A driver over a network
 * sends reads that are requested together in one round trip, and does not wait for writes. If a write fails, it rolls back and runs
 * the work again, with a wait after each statement.
 */
export type Steps<T> = Generator<Request, T, readonly (readonly unknown[])[]>

/** Creates a statement, which is built once and runs with different values. */
export function statement<P extends object, R>(build: (db: Database, slots: P, dialect: SqlDialect) => Compilable<R>): Statement<P, R> {
  return { build }
}

/** Creates a read to be requested together with others. */
export function ask<P extends object, R>(wanted: Statement<P, R>, values: P): Call<R> {
  return { statement: wanted, values }
}

type Asked = Call | readonly Call[] | undefined
type RowsOf<A> = A extends Call<infer R> ? R : A extends readonly Call<infer R>[] ? R : never
type Answers<T> = { readonly [K in keyof T]: readonly RowsOf<Exclude<T[K], undefined>>[] }

/**
 * Requests all these reads at once, in this order. Several reads under one name return their rows together; undefined returns none.
 */
export function* together<T extends Readonly<Record<string, Asked>>>(wanted: T): Steps<Answers<T>> {
  const asked = Object.entries(wanted).map(([name, reads]) => ({ name, reads: [reads ?? []].flat() as readonly Call[] }))
  const reads = asked.flatMap((each) => each.reads)
  const answers = reads.length > 0 ? yield { reads } : []
  let place = 0
  const rows = asked.map(({ name, reads: { length } }) => [name, answers.slice(place, (place += length)).flat()])
  return Object.fromEntries(rows) as Answers<T>
}

export function* all<P extends object, R>(wanted: Statement<P, R>, values: P): Steps<readonly R[]> {
  return ((yield { reads: [{ statement: wanted, values }] })[0] ?? []) as readonly R[]
}

export function* first<P extends object, R>(wanted: Statement<P, R>, values: P): Steps<R | undefined> {
  return (yield* all(wanted, values))[0]
}

export function* execute<P extends object, R>(wanted: Statement<P, R>, values: P): Steps<void> {
  yield { write: { statement: wanted, values } }
}

export function* executeAll(calls: readonly Call[]): Steps<void> {
  for (const write of calls) yield { write }
}

/** Text of a statement and its parameters: the name of a slot, or a constant. */
export interface CompiledStatement {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

export type Parameter = { readonly slot: string; readonly isOnly: boolean } | { readonly value: unknown }

class Slot {
  readonly name: string
  /** True if the slot is a list of one item. Then the item is bound instead of the list. */
  readonly isOnly: boolean

  constructor(name: string, isOnly: boolean) {
    this.name = name
    this.isOnly = isOnly
  }
}

/** Returns true if a list of the statement being built is bound as its only item. */
export function isOnlyItem(list: unknown): boolean {
  return list instanceof Slot && list.isOnly
}

/** `only` names the slots of lists with one item, if the dialect has another text for these. */
export function compileStatement(
  { build }: Statement<object, unknown>,
  db: Database,
  dialect: SqlDialect,
  only: readonly string[] = [],
): CompiledStatement {
  const slots = new Proxy({}, { get: (_target, name) => new Slot(String(name), only.includes(String(name))) })
  const { sql, parameters } = build(db, slots, dialect).compile()
  return { sql, parameters: parameters.map((value) => (value instanceof Slot ? { slot: value.name, isOnly: value.isOnly } : { value })) }
}

/** Returns the values to bind. Throws if a slot has no value. */
export function boundValues({ parameters }: CompiledStatement, values: object): readonly unknown[] {
  return parameters.map((parameter) => {
    if ('value' in parameter) return parameter.value
    const value: unknown = Reflect.get(values, parameter.slot)
    if (value === undefined) throw new TypeError(`The statement has no value for ${parameter.slot}.`)
    return parameter.isOnly ? (value as readonly unknown[])[0] : value
  })
}

/** Returns these columns of a row as slots of a statement. */
export function columnsOf<P extends object, K extends keyof P>(row: P, names: readonly K[]): Pick<P, K> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<P, K>
}

/** Creates a statement from a text, for commands without a builder. */
export function command(text: string): Statement<object, unknown> {
  return { build: (db) => ({ compile: () => sql.raw(text).compile(db) }) }
}
