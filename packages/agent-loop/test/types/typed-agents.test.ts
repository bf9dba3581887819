import { tool } from 'ai'
import type { JSONValue, ToolOutput } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { adoptTool, defineAgent, defineTool } from '../../src/index.ts'
import type {
  Agent,
  AgentEvent,
  AgentResult,
  AgentRun,
  InferAgentEvent,
  InferAgentTools,
  RunTypes,
  Tool,
  ToolResult,
} from '../../src/index.ts'

interface Forecast {
  readonly sky: string
  readonly days: readonly { readonly high?: number }[]
}

const city = z.object({ city: z.string() })
const facts = { description: 'x', inputSchema: city }
const forecast = (): Forecast => ({ sky: 'clear', days: [{ high: 7 }] })
const weather = defineTool({ name: 'weather', ...facts, execute: async () => forecast() })
const time = defineTool({ name: 'time', ...facts, inputSchema: z.object({ zone: z.string().optional() }), execute: () => 'noon' })
const ask = defineTool({ name: 'ask', ...facts })
const sdkTool = tool({ inputSchema: city, execute: async ({ city: name }) => ({ name, at: new Date(0) }) })
const model = scriptedModel([])
const agent = defineAgent({ model, tools: [weather, time, ask] })

// A type alias, which is assignable to JSON.
type WrittenForecast = { readonly sky: string; readonly days: readonly { readonly high?: number }[] }
type Event = InferAgentEvent<typeof agent>
type Start = Extract<Event, { type: 'tool-execution-start' }>
type End = Extract<Event, { type: 'tool-execution-end' }>
type OutputIn<One> = One extends Tool<string, unknown, infer Output> ? Output : never

const named = { name: 'w', ...facts }

// The compiler checks these types; running the tests only shows that none was left out.
describe('types of an agent', () => {
  it('A189: a tool type carries its name, its input and its output for the model', () => {
    expectTypeOf(weather).toEqualTypeOf<Tool<'weather', { city: string }, Forecast>>()
    expectTypeOf(time).toEqualTypeOf<Tool<'time', { zone?: string | undefined }, string>>()
    expectTypeOf(ask).toEqualTypeOf<Tool<'ask', { city: string }, unknown>>()
    expectTypeOf(adoptTool({ from: sdkTool, name: 'clock' })).toEqualTypeOf<Tool<'clock', { city: string }, { name: string; at: Date }>>()
    expectTypeOf<typeof weather>().toExtend<Tool>()
    expectTypeOf<Tool>().not.toExtend<typeof weather>()
    expectTypeOf<typeof time>().not.toExtend<typeof weather>()
  })

  it('A189: the output type of a tool is known however it is returned', () => {
    const details = defineTool({ ...named, execute: async () => ({ output: { n: 1 }, details: { at: 5 } }) })
    expectTypeOf<OutputIn<typeof details>>().toEqualTypeOf<{ n: number }>()
    const nothing = defineTool({ ...named, execute: () => {} })
    expectTypeOf<OutputIn<typeof nothing>>().toEqualTypeOf<'done'>()
    const maybe = defineTool({ ...named, execute: ({ city: name }) => (name === '' ? undefined : { name }) })
    expectTypeOf<OutputIn<typeof maybe>>().toEqualTypeOf<'done' | { name: string }>()
    const either = defineTool({ ...named, execute: ({ city: name }) => (name === '' ? { output: 'none', isError: true } : { name }) })
    expectTypeOf<string>().toExtend<OutputIn<typeof either>>()
    expectTypeOf<{ name: string }>().toExtend<OutputIn<typeof either>>()
    const json = defineTool({ ...named, execute: () => ({ output: 1, exitCode: 0 }) })
    expectTypeOf<OutputIn<typeof json>>().toEqualTypeOf<{ output: number; exitCode: number }>()
    const generated = defineTool({
      ...named,
      async *execute() {
        yield 'a'
        return forecast()
      },
    })
    expectTypeOf<OutputIn<typeof generated>>().toEqualTypeOf<Forecast>()
    const completed = defineTool({
      ...named,
      async *execute() {
        yield 'a'
        yield { type: 'complete', output: 1 }
      },
    })
    expectTypeOf<OutputIn<typeof completed>>().toEqualTypeOf<number | string>()
    const shown = defineTool({ ...named, execute: forecast, toModelOutput: () => ({ type: 'json', value: { n: 1 } }) })
    expectTypeOf<OutputIn<typeof shown>>().toExtend<{ n: number }>()
    const content = defineTool({ ...named, execute: () => ({ type: 'content', value: [{ type: 'text', text: 'x' }] }) })
    expectTypeOf<OutputIn<typeof content>>().toEqualTypeOf<{ type: 'text'; text: string }[]>()
  })

  it('A189: toolName narrows the input of a call', () => {
    const read = (event: Start) => {
      if (event.toolName === 'weather') expectTypeOf(event.input).toEqualTypeOf<{ city: string }>()
      else if (event.toolName === 'time') expectTypeOf(event.input.zone).toEqualTypeOf<string | undefined>()
      else if (event.toolName === 'ask') expectTypeOf(event.input.city).toBeString()
      else if (event.toolName === 'delegate_to_helper') expectTypeOf(event.input).toEqualTypeOf<JSONValue>()
      else expectTypeOf(event.input).toEqualTypeOf<JSONValue>()
      // @ts-expect-error no tool is known to have it before its name is looked at
      return event.input.city as unknown
    }
    expectTypeOf(read).toBeFunction()
  })

  it('A189: toolName narrows the output of a result, in events and in the result of a run', () => {
    const read = ({ message }: End, { messages }: Awaited<ReturnType<ReturnType<typeof agent.run>['result']>>) => {
      for (const each of [message, ...messages.filter((one) => one.role === 'tool-result')]) {
        if (each.toolName === 'weather' && each.output.type === 'json') expectTypeOf(each.output.value).toEqualTypeOf<WrittenForecast>()
        if (each.toolName === 'ask' && each.output.type === 'json') expectTypeOf(each.output.value).toEqualTypeOf<JSONValue>()
        if (each.output.type === 'text') expectTypeOf(each.output.value).toBeString()
      }
    }
    expectTypeOf(read).toBeFunction()
  })

  it('A189: a typed agent, its run and its events are assignable to those of any agent', () => {
    expectTypeOf(agent).toExtend<Agent>()
    expectTypeOf<ReturnType<typeof agent.run>>().toExtend<AgentRun>()
    expectTypeOf<Event>().toExtend<AgentEvent>()
    expectTypeOf<ReturnType<typeof agent.spawnChild>>().toEqualTypeOf<typeof agent>()
    expectTypeOf<readonly Agent[]>().toEqualTypeOf<NonNullable<Parameters<typeof defineAgent>[0]['subagents']>>()
    const agents: Readonly<Record<string, Agent>> = { agent, other: defineAgent({ model, tools: { sdkTool, time }, subagents: [] }) }
    expect(Object.keys(agents)).toEqual(['agent', 'other'])
    const time2 = defineAgent({ model, tools: [time] })
    // It has fewer tools, so all of its events are events of the other agent.
    expectTypeOf(time2).toExtend<typeof agent>()
    expectTypeOf(agent).not.toExtend<typeof time2>()
  })

  it('A189: an agent with unknown tools has the same types as before', () => {
    const untyped: readonly Tool[] = [weather]
    for (const each of [defineAgent({ model }), defineAgent({ model, tools: untyped })]) {
      expectTypeOf(each).toEqualTypeOf<Agent>()
    }
    expectTypeOf<RunTypes['event']>().toEqualTypeOf<AgentEvent>()
    expectTypeOf<AgentResult['messages'][number]>().toExtend<{ role: string }>()
    expectTypeOf<ToolResult['output']>().toExtend<ToolOutput>()
    expectTypeOf<ToolOutput>().toExtend<ToolResult['output']>()
    expectTypeOf<InferAgentEvent<Agent<(typeof weather | Tool)[]>>>().toEqualTypeOf<AgentEvent>()
  })

  it('A189: input and output types of all tools match the log', () => {
    const given = defineAgent({ model, tools: { sdkTool, weather } })
    expectTypeOf<InferAgentTools<typeof given>>().toEqualTypeOf<{
      readonly sdkTool: { readonly input: { city: string }; readonly output: { name: string; at: string } }
      readonly weather: { readonly input: { city: string }; readonly output: WrittenForecast }
    }>()
    expectTypeOf<Agent<readonly [typeof weather]>>().toExtend<Agent>()
    expectTypeOf<keyof InferAgentTools<Agent<readonly [typeof weather]>>>().toEqualTypeOf<'weather'>()
  })

  it('A191: the output of a result has the type of the schema, the schema of the run first', () => {
    const asked = defineAgent({ model, tools: [weather], output: city })
    const untouched = () => {
      const own = asked.run('x')
      expectTypeOf(own.result()).resolves.toHaveProperty('output').toEqualTypeOf<{ city: string } | undefined>()
      const run = asked.run('x', { output: z.object({ n: z.number() }), runId: 'r' })
      expectTypeOf(run.result()).resolves.toHaveProperty('output').toEqualTypeOf<{ n: number } | undefined>()
      expectTypeOf(agent.run('x').result()).resolves.toHaveProperty('output').toEqualTypeOf<unknown>()
      // @ts-expect-error no such option
      asked.run('x', { outputs: city })
    }
    expectTypeOf(untouched).toBeFunction()
    expectTypeOf(asked).toExtend<Agent>()
  })
})
