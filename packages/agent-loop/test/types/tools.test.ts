import { jsonSchema, tool, zodSchema } from 'ai'
import type { JSONObject, JSONValue } from '@bowline/llm'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { adoptTool, defineTool } from '../../src/index.ts'
import type { AgentOptions, InferInput, Reconciled, Tool, ToolChunk, ToolContext, ToolReturn, ToolReturnValue } from '../../src/index.ts'

const weather = z.object({ city: z.string(), days: z.number().default(1) })
interface Weather {
  city: string
  days?: number
}
const named = { name: 'w', description: 'weather' }

interface HandMade {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: 'hand'
    readonly validate: (value: unknown) => { readonly value: { readonly city: string } }
    readonly types?: { readonly input: unknown; readonly output: { readonly city: string } }
  }
}
declare const handMade: HandMade

// The compiler checks these types; running the tests only shows that none was left out.
describe('types of tools', () => {
  it('the input has the output type of the schema', () => {
    expectTypeOf<InferInput<typeof weather>>().toEqualTypeOf<{ city: string; days: number }>()
    expectTypeOf<InferInput<HandMade>>().toEqualTypeOf<{ readonly city: string }>()
    const declared = jsonSchema<Weather>({ type: 'object' })
    expectTypeOf<InferInput<typeof declared>>().toEqualTypeOf<Weather>()
    const _lazy = () => declared
    expectTypeOf<InferInput<typeof _lazy>>().toEqualTypeOf<Weather>()
    const _converted = zodSchema(weather)
    expectTypeOf<InferInput<typeof _converted>>().toEqualTypeOf<{ city: string; days: number }>()
    expectTypeOf<InferInput<{ type: 'object' }>>().toEqualTypeOf<JSONObject>()
    // Without a type argument, nothing is known.
    const _untyped = jsonSchema({ type: 'object' })
    expectTypeOf<InferInput<typeof _untyped>>().toEqualTypeOf<unknown>()
  })

  it('execute, needsApproval and reconcile get that input and their contexts', () => {
    defineTool({
      ...named,
      inputSchema: weather,
      execute: (input, context) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>()
        expectTypeOf(context).toEqualTypeOf<ToolContext>()
        return input.city
      },
      needsApproval: ({ days }) => days > 7,
      reconcile: ({ city }, { idempotencyKey, attempt }) => {
        expectTypeOf(city).toBeString()
        expectTypeOf(idempotencyKey).toBeString()
        expectTypeOf(attempt).toBeNumber()
        return Promise.resolve({ happened: 'unknown' })
      },
    })
    const check = () => {
      // @ts-expect-error the schema has no such field
      defineTool({ ...named, inputSchema: weather, execute: ({ town }) => String(town) })
      // @ts-expect-error the schema has no such field
      defineTool({ ...named, inputSchema: handMade, execute: ({ town }) => String(town) })
      defineTool({ ...named, inputSchema: handMade, execute: ({ city }) => city })
    }
    expectTypeOf(check).toBeFunction()
  })

  it('details flow from execute to toModelOutput and reconcile', () => {
    type Details = { readonly count: number }
    expectTypeOf<ToolReturnValue<Details>>().toExtend<ToolReturn<Details>>()
    expectTypeOf<ToolReturnValue<Details>['details']>().toEqualTypeOf<Details | undefined>()
    expectTypeOf<Extract<Reconciled<Details>, { happened: true }>['result']>().toEqualTypeOf<ToolReturn<Details> | undefined>()
    expectTypeOf<Extract<ToolChunk<Details>, { type: 'complete' }>['details']>().toEqualTypeOf<Details | undefined>()
    defineTool({
      ...named,
      inputSchema: weather,
      execute: () => ({ output: 'sunny', details: { count: 1 } }),
      toModelOutput: ({ details }) => {
        expectTypeOf(details).toEqualTypeOf<{ count: number } | undefined>()
        return { type: 'text', value: `${details?.count ?? 0}` }
      },
    })
    const check = () => {
      const wrong = { output: 'sunny', details: { count: 'one' } }
      // @ts-expect-error the details are of another kind
      const value: ToolReturnValue<Details> = wrong
      return value
    }
    expectTypeOf(check).toBeFunction()
  })

  it('execute may return at once, later, or as a generator, and only JSON or content', () => {
    expectTypeOf(defineTool({ ...named, inputSchema: weather, execute: () => 'now' })).toEqualTypeOf<
      Tool<string, { city: string; days: number }, string>
    >()
    defineTool({ ...named, inputSchema: weather, execute: async () => ({ output: [1, { a: null }], isError: true, terminate: true }) })
    defineTool({ ...named, inputSchema: weather, execute: () => ({ output: { type: 'content', value: [{ type: 'text', text: 'x' }] } }) })
    defineTool({
      ...named,
      inputSchema: weather,
      async *execute() {
        yield 'a'
        yield { type: 'delta', delta: 'b', replace: true }
        yield { type: 'complete', output: 1 }
      },
    })
    defineTool({ ...named, inputSchema: weather })
    defineTool({ ...named, inputSchema: weather, execute: () => {} })
    defineTool({ ...named, inputSchema: weather, execute: async ({ city }) => (city === '' ? undefined : { city }) })
    defineTool({ ...named, inputSchema: weather, execute: ({ days }) => days * 2 })
    defineTool({ ...named, inputSchema: weather, execute: () => ({ output: 1, exitCode: 0 }) })
    defineTool({ ...named, inputSchema: weather, execute: () => [{ type: 'text', text: 'x' }] })
    defineTool({ ...named, inputSchema: weather, reconcile: () => Promise.resolve({ happened: true }) })
    const check = () => {
      // @ts-expect-error a date is no JSON
      defineTool({ ...named, inputSchema: weather, execute: async () => ({ output: new Date() }) })
      // @ts-expect-error a date is no JSON, however deep it is
      defineTool({ ...named, inputSchema: weather, execute: () => ({ users: [{ born: new Date() }] }) })
      // @ts-expect-error a map is no JSON
      defineTool({ ...named, inputSchema: weather, execute: () => new Map<string, string>() })
      // @ts-expect-error a function is no JSON
      defineTool({ ...named, inputSchema: weather, execute: async () => ({ run: () => 1 }) })
      // @ts-expect-error a bigint is no JSON
      defineTool({ ...named, inputSchema: weather, execute: () => 1n })
      defineTool({
        ...named,
        inputSchema: weather,
        // @ts-expect-error a generator yields texts, deltas or its complete output
        async *execute() {
          yield 7
        },
      })
      // @ts-expect-error no such effect
      defineTool({ ...named, inputSchema: weather, effect: 'twice' })
      // @ts-expect-error no such option
      defineTool({ ...named, inputSchema: weather, retries: 2 })
      // @ts-expect-error a tool needs a description
      defineTool({ name: 'w', inputSchema: weather })
      // @ts-expect-error a tool of the AI SDK is taken over by adoptTool
      defineTool({ ...named, inputSchema: weather, from: tool({ inputSchema: weather }) })
    }
    expectTypeOf(check).toBeFunction()
  })

  it('A190: a value of an interface is JSON when all of its fields are', () => {
    interface Forecast {
      readonly city: string
      readonly days: readonly { readonly high?: number }[]
      readonly next?: Forecast
    }
    interface Dated {
      readonly at: Date
    }
    const forecast = (): Forecast => ({ city: 'Oslo', days: [] })
    defineTool({ ...named, inputSchema: weather, execute: forecast })
    defineTool({ ...named, inputSchema: weather, execute: async () => [forecast()] })
    defineTool({ ...named, inputSchema: weather, execute: async () => ({ output: forecast(), details: { count: 1 } }) })
    defineTool({
      ...named,
      inputSchema: weather,
      async *execute() {
        yield 'a'
        return forecast()
      },
    })
    const check = (dated: Dated) => {
      // @ts-expect-error it has a date
      defineTool({ ...named, inputSchema: weather, execute: () => dated })
      // @ts-expect-error it has a date
      defineTool({ ...named, inputSchema: weather, execute: async () => ({ output: dated }) })
    }
    expectTypeOf(check).toBeFunction()
  })

  it('accepts a tool of the AI SDK unchanged, and knows its input', () => {
    const sdkTool = tool({ inputSchema: weather, execute: ({ city }) => city })
    const _remote = tool({ inputSchema: weather })
    expectTypeOf<{ own: Tool; sdkTool: typeof sdkTool; remote: typeof _remote }>().toExtend<NonNullable<AgentOptions['tools']>>()
    expectTypeOf<readonly Tool[]>().toExtend<NonNullable<AgentOptions['tools']>>()
    expectTypeOf<readonly (typeof sdkTool)[]>().not.toExtend<NonNullable<AgentOptions['tools']>>()
    adoptTool({
      from: sdkTool,
      name: 'w',
      effect: 'idempotent',
      needsApproval: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>()
        return true
      },
    })
    const check = () => {
      // @ts-expect-error what it does is given by the tool
      adoptTool({ from: sdkTool, name: 'w', execute: () => 'x' })
      // @ts-expect-error it has no name of its own
      adoptTool({ from: sdkTool })
    }
    expectTypeOf(check).toBeFunction()
  })

  it('a call passes JSON to a tool', () => {
    expectTypeOf<Parameters<NonNullable<Tool['execute']>>[0]>().toEqualTypeOf<JSONValue>()
    expectTypeOf<ToolContext['messages']>().not.toBeAny()
  })
})
