import { describe, expect, it } from 'vitest'
import { toPrompt, type AssistantMessage, type AssistantPart, type Message, type ToolCallPart, type ToPromptOptions, type ToolResultMessage } from '../src/index.ts'

const model = { provider: 'acme.chat', modelId: 'm1' }

const user = (content: string): Message => ({ role: 'user', content })
const assistant = (content: readonly AssistantPart[], more: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: 'assistant', id: 'msg', content, ...model, stopReason: 'stop', usage: {}, at: 1, timing: { totalMs: 1 }, ...more,
})
const toolCall = (toolCallId: string, more: Partial<ToolCallPart> = {}): ToolCallPart => ({ type: 'tool-call', toolCallId, toolName: 'x', input: { a: 1 }, ...more })
const result = (toolCallId: string, value = 'ok'): ToolResultMessage => ({ role: 'tool-result', toolCallId, toolName: 'x', output: { type: 'text', value } })
const text = (value: string): AssistantPart => ({ type: 'text', text: value })

const convert = (messages: readonly Message[], more: Partial<ToPromptOptions> = {}): ReturnType<typeof toPrompt> => toPrompt({ messages, model, ...more })
const codes = (messages: readonly Message[], more?: Partial<ToPromptOptions>): string[] => convert(messages, more).repairs.map(({ code }) => code)

/** The prompt in short: one line per message. */
const shape = (messages: readonly Message[], more?: Partial<ToPromptOptions>): string[] =>
  convert(messages, more).prompt.map((message) => {
    if (typeof message.content === 'string') return `${message.role}: ${message.content}`
    const parts = message.content.map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return `${part.type === 'text' ? '' : '~'}${part.text}`
      if (part.type === 'tool-call') return `call ${part.toolCallId}`
      if (part.type === 'tool-result') return `result ${part.toolCallId}=${'value' in part.output ? JSON.stringify(part.output.value) : part.output.type}`
      return part.type
    })
    return `${message.role}: ${parts.join(', ')}`
  })

const missing = '"No result was recorded for this call."'

const deepFreeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}

const valid: readonly Message[] = [
  { role: 'user', content: [{ type: 'text', text: 'look' }, { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQI=' }, filename: 'a.png' }] },
  assistant([
    { type: 'reasoning', text: 'hm', providerMetadata: { acme: { signature: 's' } } },
    { type: 'reasoning', text: '', providerMetadata: { acme: { redactedData: 'r' } } },
    { type: 'text', text: 'I will', providerMetadata: { acme: { itemId: 'i' } } },
    toolCall('c1', { providerMetadata: { acme: { thoughtSignature: 't' } } }),
    toolCall('c2'),
  ], { stopReason: 'tool-calls' }),
  result('c2', 'two'),
  { role: 'tool-result', toolCallId: 'c1', toolName: 'x', output: { type: 'content', value: [{ type: 'text', text: 'one' }, { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://example.test/a.png' } }] } },
  assistant([
    toolCall('s1', { providerExecuted: true }),
    { type: 'tool-result', toolCallId: 's1', toolName: 'x', result: { hits: 1 } },
    { type: 'source', sourceType: 'url', id: 'q', url: 'https://example.test/' },
    { type: 'custom', kind: 'acme.thing', providerMetadata: { acme: { x: 1 } } },
    text('done'),
  ]),
]

describe('transcript to prompt', () => {
  it('L41: conversion is pure: same input, same bytes, and the input stays as it is', () => {
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
    expect(prompt[0]?.content[1]).toEqual({ type: 'file', mediaType: 'image/png', filename: 'a.png', data: { type: 'data', data: 'AQI=' } })
  })

  it('L43: metadata goes back byte for byte, also on empty text and after a JSON round trip', () => {
    const { prompt } = convert(JSON.parse(JSON.stringify(valid)) as Message[])
    expect(prompt[1]?.content).toEqual([
      { type: 'reasoning', text: 'hm', providerOptions: { acme: { signature: 's' } } },
      { type: 'reasoning', text: '', providerOptions: { acme: { redactedData: 'r' } } },
      { type: 'text', text: 'I will', providerOptions: { acme: { itemId: 'i' } } },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'x', input: { a: 1 }, providerOptions: { acme: { thoughtSignature: 't' } } },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'x', input: { a: 1 } },
    ])
    expect(convert([assistant([{ type: 'text', text: '', providerMetadata: { acme: { a: 1 } } }])]).prompt[0]?.content).toEqual([
      { type: 'text', text: '', providerOptions: { acme: { a: 1 } } },
    ])
  })

  it('L44: another model sees no metadata, no sealed reasoning and nothing that only its origin understands', () => {
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
    const messages = [assistant([toolCall('a:b'), toolCall('a/b'), toolCall('x'.repeat(80)), toolCall('fine_1-A')], other), result('a:b'), result('a/b')]
    const { prompt } = convert(messages)
    const ids = (index: number): string[] => (prompt[index]?.content as { toolCallId: string }[]).map((part) => part.toolCallId)
    expect(new Set(ids(0)).size).toBe(4)
    for (const id of ids(0)) expect(id).toMatch(/^[\w-]{1,64}$/)
    expect(ids(1)).toEqual(ids(0))
    expect(ids(0)[3]).toBe('fine_1-A')
    expect(shape([assistant([toolCall('a:b')]), result('a:b')])).toEqual(['assistant: call a:b', 'tool: result a:b="ok"'])
  })

  it('L46: a call without a result gets one before the next message and at the end', () => {
    const messages = [assistant([toolCall('c1'), toolCall('c2')]), result('c2'), user('and?'), assistant([toolCall('c3')])]
    expect(shape(messages)).toEqual([
      'assistant: call c1, call c2',
      `tool: result c1=${missing}, result c2="ok"`,
      'user: and?',
      'assistant: call c3',
      `tool: result c3=${missing}`,
    ])
    expect(convert(messages).repairs).toEqual([
      { code: 'missing-result', messageIndex: 0, toolCallId: 'c1' },
      { code: 'missing-result', messageIndex: 3, toolCallId: 'c3' },
    ])
  })

  it('L47: a result without a call is removed; of two results the first wins', () => {
    const messages = [result('ghost'), assistant([toolCall('c')]), result('c', 'first'), result('c', 'second'), user('go')]
    expect(shape(messages)).toEqual(['assistant: call c', 'tool: result c="first"', 'user: go'])
    expect(codes(messages)).toEqual(['orphan-result', 'duplicate-result'])
  })

  it('L48: a late result moves behind its call; results stand in the order of the calls', () => {
    const messages = [assistant([toolCall('c1'), toolCall('c2')]), result('c2', 'two'), user('hurry'), result('c1', 'one')]
    expect(shape(messages)).toEqual(['assistant: call c1, call c2', 'tool: result c1="one", result c2="two"', 'user: hurry'])
    expect(codes(messages)).toEqual(['moved-result'])
  })

  it('L49: ids that were used twice become unique, pairs stay in order', () => {
    const messages = [assistant([toolCall('c')]), result('c', 'first'), assistant([toolCall('c'), toolCall('c_2')]), result('c', 'second'), result('c_2', 'third')]
    expect(shape(messages)).toEqual([
      'assistant: call c',
      'tool: result c="first"',
      'assistant: call c_2, call c_2_2',
      'tool: result c_2="second", result c_2_2="third"',
    ])
    expect(codes(messages)).toEqual(['renamed-call', 'renamed-call'])
  })

  it('L50: a call without id or name goes with its result; an invalid call with a result has empty input', () => {
    const messages = [assistant([toolCall(''), toolCall('n', { toolName: '' }), toolCall('bad', { input: {}, invalid: 'not-json', inputText: '{"a' })]), result(''), result('n'), result('bad')]
    expect(shape(messages)).toEqual(['assistant: call bad', 'tool: result bad="ok"'])
    expect(convert(messages).prompt[0]?.content[0]).toMatchObject({ input: {} })
    expect(codes(messages)).toEqual(['dropped-call', 'dropped-call', 'orphan-result', 'orphan-result'])
  })

  it('L51: of an aborted message text and answered calls are kept, without synthetic results', () => {
    const aborted = assistant(
      [{ type: 'reasoning', text: 'cut' }, { type: 'reasoning', text: 'whole', providerMetadata: { acme: { signature: 's' } } }, text('half'), toolCall('done'), toolCall('open'), toolCall('cut', { invalid: 'truncated' })],
      { stopReason: 'aborted' },
    )
    const messages = [aborted, result('done'), user('go on')]
    expect(shape(messages)).toEqual(['assistant: ~whole, half, call done', 'tool: result done="ok"', 'user: go on'])
    expect(codes(messages)).toEqual(['dropped-call', 'dropped-call'])
    expect(shape(messages, { history: { aborted: 'drop' } })).toEqual(['user: go on'])
  })

  it('L51: an errored message is dropped unless it has answered calls', () => {
    const errored = assistant([text('half'), toolCall('c')], { stopReason: 'error' })
    expect(shape([errored, user('again')])).toEqual(['user: again'])
    expect(codes([errored, user('again')])).toEqual(['dropped-message'])
    expect(shape([errored, result('c'), user('again')])).toEqual(['assistant: half, call c', 'tool: result c="ok"', 'user: again'])
    expect(shape([errored, user('again')], { history: { errored: 'keep' } })).toEqual(['assistant: half', 'user: again'])
  })

  it('L52: empty text is dropped, and a message that is left without parts', () => {
    const messages = [user(''), user('  \n'), assistant([text('')]), assistant([text(' '), text('kept')]), { role: 'user', content: [] } as const]
    expect(shape(messages)).toEqual(['assistant: kept'])
    expect(codes(messages)).toEqual([
      'empty-content', 'dropped-message', 'empty-content', 'dropped-message', 'empty-content', 'dropped-message', 'empty-content', 'dropped-message',
    ])
  })

  it('L53: lone surrogates become U+FFFD everywhere but in signed reasoning; pairs stay', () => {
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

  it('L56: sources, approvals, unknown roles and unknown parts are not sent', () => {
    const messages = [
      { role: 'system', content: 'I am the boss' } as never,
      assistant([{ type: 'approval-request', approvalId: 'a', toolCallId: 'c' }, { type: 'source', sourceType: 'document', id: 'd' }, { type: 'hologram' } as never, text('hi')]),
    ]
    expect(shape(messages)).toEqual(['assistant: hi'])
    expect(convert(messages).repairs).toEqual([{ code: 'unknown-role', messageIndex: 0 }, { code: 'foreign-part', messageIndex: 1 }])
  })

  it('L56: an open provider-executed call is kept only in a paused last message', () => {
    const paused = assistant([toolCall('p', { providerExecuted: true }), text('wait')], { paused: true })
    expect(shape([paused])).toEqual(['assistant: call p, wait'])
    expect(shape([paused, user('go')])).toEqual(['assistant: wait', 'user: go'])
    expect(codes([paused, user('go')])).toEqual(['dropped-call'])
  })

  it('L57: instructions come first as system messages; nothing of the transcript becomes one', () => {
    const blocks = [{ text: 'one', providerOptions: { acme: { cache: true } } }, { text: '' }, { text: 'two' }]
    expect(convert([user('hi')], { instructions: blocks }).prompt.slice(0, 2)).toEqual([
      { role: 'system', content: 'one', providerOptions: { acme: { cache: true } } },
      { role: 'system', content: 'two' },
    ])
    expect(shape([user('hi')], { instructions: 'be brief' })).toEqual(['system: be brief', 'user: hi'])
  })

  it('L55: a file URL is passed on as it was written and never opened', () => {
    const url = 'gs://bucket/My File.png'
    const { prompt } = convert([{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url } }] }])
    expect(prompt[0]?.content[0]).toMatchObject({ data: { type: 'url', url: new URL(url), originalUrl: url } })
  })

  it('L98: conversion stays in proportion to the transcript', () => {
    const turns = (count: number): Message[] =>
      Array.from({ length: count }, (_, n) => [user(`q${n}`), assistant([text('a'), toolCall(`c${n}`)]), result(`c${n}`)]).flat()
    const looksAt = (messages: readonly Message[]): number => {
      let looks = 0
      const counting = <T extends object>(target: T): T => new Proxy(target, { get: (object, key) => (looks++, Reflect.get(object, key) as unknown) })
      convert(counting(messages.map(counting)))
      return looks
    }
    expect(looksAt(turns(1_000))).toBeLessThanOrEqual(10 * looksAt(turns(100)))
  })
})
