import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { streamMessage, type LanguageModelV4StreamPart } from '../src/index.ts'
import { call, eventsOf, finish, hello, messageOf, rawModel, readAll, resultOf, text } from './support.ts'

const part = (value: unknown): LanguageModelV4StreamPart => value as LanguageModelV4StreamPart
const parsed = (json: string): unknown => JSON.parse(json)

describe('parts that break the contract', () => {
  it('L11: metadata under the key __proto__ is kept like any other', async () => {
    const metadata = parsed('{"__proto__":{"a":1},"constructor":{"b":2}}')
    const more = parsed('{"__proto__":{"c":3}}')
    const { content } = await resultOf([
      part({ type: 'text-start', id: 't', providerMetadata: metadata }),
      part({ type: 'text-end', id: 't', providerMetadata: more }),
      part({ type: 'custom', kind: 'acme.note', providerMetadata: metadata }),
      finish(),
    ])
    const merged = parsed('{"__proto__":{"a":1,"c":3},"constructor":{"b":2}}')
    const expected = [
      { type: 'text', text: '', providerMetadata: merged },
      { type: 'custom', kind: 'acme.note', providerMetadata: metadata },
    ]
    expect(isDeepStrictEqual(content, expected)).toBe(true)
  })

  it.each([[null], ['text'], [7], [[{ a: 1 }]], [{}], [{ p: 'text' }], [{ p: null }], [new Date(0)]])(
    'L11: metadata that is not an object by provider (%j) is ignored',
    async (providerMetadata) => {
      const { content } = await resultOf([
        part({ type: 'text-start', id: 'empty', providerMetadata }),
        part({ type: 'text-delta', id: 't', delta: 'a', providerMetadata }),
        part({ type: 'custom', kind: 'acme.note', providerMetadata }),
        part({ ...finish(), providerMetadata }),
      ])
      expect(content.map((block) => Object.keys(block.providerMetadata ?? {}))).toEqual([[], []])
    },
  )

  it('L9: a tool call that loses its name after its input is malformed', async () => {
    const message = await resultOf([
      { type: 'tool-input-start', id: 'c', toolName: 'x' },
      { type: 'tool-input-delta', id: 'c', delta: '{}' },
      part({ type: 'tool-call', toolCallId: 'c', input: '{}' }),
      finish('tool-calls'),
    ])
    expect(message.error?.kind).toBe('malformed-response')
    expect(message.content).toEqual([
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: {}, invalid: 'truncated', inputText: '{}' },
    ])
  })

  it.each<object>([
    { type: 'tool-result', toolName: 'x', result: 1 },
    { type: 'tool-result', toolCallId: 'c', result: 1 },
    { type: 'file', data: { type: 'data', data: 'aGk=' } },
    { type: 'file', mediaType: 'image/png' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 7 } },
    { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'url', url: undefined } },
    { type: 'source', sourceType: 'url', url: 'https://example.test/' },
    { type: 'source', sourceType: 'rumour', id: 's' },
    { type: 'custom' },
    { type: 'tool-approval-request', toolCallId: 'c' },
  ])('L9: %j lacks a required field: malformed-response, and earlier content is kept', async (broken) => {
    const message = await resultOf([...text('kept'), part(broken), finish()])
    expect(message.error).toMatchObject({ kind: 'malformed-response', phase: 'after-output' })
    expect(message.content).toEqual([{ type: 'text', text: 'kept' }])
  })

  it('L9: a finish without a reason is malformed, and its usage counts', async () => {
    const message = await resultOf([...text('kept'), part({ ...finish(), finishReason: 'stop' })])
    expect(message.error?.kind).toBe('malformed-response')
    expect(message.usage).toEqual({ inputTokens: 10, outputTokens: 5, totalTokens: 15 })
  })

  it('L2: a block without an id is handled like others', async () => {
    const message = await resultOf([
      part({ type: 'reasoning-start' }),
      part({ type: 'text-delta', delta: 'a' }),
      part({ type: 'text-end' }),
      finish(),
    ])
    expect(message.stopReason).toBe('stop')
    expect(message.content).toEqual([{ type: 'text', text: 'a' }])
  })

  const refuse = (): never => {
    throw new Error('nobody may look')
  }
  const sealed = Object.defineProperty({}, 'type', { get: refuse })

  it.each([
    ['first', []],
    ['further', [{ type: 'text-delta', id: 't', delta: 'a' } as const]],
  ])('L19: a part that cannot be read is malformed, also as the %s part', async (_, before) => {
    const model = rawModel(() => Promise.resolve({ stream: ReadableStream.from([...before, part(sealed), finish()]) }))
    const { error, content } = messageOf(await readAll(streamMessage({ model, messages: hello })))
    expect(error).toMatchObject({ kind: 'malformed-response', message: 'nobody may look' })
    expect(content).toHaveLength(before.length)
  })

  const deepInput = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`

  it('L13: arguments nested too deep to be serialized are not JSON', async () => {
    const invalid = { toolCallId: 'c', input: {}, invalid: 'not-json', inputText: deepInput }
    const whole = await resultOf([{ type: 'tool-call', toolCallId: 'c', toolName: 'x', input: deepInput }, finish('tool-calls')])
    expect(whole).toMatchObject({ stopReason: 'tool-calls', content: [invalid] })
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'tool-input-start', id: 'c', toolName: 'x' },
      { type: 'tool-input-delta', id: 'c', delta: deepInput },
      { type: 'tool-input-end', id: 'c' },
    ]
    expect(await resultOf(parts)).toMatchObject({ error: { kind: 'stream-broken' }, content: [invalid] })
  })

  it('L19: a request that cannot be serialized does not delay the result', async () => {
    const stream = (): ReadableStream<LanguageModelV4StreamPart> =>
      ReadableStream.from([{ type: 'text-delta', id: 't', delta: 'abcd' } as const])
    const model = rawModel(() => Promise.resolve({ stream: stream() }))
    const tools = [{ type: 'provider', id: 'raw.search', name: 'search', args: { limit: 1n } }] as const
    const message = await streamMessage({ model, messages: hello, tools }).result()
    expect(message).toMatchObject({ stopReason: 'error', usage: { outputTokens: 1, estimated: true } })
  })

  it('L78: the original error stays as a cause that JSON does not show', async () => {
    const original = new Error('fetch failed')
    const { error } = await resultOf([...text('a'), { throw: original }])
    expect(error).toHaveProperty('cause', original)
    expect(Object.keys(error ?? {})).not.toContain('cause')
  })

  it('L25: half a character that comes out after an error counts for its phase too', async () => {
    const message = await resultOf([{ type: 'text-delta', id: 't', delta: '\ud83e' }, part('no part')])
    expect(message).toMatchObject({ content: [{ text: '\ud83e' }], error: { phase: 'after-output' } })
  })

  it('L33: the reason of an abort may be an error whose message is not text', async () => {
    const { stream } = call({ hang: 'before' })
    const reason = Object.assign(new Error('x'), { message: { code: 7 } })
    stream.abort(reason as never)
    expect(await stream.result()).toMatchObject({ stopReason: 'aborted', abortReason: '{"code":7}' })
  })

  it('L10: empty places of a list become null', async () => {
    const { content } = await resultOf([
      part({
        type: 'tool-result',
        toolCallId: 'c',
        toolName: 'x',
        result: [...Array(1), undefined].concat(new Array(1)),
      }),
      finish(),
    ])
    expect(content).toStrictEqual([{ type: 'tool-result', toolCallId: 'c', toolName: 'x', result: [null, null, null] }])
  })

  it('L10: an unknown input encoding is left out', async () => {
    const events = await eventsOf([
      part({ type: 'tool-input-start', id: 'c', toolName: 'x', inputEncoding: 10n }),
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{}' },
      finish('tool-calls'),
    ])
    expect(events).toContainEqual({ type: 'tool-call-start', index: 0, toolCallId: 'c', toolName: 'x' })
  })

  it('L10: facts that are not text or objects leave no trace', async () => {
    const message = await resultOf([
      part({ type: 'stream-start', warnings: 'careful' }),
      part({ type: 'stream-start', warnings: [7, { type: 'other', message: 'kept' }] }),
      part({ type: 'response-metadata', id: 7n, modelId: new Date(0) }),
      part({ type: 'text-delta', id: 't', delta: 'a' }),
      part({ type: 'text-end', id: 't', citations: 'quoted' }),
      part({ type: 'source', sourceType: 'url', id: 's', url: 'https://example.test/', title: 7 }),
      part({ type: 'finish', finishReason: { unified: 'other', raw: Symbol('raw') }, usage: { raw: [1] } }),
    ])
    expect(message.warnings).toEqual([{ type: 'other', message: 'kept' }])
    expect(message.content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.test/' },
    ])
    expect(message.error?.kind).toBe('stream-broken')
    for (const key of ['response', 'rawStopReason']) expect(message).not.toHaveProperty(key)
    expect(message.usage).not.toHaveProperty('raw')
  })
})
