import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import type { Database, SqlDialect, Tables, WordIndex } from '@bowline/sessions/sql'

/** Class of the advisory locks ("bowl"): keeps them apart from other locks of the database. */
export const lockClass = 0x626f776c

export const postgresDialect: SqlDialect = {
  time: (given) => sql`coalesce(cast(${given} as bigint), cast(floor(extract(epoch from statement_timestamp()) * 1000) as bigint))`,
  // No parser: the caller has already split the words.
  indexedWords: (words) => sql`array_to_tsvector(string_to_array(cast(${words} as text), ' '))`,
  matches: (query) => sql`words @@ cast(${query} as tsquery)`,
}

/** Search index of Postgres. Words are indexed as they are, without a dictionary. */
export const postgresWordIndex: WordIndex = {
  kind: 'tsvector',
  queryFor: (_group, words) => words.map((word) => `'${word}':*`).join(' | '),
}

/** Creates a builder that executes no statements. */
export function statementBuilder(schema: string): Database {
  const dialect = {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db: Database) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
  return new Kysely<Tables>({ dialect }).withSchema(schema)
}
