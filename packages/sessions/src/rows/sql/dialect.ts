export type ColumnType = 'text' | 'number'

/** Differences between the databases for which the statements of rows are written. */
export interface RowDialect {
  /** Text before the name of each table: its schema. */
  readonly schema: string
  readonly types: {
    /** Text, ordered by its UTF-8 bytes. */
    readonly text: string
    /** Whole numbers up to 2^53. */
    readonly number: string
  }
  /** End of the statement that creates this table. */
  readonly settingsOf: (table: string) => string
  /** Name of the `n`-th value of a statement. */
  readonly slot: (n: number) => string
  /** Column with the address of a row, which is valid within one statement. */
  readonly address: string
  /** Joins to each row of `found` the one row of a table, as `own`, that meets the conditions. */
  readonly joinOne: (table: string, where: string) => string
  /** Negated value of this column. Indexes hold it for descending order, so that all of them are ascending. */
  readonly negated: (column: string) => string
  /** Definition of the column with the negated value, if an index needs one. */
  readonly negatedColumn?: (column: string) => string
  /** Text after the name of a table that makes a statement use this index. */
  readonly using: (index: string) => string
  /** Conditions that all rows of this index meet. A statement that has them can use this index, and no other. */
  readonly onlyIn: (index: string) => readonly string[]
  readonly isOneOf: (value: string, list: string, type: ColumnType) => string
  /** Reads the row of a table for each value of a list. `where` leaves at most one with a value in the column. */
  readonly each: (
    list: string,
    type: ColumnType,
    from: { readonly select: string; readonly table: string; readonly where: string; readonly column: string },
  ) => string
  readonly startsWith: (value: string, prefix: string) => string
  /** Changes an insert so that it refuses an id that exists. */
  readonly insertOnce: (insert: string) => string
  /** Changes an update so that it refuses to change no row. */
  readonly mustChange: (update: string) => string
  /** Changes a query so that it refuses to find no row, and keeps the row as it is until the end of the transaction. */
  readonly mustFind: (query: string) => string
}

/** Refused statements change or find no row. */
export const sqliteRowDialect: RowDialect = {
  schema: '',
  types: { text: 'text', number: 'integer' },
  settingsOf: () => '',
  slot: (n) => `?${n}`,
  address: 'rowid',
  joinOne: (table, where) => `join ${table} as own on ${where}`,
  // SQLite compares several columns with an index only if none of them is an expression.
  negated: (column) => `${column.slice(0, -1)}_negated"`,
  negatedColumn: (column) => `${sqliteRowDialect.negated(column)} integer generated always as (-${column}) virtual`,
  using: (index) => ` indexed by ${index}`,
  onlyIn: () => [],
  isOneOf: (value, list) => `${value} in (select value from json_each(${list}))`,
  each: (list, type, { select, table, where, column }) =>
    `select ${select} from ${table} where ${where} and ${sqliteRowDialect.isOneOf(column, list, type)}`,
  startsWith: (value, prefix) => `substr(${value}, 1, length(${prefix})) = ${prefix}`,
  insertOnce: (insert) => `${insert} on conflict do nothing`,
  mustChange: (update) => update,
  mustFind: (query) => query,
}
