import { sql } from 'kysely'
import type { SqlDialect } from './dialect.ts'
import type { Connection } from './tables.ts'

/**
 * Adds the parts of the search that both databases share: the group and words of a record, and an index of the newest in each
 * group.
 */
export async function addSearchColumns(
  { schema }: Connection,
  { types }: SqlDialect,
  wordsType: Parameters<ReturnType<Connection['schema']['alterTable']>['addColumn']>[1],
): Promise<void> {
  await schema.alterTable('state').addColumn('search_group', types.text).execute()
  await schema.alterTable('state').addColumn('words', wordsType).execute()
  await schema
    .createIndex('state_search')
    .on('state')
    .columns(['namespace', 'space', 'search_group', 'used_at'])
    .where(sql.ref('search_group'), 'is not', null)
    .execute()
}

const isIndexed = 'namespace = old.namespace and space = old.space and id = old.id'
const isNew = 'namespace = new.namespace and space = new.space and id = new.id'
const index = `insert into state_row (namespace, space, id) select new.namespace, new.space, new.id where new.search_group is not null;
  insert into state_words (rowid, place, words) select row, lower(hex(new.search_group)), new.words from state_row where ${isNew};`

/**
 * The search index of SQLite, kept up to date by triggers: a record and its words change in one step. It splits words at spaces
 * only, and keeps no words of deleted records (`secure-delete`). Rows of `state` have no stable number, so `state_row` gives them
 * one.
 */
const sqliteSearch = [
  'create table state_row (row integer primary key, namespace text not null, space text not null, id text not null, unique (namespace, space, id))',
  "create virtual table state_words using fts5(place, words, tokenize = 'ascii')",
  "insert into state_words (state_words, rank) values ('secure-delete', 1)",
  `create trigger state_indexed after insert on state when new.search_group is not null begin
  ${index}
end`,
  `create trigger state_indexed_anew after update of words on state when old.search_group is not null or new.search_group is not null begin
  delete from state_words where rowid = (select row from state_row where ${isIndexed});
  delete from state_row where ${isIndexed};
  ${index}
end`,
]

export async function addSqliteSearch(connection: Connection, dialect: SqlDialect): Promise<void> {
  await addSearchColumns(connection, dialect, dialect.types.text)
  for (const statement of sqliteSearch) await sql.raw(statement).execute(connection)
}
