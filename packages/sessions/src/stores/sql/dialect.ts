import { sql } from 'kysely'
import type { RawBuilder, SqlBool } from 'kysely'
import type { StateSearch } from '../../contract/state-store.ts'

/** Differences between the databases for which the statements of state records are written. */
export interface SqlDialect {
  /** Time of the store: the given one, or else the server's. */
  readonly time: (given: number | null) => RawBuilder<number>
  /** Form in which a row keeps the words of a state record, which are separated by spaces. Null: no words. */
  readonly indexedWords: (words: string | null) => RawBuilder<string | null>
  /** True if a state record matches a search query of this database. */
  readonly matches: (query: string) => RawBuilder<SqlBool>
}

/** Search index of a database. */
export interface WordIndex {
  readonly kind: StateSearch['kind']
  /** Returns the query for records of the group with a word that starts with one of these. */
  readonly queryFor: (group: string, words: readonly string[]) => string
}

export const sqliteDialect: SqlDialect = {
  time: (given) => sql`cast(${given} as integer)`,
  indexedWords: (words) => sql`${words}`,
  matches: (query) =>
    sql`exists (select 1 from state_row as indexed where indexed.namespace = state.namespace and indexed.space = state.space and indexed.id = state.id and indexed.row in (select rowid from state_words where state_words match ${query}))`,
}

/** Search index of SQLite. The group is indexed as one more word, so that a search reads no other group. */
export const sqliteWordIndex: WordIndex = {
  kind: 'fts5',
  queryFor: (group, words) =>
    `place : "${Buffer.from(group).toString('hex')}" AND words : (${words.map((word) => `"${word}" *`).join(' OR ')})`,
}
