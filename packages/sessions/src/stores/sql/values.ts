import { sql } from 'kysely'

/** A value that stands alone tells a database nothing about its type. */
export function textValue<T extends string | null>(value: T) {
  return sql<T>`cast(${value} as text)`
}

export function numberValue<T extends number | null>(value: T) {
  return sql<T>`cast(${value} as bigint)`
}

/** The limit of a list. SQLite would compile a statement again for each bare number. */
export function atMost(limit: number) {
  return numberValue(limit)
}
