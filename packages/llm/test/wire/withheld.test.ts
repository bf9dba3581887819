import { describe, expect, it } from 'vitest'
import { streamMessage, type AssistantMessage } from '../../src/index.ts'
import { messageOf, readAll } from '../support.ts'
import { bodyOf, frame, half, text, type WireName } from './raw-bodies.ts'
import { useRawServer } from './raw-server.ts'
import { wireNamed } from './wires.ts'

const server = useRawServer()

async function read(wire: WireName, ...frames: readonly string[]): Promise<AssistantMessage> {
  server.answer({ body: [...bodyOf(wire, half(text('So ', 'far'))), ...frames] })
  const model = wireNamed(wire).model(server)
  return messageOf(await readAll(streamMessage({ model, messages: [{ role: 'user', content: 'hi' }] })))
}

const chat = (delta: object, finish_reason: string | null): string =>
  frame({ id: 'chatcmpl-1', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })
const usage = { input_tokens: 12, output_tokens: 7 }
const responses = (type: string, fields: object): string => frame({ type, ...fields }, type)
const incomplete = responses('response.incomplete', {
  response: { id: 'resp_1', status: 'incomplete', incomplete_details: { reason: 'content_filter' }, usage },
})
const completed = responses('response.completed', { response: { id: 'resp_1', status: 'completed', usage } })
const refusalDelta = responses('response.refusal.delta', { item_id: 'item_0', output_index: 0, delta: ' I cannot.' })
const anthropicEnd = (stop_reason: string): string[] => [
  frame({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
  frame({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7 } }),
  frame({ type: 'message_stop' }, 'message_stop'),
]
const candidate = (finishReason: string): string =>
  frame({ candidates: [{ content: { parts: [], role: 'model' }, finishReason, index: 0 }] })

type Row = readonly [what: string, wire: WireName, raw: string | undefined, frames: readonly string[], more: string]

const rows: readonly Row[] = [
  ['content_filter', 'openai chat', 'content_filter', [chat({}, 'content_filter'), frame('[DONE]')], ''],
  ['content_filter', 'openai-compatible', 'content_filter', [chat({}, 'content_filter'), frame('[DONE]')], ''],
  ['content_filter', 'openai responses', 'content_filter', [incomplete], ''],
  ['a refusal', 'openai chat', 'stop', [chat({ refusal: ' I cannot.' }, null), chat({}, 'stop')], ' I cannot.'],
  ['a refusal', 'openai-compatible', 'stop', [chat({ refusal: ' I cannot.' }, null), chat({}, 'stop')], ' I cannot.'],
  // A completed response has no finish reason, so there is no raw reason to keep.
  ['a refusal', 'openai responses', undefined, [refusalDelta, completed], ' I cannot.'],
  ['refusal', 'anthropic', 'refusal', anthropicEnd('refusal'), ''],
  ...['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'].map((reason): Row => [
    reason,
    'google',
    reason,
    [candidate(reason)],
    '',
  ]),
]

describe('F17: an answer that the provider withholds', () => {
  it.each(rows)('F17: %s over %s keeps the text and the raw reason', async (_, wire, raw, frames, more) => {
    const message = await read(wire, ...frames)
    expect(message).toMatchObject({
      stopReason: 'error',
      error: { kind: 'content-blocked', retryable: false, phase: 'after-output', provider: message.provider },
    })
    expect(message.content.map((part) => (part.type === 'text' ? part.text : part.type)).join('')).toBe(`So far${more}`)
    expect(message.rawStopReason).toBe(raw)
    if (raw !== undefined && raw !== 'stop') expect(message.error?.message).toContain(raw)
    expect(message.error).not.toHaveProperty('recovery')
  })

  it('F17: google: a blocked prompt has no text at all', async () => {
    server.answer({ body: [frame({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } })] })
    const model = wireNamed('google').model(server)
    const message = await streamMessage({ model, messages: [{ role: 'user', content: 'hi' }] }).result()
    expect(message).toMatchObject({
      stopReason: 'error',
      rawStopReason: 'PROHIBITED_CONTENT',
      content: [],
      error: { kind: 'content-blocked', retryable: false, phase: 'before-output' },
    })
  })

  it.each([
    ['MALFORMED_FUNCTION_CALL', 'malformed-response', true],
    ['UNEXPECTED_TOOL_CALL', 'malformed-response', true],
    ['A_NEW_REASON', 'unknown', false],
  ] as const)('L36: google: %s is %s', async (reason, kind, retryable) => {
    const message = await read('google', candidate(reason))
    expect(message).toMatchObject({ stopReason: 'error', rawStopReason: reason, error: { kind, retryable } })
  })
})
