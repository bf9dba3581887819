import { jsonSchema, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/index.ts'
import type { InputSchema } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { resultsOf } from '../support/prompts.ts'

const plain = {
  ...{ type: 'object' as const, properties: { city: { type: 'string' as const } }, required: ['city'] },
  additionalProperties: false as const,
}
const schema = z.strictObject({ city: z.string() })
const standard = {
  '~standard': {
    ...{ version: 1, vendor: 'handmade', validate: (value: unknown) => schema['~standard'].validate(value) },
    jsonSchema: { input: () => plain, output: () => plain },
  },
}

async function call(tools: Parameters<typeof agentOf>[1], input: object) {
  const talk = conversation()
  const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'w', input: input as { raw: string } }] }, { text: 'done' }], tools)
  const { result } = await talk.play(agent, 'go')
  return { talk, agent, outcome: result.messages.find((message) => message.role === 'tool-result') }
}

describe('schemas', () => {
  it.each<[string, InputSchema]>([
    ['zod', schema],
    ['Standard Schema', standard as unknown as InputSchema],
    ['the AI SDK', jsonSchema(plain)],
    ['JSON Schema', plain],
  ])('A67: %s accepts and refuses the same inputs and sends equal JSON Schema', async (_kind, inputSchema) => {
    const tools = [defineTool({ name: 'w', description: '', inputSchema, execute: () => 'ok' })]
    const statuses = []
    for (const input of [{ city: 'Oslo' }, { city: 1 }, {}, { city: 'Oslo', more: 1 }]) {
      const { outcome, agent } = await call({ tools }, input)
      statuses.push(outcome?.status)
      const [sent] = agent.model.calls[0]?.tools ?? []
      const { $schema: _draft, ...sentSchema } = (sent?.type === 'function' ? sent.inputSchema : {}) as Record<string, unknown>
      expect(sentSchema).toEqual(plain)
    }
    expect(statuses).toEqual(['result', 'error', 'error', 'error'])
  })
})

describe('tools of the AI SDK', () => {
  it('A66: one with execute works unchanged', async () => {
    const seen: unknown[] = []
    const w = tool({
      description: 'weather',
      inputSchema: schema,
      execute: ({ city }, { toolCallId, messages, abortSignal, context }) => {
        seen.push(toolCallId, messages.length, abortSignal instanceof AbortSignal, context)
        return { city, sky: 'clear' }
      },
    })
    const { outcome, agent } = await call({ tools: { w } }, { city: 'Oslo' })
    expect(outcome).toMatchObject({ status: 'result', output: { type: 'json', value: { city: 'Oslo', sky: 'clear' } } })
    expect(seen).toEqual(['x', 2, true, undefined])
    expect(agent.model.calls[0]?.tools).toMatchObject([{ name: 'w', description: 'weather' }])
  })

  it('A66: one without execute suspends the run', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'w', input: { city: 'Oslo' } }] }], { tools: { w: tool({ inputSchema: schema }) } })
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'x', toolName: 'w' }] })
  })

  it('A66: a generator streams its growth, and its last value is the output', async () => {
    const w = tool({
      inputSchema: schema,
      async *execute() {
        yield 'a'
        yield 'ab'
        yield 'c'
      },
    })
    const { talk, outcome } = await call({ tools: { w } }, { city: 'Oslo' })
    expect(outcome?.output).toEqual({ type: 'text', value: 'c' })
    const deltas = talk.journal.log.flatMap((event) => (event.type === 'tool-execution-delta' ? [[event.delta, event.replace]] : []))
    expect(deltas).toEqual([['a', undefined], ['b', undefined], ['c', true]])
  })

  it('A66: toModelOutput and nothing as output are kept', async () => {
    const w = tool({
      inputSchema: schema,
      execute: (): number | undefined => 3,
      toModelOutput: ({ toolCallId, output }) => ({ type: 'text' as const, value: `${toolCallId}: ${output ?? 0} stars` }),
    })
    const { agent } = await call({ tools: { w } }, { city: 'Oslo' })
    expect(resultsOf(agent.model.calls[1])).toMatchObject([{ output: { type: 'text', value: 'x: 3 stars' } }])
    const silent = await call({ tools: { w: tool({ inputSchema: schema, execute: () => undefined }) } }, { city: 'Oslo' })
    expect(silent.outcome).toMatchObject({ status: 'result', output: { type: 'json', value: null } })
  })
})
