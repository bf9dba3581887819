import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import type { SqlDialect, WordIndex } from '../sql/dialect.ts'
import { isOnlyItem } from '../sql/statement.ts'
import type { Database, Tables } from '../sql/tables.ts'

/** "bowl": keeps these locks apart from those of others in the database. */
export const lockClass = 0x626f776c

/** Dead rows of these tables are removed when a fiftieth of them is dead, and each page has room for the next version of a row. */
const changesOften = sql`with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)`

const types = { text: sql`text`, number: sql`bigint` }

/** For tables in this schema. */
export function postgresDialect(schema: string): SqlDialect {
  const sequenceOf = (table: string): string => `"${schema}"."${table}_row_seq"`
  return {
    // By the bytes, whatever the database does.
    types: { text: sql`text collate "C"`, number: sql`bigint` },
    rowNumber: (column) => column.primaryKey().generatedByDefaultAsIdentity(),
    // Each would lock its row again. That all belongs together is tested on SQLite, with the same statements.
    hasReferences: false,
    refersTo: (column) => column,
    changesOften: (table) => table.modifyEnd(changesOften),
    // A prepared statement keeps its plan. Made for a list while the tables were young, it reads all of them.
    isOneOf: (value, list, type) => (isOnlyItem(list) ? sql`${value} = cast(${list} as ${types[type]})` : sql`${value} = any(cast(${list} as ${types[type]}[]))`),
    rowsOf: (list) => (isOnlyItem(list) ? sql`(select cast(${list} as text) as value)` : sql`(select unnest(cast(${list} as text[])) as value)`),
    newRows: (table, list) => sql`(select nextval(${sql.lit(sequenceOf(table))}) as "row" ${isOnlyItem(list) ? sql`` : sql`from unnest(cast(${list} as bigint[]))`})`,
    time: (given) => sql`coalesce(cast(${given} as bigint), cast(floor(extract(epoch from statement_timestamp()) * 1000) as bigint))`,
    // Without a parser: the words are those of the caller.
    indexedWords: (words) => sql`array_to_tsvector(string_to_array(cast(${words} as text), ' '))`,
    matches: (query) => sql`words @@ cast(${query} as tsquery)`,
    lock(query, table, others = 'wait') {
      const locked = query.modifyEnd(sql`for no key update of ${sql.id(table)}`)
      return others === 'skip' ? locked.modifyEnd(sql`skip locked`) : locked
    },
    keepDefinition: (hash) => sql`(select pg_advisory_xact_lock_shared(${sql.lit(lockClass)}, hashtext(${hash})))`,
    isUnusedDefinition: (hash) => sql`pg_try_advisory_xact_lock(${sql.lit(lockClass)}, hashtext(${hash}))`,
  }
}

/** Searches of Postgres: words as they are, without a dictionary. */
export const postgresWordIndex: WordIndex = {
  kind: 'tsvector',
  queryFor: (_group, words) => words.map((word) => `'${word}':*`).join(' | '),
}

/** Builds statements and executes none. */
export function statementBuilder(schema: string): Database {
  return new Kysely<Tables>({ dialect: { ...buildingParts, createDriver: () => new DummyDriver() } }).withSchema(schema)
}

/** What Kysely needs to build for Postgres. */
export const buildingParts = {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (db: Kysely<never>) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}
