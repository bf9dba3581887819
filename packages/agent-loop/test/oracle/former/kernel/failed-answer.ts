import { classifyError } from '@bowline/llm'
import type { AssistantMessage } from '@bowline/llm'
import type { ModelAnswer } from './answer.ts'
import type { Turn } from './turn.ts'

const noUsage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }

/** The answer of a call that could not even be made, or whose function threw. */
export function failedAnswer(turn: Turn, error: unknown): ModelAnswer {
  const { name } = turn.model
  const base = {
    ...{ role: 'assistant' as const, id: turn.messageId, content: [], ...name },
    ...{ usage: {}, at: turn.clock.now(), timing: { totalMs: 0 } },
  }
  const message: AssistantMessage = turn.stop.requested
    ? { ...base, stopReason: 'aborted', usage: noUsage, ...abortReasonOf(turn) }
    : { ...base, stopReason: 'error', error: classifyError(error, { ...name, now: turn.clock.now() }) }
  return { message, results: new Map() }
}

function abortReasonOf({ stop }: Turn): { abortReason?: string } {
  const { reason } = stop.signal as { reason: unknown }
  return reason instanceof Error ? { abortReason: reason.message } : {}
}
