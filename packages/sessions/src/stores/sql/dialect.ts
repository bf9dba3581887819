import { sql } from 'kysely'
import type { ColumnDefinitionBuilder, RawBuilder } from 'kysely'

/** What differs between the databases that these statements are for. */
export interface SqlDialect {
  /** The values of a list that is handed over as one JSON text: a statement has one form for lists of any length. */
  readonly listed: <T>(list: string) => RawBuilder<T>
  /** The column of a number that the database gives to each row. */
  readonly rowNumber: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder
}

export const sqliteDialect: SqlDialect = {
  listed: <T>(list: string) => sql<T>`(select value from json_each(${list}))`,
  rowNumber: (column) => column.primaryKey(),
}
