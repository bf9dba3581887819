import { describe, expect, it } from 'vitest'
import { streamMessage, type AssistantMessage, type MessageEvent } from '../../src/index.ts'
import { messageOf, readAll } from '../support.ts'
import { bodyOf, frame, half, text, type WireName } from './raw-bodies.ts'
import { gate, useRawServer, type RawStep } from './raw-server.ts'
import { wireNamed, wires } from './wires.ts'

const server = useRawServer()
const messages = [{ role: 'user', content: 'hi' }] as const

const ask = async (wire: WireName): Promise<AssistantMessage> =>
  messageOf(await readAll(streamMessage({ model: wireNamed(wire).model(server), messages })))

/** Sends an answer that breaks off after two deltas that the reader has already received. */
async function askTwoDeltasThen(wire: WireName, ...steps: readonly RawStep[]): Promise<AssistantMessage> {
  const read = gate()
  server.answer({ body: [...bodyOf(wire, half(text('Hello ', 'there'))), read, ...steps] })
  const events: MessageEvent[] = []
  let seen = ''
  for await (const event of streamMessage({ model: wireNamed(wire).model(server), messages })) {
    events.push(event)
    if (event.type === 'text-delta') seen += event.delta
    if (seen === 'Hello there') read.open()
  }
  return messageOf(events)
}

const anthropicError = (type: string, message: string): string => frame({ type: 'error', error: { type, message } }, 'error')

const textKept = { stopReason: 'error', content: [{ type: 'text', text: 'Hello there' }] }

describe('F9: anthropic: an error inside the stream', () => {
  it('F9: overloaded as the first event', async () => {
    server.answer({ body: [anthropicError('overloaded_error', 'Overloaded')] })
    const message = await ask('anthropic')
    expect(message).toMatchObject({
      stopReason: 'error',
      content: [],
      error: { kind: 'overloaded', retryable: true, recovery: 'wait', phase: 'before-output', message: 'Overloaded' },
      usage: { inputTokens: 0, outputTokens: 0 },
    })
    expect(message.usage).not.toHaveProperty('estimated')
    expect(server.requests).toHaveLength(1)
  })

  it('F9: overloaded after the opening of the message', async () => {
    server.answer({ body: [...bodyOf('anthropic'), anthropicError('overloaded_error', 'Overloaded')] })
    const message = await ask('anthropic')
    expect(message).toMatchObject({ content: [], error: { kind: 'overloaded', phase: 'before-output' } })
  })

  it('F9: overloaded after two deltas', async () => {
    const message = await askTwoDeltasThen('anthropic', anthropicError('overloaded_error', 'Overloaded'))
    expect(message).toMatchObject({
      ...textKept,
      error: { kind: 'overloaded', retryable: true, phase: 'after-output', message: 'Overloaded' },
      usage: { outputTokens: 3, estimated: true },
    })
  })

  it.each(['before-output', 'after-output'] as const)('F9: billing_error, %s', async (phase) => {
    const error = anthropicError('billing_error', 'Your account has run out of funds')
    if (phase === 'before-output') server.answer({ body: [error] })
    const message = phase === 'before-output' ? await ask('anthropic') : await askTwoDeltasThen('anthropic', error)
    expect(message.error).toMatchObject({ kind: 'billing', retryable: false, phase, type: 'billing_error' })
    expect(message.error).not.toHaveProperty('recovery')
  })

  it.each([
    ['rate_limit_error', 'rate-limit'],
    ['api_error', 'server-error'],
    ['timeout_error', 'timeout'],
    ['request_too_large', 'payload-too-large'],
    ['authentication_error', 'auth'],
    ['something_new', 'unknown'],
  ])('F9: %s after two deltas is %s', async (type, kind) => {
    const message = await askTwoDeltasThen('anthropic', anthropicError(type, 'What happened'))
    expect(message).toMatchObject({ ...textKept, error: { kind, type, phase: 'after-output' } })
  })
})

const chatError = (error: object): string => frame({ error })
const responseFailed = (code: string, message = 'What happened'): string =>
  frame({ type: 'response.failed', sequence_number: 3, response: { id: 'resp_1', error: { code, message } } })

type Row = readonly [what: string, wire: WireName, error: string, kind: string, retryable: boolean]

const unavailable = { code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' }
const quota = { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' }
const overflow = 'prompt is too long: 208310 tokens > 200000 maximum'

const rows: readonly Row[] = [
  ['insufficient_quota', 'openai chat', chatError(quota), 'billing', false],
  ['insufficient_quota', 'openai-compatible', chatError(quota), 'billing', false],
  ['a numeric code', 'openai chat', chatError({ message: 'x', code: 429 }), 'rate-limit', true],
  ['a numeric code', 'openai-compatible', chatError({ message: 'x', code: 502 }), 'server-error', true],
  ['words alone', 'openai chat', chatError({ message: overflow }), 'context-overflow', false],
  ['words alone', 'openai-compatible', chatError({ message: overflow }), 'context-overflow', false],
  ['a failed response', 'openai responses', responseFailed('server_error'), 'server-error', true],
  ['a failed response, rate', 'openai responses', responseFailed('rate_limit_exceeded'), 'rate-limit', true],
  ['a failed response, context', 'openai responses', responseFailed('context_length_exceeded'), 'context-overflow', false],
  [
    'an error event',
    'openai responses',
    frame({ type: 'error', sequence_number: 3, code: 'insufficient_quota', message: 'x', param: null }),
    'billing',
    false,
  ],
  [
    'an error event around an object',
    'openai responses',
    frame({ type: 'error', sequence_number: 3, error: { type: 'invalid_request_error', message: overflow } }),
    'context-overflow',
    false,
  ],
  ['UNAVAILABLE', 'google', frame({ error: unavailable }), 'overloaded', true],
  ['UNAVAILABLE without a number', 'google', frame({ error: { ...unavailable, code: null } }), 'overloaded', true],
  [
    'a quota of the day',
    'google',
    frame({
      error: {
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        message: 'Quota exceeded',
        details: [{ '@type': 'QuotaFailure', violations: [{ quotaId: 'RequestsPerDayPerProject' }] }],
      },
    }),
    'billing',
    false,
  ],
]

describe('F10: an error after status 200', () => {
  it.each(rows)('F10: %s over %s as the first event', async (_, wire, error, kind, retryable) => {
    server.answer({ body: [error] })
    const message = await ask(wire)
    expect(message).toMatchObject({ stopReason: 'error', content: [] })
    expect(message.error).toMatchObject({ kind, retryable, phase: 'before-output' })
    expect(server.requests).toHaveLength(1)
  })

  it.each(rows)('F10: %s over %s after two deltas', async (_, wire, error, kind, retryable) => {
    const message = await askTwoDeltasThen(wire, error)
    expect(message).toMatchObject({ ...textKept, error: { kind, retryable, phase: 'after-output' } })
    expect(message.usage).toMatchObject({ outputTokens: 3, estimated: true })
  })

  it.each(wires)('F10: $name: limits are also read inside a stream', async ({ name }) => {
    const error = {
      'openai responses': frame({ type: 'error', sequence_number: 3, code: null, message: overflow, param: null }),
      'openai chat': chatError({ message: overflow }),
      'openai-compatible': chatError({ message: overflow }),
      anthropic: anthropicError('invalid_request_error', overflow),
      google: frame({ error: { code: 400, status: 'INVALID_ARGUMENT', message: overflow } }),
    }[name]
    server.answer({ body: [error] })
    expect((await ask(name)).error).toMatchObject({
      kind: 'context-overflow',
      message: overflow,
      limits: { tokens: 208_310, maximum: 200_000 },
    })
  })
})
