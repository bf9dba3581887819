import { describe, expect, it } from 'vitest'
import type { LanguageModelV4StreamPart } from '../src/index.ts'
import { call, finish, resultOf, text, usageOf } from './support.ts'

type Unified = Extract<LanguageModelV4StreamPart, { type: 'finish' }>['finishReason']['unified']

const clientCall: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{}' }
const brokenCall: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{"a' }
const providerCall: LanguageModelV4StreamPart = { ...clientCall, toolCallId: 'p', providerExecuted: true }

interface Row {
  readonly unified: Unified | 'none'
  readonly raw?: string
  readonly parts: readonly LanguageModelV4StreamPart[]
  readonly stopReason: string
  readonly error?: { readonly kind: string; readonly retryable?: boolean }
  readonly outputTokens?: number
}

const rows: readonly Row[] = [
  { unified: 'stop', parts: [clientCall], stopReason: 'tool-calls' },
  { unified: 'stop', parts: [brokenCall], stopReason: 'tool-calls' },
  {
    unified: 'stop',
    parts: [],
    outputTokens: 0,
    stopReason: 'error',
    error: { kind: 'empty-response', retryable: true },
  },
  { unified: 'stop', parts: [], stopReason: 'error', error: { kind: 'empty-response', retryable: true } },
  { unified: 'stop', parts: [], outputTokens: 4, stopReason: 'stop' },
  { unified: 'stop', parts: text('a'), stopReason: 'stop' },
  { unified: 'tool-calls', parts: [...text('a'), clientCall], stopReason: 'tool-calls' },
  { unified: 'tool-calls', parts: [providerCall], stopReason: 'stop' },
  {
    unified: 'tool-calls',
    parts: text('a'),
    stopReason: 'error',
    error: { kind: 'malformed-response', retryable: true },
  },
  {
    unified: 'length',
    raw: 'model_context_window_exceeded',
    parts: text('a'),
    stopReason: 'error',
    error: { kind: 'context-overflow', retryable: false },
  },
  { unified: 'length', parts: text('a'), stopReason: 'length' },
  { unified: 'length', parts: [clientCall], stopReason: 'length' },
  {
    unified: 'content-filter',
    raw: 'SAFETY',
    parts: text('a'),
    stopReason: 'error',
    error: { kind: 'content-blocked', retryable: false },
  },
  {
    unified: 'error',
    raw: 'MALFORMED_FUNCTION_CALL',
    parts: [],
    stopReason: 'error',
    error: { kind: 'malformed-response' },
  },
  {
    unified: 'error',
    raw: 'UNEXPECTED_TOOL_CALL',
    parts: [],
    stopReason: 'error',
    error: { kind: 'malformed-response' },
  },
  { unified: 'error', parts: [], stopReason: 'error', error: { kind: 'unknown', retryable: true } },
  { unified: 'interrupted', parts: text('a'), stopReason: 'error', error: { kind: 'stream-broken', retryable: true } },
  { unified: 'none', parts: text('a'), stopReason: 'error', error: { kind: 'stream-broken', retryable: true } },
  { unified: 'other', parts: [clientCall], stopReason: 'tool-calls' },
  ...['compaction', 'end', 'eos', 'eos_token', 'stop_sequence', 'completed'].map((raw): Row => ({
    unified: 'other',
    raw,
    parts: text('a'),
    stopReason: 'stop',
  })),
  { unified: 'other', parts: text('a'), stopReason: 'error', error: { kind: 'stream-broken' } },
  {
    unified: 'other',
    raw: 'moonphase',
    parts: text('a'),
    stopReason: 'error',
    error: { kind: 'unknown', retryable: false },
  },
]

const nameOf = ({ unified, raw, parts, outputTokens }: Row): string =>
  `${unified}${raw ? ` (${raw})` : ''} behind ${parts.map((part) => part.type).join(' ') || 'nothing'}${outputTokens === undefined ? '' : `, ${outputTokens} tokens`}`

describe('stop reasons', () => {
  it.each(rows.map((row) => [nameOf(row), row] as const))(
    'L36: %s',
    async (_, { unified, raw, parts, stopReason, error, outputTokens }) => {
      const last: LanguageModelV4StreamPart[] =
        unified === 'none' ? [] : [{ type: 'finish', finishReason: { unified, raw }, usage: usageOf(10, outputTokens) }]
      const message = await resultOf([...parts, ...last])
      expect(message.stopReason).toBe(stopReason)
      if (error) expect(message.error).toMatchObject(error)
      else expect(message).not.toHaveProperty('error')
    },
  )

  it('L36: pause_turn is a stop that asks to be called again', async () => {
    expect(await resultOf([...text('a'), finish('stop', 'pause_turn')])).toMatchObject({
      stopReason: 'stop',
      paused: true,
      rawStopReason: 'pause_turn',
    })
  })

  it('L36: an abort stands before an error, an error before the finish', async () => {
    const { stream } = call({ parts: [{ type: 'error', error: new Error('x') }, { hang: true }] })
    const result = stream.result()
    await new Promise((resolve) => setImmediate(resolve))
    stream.abort('stop')
    expect((await result).stopReason).toBe('aborted')
    expect(
      (await resultOf([{ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, finish('stop')])).error
        ?.kind,
    ).toBe('overloaded')
  })

  it('L37: content before a filter is kept, with the raw reason', async () => {
    const message = await resultOf([...text('so far'), finish('content-filter', 'PROHIBITED')])
    expect(message.content).toEqual([{ type: 'text', text: 'so far' }])
    expect(message.rawStopReason).toBe('PROHIBITED')
    expect(message.error?.message).toContain('PROHIBITED')
    expect((await resultOf([...text('a'), finish('other', 'moonphase')])).error?.message).toContain('moonphase')
  })

  it('L38: calls of a message that was cut by length stay, the cut one is marked and never salvaged', async () => {
    const message = await resultOf([clientCall, brokenCall, finish('length', 'max_tokens')])
    expect(message.stopReason).toBe('length')
    expect(message.content).toMatchObject([{ input: {} }, { invalid: 'not-json', inputText: '{"a', input: {} }])
    expect(message.content[0]).not.toHaveProperty('invalid')
  })

  it('L39: a stream without a finish is never a success, even when all text has arrived', async () => {
    const { stream } = call({ text: 'the whole answer', toolCalls: [{ name: 'x', input: {} }], finish: false })
    expect(await stream.result()).toMatchObject({
      stopReason: 'error',
      error: { kind: 'stream-broken', phase: 'after-output' },
    })
  })
})
