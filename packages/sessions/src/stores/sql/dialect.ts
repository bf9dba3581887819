import { sql } from 'kysely'
import type { ColumnDefinitionBuilder, CreateTableBuilder, Expression, RawBuilder, SelectQueryBuilder, SqlBool } from 'kysely'
import type { StateSearch } from '../../contract/state-store.ts'

type DataType = 'text' | 'integer' | RawBuilder<unknown>
type RowTable = 'session' | 'run'

/** Differences between the databases for which these statements are written. */
export interface SqlDialect {
  readonly types: {
    /** Text, ordered by its UTF-8 bytes. */
    readonly text: DataType
    /** Whole numbers up to 2^53. */
    readonly number: DataType
  }
  /** Column with the number of a row. */
  readonly rowNumber: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder
  /** True if the database checks references. If false, only these statements keep them valid. */
  readonly hasReferences: boolean
  readonly refersTo: (column: ColumnDefinitionBuilder, target: `${RowTable}.row`) => ColumnDefinitionBuilder
  /** Storage settings of a table in which each commit changes a row. */
  readonly changesOften: <Table extends string>(table: CreateTableBuilder<Table, string>) => CreateTableBuilder<Table, string>
  /**
   * True if the value is in a list of texts or numbers. A statement has one form for lists of any length, or a second for one item.
   */
  readonly isOneOf: <T extends string | number>(value: Expression<T>, list: readonly T[], type: 'text' | 'number') => RawBuilder<SqlBool>
  /** Values of a list of texts, as rows. */
  readonly rowsOf: (list: readonly string[]) => RawBuilder<{ readonly value: string }>
  /** Row numbers for as many new rows as the list has items: 1, 2, 3 … */
  readonly newRows: (table: RowTable, list: readonly number[]) => RawBuilder<{ readonly row: number }>
  /** Time of the store: the given one, or else the server's. */
  readonly time: (given: number | null) => RawBuilder<number>
  /** Form in which a row keeps the words of a state record, which are separated by spaces. Null: no words. */
  readonly indexedWords: (words: string | null) => RawBuilder<string | null>
  /** True if a state record matches a search query of this database. */
  readonly matches: (query: string) => RawBuilder<SqlBool>
  /** Locks these rows against other writers. `skip` leaves out rows that another transaction has locked. */
  readonly lock: <Database, From extends keyof Database, Row>(
    query: SelectQueryBuilder<Database, From, Row>,
    table: From & string,
    others?: 'wait' | 'skip',
  ) => SelectQueryBuilder<Database, From, Row>
  /** Waits while definitions with this hash are being removed. */
  readonly keepDefinition: (hash: string) => RawBuilder<unknown>
  /** True if no commit in progress adds this definition. Commits that add it later wait. */
  readonly isUnusedDefinition: (hash: Expression<string>) => RawBuilder<SqlBool>
}

/** Search index of a database. */
export interface WordIndex {
  readonly kind: StateSearch['kind']
  /** Returns the query for records of the group with a word that starts with one of these. */
  readonly queryFor: (group: string, words: readonly string[]) => string
}

export const sqliteDialect: SqlDialect = {
  types: { text: 'text', number: 'integer' },
  rowNumber: (column) => column.primaryKey(),
  hasReferences: true,
  refersTo: (column, target) => column.references(target),
  changesOften: (table) => table,
  isOneOf: (value, list) => sql`${value} in (select value from json_each(${list}))`,
  rowsOf: (list) => sql`(select value from json_each(${list}))`,
  newRows: (table, list) =>
    sql`(select (select coalesce(max("row"), 0) from ${sql.table(table)}) + value as "row" from json_each(${list}))`,
  time: (given) => sql`cast(${given} as integer)`,
  indexedWords: (words) => sql`${words}`,
  matches: (query) =>
    sql`exists (select 1 from state_row as indexed where indexed.namespace = state.namespace and indexed.space = state.space and indexed.id = state.id and indexed.row in (select rowid from state_words where state_words match ${query}))`,
  lock: (query) => query,
  keepDefinition: () => sql`(select 1)`,
  isUnusedDefinition: () => sql`1 = 1`,
}

/** Search index of SQLite. The group is indexed as one more word, so that a search reads no other group. */
export const sqliteWordIndex: WordIndex = {
  kind: 'fts5',
  queryFor: (group, words) =>
    `place : "${Buffer.from(group).toString('hex')}" AND words : (${words.map((word) => `"${word}" *`).join(' OR ')})`,
}
