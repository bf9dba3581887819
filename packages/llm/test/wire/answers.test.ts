import { describe, expect, it } from 'vitest'
import { streamMessage, type AssistantMessage, type Message, type MessageEvent } from '../../src/index.ts'
import { messageOf, readAll } from '../support.ts'
import { useWireServer, wires, type Wire } from './wires.ts'

const server = useWireServer()

const ask = (content: string): Message => ({ role: 'user', content })
const weather = {
  name: 'weather',
  description: 'The weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
} as const
const clock = { name: 'clock', inputSchema: { type: 'object', properties: { zone: { type: 'string' } } } } as const

async function read(wire: Wire, messages: readonly Message[], reasoning = false): Promise<MessageEvent[]> {
  const make = reasoning ? wire.reasoningModel : wire.model
  if (!make) throw new Error(`${wire.name} carries no reasoning`)
  return readAll(streamMessage({ model: make(server), messages, tools: [weather, clock] }))
}

const joined = (events: readonly MessageEvent[], type: 'text-delta' | 'reasoning-delta'): string =>
  events.flatMap((event) => ('delta' in event && event.type === type ? [event.delta] : [])).join('')

const callsOf = (message: AssistantMessage): unknown[] =>
  message.content.filter((part) => part.type === 'tool-call').map(({ toolName, input }) => [toolName, input])

describe('F1: text over every wire', () => {
  it.each(wires)('$name', async (wire) => {
    server.mock.onMessage('greet', { content: 'Hello there, friend', usage: wire.usage }, { chunkSize: 4 })
    const events = await read(wire, [ask('greet me')])
    const message = messageOf(events)
    expect(joined(events, 'text-delta')).toBe('Hello there, friend')
    expect(events.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(1)
    expect(events.map(({ type }) => type).filter((type) => !type.endsWith('-delta'))).toEqual([
      'message-start',
      'text-start',
      'text-end',
      'message-end',
    ])
    expect(message).toMatchObject({
      stopReason: 'stop',
      content: [{ type: 'text', text: 'Hello there, friend' }],
      usage: { inputTokens: 12, outputTokens: 7, totalTokens: 19 },
    })
    expect(message.rawStopReason).toBe(wire.raw.stop)
    expect(JSON.parse(JSON.stringify(events))).toStrictEqual(events)
  })
})

describe('F1: reasoning where the wire has it', () => {
  it.each(wires.filter((wire) => wire.reasoningModel))('$name', async (wire) => {
    server.mock.onMessage('think', { content: 'The answer', reasoning: 'First I think', usage: wire.usage }, { chunkSize: 4 })
    const events = await read(wire, [ask('think hard')], true)
    expect(joined(events, 'reasoning-delta')).toBe('First I think')
    expect(messageOf(events).content).toMatchObject([
      { type: 'reasoning', text: 'First I think' },
      { type: 'text', text: 'The answer' },
    ])
  })
})

describe('F2: tool calls over every wire, and their results back', () => {
  it.each(wires)('$name: one call and the round trip', async (wire) => {
    server.mock.on(
      { userMessage: 'Oslo', hasToolResult: false },
      { toolCalls: [{ id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo"}' }], ...wire.toolCallFixture },
      { chunkSize: 4 },
    )
    server.mock.on({ userMessage: 'Oslo', hasToolResult: true }, { content: 'It rains in Oslo' }, { chunkSize: 4 })
    const question = ask('the weather in Oslo')
    const answer = messageOf(await read(wire, [question]))
    expect(answer.stopReason).toBe('tool-calls')
    expect(answer.rawStopReason).toBe(wire.raw.toolCalls)
    const [call] = answer.content
    if (call?.type !== 'tool-call') throw new Error('no call came')
    expect(call).toMatchObject({ toolName: 'weather', input: { city: 'Oslo' } })

    const { toolCallId, toolName } = call
    const result: Message = {
      role: 'tool-result',
      toolCallId,
      toolName,
      output: { type: 'text', value: 'rain, 7 degrees' },
    }
    const final = messageOf(await read(wire, [question, answer, result]))
    expect(final).toMatchObject({ stopReason: 'stop', content: [{ type: 'text', text: 'It rains in Oslo' }] })
    expect(final).not.toHaveProperty('repairs')
    expect(wire.toolResults(server.bodies[1] ?? {})).toEqual([[toolCallId, 'rain, 7 degrees']])
    expect(JSON.stringify(server.bodies[0])).toContain('"city"')
  })

  it.each(wires)('$name: two parallel calls keep their order and their own index', async (wire) => {
    const toolCalls = [
      { id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
      { id: 'call_2', name: 'clock', arguments: '{"zone":"CET"}' },
    ]
    server.mock.onMessage('both', { toolCalls, ...wire.toolCallFixture }, { chunkSize: 4 })
    const events = await read(wire, [ask('both please')])
    expect(callsOf(messageOf(events))).toEqual([
      ['weather', { city: 'Oslo' }],
      ['clock', { zone: 'CET' }],
    ])
    expect(events.flatMap((event) => (event.type === 'tool-call-start' ? [[event.index, event.toolName]] : []))).toEqual([
      [0, 'weather'],
      [1, 'clock'],
    ])
    expect(events.flatMap((event) => (event.type === 'tool-call-end' ? [event.index] : []))).toEqual([0, 1])
  })

  it('google: its own finish reason for calls is kept as raw', async () => {
    const wire = wires.find(({ name }) => name === 'google')
    server.mock.onMessage('Oslo', { toolCalls: [{ id: 'c', name: 'weather', arguments: '{"city":"Oslo"}' }] })
    const message = messageOf(await read(wire!, [ask('Oslo')]))
    expect(message).toMatchObject({ stopReason: 'tool-calls', rawStopReason: 'FUNCTION_CALL' })
  })
})

describe('F5: signed reasoning is sent back to its model', () => {
  it('anthropic: the signature is sent byte for byte', async () => {
    const wire = wires.find(({ name }) => name === 'anthropic')!
    server.mock.onMessage(
      'think',
      { content: 'The answer', reasoning: 'First I think', reasoningSignature: 'c2lnbmVk+/==' },
      { chunkSize: 4 },
    )
    const question = ask('think hard')
    const answer = messageOf(await read(wire, [question]))
    await read(wire, [question, JSON.parse(JSON.stringify(answer)) as Message, ask('think again')])
    const messages = server.bodies[1]?.['messages'] as { role: string; content: unknown }[]
    expect(messages.find(({ role }) => role === 'assistant')?.content).toEqual([
      { type: 'thinking', thinking: 'First I think', signature: 'c2lnbmVk+/==' },
      { type: 'text', text: 'The answer' },
    ])
  })

  it('openai responses: the reasoning item is referenced again', async () => {
    const wire = wires.find(({ name }) => name === 'openai responses')!
    server.mock.onMessage('think', { content: 'The answer', reasoning: 'First I think' }, { chunkSize: 4 })
    const question = ask('think hard')
    const answer = messageOf(await read(wire, [question], true))
    await read(wire, [question, answer, ask('think again')], true)
    const [reasoning] = answer.content
    const itemId = reasoning?.type === 'reasoning' ? reasoning.providerMetadata?.['openai']?.['itemId'] : undefined
    if (typeof itemId !== 'string') throw new Error('the reasoning has no item id')
    expect(JSON.stringify(server.bodies[1]?.['input'])).toContain(itemId)
  })
})
