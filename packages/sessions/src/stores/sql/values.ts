import { sql } from 'kysely'

/** Casts a value: a database cannot infer the type of a bare parameter. */
export function numberValue<T extends number | null>(value: T) {
  return sql<T>`cast(${value} as bigint)`
}

/** Limit of a list. Cast, since SQLite would recompile the statement for each bare number. */
export function atMost(limit: number) {
  return numberValue(limit)
}
