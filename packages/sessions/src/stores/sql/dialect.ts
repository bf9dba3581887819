import { sql } from 'kysely'
import type { ColumnDefinitionBuilder, CreateTableBuilder, Expression, RawBuilder, SelectQueryBuilder, SqlBool } from 'kysely'
import type { StateSearch } from '../../contract/state-store.ts'
import type { Tables } from './tables.ts'

type DataType = 'text' | 'integer' | RawBuilder<unknown>
type RowTable = 'session' | 'run'

/** What differs between the databases that these statements are for. */
export interface SqlDialect {
  readonly types: {
    /** Ordered by the bytes of UTF-8. */
    readonly text: DataType
    /** Whole numbers up to 2^53. */
    readonly number: DataType
  }
  /** The column of the number of a row. */
  readonly rowNumber: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder
  /** Whether the database sees to it that what a row refers to is there. Without it, nothing but these statements does. */
  readonly hasReferences: boolean
  readonly refersTo: (column: ColumnDefinitionBuilder, target: `${RowTable}.row`) => ColumnDefinitionBuilder
  /** How a table is kept of which each commit changes a row. */
  readonly changesOften: <Table extends string>(table: CreateTableBuilder<Table, string>) => CreateTableBuilder<Table, string>
  /** Whether the value is one of a list of texts or numbers. A statement has one form for lists of any length, or two. */
  readonly isOneOf: <T extends string | number>(value: Expression<T>, list: readonly T[], type: 'text' | 'number') => RawBuilder<SqlBool>
  /** The values of a list of texts as rows. */
  readonly rowsOf: (list: readonly string[]) => RawBuilder<{ readonly value: string }>
  /** Numbers for so many new rows as the list has items: 1, 2, 3 … */
  readonly newRows: (table: RowTable, list: readonly number[]) => RawBuilder<{ readonly row: number }>
  /** The time of the store: what is given or, without that, what the clock of the server says. */
  readonly time: (given: number | null) => RawBuilder<number>
  /** How the words of a state record, apart by spaces, are kept in its row. Null: none. */
  readonly indexedWords: (words: string | null) => RawBuilder<string | null>
  /** Whether a state record matches a query of the search of this database. */
  readonly matches: (query: string) => RawBuilder<SqlBool>
  /** Keeps others from writing these rows. `skip`: leaves out what another one keeps. */
  readonly lock: <From extends keyof Tables, Row>(
    query: SelectQueryBuilder<Tables, From, Row>,
    table: From,
    others?: 'wait' | 'skip',
  ) => SelectQueryBuilder<Tables, From, Row>
  /** Waits while definitions with this hash are looked for that can be removed. */
  readonly keepDefinition: (hash: string) => RawBuilder<unknown>
  /** Whether no commit that puts this definition is under way. From then on, commits that put it wait. */
  readonly isUnusedDefinition: (hash: Expression<string>) => RawBuilder<SqlBool>
}

/** How a database searches. */
export interface WordIndex {
  readonly kind: StateSearch['kind']
  /** The query for records of the group that have a word which begins with one of these. */
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
  newRows: (table, list) => sql`(select (select coalesce(max("row"), 0) from ${sql.table(table)}) + value as "row" from json_each(${list}))`,
  time: (given) => sql`cast(${given} as integer)`,
  indexedWords: (words) => sql`${words}`,
  matches: (query) =>
    sql`exists (select 1 from state_row as indexed where indexed.namespace = state.namespace and indexed.space = state.space and indexed.id = state.id and indexed.row in (select rowid from state_words where state_words match ${query}))`,
  lock: (query) => query,
  keepDefinition: () => sql`(select 1)`,
  isUnusedDefinition: () => sql`1 = 1`,
}

/** Searches of SQLite. A group is one word beside the words of its records, so that a search reads no other group. */
export const sqliteWordIndex: WordIndex = {
  kind: 'fts5',
  queryFor: (group, words) => `place : "${Buffer.from(group).toString('hex')}" AND words : (${words.map((word) => `"${word}" *`).join(' OR ')})`,
}
