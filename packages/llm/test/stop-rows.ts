import type { LanguageModelV4StreamPart } from '../src/index.ts'
import { text, usageOf } from './support.ts'

export type Unified = Extract<LanguageModelV4StreamPart, { type: 'finish' }>['finishReason']['unified']

export const clientCall: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{}' }
export const brokenCall: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{"a' }
const providerCall: LanguageModelV4StreamPart = { ...clientCall, toolCallId: 'p', providerExecuted: true }

/** One way in which a message may end, with its meaning. */
export interface StopRow {
  readonly unified: Unified | 'none'
  readonly raw?: string
  readonly parts: readonly LanguageModelV4StreamPart[]
  readonly stopReason: string
  readonly error?: { readonly kind: string; readonly retryable?: boolean }
  readonly outputTokens?: number
}

/** All combinations of finish reasons and parts. */
export const stopRows: readonly StopRow[] = [
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
  ...['compaction', 'end', 'eos', 'eos_token', 'stop_sequence', 'completed'].map((raw): StopRow => ({
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

export const nameOf = ({ unified, raw, parts, outputTokens }: StopRow): string =>
  `${unified}${raw ? ` (${raw})` : ''} behind ${parts.map((part) => part.type).join(' ') || 'nothing'}${outputTokens === undefined ? '' : `, ${outputTokens} tokens`}`

/** Returns the whole stream of a row. */
export function partsOf({ unified, raw, parts, outputTokens }: StopRow): LanguageModelV4StreamPart[] {
  if (unified === 'none') return [...parts]
  return [...parts, { type: 'finish', finishReason: { unified, raw }, usage: usageOf(10, outputTokens) }]
}
