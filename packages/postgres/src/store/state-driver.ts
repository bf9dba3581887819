import { boundValue, boundValues, compileStatement } from '@bowline/sessions/sql'
import type { Call, CompiledStatement, StateDriver, Statement, Steps } from '@bowline/sessions/sql'
import type { Pipeline } from './pipeline.ts'
import type { PostgresQuery } from './pool-types.ts'
import { postgresDialect, statementBuilder } from './postgres-dialect.ts'
import { storeError } from './postgres-errors.ts'

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
