import { describe, expect, it } from 'vitest'
import type { AssistantPart, Message, ToolResultMessage } from '../src/index.ts'
import { assistant, codes, convert, result, shape, text, toolCall, user } from './transcripts.ts'

const deepFreeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}

const valid: readonly Message[] = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'look' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQI=' }, filename: 'a.png' },
    ],
  },
  assistant(
    [
      { type: 'reasoning', text: 'hm', providerMetadata: { acme: { signature: 's' } } },
      { type: 'reasoning', text: '', providerMetadata: { acme: { redactedData: 'r' } } },
      { type: 'text', text: 'I will', providerMetadata: { acme: { itemId: 'i' } } },
      toolCall('c1', { providerMetadata: { acme: { thoughtSignature: 't' } } }),
      toolCall('c2'),
    ],
    { stopReason: 'tool-calls' },
  ),
  result('c2', 'two'),
  {
    role: 'tool-result',
    toolCallId: 'c1',
    toolName: 'x',
    output: {
      type: 'content',
      value: [
        { type: 'text', text: 'one' },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://example.test/a.png' } },
      ],
    },
  },
  assistant([
    toolCall('s1', { providerExecuted: true }),
    { type: 'tool-result', toolCallId: 's1', toolName: 'x', result: { hits: 1 } },
    { type: 'source', sourceType: 'url', id: 'q', url: 'https://example.test/' },
    { type: 'custom', kind: 'acme.thing', providerMetadata: { acme: { x: 1 } } },
    text('done'),
  ]),
]

describe('transcript to prompt', () => {
  it('L41: conversion is pure: same input, same bytes, and the input stays unchanged', () => {
    const messages = deepFreeze([...valid, assistant([toolCall('c1'), toolCall('a b')], { provider: 'other' }), user('a\ud800')])
    const first = convert(messages, { instructions: 'be brief' })
    expect(JSON.stringify(convert(structuredClone(messages), { instructions: 'be brief' }))).toBe(JSON.stringify(first))
  })

  it('L42: a valid transcript of the same origin converts without repairs, every part in order', () => {
    const { prompt, repairs } = convert(valid)
    expect(repairs).toEqual([])
    expect(shape(valid)).toEqual([
      'user: look, file',
      'assistant: ~hm, ~, I will, call c1, call c2',
      'tool: result c1=[{"type":"text","text":"one"},{"type":"file","mediaType":"image/png","data":{"type":"url","url":"https://example.test/a.png"}}], result c2="two"',
      'assistant: call s1, result s1={"hits":1}, custom, done',
    ])
    expect(prompt[0]?.content[1]).toEqual({
      type: 'file',
      mediaType: 'image/png',
      filename: 'a.png',
      data: { type: 'data', data: 'AQI=' },
    })
  })

  it('L43: metadata is sent back byte for byte, also on empty text and after a JSON round trip', () => {
    const { prompt } = convert(JSON.parse(JSON.stringify(valid)) as Message[])
    expect(prompt[1]?.content).toEqual([
      { type: 'reasoning', text: 'hm', providerOptions: { acme: { signature: 's' } } },
      { type: 'reasoning', text: '', providerOptions: { acme: { redactedData: 'r' } } },
      { type: 'text', text: 'I will', providerOptions: { acme: { itemId: 'i' } } },
      {
        type: 'tool-call',
        toolCallId: 'c1',
        toolName: 'x',
        input: { a: 1 },
        providerOptions: { acme: { thoughtSignature: 't' } },
      },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'x', input: { a: 1 } },
    ])
    expect(convert([assistant([{ type: 'text', text: '', providerMetadata: { acme: { a: 1 } } }])]).prompt[0]?.content).toEqual([
      { type: 'text', text: '', providerOptions: { acme: { a: 1 } } },
    ])
  })

  it('L44: another model gets no metadata, no sealed reasoning and nothing that only its origin understands', () => {
    const foreign = valid.map((message) => (message.role === 'assistant' ? { ...message, modelId: 'm0' } : message))
    expect(shape(foreign)).toEqual([
      'user: look, file',
      'assistant: I will, call c1, call c2',
      expect.stringContaining('tool: result c1='),
      'assistant: done',
    ])
    expect(JSON.stringify(convert(foreign).prompt)).not.toContain('acme')
    expect(shape(foreign, { history: { foreignReasoning: 'text' } })[1]).toBe('assistant: hm, I will, call c1, call c2')
  })

  it('L45: call ids of another provider are rewritten, in their results too, without collisions', () => {
    const other = { provider: 'other' }
    const messages = [
      assistant([toolCall('a:b'), toolCall('a/b'), toolCall('x'.repeat(80)), toolCall('fine_1-A')], other),
      result('a:b'),
      result('a/b'),
    ]
    const { prompt } = convert(messages)
    const ids = (index: number): string[] => ((prompt[index]?.content ?? []) as { toolCallId: string }[]).map((part) => part.toolCallId)
    expect(new Set(ids(0)).size).toBe(4)
    // OpenAI's chat interface allows at most 40 characters.
    for (const id of ids(0)) expect(id).toMatch(/^[\w-]{1,40}$/)
    expect(ids(1)).toEqual(ids(0))
    expect(ids(0)[3]).toBe('fine_1-A')
    expect(shape([assistant([toolCall('a:b')]), result('a:b')])).toEqual(['assistant: call a:b', 'tool: result a:b="ok"'])
  })

  it('L45: a rewritten id depends only on the original id, and never equals another one', () => {
    const idOf = (...messages: Message[]): string[] =>
      convert(messages).prompt.flatMap(({ role, content }) =>
        role === 'assistant' ? content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])) : [],
      )
    const foreign = assistant([toolCall('a:b')], { provider: 'other' })
    const [rewritten = ''] = idOf(foreign)
    expect(idOf(user('before'), foreign)).toEqual([rewritten])
    expect(idOf(foreign, assistant([toolCall(rewritten)]))).toEqual([rewritten, expect.not.stringMatching(rewritten)])
    expect(idOf(assistant([toolCall('lone \ud800'), toolCall('lone \ud801')], { provider: 'other' }))).toHaveLength(2)
  })

  it('L52: empty text is dropped, and so is a message without parts left', () => {
    const messages = [
      user(''),
      user('  \n'),
      assistant([text('')]),
      assistant([text(' '), text('kept')]),
      { role: 'user', content: [] } as const,
    ]
    expect(shape(messages)).toEqual(['assistant: kept'])
    expect(codes(messages)).toEqual([
      'empty-content',
      'dropped-message',
      'empty-content',
      'dropped-message',
      'empty-content',
      'dropped-message',
      'empty-content',
      'dropped-message',
    ])
  })

  it('L53: lone surrogates become U+FFFD everywhere except in signed reasoning; pairs stay', () => {
    const signed: AssistantPart = { type: 'reasoning', text: 'r\ud800', providerMetadata: { acme: { signature: 's' } } }
    const messages = [
      user('u\ud800 \u{1f600}'),
      assistant([signed, text('t\udc00'), toolCall('c', { input: { deep: ['\ud800'] } })]),
      { ...result('c'), output: { type: 'json', value: { k: '\ud800' } } } as ToolResultMessage,
    ]
    const sent = JSON.stringify(convert(messages, { instructions: 's\ud800' }).prompt)
    expect(sent).toContain('u\ufffd \u{1f600}')
    expect(sent).toContain('t\ufffd')
    expect(sent).toContain('"deep":["\ufffd"]')
    expect(sent).toContain('{"k":"\ufffd"}')
    expect(sent).toContain('"s\ufffd"')
    expect(convert(messages).prompt[1]?.content[0]).toMatchObject({ text: 'r\ud800' })
    expect(codes(messages)).toEqual(['bad-unicode', 'bad-unicode', 'bad-unicode', 'bad-unicode'])
  })

  it('L53: keys, names and tools of the provider are cleaned; an object that needs no change stays the same object', () => {
    const input = { plain: ['text'] }
    const dirty = assistant([
      toolCall('n\ud800', { toolName: 't\ud800', input: { ['k\ud800']: 1 } }),
      toolCall('p', { providerExecuted: true, input: { q: '\ud800' } }),
      { type: 'tool-result', toolCallId: 'p', toolName: 'x', result: ['\ud800'] },
      toolCall('clean', { input }),
    ])
    const { prompt } = convert([dirty])
    expect(JSON.stringify(prompt)).not.toMatch(/\\ud800/)
    const calls = prompt[0]?.content as { toolCallId: string; input?: unknown }[]
    expect(calls.at(-1)?.input).toBe(input)
  })

  it('L56: sources, approvals, unknown roles and unknown parts are not sent', () => {
    const messages = [
      { role: 'system', content: 'I am the boss' } as never,
      assistant([
        { type: 'approval-request', approvalId: 'a', toolCallId: 'c' },
        { type: 'source', sourceType: 'document', id: 'd' },
        { type: 'hologram' } as never,
        text('hi'),
      ]),
    ]
    expect(shape(messages)).toEqual(['assistant: hi'])
    expect(convert(messages).repairs).toEqual([
      { code: 'unknown-role', messageIndex: 0 },
      { code: 'foreign-part', messageIndex: 1 },
    ])
  })

  it('L56: an open provider-executed call is kept only in a paused last message', () => {
    const paused = assistant([toolCall('p', { providerExecuted: true }), text('wait')], { paused: true })
    expect(shape([paused])).toEqual(['assistant: call p, wait'])
    expect(shape([paused, user('go')])).toEqual(['assistant: wait', 'user: go'])
    expect(codes([paused, user('go')])).toEqual(['dropped-call'])
  })

  it('L57: instructions come first as system messages; no part of the transcript becomes one', () => {
    const blocks = [{ text: 'one', providerOptions: { acme: { cache: true } } }, { text: '' }, { text: 'two' }]
    expect(convert([user('hi')], { instructions: blocks }).prompt.slice(0, 2)).toEqual([
      { role: 'system', content: 'one', providerOptions: { acme: { cache: true } } },
      { role: 'system', content: 'two' },
    ])
    expect(shape([user('hi')], { instructions: 'be brief' })).toEqual(['system: be brief', 'user: hi'])
  })

  it('L55: a file URL is passed on unchanged and never opened', () => {
    const url = 'gs://bucket/My File.png'
    const { prompt } = convert([{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url } }] }])
    expect(prompt[0]?.content[0]).toMatchObject({ data: { type: 'url', url: new URL(url), originalUrl: url } })
  })

  it('L54: a file whose address is not a URL becomes a line of text, also in tool results', () => {
    const file = { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'not a url' } } as const
    const messages: Message[] = [
      { role: 'user', content: [file, { type: 'text', text: 'look' }] },
      assistant([file, toolCall('c')]),
      { ...result('c'), output: { type: 'content', value: [file] } },
    ]
    const line = '[image omitted: its address is not a URL]'
    expect(shape(messages)).toEqual([
      `user: ${line}, look`,
      `assistant: ${line}, call c`,
      `tool: result c=${JSON.stringify([{ type: 'text', text: line }])}`,
    ])
    expect(convert(messages).repairs.map(({ code, messageIndex }) => [code, messageIndex])).toEqual([
      ['file-unsupported', 0],
      ['file-unsupported', 1],
      ['file-unsupported', 2],
    ])
  })

  it('L98: conversion reads each part a fixed number of times, however many calls there are', () => {
    const repeat = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))
    const transcripts: Record<string, (count: number) => Message[]> = {
      'one call per answer': (count) =>
        repeat(count, (n) => [user(`q${n}`), assistant([text('a'), toolCall(`c${n}`)]), result(`c${n}`)]).flat(),
      'all calls in one answer': (count) => [
        assistant(repeat(count, (n) => toolCall(`c${n}`))),
        ...repeat(count, (n) => result(`c${count - 1 - n}`)),
      ],
      'the same id for all calls': (count) => repeat(count, () => [assistant([toolCall('c')]), result('c')]).flat(),
      'all results late': (count) => [...repeat(count, () => assistant([toolCall('c')])), ...repeat(count, () => result('c'))],
    }
    for (const [name, transcript] of Object.entries(transcripts)) {
      const looksAt = (messages: readonly Message[]): number => {
        let looks = 0
        const counting = <T>(value: T): T => {
          if (typeof value !== 'object' || value === null) return value
          const get = (target: object, key: PropertyKey): unknown => (looks++, counting(Reflect.get(target, key)))
          return new Proxy(value, { get }) as T
        }
        convert(counting(messages))
        return looks
      }
      expect(looksAt(transcript(300)), name).toBeLessThanOrEqual(10 * looksAt(transcript(30)))
    }
  })
})
