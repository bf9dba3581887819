import { afterEach, describe, expect, it, vi } from 'vitest'
import type { MessageEvent } from '../../src/index.ts'
import { messageOf, readAll } from '../support.ts'
import { observedCall } from './observed-call.ts'
import { bodyOf, call, finish, frame, half, text, textBodyOf } from './raw-bodies.ts'
import { useRawServer } from './raw-server.ts'
import { wireNamed, wires, type Wire } from './wires.ts'

const server = useRawServer()
const chat = wireNamed('openai chat')

async function read(wire: Wire): Promise<MessageEvent[]> {
  return readAll(observedCall(wire, server).stream)
}

/** Summarises the events of one block: their types without repeats, and the joined deltas. */
function blockOf(events: readonly MessageEvent[], index: number): { types: string[]; deltas: string } {
  const block = events.filter((event) => 'index' in event && event.index === index)
  const types = block.map(({ type }) => type)
  const deltas = block.map((event) => (event.type === 'tool-call-delta' ? event.delta : '')).join('')
  return { types: types.filter((type, at) => type !== types[at - 1]), deltas }
}

const wholeCall = ['tool-call-start', 'tool-call-delta', 'tool-call-end']

describe.each(wires)('tool calls over $name', (wire) => {
  it('F2: arguments in chunks: one start, deltas that join to the input, one end', async () => {
    server.answer({ body: bodyOf(wire.name, call('call_1', 'weather', ...'{"city":"Oslo"}'), finish('calls')) })
    const events = await read(wire)
    expect(blockOf(events, 0)).toEqual({ types: wholeCall, deltas: '{"city":"Oslo"}' })
    expect(events.filter(({ type }) => type === 'tool-call-end')).toHaveLength(1)
    expect(messageOf(events)).toMatchObject({
      stopReason: 'tool-calls',
      content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: { city: 'Oslo' } }],
    })
  })

  it('F2: two calls after a text have an index each, in the order of the source', async () => {
    const calls = [call('call_1', 'weather', '{"city":', '"Oslo"}'), call('call_2', 'clock', '{"zone":', '"CET"}')]
    server.answer({ body: bodyOf(wire.name, text('I look.'), ...calls, finish('calls')) })
    const events = await read(wire)
    expect([blockOf(events, 1), blockOf(events, 2)]).toEqual([
      { types: wholeCall, deltas: '{"city":"Oslo"}' },
      { types: wholeCall, deltas: '{"zone":"CET"}' },
    ])
    expect(messageOf(events)).toMatchObject({
      stopReason: 'tool-calls',
      content: [
        { type: 'text', text: 'I look.' },
        { toolCallId: 'call_1', input: { city: 'Oslo' } },
        { toolCallId: 'call_2', input: { zone: 'CET' } },
      ],
    })
  })

  it('F2: a call without arguments has the input {}', async () => {
    server.answer({ body: bodyOf(wire.name, call('call_1', 'now', '{}'), finish('calls')) })
    expect(messageOf(await read(wire)).content).toMatchObject([{ toolName: 'now', input: {} }])
  })
})

describe('parallel calls whose arguments are mixed', () => {
  const piece = (index: number, fields: object): string =>
    frame({ id: 'c', choices: [{ index: 0, delta: { tool_calls: [{ index, ...fields }] }, finish_reason: null }] })
  const start = (index: number, name: string): string =>
    piece(index, { id: `call_${index}`, type: 'function', function: { name, arguments: '' } })
  const more = (index: number, text: string): string => piece(index, { function: { arguments: text } })

  it.each(['openai chat', 'openai-compatible'] as const)('F2: %s: the index tells them apart', async (name) => {
    const mixed = [start(0, 'weather'), start(1, 'clock'), more(0, '{"ci'), more(1, '{"zo'), more(0, 'ty":1}')]
    server.answer({ body: bodyOf(name, ...mixed, more(1, 'ne":2}'), finish('calls')) })
    const events = await read(wireNamed(name))
    expect([blockOf(events, 0), blockOf(events, 1)]).toEqual([
      { types: wholeCall, deltas: '{"city":1}' },
      { types: wholeCall, deltas: '{"zone":2}' },
    ])
    expect(messageOf(events).content).toMatchObject([
      { toolCallId: 'call_0', input: { city: 1 } },
      { toolCallId: 'call_1', input: { zone: 2 } },
    ])
  })
})

describe('long arguments', () => {
  afterEach(() => vi.restoreAllMocks())

  /** Returns the frames of one call with this many one-byte deltas, in a few chunks. */
  function longBody(bytes: number): string[] {
    const deltas = [...`{"text":"${'x'.repeat(bytes - 11)}"}`]
    const frames = textBodyOf('openai chat', call('c', 'write', ...deltas), finish('calls'))
    const chunks: string[] = []
    for (let start = 0; start < frames.length; start += 500) chunks.push(frames.slice(start, start + 500).join(''))
    return chunks
  }

  /** Measures processor time, which other processes do not affect. */
  async function costOf(bytes: number): Promise<number> {
    const body = longBody(bytes)
    server.answer({ body })
    const before = process.cpuUsage()
    await observedCall(chat, server).stream.result()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }

  it('F3: 100 kB in deltas of one byte arrive whole and are parsed once', async () => {
    server.answer({ body: longBody(100_000) })
    const parse = vi.spyOn(JSON, 'parse')
    const events = await read(chat)
    const parsed = parse.mock.calls.filter(([source]) => source.length > 1_000)
    expect(parsed.map(([source]) => source.length)).toEqual([100_000])
    const { deltas } = blockOf(events, 0)
    expect(deltas).toHaveLength(100_000)
    const input = JSON.parse(deltas) as object
    expect(messageOf(events)).toMatchObject({ stopReason: 'tool-calls', content: [{ input }] })
    expect(events.filter(({ type }) => type === 'tool-call-delta')).toHaveLength(100_000)
  })

  it('F3: eight times the arguments cost much less than the square of eight', async () => {
    await costOf(5_000)
    const small = Math.min(await costOf(5_000), await costOf(5_000), await costOf(5_000))
    expect((await costOf(40_000)) / small).toBeLessThan(24)
  })
})

describe.each(wires)('a call cut by the length limit over $name', (wire) => {
  it('F4: the call stays, marked, with the text that came, and is not repaired', async () => {
    server.answer({ body: bodyOf(wire.name, half(call('call_1', 'weather', '{"city":"Os', 'l')), finish('length')) })
    const message = messageOf(await read(wire))
    expect(message).toMatchObject({
      stopReason: 'length',
      rawStopReason: expect.any(String) as string,
      content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: {} }],
    })
    expect(message).not.toHaveProperty('error')
    const [part] = message.content
    const { invalid, inputText } = part?.type === 'tool-call' ? part : {}
    expect(['truncated', 'not-json']).toContain(invalid)
    expect(inputText).toBe(wire.name === 'google' ? '{"half":"{\\"city\\":\\"Osl' : '{"city":"Osl')
  })
})
