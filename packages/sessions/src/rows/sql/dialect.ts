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
  /** Negated value of this column. Indexes hold it for descending order, so that all of them are ascending. */
  readonly negated: (column: string) => string
  /** Definition of the column with the negated value, if an index needs one. */
  readonly negatedColumn?: (column: string) => string
  /** Forces a read to use this index. */
  readonly using: (index: string) => string
  readonly isOneOf: (value: string, list: string, type: 'text' | 'number') => string
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
  // SQLite compares several columns with an index only if none of them is an expression.
  negated: (column) => `${column.slice(0, -1)}_negated"`,
  negatedColumn: (column) => `${sqliteRowDialect.negated(column)} integer generated always as (-${column}) virtual`,
  using: (index) => ` indexed by ${index}`,
  isOneOf: (value, list) => `${value} in (select value from json_each(${list}))`,
  startsWith: (value, prefix) => `substr(${value}, 1, length(${prefix})) = ${prefix}`,
  insertOnce: (insert) => `${insert} on conflict do nothing`,
  mustChange: (update) => update,
  mustFind: (query) => query,
}
