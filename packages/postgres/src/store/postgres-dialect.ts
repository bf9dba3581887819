import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import type { Database, SqlDialect, Tables, WordIndex } from '@bowline/sessions/sql'
import { isOnlyItem } from '@bowline/sessions/sql'

/** Class of the advisory locks ("bowl"): keeps them apart from other locks of the database. */
export const lockClass = 0x626f776c

/**
 * Storage settings of tables that change often: vacuum starts when a fiftieth of the rows is dead, and each page has room for new
 * versions of its rows.
 */
const changesOften = sql`with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)`

const types = { text: sql`text`, number: sql`bigint` }

/** Creates the dialect for tables in this schema. */
export function postgresDialect(schema: string): SqlDialect {
  const sequenceOf = (table: string): string => `"${schema}"."${table}_row_seq"`
  return {
    // Byte order, whatever the collation of the database.
    types: { text: sql`text collate "C"`, number: sql`bigint` },
    rowNumber: (column) => column.primaryKey().generatedByDefaultAsIdentity(),
    // A foreign key would lock the referenced row at each write. The same statements are tested with foreign keys on SQLite.
    hasReferences: false,
    refersTo: (column) => column,
    changesOften: (table) => table.modifyEnd(changesOften),
    // A list of one has a form of its own: a plan prepared for a list while the tables were small would scan them.
    isOneOf: (value, list, type) =>
      isOnlyItem(list) ? sql`${value} = cast(${list} as ${types[type]})` : sql`${value} = any(cast(${list} as ${types[type]}[]))`,
    rowsOf: (list) =>
      isOnlyItem(list) ? sql`(select cast(${list} as text) as value)` : sql`(select unnest(cast(${list} as text[])) as value)`,
    newRows: (table, list) =>
      sql`(select nextval(${sql.lit(sequenceOf(table))}) as "row" ${isOnlyItem(list) ? sql`` : sql`from unnest(cast(${list} as bigint[]))`})`,
    time: (given) => sql`coalesce(cast(${given} as bigint), cast(floor(extract(epoch from statement_timestamp()) * 1000) as bigint))`,
    // No parser: the caller has already split the words.
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

/** Search index of Postgres. Words are indexed as they are, without a dictionary. */
export const postgresWordIndex: WordIndex = {
  kind: 'tsvector',
  queryFor: (_group, words) => words.map((word) => `'${word}':*`).join(' | '),
}

/** Creates a builder that executes no statements. */
export function statementBuilder(schema: string): Database {
  return new Kysely<Tables>({ dialect: { ...buildingParts, createDriver: () => new DummyDriver() } }).withSchema(schema)
}

/** Parts of a dialect that Kysely needs to build statements for Postgres. */
export const buildingParts = {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (db: Kysely<never>) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}
