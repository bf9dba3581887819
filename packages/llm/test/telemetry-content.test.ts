import { tracingChannel } from 'node:diagnostics_channel'
import { describe, expect, it } from 'vitest'
import { streamMessage, type AssistantMessage, type ModelRequest } from '../src/index.ts'
import { inputMessages, outputMessages } from '../src/telemetry/conversation.ts'
import { scriptedModel, type Step } from '../src/testing/index.ts'
import { call } from './support.ts'
import { forgetSdkAfterEach, record } from './telemetry-recorder.ts'

forgetSdkAfterEach()

/** A request in which every private text contains SECRET. */
const request = {
  instructions: 'SECRET instructions',
  messages: [
    { role: 'user', content: 'SECRET question' },
    {
      role: 'assistant',
      id: 'a1',
      provider: 'scripted',
      modelId: 'scripted-model',
      stopReason: 'tool-calls',
      usage: {},
      at: 0,
      timing: { totalMs: 0 },
      content: [
        { type: 'reasoning', text: 'SECRET thought', providerMetadata: { acme: { signature: 'SIGNATURE' } } },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { at: 'SECRET input' } },
      ],
    },
    { role: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'text', value: 'SECRET result' } },
  ],
  tools: [{ name: 'look', description: 'SECRET description', inputSchema: { type: 'object', title: 'SECRET schema' } }],
  headers: { 'x-tenant': 'SECRET header' },
  providerOptions: { acme: { note: 'SECRET option' } },
} satisfies Partial<ModelRequest>

const answer: Step = {
  reasoning: 'SECRET reasoning',
  text: 'SECRET answer',
  toolCalls: [{ id: 'c2', name: 'look', input: { at: 'SECRET place' } }],
}

/** Returns all telemetry of a call as text, and its message. */
async function told(step: Step, more: Partial<ModelRequest> = {}): Promise<{ text: string; message: AssistantMessage }> {
  const recorder = record()
  const reports: unknown[] = []
  const channel = tracingChannel<unknown, object>('bowline:llm')
  const note = (report: unknown): void => void reports.push(structuredClone(report))
  const subscribers = { start: note, end: note, asyncStart: note, asyncEnd: note, error: note }
  channel.subscribe(subscribers)
  const message = await call(step, { ...request, ...more }).stream.result()
  channel.unsubscribe(subscribers)
  const { name, attributes, events, links, status } = recorder.span()
  return { text: JSON.stringify({ reports, name, attributes, events, links, status }), message }
}

describe('without content', () => {
  it('L96: nothing private of a successful call is published', async () => {
    const { text, message } = await told(answer)
    expect(message.stopReason).toBe('tool-calls')
    expect(text).toContain('"msg_1"')
    expect(text).not.toMatch(/SECRET|SIGNATURE/)
  })

  it('L96: nothing private of an error that repeats the request is published', async () => {
    const { text, message } = await told({ error: new Error('SECRET question was refused') })
    expect(message.error?.message).toContain('SECRET')
    expect(text).toContain('"unknown"')
    expect(text).not.toContain('SECRET')
  })

  it('L96: the reason of an abort is not published', async () => {
    const { text, message } = await told(answer, { abortSignal: AbortSignal.abort('SECRET reason') })
    expect(message.abortReason).toBe('SECRET reason')
    expect(text).not.toContain('SECRET')
  })
})

describe('with content', () => {
  const attributesOf = async (step: Step): Promise<Record<string, unknown>> => {
    const recorder = record()
    await call(step, { ...request, telemetry: { content: true } }).stream.result()
    return recorder.span().attributes
  }

  it('L96: the prompt and the answer are in the span, in the format of the conventions', async () => {
    const attributes = await attributesOf(answer)
    expect(JSON.parse(String(attributes['gen_ai.input.messages']))).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'SECRET instructions' }] },
      { role: 'user', parts: [{ type: 'text', content: 'SECRET question' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'SECRET thought' },
          { type: 'tool_call', id: 'c1', name: 'look', arguments: { at: 'SECRET input' } },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'SECRET result' }] },
    ])
    expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'SECRET reasoning' },
          { type: 'text', content: 'SECRET answer' },
          { type: 'tool_call', id: 'c2', name: 'look', arguments: { at: 'SECRET place' } },
        ],
        finish_reason: 'tool_call',
      },
    ])
  })

  it('L96: schemas, headers, options and signatures still stay out', async () => {
    const text = JSON.stringify(await attributesOf(answer))
    expect(text).not.toMatch(/schema|header|option|description|SIGNATURE/)
  })

  it('L96: the channel still has no content', async () => {
    const reports: unknown[] = []
    const channel = tracingChannel<unknown, object>('bowline:llm')
    const note = (report: unknown): void => void reports.push(structuredClone(report))
    const subscribers = { start: note, end: note, asyncStart: note, asyncEnd: note, error: note }
    channel.subscribe(subscribers)
    await streamMessage({
      ...request,
      model: scriptedModel([answer]),
      telemetry: { content: true },
    }).result()
    channel.unsubscribe(subscribers)
    expect(reports).toHaveLength(4)
    expect(JSON.stringify(reports)).not.toContain('SECRET')
  })

  it('L96: a call that never reached the provider has an answer and no prompt', async () => {
    const recorder = record()
    await call({}, { abortSignal: AbortSignal.abort(), telemetry: { content: true } }).stream.result()
    const { attributes } = recorder.span()
    expect(attributes).not.toHaveProperty(['gen_ai.input.messages'])
    expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([{ role: 'assistant', parts: [], finish_reason: 'aborted' }])
  })
})

describe('parts', () => {
  const image = (data: Parameters<typeof fileParts>[0]): unknown => fileParts(data)[0]

  function fileParts(
    data:
      | { type: 'data'; data: Uint8Array | string }
      | { type: 'url'; url: URL }
      | { type: 'reference'; reference: Record<string, string> }
      | { type: 'text'; text: string },
    mediaType = 'image/png',
  ): unknown[] {
    const messages = inputMessages([{ role: 'user', content: [{ type: 'file', mediaType, data } as never] }])
    return JSON.parse(JSON.stringify(messages[0]?.parts)) as unknown[]
  }

  it('L96: files are bytes, addresses or ids', () => {
    const about = { mime_type: 'image/png', modality: 'image' }
    const blob = { type: 'blob', ...about, content: 'AQID' }
    expect(image({ type: 'data', data: new Uint8Array([1, 2, 3]) })).toEqual(blob)
    expect(image({ type: 'data', data: 'AQID' })).toEqual(blob)
    const url = new URL('https://example.org/a.png')
    expect(image({ type: 'url', url })).toEqual({ type: 'uri', ...about, uri: 'https://example.org/a.png' })
    expect(image({ type: 'reference', reference: { openai: 'file_1' } })).toEqual({
      type: 'file',
      ...about,
      file_id: 'file_1',
    })
    expect(fileParts({ type: 'text', text: 'a,b' }, 'text/csv')).toEqual([{ type: 'text', content: 'a,b', mime_type: 'text/csv' }])
    expect(fileParts({ type: 'data', data: 'AQID' }, 'application/pdf')).toMatchObject([{ modality: 'document' }])
  })

  it('L96: every kind of tool output becomes a response', () => {
    const responseOf = (output: unknown): unknown =>
      inputMessages([{ role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', toolName: 't', output: output as never }] }])[0]
        ?.parts[0]?.['response']
    expect(responseOf({ type: 'error-text', value: 'no' })).toBe('no')
    expect(responseOf({ type: 'json', value: { a: 1 } })).toEqual({ a: 1 })
    expect(responseOf({ type: 'error-json', value: [1] })).toEqual([1])
    expect(responseOf({ type: 'execution-denied', reason: 'no' })).toEqual({ type: 'execution-denied', reason: 'no' })
    const items = [{ type: 'text', text: 'a', providerOptions: { x: { y: 1 } } }, { type: 'custom' }]
    expect(responseOf({ type: 'content', value: items })).toEqual([{ type: 'text', content: 'a' }, { type: 'custom' }])
  })

  const messageOf = (content: AssistantMessage['content'], more: Partial<AssistantMessage> = {}): AssistantMessage => ({
    role: 'assistant',
    id: 'm',
    provider: 'p',
    modelId: 'm',
    stopReason: 'stop',
    usage: {},
    at: 0,
    timing: { totalMs: 0 },
    content,
    ...more,
  })

  it('L96: calls that the provider ran are marked; invalid arguments are given unchanged', () => {
    const [message] = outputMessages(
      messageOf([
        { type: 'tool-call', toolCallId: 's', toolName: 'web', input: { q: 1 }, providerExecuted: true },
        { type: 'tool-result', toolCallId: 's', toolName: 'web', result: ['x'] },
        { type: 'tool-call', toolCallId: 'c', toolName: 't', input: {}, invalid: 'not-json', inputText: '{"a":' },
        { type: 'source', sourceType: 'url', id: '1', url: 'https://example.org', providerMetadata: { a: { b: 1 } } },
        { type: 'custom', kind: 'acme.note' },
        { type: 'approval-request', approvalId: 'ap', toolCallId: 's' },
        { type: 'reasoning-file', mediaType: 'audio/wav', data: { type: 'data', data: 'AQID' } },
      ]),
    )
    expect(message?.parts).toEqual([
      { type: 'server_tool_call', id: 's', name: 'web', server_tool_call: { type: 'web', arguments: { q: 1 } } },
      { type: 'server_tool_call_response', id: 's', server_tool_call_response: { type: 'web', response: ['x'] } },
      { type: 'tool_call', id: 'c', name: 't', arguments: '{"a":' },
      { type: 'source', sourceType: 'url', id: '1', url: 'https://example.org' },
      { type: 'custom', kind: 'acme.note' },
      { type: 'approval-request', approvalId: 'ap', toolCallId: 's' },
      { type: 'blob', mime_type: 'audio/wav', modality: 'audio', content: 'AQID' },
    ])
  })

  it.each([
    ['stop', undefined, 'stop'],
    ['length', undefined, 'length'],
    ['tool-calls', undefined, 'tool_call'],
    ['aborted', undefined, 'aborted'],
    ['error', 'content-blocked', 'content_filter'],
    ['error', 'network', 'error'],
  ] as const)('L96: %s (%s) finishes as %s', (stopReason, kind, expected) => {
    const error = kind && { kind, retryable: false, message: '', phase: 'before-output' as const }
    const [message] = outputMessages(messageOf([], { stopReason, ...(error && { error }) }))
    expect(message?.finish_reason).toBe(expected)
  })
})
