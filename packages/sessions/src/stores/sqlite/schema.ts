import type { DatabaseSync } from 'node:sqlite'
import { SessionError } from '../../errors.ts'
import { createTables } from '../../rows/sql/create-tables.ts'
import { sqliteRowDialect } from '../../rows/sql/dialect.ts'

/** Version of the tables. */
export const schemaVersion = 4

const isIndexed = 'namespace = old.namespace and space = old.space and id = old.id'
const isNew = 'namespace = new.namespace and space = new.space and id = new.id'
const index = `insert into state_row (namespace, space, id) select new.namespace, new.space, new.id where new.search_group is not null;
  insert into state_words (rowid, place, words) select row, lower(hex(new.search_group)), new.words from state_row where ${isNew};`

/** State records. A deleted one keeps its version only. */
const stateTables: readonly string[] = [
  `create table state (
  namespace text not null, space text not null, id text not null, version integer not null, value text,
  used_at integer not null, expires_at integer, search_group text, words text, primary key (namespace, space, id)
)`,
  'create index state_live on state (namespace, space, id) where value is not null',
  'create index state_expiry on state (namespace, expires_at) where value is not null',
  'create index state_search on state (namespace, space, search_group, used_at) where search_group is not null',
]

/**
 * The search index, kept up to date by triggers: a record and its words change in one step. It splits words at spaces only, and keeps
 * no words of deleted records (`secure-delete`). Rows of `state` have no stable number, so `state_row` gives them one.
 */
const stateSearch: readonly string[] = [
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

/** Returns true if the tables are there. They are not if a process died while it created the file. */
export function hasTables(database: DatabaseSync): boolean {
  return database.prepare("select 1 from sqlite_schema where type = 'table'").get() !== undefined
}

/** Creates all tables in one transaction. */
export function createSchema(database: DatabaseSync): void {
  const statements = [
    'create table meta (name text primary key, value text)',
    ...createTables(sqliteRowDialect),
    ...stateTables,
    ...stateSearch,
    `insert into meta values ('schema', '${schemaVersion}')`,
  ]
  database.exec(['begin immediate', ...statements, 'commit'].join(';\n'))
}

/** Refuses tables of another version. */
export function checkSchemaVersion(database: DatabaseSync, file: string): void {
  const found = Number(database.prepare("select value from meta where name = 'schema'").get()?.['value'])
  if (found === schemaVersion) return
  const remedy = found > schemaVersion ? 'Update it' : 'Restore the package that wrote the file, or choose another file'
  throw new SessionError(
    'schema-too-new',
    `The database ${file} has schema version ${found}; this version of @bowline/sessions knows ${schemaVersion}. ${remedy}`,
  )
}
