import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../scripts/test-length.ts'
import {
  streamMessage,
  type AssistantMessage,
  type JSONObject,
  type JSONValue,
  type LanguageModelV4,
  type LanguageModelV4Prompt,
  type Message,
  type ModelRequest,
} from '../../src/index.ts'
import { transcriptsFor } from '../random-transcripts.ts'
import { assistant, result, text, toolCall, user } from '../transcripts.ts'
import { bodyProblems } from './body-rules.ts'
import { finish, frame, half, reasoning, text as textPiece, textBodyOf } from './raw-bodies.ts'
import { useRawServer } from './raw-server.ts'
import { useStrictServer } from './strict-server.ts'
import { useWireServer, wireNamed, wires, type Wire, type WireOptions } from './wires.ts'

/** A call refuses messages, user parts and outputs of unknown types. */
const isTaken = (message: Message): boolean => message.role === 'assistant' || !/"hologram"|"system"/.test(JSON.stringify(message))

const modelOf = (wire: Wire, options: WireOptions): LanguageModelV4 => (wire.reasoningModel ?? wire.model)(options)

describe.each(wires)('$name: any transcript', (wire) => {
  it('L46–L53: the client converts it to a request that the vendor accepts', async () => {
    let sent: JSONObject | undefined
    const refuse = (_url: unknown, init?: RequestInit): Promise<Response> => {
      sent = JSON.parse(init?.body as string) as JSONObject
      return Promise.resolve(new Response('{}', { status: 400 }))
    }
    const model = modelOf(wire, { url: 'http://nowhere.test', fetch: refuse })
    await fc.assert(
      fc.asyncProperty(transcriptsFor(model, 8), async (messages) => {
        sent = undefined
        const { error } = await streamMessage({ model, messages: [...messages.filter(isTaken), user('Hello')] }).result()
        if (!sent) throw new Error(`no request was made: ${error?.message}`)
        expect(bodyProblems(wire.name, sent)).toEqual([])
      }),
      randomRuns(60),
    )
  })
})

describe.each(wires)('F20: a broken transcript, and a server of $name that checks it', (wire) => {
  const server = useStrictServer(wire.name)
  const model = (): LanguageModelV4 => modelOf(wire, { url: server.url, fetch })

  it('F20: gets status 200', async () => {
    const { provider, modelId } = model()
    const answer = (...content: AssistantMessage['content']): Message => assistant(content, { provider, modelId })
    const messages = [
      user('one'),
      answer(text(''), toolCall('orphan-call')),
      user('two'),
      result('orphan-result'),
      answer(text('both'), toolCall('double'), toolCall('double~2')),
      result('double'),
      result('double~2'),
      answer(toolCall('double')),
      result('double'),
      user(' '),
    ]
    const message = await streamMessage({ model: model(), messages }).result()
    expect(message.error).toBeUndefined()
    expect(message).toMatchObject({ stopReason: 'stop', content: [{ type: 'text', text: 'ok' }] })
    expect(new Set(message.repairs?.map(({ code }) => code))).toEqual(
      new Set(['missing-result', 'orphan-result', 'renamed-call', 'empty-content', 'dropped-message']),
    )
  })

  it('F20: the server refuses the same calls without the repair', async () => {
    const prompt: LanguageModelV4Prompt = [
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'orphan', toolName: 'x', input: {} }] },
      { role: 'user', content: [{ type: 'text', text: 'two' }] },
    ]
    await expect(model().doStream({ prompt })).rejects.toMatchObject({ statusCode: 400 })
  })
})

describe('F21: the same request again', () => {
  const server = useWireServer()
  const tool = (name: string): NonNullable<ModelRequest['tools']>[number] => ({
    name,
    inputSchema: { type: 'object', properties: { [name]: { type: 'string' } } },
  })
  const messages = [user('one'), assistant([text('first')]), user('again please')]

  it.each(wires)('F21: has the same bytes over $name, and marks only where they are supported', async (wire) => {
    server.mock.onMessage('again', { content: 'ok' })
    const ask = (tools: ModelRequest['tools']): Promise<AssistantMessage> =>
      streamMessage({
        model: wire.model(server),
        messages,
        instructions: 'Be brief.',
        tools: tools ?? [],
        cache: 'auto',
      }).result()
    expect((await ask([tool('b'), tool('a')])).stopReason).toBe('stop')
    expect((await ask([tool('a'), tool('b')])).stopReason).toBe('stop')
    const [first, second] = server.bodies
    expect(JSON.stringify(second)).toBe(JSON.stringify(first))
    const mark = { type: 'ephemeral' }
    expect(marksIn(first ?? {})).toEqual(wire.name === 'anthropic' ? { 'messages.2.content.0': mark, 'system.0': mark } : {})
  })
})

/** Returns all cache marks in a request, by path. */
function marksIn(value: JSONValue, path: readonly string[] = []): Record<string, JSONValue> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.entries(value).reduce<Record<string, JSONValue>>(
    (marks, [key, item = null]) =>
      key === 'cache_control' ? { ...marks, [path.join('.')]: item } : { ...marks, ...marksIn(item, [...path, key]) },
    {},
  )
}

describe('an aborted answer, and a provider that stores only whole ones', () => {
  it('L51: openai responses gets the text, not a reference to it', async () => {
    let sent: JSONObject | undefined
    const refuse = (_url: unknown, init?: RequestInit): Promise<Response> => {
      sent = JSON.parse(init?.body as string) as JSONObject
      return Promise.resolve(new Response('{}', { status: 400 }))
    }
    const item = { providerMetadata: { openai: { itemId: 'item_1' } } }
    const content: AssistantMessage['content'] = [
      { type: 'reasoning', text: 'hm', ...item },
      { type: 'text', text: 'half', ...item },
    ]
    const wire = wireNamed('openai responses')
    const options = { url: 'http://nowhere.test', fetch: refuse }
    for (const model of [wire.model(options), modelOf(wire, options)]) {
      const { provider, modelId } = model
      const cut = assistant(content, { provider, modelId, stopReason: 'aborted' })
      await streamMessage({ model, messages: [user('Hello'), cut, user('Go on')] }).result()
      expect(JSON.stringify(sent?.['input'])).toContain('"half"')
      expect(JSON.stringify(sent?.['input'])).not.toContain('item_1')
      await streamMessage({ model, messages: [user('Hello'), { ...cut, stopReason: 'stop' }, user('Go on')] }).result()
      expect(JSON.stringify(sent?.['input'])).toContain('item_1')
    }
  })
})

describe('F5: reasoning in the next request', () => {
  const server = useRawServer()
  const question = user('think hard')
  const storeNothing = { openai: { store: false } }
  const encrypted = 'gAAAAABo+/encrypted=='

  /** Returns the answer of a real client, after a JSON round trip as by a store. */
  async function thoughtful(wire: Wire, body: readonly string[]): Promise<AssistantMessage> {
    server.answer({ body })
    const message = await streamMessage({
      model: modelOf(wire, server),
      messages: [question],
      providerOptions: storeNothing,
    }).result()
    expect(message.error).toBeUndefined()
    return JSON.parse(JSON.stringify(message)) as AssistantMessage
  }

  async function nextBody(wire: Wire, answer: Message, more: Partial<ModelRequest> = {}): Promise<JSONObject> {
    server.answer({ body: textBodyOf(wire.name, textPiece('ok'), finish()) })
    const messages = [question, answer, user('and now?')]
    const { error } = await streamMessage({
      model: modelOf(wire, server),
      messages,
      providerOptions: storeNothing,
      ...more,
    }).result()
    expect(error).toBeUndefined()
    const body = server.requests.at(-1)?.body
    if (!body) throw new Error('no request was made')
    expect(bodyProblems(wire.name, body)).toEqual([])
    return body
  }

  const fromAnthropic = (): Promise<AssistantMessage> => {
    const delta = (index: number, fields: object): string =>
      frame({ type: 'content_block_delta', index, delta: fields }, 'content_block_delta')
    const [opening = '', ...thinking] = textBodyOf('anthropic', half(reasoning('First I think')))
    const block = (type: string, index: number, fields: object = {}): string => frame({ type, index, ...fields }, type)
    return thoughtful(wireNamed('anthropic'), [
      opening,
      ...thinking,
      delta(0, { type: 'signature_delta', signature: 'c2lnbmVk+/==' }),
      block('content_block_stop', 0),
      block('content_block_start', 1, { content_block: { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ+/==' } }),
      block('content_block_stop', 1),
      block('content_block_start', 2, { content_block: { type: 'text', text: '' } }),
      delta(2, { type: 'text_delta', text: 'The answer' }),
      block('content_block_stop', 2),
      ...textBodyOf('anthropic', finish()).slice(1),
    ])
  }

  const fromResponses = (): Promise<AssistantMessage> => {
    const event = (type: string, fields: object): string => frame({ type, ...fields }, type)
    const item = { id: 'rs_1', type: 'reasoning', encrypted_content: encrypted }
    const summary = [{ type: 'summary_text', text: 'First I think' }]
    const at = { item_id: 'rs_1', output_index: 0, summary_index: 0 }
    const [opening = '', ...answer] = textBodyOf('openai responses', textPiece('The answer'), finish())
    return thoughtful(wireNamed('openai responses'), [
      opening,
      event('response.output_item.added', { output_index: 0, item: { ...item, summary: [] } }),
      event('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }),
      event('response.reasoning_summary_text.delta', { ...at, delta: 'First I think' }),
      event('response.output_item.done', { output_index: 0, item: { ...item, summary } }),
      ...answer.map((line) => line.replaceAll('"output_index":0', '"output_index":1')),
    ])
  }

  it('F5: anthropic gets its signature and its redacted data byte for byte', async () => {
    const { messages } = await nextBody(wireNamed('anthropic'), await fromAnthropic())
    expect((messages as unknown as { content: unknown }[])[1]?.content).toEqual([
      { type: 'thinking', thinking: 'First I think', signature: 'c2lnbmVk+/==' },
      { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ+/==' },
      { type: 'text', text: 'The answer' },
    ])
  })

  it('F5: openai responses gets its encrypted item byte for byte', async () => {
    const { input } = await nextBody(wireNamed('openai responses'), await fromResponses())
    expect((input as JSONObject[])[1]).toEqual({
      type: 'reasoning',
      id: 'rs_1',
      encrypted_content: encrypted,
      summary: [{ type: 'summary_text', text: 'First I think' }],
    })
  })

  const answers = [
    { from: 'anthropic', answer: fromAnthropic },
    { from: 'openai responses', answer: fromResponses },
  ] as const
  it.each(answers)('F5: other providers get none of $from, or plain text if asked', async ({ from, answer }) => {
    const message = await answer()
    for (const wire of wires.filter(({ name }) => name !== from)) {
      const without = JSON.stringify(await nextBody(wire, message))
      expect(without).toContain('The answer')
      expect(without).not.toContain('First I think')
      const asText = JSON.stringify(await nextBody(wire, message, { history: { foreignReasoning: 'text' } }))
      expect(asText).toContain('First I think')
      for (const secret of [encrypted, 'c2lnbmVk', 'cmVkYWN0ZWQ', 'rs_1', '"thinking"', 'thought']) {
        expect(without).not.toContain(secret)
        expect(asText).not.toContain(secret)
      }
    }
  })
})
