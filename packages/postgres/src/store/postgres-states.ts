import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import { boundValue, boundValues, compileStatement } from '@bowline/sessions/sql'
import type { Call, CompiledStatement, Database, SqlDialect, StateDriver, Statement, Steps, Tables, WordIndex } from '@bowline/sessions/sql'
import type { Pipeline } from './pipeline.ts'
import type { PostgresQuery } from './pool-types.ts'
import { storeError } from './postgres-errors.ts'

const postgresDialect: SqlDialect = {
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
function statementBuilder(schema: string): Database {
  const dialect = {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db: Database) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
  return new Kysely<Tables>({ dialect }).withSchema(schema)
}

/** Runs the statements of a state store, each by itself. */
export function stateDriver(pipeline: Pipeline, schema: string, namespace: string, now: () => number | undefined): StateDriver {
  const builder = statementBuilder(schema)
  const compiled = new WeakMap<Statement<object, unknown>, CompiledStatement>()
  const query = ({ statement, values }: Call): PostgresQuery => {
    const form = compiled.get(statement) ?? compileStatement(statement, builder, postgresDialect)
    compiled.set(statement, form)
    return pipeline.query(form.sql, boundValues(form, values).map(boundValue))
  }
  const write = async (call: Call): Promise<readonly unknown[]> => {
    const [{ error, results } = { error: undefined, results: [] }] = await pipeline.write([[query(call)]])
    if (error !== undefined) throw storeError(error, 'write')
    return results[0]?.rows ?? []
  }
  const read = async (call: Call): Promise<readonly unknown[]> => (await pipeline.read([query(call)]))[0]?.rows ?? []
  const walk =
    (send: (call: Call) => Promise<readonly unknown[]>) =>
    async <T>(makeSteps: () => Steps<T>): Promise<T> => {
      const steps = makeSteps()
      let step = steps.next([])
      while (!step.done) step = steps.next(await send(step.value))
      return step.value
    }
  return { namespace, now: () => now() ?? null, statement: walk(write), read: walk(read) }
}
