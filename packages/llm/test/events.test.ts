import { describe, expect, it } from 'vitest'
import type { LanguageModelV4StreamPart, MessageEvent } from '../src/index.ts'
import { call, eventsOf, finish, messageOf, readAll, resultOf, text, usageOf } from './support.ts'

const types = (events: readonly MessageEvent[]): string[] => events.map((event) => event.type)
const part = (value: unknown): LanguageModelV4StreamPart => value as LanguageModelV4StreamPart

describe('message events', () => {
  it('L1: the first event is message-start and the last message-end, also when the call fails at once', async () => {
    const good = await eventsOf([...text('hi'), finish()])
    const bad = await readAll(call({ error: new Error('no') }).stream)
    for (const events of [good, bad]) {
      expect(types(events).at(0)).toBe('message-start')
      expect(types(events).at(-1)).toBe('message-end')
      expect(types(events).filter((type) => type === 'message-start' || type === 'message-end')).toHaveLength(2)
    }
    expect(bad).toHaveLength(2)
  })

  it('L1: parts after the end are ignored', async () => {
    const { stream, clock } = call({
      parts: [...text('a'), finish(), { sleep: 300 }, ...text('late', 'u')],
      finish: false,
    })
    const reading = readAll(stream)
    await clock.advance(400)
    expect(messageOf(await reading).content).toEqual([{ type: 'text', text: 'a' }])
  })

  it('L2: every block is closed before message-end, also on error', async () => {
    const events = await eventsOf([
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'why' },
      { type: 'text-delta', id: 't', delta: 'half' },
      { type: 'tool-input-start', id: 'c', toolName: 'weather' },
      { type: 'tool-input-delta', id: 'c', delta: '{"ci' },
      { throw: new Error('gone') },
    ])
    expect(types(events)).toEqual([
      'message-start',
      'reasoning-start',
      'reasoning-delta',
      'text-start',
      'text-delta',
      'tool-call-start',
      'tool-call-delta',
      'reasoning-end',
      'text-end',
      'tool-call-end',
      'message-end',
    ])
  })

  it('L3: index follows the order of block starts and is the position in the content', async () => {
    const events = await eventsOf([
      { type: 'tool-input-start', id: 'a', toolName: 'one' },
      { type: 'tool-input-start', id: 'b', toolName: 'two' },
      { type: 'tool-input-delta', id: 'b', delta: '{"n":2}' },
      { type: 'tool-input-delta', id: 'a', delta: '{"n":1}' },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.test/' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'two', input: '{"n":2}' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'one', input: '{"n":1}' },
      finish('tool-calls'),
    ])
    const { content } = messageOf(events)
    expect(content.map((block) => (block.type === 'tool-call' ? block.toolName : block.type))).toEqual(['one', 'two', 'source'])
    for (const event of events) {
      if (event.type === 'tool-call-end') expect(content[event.index]).toEqual(event.toolCall)
      if (event.type === 'content-part') expect(content[event.index]).toEqual(event.part)
    }
  })

  it('L3: a preliminary result of a provider tool is replaced by the next one of its call', async () => {
    const result = (value: string, preliminary: boolean): LanguageModelV4StreamPart => ({
      type: 'tool-result',
      toolCallId: 'c',
      toolName: 'search',
      result: value,
      preliminary,
    })
    const events = await eventsOf([result('a', true), result('b', true), result('c', false), ...text('done'), finish()])
    expect(events.flatMap((event) => (event.type === 'content-part' ? [event.index] : []))).toEqual([0, 0, 0])
    expect(messageOf(events).content).toEqual([
      { type: 'tool-result', toolCallId: 'c', toolName: 'search', result: 'c' },
      { type: 'text', text: 'done' },
    ])
  })

  it('L4: joined deltas equal the block text', async () => {
    const events = await readAll(call({ text: 'The whole sentence, in small pieces.', reasoning: 'because', chunk: 3 }).stream)
    for (const kind of ['text', 'reasoning'] as const) {
      const joined = events.flatMap((event) => ('delta' in event && event.type === `${kind}-delta` ? [event.delta] : [])).join('')
      const end = events.find((event) => event.type === `${kind}-end`)
      expect(end).toMatchObject({ text: joined })
      expect(messageOf(events).content).toContainEqual({ type: kind, text: joined })
    }
  })

  it('L4: no delta contains half of a character, wherever the provider cuts; an unfinished half is not lost', async () => {
    const whole = 'a knot 🪢 and a sailor 🧑‍✈️'
    const cut = [...Array(whole.length).keys()].map((place) => whole[place] ?? '')
    const halves = (of: string) => [
      { type: 'text-start', id: 't' } as const,
      ...cut.map((delta) => ({ type: 'text-delta', id: 't', delta }) as const),
      { type: 'text-delta', id: 't', delta: of } as const,
      { type: 'text-end', id: 't' } as const,
    ]
    const events = await readAll(call({ parts: halves('\ud83e'), toolCalls: [{ name: 'x', input: { a: whole }, chunk: 1 }] }).stream)
    const deltas = (type: string) => events.flatMap((event) => ('delta' in event && event.type === type ? [event.delta] : []))
    expect(
      deltas('text-delta')
        .slice(0, -1)
        .every((delta) => delta.isWellFormed()),
    ).toBe(true)
    expect(deltas('text-delta').join('')).toBe(`${whole}\ud83e`)
    expect(deltas('tool-call-delta').every((delta) => delta.isWellFormed())).toBe(true)
    expect(JSON.parse(deltas('tool-call-delta').join(''))).toEqual({ a: whole })
    expect(events.find((event) => event.type === 'text-end')).toMatchObject({ text: `${whole}\ud83e` })
  })

  it('L5: a delivered event never changes and contains no earlier text', async () => {
    const { stream } = call({ text: 'abcdef', chunk: 2, toolCalls: [{ name: 'x', input: { a: 1 }, chunk: 2 }] })
    const seen: { event: MessageEvent; then: string }[] = []
    for await (const event of stream) seen.push({ event, then: JSON.stringify(event) })
    for (const { event, then } of seen) expect(JSON.stringify(event)).toBe(then)
    expect(seen.flatMap(({ event }) => (event.type === 'text-delta' ? [event.delta] : []))).toEqual(['ab', 'cd', 'ef'])
  })

  it('L6: a delta without a start opens its block, a second start closes the first block', async () => {
    const { content } = messageOf(
      await eventsOf([
        { type: 'text-delta', id: '1', delta: 'one' },
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'two' },
        { type: 'reasoning-delta', id: '1', delta: 'three' },
        finish(),
      ]),
    )
    expect(content).toEqual([
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
      { type: 'reasoning', text: 'three' },
    ])
  })

  it('L6: a second start of an open tool call closes the first as truncated', async () => {
    const { content } = await resultOf([
      { type: 'tool-input-start', id: 'c', toolName: 'x' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a"' },
      { type: 'tool-input-start', id: 'c', toolName: 'x' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{"a":1}' },
      finish('tool-calls'),
    ])
    expect(content).toEqual([
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: {}, invalid: 'truncated', inputText: '{"a"' },
      { type: 'tool-call', toolCallId: 'c~2', toolName: 'x', input: { a: 1 } },
    ])
  })

  it('L7: empty deltas give no event, a block without text or metadata no part', async () => {
    const events = await eventsOf([
      { type: 'text-start', id: 'empty' },
      { type: 'text-delta', id: 'empty', delta: '' },
      { type: 'text-end', id: 'empty' },
      { type: 'reasoning-start', id: 'open' },
      { type: 'text-start', id: 'signed', providerMetadata: { p: { signature: 'x' } } },
      ...text('hi'),
      finish(),
    ])
    expect(types(events)).toEqual(['message-start', 'text-start', 'text-start', 'text-delta', 'text-end', 'text-end', 'message-end'])
    expect(messageOf(events).content).toEqual([
      { type: 'text', text: '', providerMetadata: { p: { signature: 'x' } } },
      { type: 'text', text: 'hi' },
    ])
  })

  it('L8: ping, raw, stream-start and response-metadata give no event', async () => {
    const events = await eventsOf([
      { type: 'stream-start', warnings: [{ type: 'other', message: 'careful' }] },
      { type: 'ping' },
      { type: 'raw', rawValue: { a: 1 } },
      { type: 'response-metadata', id: 'r1', modelId: 'm-2', timestamp: new Date(0) },
      ...text('hi'),
      finish(),
    ])
    expect(types(events)).toEqual(['message-start', 'text-start', 'text-delta', 'text-end', 'message-end'])
    expect(messageOf(events)).toMatchObject({
      warnings: [{ type: 'other', message: 'careful' }],
      response: { id: 'r1', modelId: 'm-2' },
    })
  })

  it('L8: the announcement of the Anthropic client is no content, but its numbers count', async () => {
    const usage = { input_tokens: 5, cache_read_input_tokens: 90, cache_creation_input_tokens: null, output_tokens: 1 }
    const started: LanguageModelV4StreamPart = {
      type: 'custom',
      kind: 'anthropic.message_start',
      providerMetadata: { anthropic: { id: 'm', usage } },
    }
    const empty = await eventsOf([started, { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage: usageOf() }])
    expect(types(empty)).toEqual(['message-start', 'message-end'])
    expect(messageOf(empty).error).toMatchObject({ kind: 'empty-response', phase: 'before-output' })
    const cut = await resultOf([started, { type: 'text-delta', id: 't', delta: 'abcde' }, { throw: new Error('x') }])
    expect(cut.usage).toEqual({
      inputTokens: 95,
      noCacheTokens: 5,
      cacheReadTokens: 90,
      outputTokens: 2,
      totalTokens: 97,
      estimated: true,
    })
    expect((await resultOf([{ ...started, kind: 'acme.note' }, finish()])).content).toHaveLength(1)
  })

  it('L9: an unknown part adds one warning and is skipped', async () => {
    const message = await resultOf([part({ type: 'hologram' }), part({ type: 'hologram' }), ...text('hi'), finish()])
    expect(message.warnings).toEqual([{ type: 'other', message: 'a stream part of the unknown type "hologram" was skipped' }])
    expect(message.stopReason).toBe('stop')
  })

  it.each([
    ['a part that is no object', part('text')],
    ['a part without a type', part({ id: 't' })],
    ['a text delta that is no string', part({ type: 'text-delta', id: 't', delta: 7 })],
    ['a tool input delta that is no string', part({ type: 'tool-input-delta', id: 't', delta: null })],
    ['a tool call without an id', part({ type: 'tool-call', toolCallId: '', toolName: 'x', input: '{}' })],
    ['a tool call without a name', part({ type: 'tool-call', toolCallId: 'c', input: '{}' })],
    ['a tool input start without a name', part({ type: 'tool-input-start', id: 'c' })],
  ])('L9: %s ends the message as malformed-response and keeps earlier content', async (_, malformed) => {
    const message = await resultOf([...text('kept'), malformed, ...text('ignored', 'u'), finish()])
    expect(message.error).toMatchObject({ kind: 'malformed-response', phase: 'after-output' })
    expect(message.content).toEqual([{ type: 'text', text: 'kept' }])
  })

  it('L10: events and messages survive JSON unchanged', async () => {
    const events = await eventsOf([
      {
        type: 'text-start',
        id: 't',
        providerMetadata: part({
          p: { bytes: new Uint8Array([1, 2]), at: new Date(5), none: undefined, n: -0 },
        }) as never,
      },
      { type: 'text-delta', id: 't', delta: 'x' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([255, 0]) } },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.test/a.png') } },
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{"__proto__":{"a":-0},"big":1e999}' },
      finish('tool-calls'),
    ])
    expect(JSON.parse(JSON.stringify(events))).toStrictEqual(events)
    expect(messageOf(events).content).toMatchObject([
      { providerMetadata: { p: { bytes: 'AQI=', at: 5, n: 0 } } },
      { data: { type: 'data', data: '/wA=' } },
      { data: { type: 'url', url: 'https://example.test/a.png' } },
      { type: 'tool-call' },
    ])
  })

  it('L11: provider metadata is merged per provider over start, delta and end', async () => {
    const message = await resultOf([
      { type: 'reasoning-start', id: 'r', providerMetadata: { p: { item: 'i1', sealed: null }, q: { a: 1 } } },
      { type: 'reasoning-delta', id: 'r', delta: '', providerMetadata: { p: { signature: 'sig+/=' } } },
      { type: 'reasoning-end', id: 'r', providerMetadata: { p: { sealed: 'x' } } },
      { type: 'reasoning-start', id: 's', providerMetadata: { p: { redactedData: 'zzz' } } },
      { type: 'reasoning-end', id: 's' },
      ...text('hi'),
      finish(),
    ])
    expect(message.content).toEqual([
      {
        type: 'reasoning',
        text: '',
        providerMetadata: { p: { item: 'i1', sealed: 'x', signature: 'sig+/=' }, q: { a: 1 } },
      },
      { type: 'reasoning', text: '', providerMetadata: { p: { redactedData: 'zzz' } } },
      { type: 'text', text: 'hi' },
    ])
  })

  it('L11: citations stay with their text', async () => {
    const citation = { type: 'citation', text: 'quoted' } as never
    const events = await eventsOf([
      { type: 'text-delta', id: 't', delta: 'said' },
      { type: 'text-end', id: 't', citations: [citation] },
      finish(),
    ])
    expect(messageOf(events).content).toEqual([{ type: 'text', text: 'said', citations: [citation] }])
    expect(events).toContainEqual({ type: 'text-end', index: 0, text: 'said', citations: [citation] })
  })

  it('L12: the input of the tool-call part wins over the deltas', async () => {
    const { content } = await resultOf([
      { type: 'tool-input-start', id: 'c', toolName: 'x' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{"a":2}' },
      finish('tool-calls'),
    ])
    expect(content).toEqual([{ type: 'tool-call', toolCallId: 'c', toolName: 'x', input: { a: 2 } }])
  })

  it('L12: a call without deltas still has its start and end', async () => {
    const events = await eventsOf([
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{"a":2}', dynamic: true },
      finish('tool-calls'),
    ])
    expect(types(events)).toEqual(['message-start', 'tool-call-start', 'tool-call-end', 'message-end'])
    expect(messageOf(events).content).toEqual([{ type: 'tool-call', toolCallId: 'c', toolName: 'x', input: { a: 2 }, dynamic: true }])
  })

  it.each([
    ['', { input: {} }],
    ['  ', { input: {} }],
    ['{"a":', { input: {}, invalid: 'not-json', inputText: '{"a":' }],
    ['[1]', { input: {}, invalid: 'not-object', inputText: '[1]' }],
    ['"text"', { input: {}, invalid: 'not-object', inputText: '"text"' }],
    ['null', { input: {}, invalid: 'not-object', inputText: 'null' }],
  ])('L13: input text %j is parsed or marked', async (input, expected) => {
    const message = await resultOf([{ type: 'tool-call', toolCallId: 'c', toolName: 'x', input }, finish('tool-calls')])
    expect(message.content).toEqual([{ type: 'tool-call', toolCallId: 'c', toolName: 'x', ...expected }])
  })

  it('L13: input that was started and never finished is truncated', async () => {
    const message = await resultOf([
      { type: 'tool-input-start', id: 'c', toolName: 'x' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":1}' },
      finish('length'),
    ])
    expect(message.content).toEqual([
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: {}, invalid: 'truncated', inputText: '{"a":1}' },
    ])
  })

  it('L14: two calls with one id are both kept, the second under a new id', async () => {
    const same = { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{}' } as const
    const { content } = await resultOf([same, same, same, finish('tool-calls')])
    expect(content.map((block) => block.type === 'tool-call' && block.toolCallId)).toEqual(['c', 'c~2', 'c~3'])
  })

  it('L15: text-encoded deltas are raw, the input comes from the tool-call part', async () => {
    const events = await eventsOf([
      { type: 'tool-input-start', id: 'c', toolName: 'patch', inputEncoding: 'text' },
      { type: 'tool-input-delta', id: 'c', delta: '*** begin' },
      { type: 'tool-input-end', id: 'c' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'patch', input: '{"text":"*** begin"}' },
      finish('tool-calls'),
    ])
    expect(events).toContainEqual({
      type: 'tool-call-start',
      index: 0,
      toolCallId: 'c',
      toolName: 'patch',
      inputEncoding: 'text',
    })
    expect(events).toContainEqual({ type: 'tool-call-delta', index: 0, delta: '*** begin' })
    expect(messageOf(events).content).toMatchObject([{ input: { text: '*** begin' } }])
  })

  it('L16: provider-executed calls and results are parts, not calls to run', async () => {
    const message = await resultOf([
      { type: 'tool-call', toolCallId: 's', toolName: 'search', input: '{"q":"x"}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 's', toolName: 'search', result: { hits: 1 }, isError: false },
      ...text('found'),
      finish('stop'),
    ])
    expect(message.stopReason).toBe('stop')
    expect(message.content).toEqual([
      { type: 'tool-call', toolCallId: 's', toolName: 'search', input: { q: 'x' }, providerExecuted: true },
      { type: 'tool-result', toolCallId: 's', toolName: 'search', result: { hits: 1 } },
      { type: 'text', text: 'found' },
    ])
  })
})
