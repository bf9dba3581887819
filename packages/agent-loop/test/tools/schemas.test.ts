import { resolveSchema } from '@bowline/llm'
import { jsonSchema } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { defineTool } from '../../src/index.ts'
import type { InputSchema } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'

const plain = {
  type: 'object' as const,
  properties: {
    city: { type: 'string' as const, minLength: 1 },
    days: { type: 'number' as const, minimum: 1, maximum: 7 },
    unit: { type: 'string' as const, enum: ['c', 'f'] },
    places: {
      type: 'array' as const,
      maxItems: 2,
      items: {
        type: 'object' as const,
        properties: { lat: { type: 'number' as const } },
        required: ['lat'],
        additionalProperties: false as const,
      },
    },
  },
  required: ['city', 'days'],
  additionalProperties: false as const,
}
const schema = z.strictObject({
  city: z.string().min(1),
  days: z.number().min(1).max(7),
  unit: z.enum(['c', 'f']).optional(),
  places: z
    .array(z.strictObject({ lat: z.number() }))
    .max(2)
    .optional(),
})
const standard = {
  '~standard': {
    version: 1,
    vendor: 'handmade',
    validate: (value: unknown) => schema['~standard'].validate(value),
    jsonSchema: { input: () => plain, output: () => plain },
  },
}
const kinds: readonly (readonly [string, InputSchema])[] = [
  ['zod', schema],
  ['the Standard Schema of zod', { '~standard': { ...schema['~standard'], vendor: 'other' } }],
  ['another Standard Schema', standard as unknown as InputSchema],
  ['jsonSchema() of the AI SDK', jsonSchema(plain)],
  ['lazy jsonSchema() of the AI SDK', () => jsonSchema(plain)],
  ['JSON Schema', plain],
]

function sometimes<T>(right: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: right }, fc.constantFrom(null, 0, '', 'x', [], {}, true))
}

const place = fc.oneof({ weight: 9, arbitrary: fc.record({ lat: sometimes(fc.integer()) }) }, fc.constant({ lat: 1, more: 1 }))
const known = fc.record(
  {
    city: sometimes(fc.string({ minLength: 1 })),
    days: sometimes(fc.integer({ min: 0, max: 8 })),
    unit: sometimes(fc.constantFrom('c', 'f')),
    places: sometimes(fc.array(sometimes(place), { maxLength: 3 })),
  },
  { requiredKeys: ['city', 'days'] },
)
const inputs = fc.oneof(
  { weight: 9, arbitrary: known },
  known.map((input) => ({ ...input, more: 1 })),
  known.map(({ city }) => ({ city })),
)

describe('schemas', () => {
  it.each(kinds)('A67: %s sends the JSON Schema, and refuses before the tool runs', async (_kind, inputSchema) => {
    const ran: unknown[] = []
    const execute = (input: unknown): string => `${ran.push(input)}`
    const tools = [defineTool({ name: 'w', description: '', inputSchema, execute })]
    const statuses = []
    for (const input of [{ city: 'Oslo', days: 1 }, { city: 1, days: 1 }, {}, { city: 'Oslo', days: 1, more: 1 }]) {
      const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'w', input }] }, { text: 'done' }], { tools })
      const { result } = await conversation().play(agent, 'go')
      statuses.push(result.messages.flatMap((message) => (message.role === 'tool-result' ? [message.status] : [])))
      const [sent] = agent.model.calls[0]?.tools ?? []
      const { $schema: _draft, ...sentSchema } = (sent?.type === 'function' ? sent.inputSchema : {}) as Record<string, unknown>
      expect(sentSchema).toEqual(plain)
    }
    expect(statuses).toEqual([['result'], ['error'], ['error'], ['error']])
    expect(ran).toEqual([{ city: 'Oslo', days: 1 }])
  })

  it('A67: all kinds agree on any input', async () => {
    const tools = kinds.map(([, inputSchema]) => defineTool({ name: 'w', description: '', inputSchema }))
    const checks = await Promise.all(tools.map((tool) => resolveSchema(tool.inputSchema)))
    let accepted = 0
    const agree = async (input: unknown): Promise<void> => {
      const results = await Promise.all(checks.map((check) => check.validate(input)))
      const oks = results.map(({ ok }) => ok)
      expect(new Set(oks).size).toBe(1)
      accepted += oks[0] ? 1 : 0
      for (const result of results) if (result.ok) expect(result.value).toEqual(input)
    }
    await fc.assert(fc.asyncProperty(inputs, agree), randomRuns(500))
    expect(accepted).toBeGreaterThan(50)
    expect(accepted).toBeLessThan(450)
  })

  it('A49: the outcome names each wrong place and what was received', async () => {
    const tools = [defineTool({ name: 'w', description: '', inputSchema: schema, execute: () => 'ran' })]
    const input = { city: '', days: 1, places: [{ lat: 'north' }] }
    const { result } = await conversation().play(
      agentOf([{ toolCalls: [{ id: 'x', name: 'w', input }] }, { text: 'done' }], { tools }),
      'go',
    )
    const outcome = result.messages.find((message) => message.role === 'tool-result')
    expect(outcome).toMatchObject({
      status: 'error',
      output: { type: 'error-text', value: expect.stringMatching(/city: .*\nplaces\.0\.lat: /) },
    })
    expect(outcome?.output).toMatchObject({ value: expect.stringContaining(JSON.stringify(input)) })
  })
})
