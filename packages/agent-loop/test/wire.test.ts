import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import type { AnyLanguageModel, JSONObject } from '@bowline/llm'
import { LLMock } from '@copilotkit/aimock'
import { tool } from 'ai'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineTool } from '../src/index.ts'
import { conversation } from './support/conversation.ts'

const mock = new LLMock({ port: 0, logLevel: 'silent' })
const bodies: JSONObject[] = []
beforeAll(async () => void (await mock.start()))
afterEach(() => {
  mock.reset()
  bodies.length = 0
})
afterAll(() => mock.stop())

const recorded: typeof fetch = (input, init) => {
  bodies.push(JSON.parse(init?.body as string) as JSONObject)
  return fetch(input, init)
}

interface Wire {
  readonly name: string
  readonly model: () => AnyLanguageModel
  /** 12 in, 7 out, in the form of this wire. */
  readonly usage: Record<string, number>
  /** Fields that an answer with calls needs besides the calls. */
  readonly calls?: { readonly finishReason: string }
  /** The form of a result with that call id and text. */
  readonly result: (toolCallId: string, output: string) => object
}

const client = (path: string) => ({ baseURL: `${mock.url}/${path}`, apiKey: 'test-key', fetch: recorded })
const wires: readonly Wire[] = [
  {
    name: 'openai',
    model: () => createOpenAI(client('v1'))('gpt-4o'),
    usage: { input_tokens: 12, output_tokens: 7 },
    result: (call_id, output) => ({ type: 'function_call_output', call_id, output }),
  },
  {
    name: 'anthropic',
    model: () => createAnthropic(client('v1'))('claude-sonnet-4-5'),
    usage: { input_tokens: 12, output_tokens: 7 },
    result: (tool_use_id, content) => ({ type: 'tool_result', tool_use_id, content }),
  },
  {
    name: 'google',
    model: () => createGoogle(client('v1beta'))('gemini-2.5-flash'),
    usage: { promptTokenCount: 12, candidatesTokenCount: 7, totalTokenCount: 19 },
    calls: { finishReason: 'stop' },
    result: (id, content) => ({ id, response: { content } }),
  },
]

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  effect: 'pure',
  execute: ({ city }) => `sunny in ${city}`,
})
const time = tool({
  description: 'The time in a zone',
  inputSchema: z.object({ zone: z.string() }),
  execute: ({ zone }) => `noon in ${zone}`,
})

describe.each(wires)('a turn through the client of $name', ({ model, usage, calls, result }) => {
  const asks = [
    { id: 'call_a', name: 'weather', arguments: '{"city":"Oslo"}' },
    { id: 'call_b', name: 'time', arguments: '{"zone":"CET"}' },
  ]

  it('runs the calls of an answer, sends their results back in call order, and ends with the text', async () => {
    mock.on({ userMessage: 'Oslo', hasToolResult: false }, { toolCalls: asks, usage, ...calls }, { chunkSize: 4 })
    mock.on({ userMessage: 'Oslo', hasToolResult: true }, { content: 'Sunny at noon.', usage }, { chunkSize: 4 })
    const talk = conversation()
    const agent = defineAgent({ model: model(), instructions: 'Be brief.', tools: { weather, time }, retry: false })
    const played = await talk.play(agent, 'Weather and time in Oslo?')
    expect(played.result).toMatchObject({
      status: 'completed',
      text: 'Sunny at noon.',
      steps: 2,
      usage: { inputTokens: 24, outputTokens: 14, totalTokens: 38 },
    })
    expect(played.result.messages.slice(2, 4)).toMatchObject([
      { toolCallId: 'call_a', status: 'result', output: { type: 'text', value: 'sunny in Oslo' } },
      { toolCallId: 'call_b', status: 'result', output: { type: 'text', value: 'noon in CET' } },
    ])
    expect(played.events.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : [])).join('')).toBe('Sunny at noon.')
    const first = JSON.stringify(bodies[0])
    expect(['Be brief.', 'The weather in a city', 'The time in a zone'].every((text) => first.includes(text))).toBe(true)
    expect(blocksOf(bodies[1])).toMatchObject([result('call_a', 'sunny in Oslo'), result('call_b', 'noon in CET')])
  })

  it('begins the next turn with the earlier messages, after an error too', async () => {
    // The first match answers, and a wire may join the two inputs.
    mock.on({ userMessage: 'two' }, { content: 'Here again.', usage })
    mock.on({ userMessage: 'one' }, { error: { message: 'no such key', type: 'authentication_error' }, status: 401 })
    const talk = conversation()
    const agent = defineAgent({ model: model(), retry: false })
    expect((await talk.play(agent, 'one')).result).toMatchObject({
      status: 'error',
      reason: 'model-error',
      error: { kind: 'auth', status: 401 },
    })
    expect((await talk.play(agent, 'two')).result).toMatchObject({ status: 'completed', text: 'Here again.' })
    expect(JSON.stringify(bodies[1])).toContain('"one"')
    expect(JSON.stringify(bodies[1])).not.toContain('no such key')
  })
})

/** Returns the results in a request, wherever its wire has them. */
function blocksOf(value: unknown): readonly object[] {
  if (typeof value !== 'object' || value === null) return []
  if ('type' in value && (value.type === 'function_call_output' || value.type === 'tool_result')) return [value]
  if ('functionResponse' in value) return [value.functionResponse as object]
  return Object.values(value).flatMap(blocksOf)
}
