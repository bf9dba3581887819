import type { LanguageModelV4FinishReason } from '@ai-sdk/provider'
import type { ErrorKind } from '../model-error.ts'
import type { StopReason } from '../messages.ts'

/** Facts at the end of a message that was not aborted. */
export interface Ending {
  /** Absent if the stream ended without a finish. */
  readonly finish: LanguageModelV4FinishReason | undefined
  /** Tool calls that the caller must run, valid or not. */
  readonly clientCalls: number
  readonly providerCalls: number
  readonly parts: number
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  /** Context window of the called model in tokens, if known. */
  readonly contextWindow: number | undefined
}

export type Verdict =
  | { readonly stopReason: Exclude<StopReason, 'error' | 'aborted'>; readonly paused?: true }
  | { readonly stopReason: 'error'; readonly kind: ErrorKind; readonly message: string; readonly retryable?: boolean }

const failure = (kind: ErrorKind, message: string): Verdict => ({ stopReason: 'error', kind, message })

const malformedCall = (raw: string | undefined): Verdict =>
  failure('malformed-response', `the model sent a malformed tool call${inBrackets(raw)}`)

/** Token counts differ slightly between tokenizers, so 99 % of the window counts as full. */
const fullShare = 0.99

const ordinaryEnds: readonly string[] = ['compaction', 'end', 'eos', 'eos_token', 'stop_sequence', 'completed']
const malformedCalls: readonly string[] = ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL']

const table: Readonly<Record<LanguageModelV4FinishReason['unified'], (ending: Ending, raw: string | undefined) => Verdict>> = {
  stop: ({ clientCalls, parts, outputTokens }, raw) => {
    if (clientCalls > 0) return { stopReason: 'tool-calls' }
    if (parts === 0 && !outputTokens) return failure('empty-response', 'the model answered with nothing')
    return raw === 'pause_turn' ? { stopReason: 'stop', paused: true } : { stopReason: 'stop' }
  },
  'tool-calls': ({ clientCalls, providerCalls }) => {
    if (clientCalls > 0) return { stopReason: 'tool-calls' }
    if (providerCalls > 0) return { stopReason: 'stop' }
    return failure('malformed-response', 'the model stopped for tool calls, but sent none')
  },
  length: (ending, raw) =>
    raw === 'model_context_window_exceeded' || fillsWindow(ending)
      ? failure('context-overflow', 'the context window of the model is full')
      : { stopReason: 'length' },
  'content-filter': (_, raw) => failure('content-blocked', `the provider withheld the answer${inBrackets(raw)}`),
  error: (_, raw) =>
    malformedCalls.includes(raw ?? '')
      ? malformedCall(raw)
      : failure('unknown', `the provider reported an error without details${inBrackets(raw)}`),
  interrupted: () => failure('stream-broken', 'the stream ended before the answer was complete'),
  other: ({ clientCalls }, raw) => {
    if (clientCalls > 0) return { stopReason: 'tool-calls' }
    if (raw === undefined) return failure('stream-broken', 'the provider gave no reason for the end of the answer')
    if (ordinaryEnds.includes(raw)) return { stopReason: 'stop' }
    // Google's client reports only one of the two as an error.
    if (malformedCalls.includes(raw)) return malformedCall(raw)
    return { ...failure('unknown', `unknown finish reason${inBrackets(raw)}`), retryable: false } as Verdict
  },
}

/** Determines the stop reason of a message that was neither aborted nor failed. */
export function stopVerdict(ending: Ending): Verdict {
  const unified = ending.finish?.unified ?? 'interrupted'
  const decide = Object.hasOwn(table, unified) ? table[unified] : table.other
  return decide(ending, ending.finish?.raw ?? undefined)
}

/** A model without room for an answer stops with `length` and no output. */
function fillsWindow({ inputTokens = 0, outputTokens, contextWindow }: Ending): boolean {
  return outputTokens === 0 && contextWindow !== undefined && inputTokens >= contextWindow * fullShare
}

function inBrackets(raw: string | undefined): string {
  return raw === undefined ? '' : ` (${raw})`
}
