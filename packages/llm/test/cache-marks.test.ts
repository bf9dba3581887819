import { describe, expect, it } from 'vitest'
import {
  streamMessage,
  type FunctionTool,
  type LanguageModelV4CallOptions,
  type LanguageModelV4ProviderTool,
  type Message,
  type ModelRequest,
} from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { assistant, result, text, toolCall, user } from './transcripts.ts'

const mark = { type: 'ephemeral' }
const own = { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } }
const tool = (name: string, more: Partial<FunctionTool> = {}): FunctionTool => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
})
const blocks = [{ text: 'one' }, { text: 'two' }]

async function optionsOf(request: Partial<ModelRequest>, provider = 'anthropic.messages'): Promise<LanguageModelV4CallOptions> {
  const model = scriptedModel([{ text: 'ok' }], { provider })
  const message = await streamMessage({ model, messages: [user('hi')], ...request }).result()
  expect(message.error).toBeUndefined()
  const [options] = model.calls
  if (!options) throw new Error('the model was not called')
  return options
}

/** Returns the marks by position: tool name, message index, part index. */
async function marksOf(request: Partial<ModelRequest>, provider?: string): Promise<Record<string, unknown>> {
  const { prompt, tools = [] } = await optionsOf(request, provider)
  const found: Record<string, unknown> = {}
  const see = (place: string, item: object): void => {
    const { providerOptions } = item as { providerOptions?: Record<string, Record<string, unknown>> }
    const cacheControl = providerOptions?.['anthropic']?.['cacheControl']
    if (cacheControl) found[place] = cacheControl
  }
  for (const each of tools) see(each.name, each)
  for (const [index, message] of prompt.entries()) {
    see(`${index}`, message)
    if (typeof message.content === 'string') continue
    for (const [place, part] of message.content.entries()) see(`${index}.${place}`, part)
  }
  return found
}

describe('cache marks', () => {
  it('L93: off is the default, and no mark is set', async () => {
    const request = { instructions: 'be brief', tools: [tool('a')] }
    expect(await marksOf(request)).toEqual({})
    expect(await marksOf({ ...request, cache: 'off' })).toEqual({})
  })

  it('L93: auto marks the last instructions, or without any the last tool, and the last message', async () => {
    expect(await marksOf({ cache: 'auto', instructions: blocks, tools: [tool('a')] })).toEqual({ 1: mark, '2.0': mark })
    expect(await marksOf({ cache: 'auto', tools: [tool('b'), tool('a')] })).toEqual({ b: mark, '0.0': mark })
    expect(await marksOf({ cache: 'auto' })).toEqual({ '0.0': mark })
  })

  it('L93: marks are set where they are requested, with the requested time', async () => {
    const request = { instructions: blocks, tools: [tool('b'), tool('a')] }
    expect(await marksOf({ ...request, cache: { at: ['tools'] } })).toEqual({ b: mark })
    const hour = { type: 'ephemeral', ttl: '1h' }
    expect(await marksOf({ ...request, cache: { at: ['messages', 'tools', 'instructions'], ttl: '1h' } })).toEqual({
      b: hour,
      1: hour,
      '2.0': hour,
    })
    expect(await marksOf({ ...request, cache: { at: [] } })).toEqual({})
  })

  it('L93: with a stable part, the mark of the instructions is set at its end, and the rest is a separate text', async () => {
    const sent = async (instructions: number, request: Partial<ModelRequest> = {}, provider = 'anthropic.messages') => {
      const given = {
        tools: [tool('a')],
        instructions: 'be brief\n\nMonday 😀',
        cache: { at: 'auto', lasting: { instructions } },
        ...request,
      } as const
      const { prompt } = await optionsOf(given, provider)
      return {
        texts: prompt.flatMap((message) => (message.role === 'system' ? message.content : [])),
        marks: Object.keys(await marksOf(given, provider)),
      }
    }
    expect(await sent(8)).toEqual({ texts: ['be brief', '\n\nMonday 😀'], marks: ['0', '2.0'] })
    for (const whole of [19, 20, 10_000]) expect(await sent(whole)).toEqual({ texts: ['be brief\n\nMonday 😀'], marks: ['0', '1.0'] })
    // With 0, nothing is repeated; with 18, the text would end with half a surrogate pair.
    for (const none of [0, 18]) expect(await sent(none)).toEqual({ texts: ['be brief\n\nMonday 😀'], marks: ['a', '1.0'] })
    const blocks = [{ text: 'one' }, { text: 'two three' }]
    expect(await sent(3, { instructions: blocks })).toEqual({ texts: ['one', 'two', ' three'], marks: ['1', '3.0'] })
    expect(await sent(0, { instructions: blocks })).toEqual({ texts: ['one', 'two three'], marks: ['0', '2.0'] })
    expect(await sent(8, {}, 'openai.responses')).toEqual({ texts: ['be brief\n\nMonday 😀'], marks: [] })
  })

  it('L93: the mark of the messages is set at the last stable message', async () => {
    const messages = [user('hi'), assistant([toolCall('a'), toolCall('b')]), result('a'), result('b'), user(' '), user('now'), user('here')]
    const marks = (lasting: number): Promise<Record<string, unknown>> =>
      marksOf({ messages, cache: { at: ['messages'], lasting: { messages: lasting } } })
    expect(await marks(7)).toEqual({ '4.0': mark })
    expect(await marks(6)).toEqual({ '3.0': mark })
    // The blank message is not sent.
    for (const lasting of [4, 5]) expect(await marks(lasting)).toEqual({ '2.1': mark })
    expect(await marks(1)).toEqual({ '0.0': mark })
    expect(await marks(0)).toEqual({})
    expect(await marksOf({ messages, instructions: 'be brief', cache: { at: 'auto', ttl: '1h', lasting: { messages: 0 } } })).toEqual({
      0: { ...mark, ttl: '1h' },
    })
  })

  it('L93: the last part may be a result, or a part of an answer that can carry a mark', async () => {
    const messages = [user('hi'), assistant([toolCall('a'), toolCall('b')]), result('a'), result('b')]
    expect(await marksOf({ cache: 'auto', messages })).toEqual({ '2.1': mark })
    const paused = assistant(
      [text('wait'), { type: 'reasoning', text: 'hm' }, { type: 'text', text: '', providerMetadata: { acme: {} } }],
      { provider: 'anthropic.messages', modelId: 'scripted-model', paused: true },
    )
    expect(await marksOf({ cache: 'auto', messages: [user('hi'), paused] })).toEqual({ '1.0': mark })
  })

  it('L93: requests to other providers get no mark', async () => {
    const request = { cache: 'auto', instructions: 'be brief', tools: [tool('a')] } as const
    for (const provider of ['openai.responses', 'google.generative-ai', 'anthropic-proxy', 'scripted']) {
      expect(await marksOf(request, provider)).toEqual({})
    }
  })

  it('L93: there are never more than four together with the marks of the caller, and the most useful come first', async () => {
    const at = ['tools', 'instructions', 'messages'] as const
    const marked = (count: number): Message => ({
      role: 'user',
      content: Array.from({ length: count }, (_, n) => ({ type: 'text', text: `${n}`, providerOptions: own })),
    })
    const given = async (count: number): Promise<Record<string, unknown>> => {
      const messages = [marked(count), user('hi')]
      return marksOf({ cache: { at }, instructions: 'be brief', tools: [tool('a')], messages })
    }
    const added = async (count: number): Promise<string[]> =>
      Object.entries(await given(count)).flatMap(([place, found]) => ('ttl' in (found as object) ? [] : [place]))
    expect((await added(1)).sort()).toEqual(['0', '2.0', 'a'])
    expect((await added(2)).sort()).toEqual(['0', '2.0'])
    expect(await added(3)).toEqual(['2.0'])
    expect(await added(4)).toEqual([])
    expect(Object.keys(await given(4))).toHaveLength(4)
  })

  it('L93: marks of the caller count wherever they are', async () => {
    const content = [{ type: 'text', text: 'a', providerOptions: own }] as const
    const request: Partial<ModelRequest> = {
      tools: [tool('a', { providerOptions: own })],
      instructions: [{ text: 'one', providerOptions: { anthropic: { cache_control: mark } } }],
      messages: [
        { role: 'user', content: 'hi', providerOptions: own },
        assistant([toolCall('c')]),
        { ...result('c'), output: { type: 'content', value: content } },
        user('go'),
      ],
      cache: { at: ['messages'] },
    }
    expect(Object.keys(await marksOf(request)).sort()).toEqual(['1', 'a'])
    const { tools: _, ...oneLess } = request
    expect(Object.keys(await marksOf(oneLess)).sort()).toEqual(['1', '4.0'])
    const onCall = { ...oneLess, providerOptions: own }
    expect(Object.keys(await marksOf(onCall)).sort()).toEqual(['1'])
  })

  it('L93: a part that the caller marked gets no second mark', async () => {
    const marked = { type: 'text', text: 'a', providerOptions: own } as const
    const places: Partial<ModelRequest>[] = [
      { tools: [tool('a', { providerOptions: own })] },
      { instructions: [{ text: 'one', providerOptions: own }] },
      { messages: [{ role: 'user', content: [marked] }] },
      { messages: [{ role: 'user', content: 'hi', providerOptions: own }] },
      { messages: [assistant([toolCall('c')]), { ...result('c'), output: { type: 'content', value: [marked] } }] },
    ]
    expect(await marksOf({ ...places[0], cache: { at: ['tools'] } })).toEqual({ a: own.anthropic.cacheControl })
    expect(await marksOf({ ...places[1], cache: { at: ['instructions'] } })).toEqual({ 0: own.anthropic.cacheControl })
    expect(await marksOf({ ...places[2], cache: { at: ['messages'] } })).toEqual({ '0.0': own.anthropic.cacheControl })
    expect(await marksOf({ ...places[3], cache: { at: ['messages'] } })).toEqual({ 0: own.anthropic.cacheControl })
    expect(await marksOf({ ...places[4], cache: { at: ['messages'] } })).toEqual({})
  })

  it('L93: tools that the provider runs get no mark, and neither do tools with deferred loading', async () => {
    const search: LanguageModelV4ProviderTool = { type: 'provider', id: 'anthropic.search', name: 'z', args: {} }
    const deferred = tool('y', { providerOptions: { anthropic: { deferLoading: true } } })
    expect(await marksOf({ cache: { at: ['tools'] }, tools: [search, deferred, tool('a')] })).toEqual({ a: mark })
    expect(await marksOf({ cache: { at: ['tools'] }, tools: [search] })).toEqual({})
  })

  it('L41: objects of the caller stay unchanged, and their other options are kept', async () => {
    const providerOptions = Object.freeze({ anthropic: Object.freeze({ citations: true }), acme: { x: 1 } })
    const part = Object.freeze({ type: 'text', text: 'a', providerOptions } as const)
    const messages = Object.freeze([Object.freeze({ role: 'user', content: Object.freeze([part]) } as const)])
    const { prompt } = await optionsOf({ cache: 'auto', messages })
    expect(prompt[0]?.content[0]).toEqual({
      type: 'text',
      text: 'a',
      providerOptions: { anthropic: { citations: true, cacheControl: mark }, acme: { x: 1 } },
    })
    expect(part.providerOptions).toEqual({ anthropic: { citations: true }, acme: { x: 1 } })
  })
})
