import type { AssistantMessage } from '@bowline/llm'
import type { DiscardReason } from '../events/types.ts'
import type { Turn } from './turn.ts'

/** The process died while the model spoke: the same attempt is made again. What it cost is not known. */
export function discardCrashed(turn: Turn, messageId: string): void {
  turn.record({ type: 'message-discarded', step: turn.step, messageId, reason: 'crash' })
  const inputTokens = turn.contextTokens()
  turn.bookApart('discarded-attempt', { inputTokens, totalTokens: inputTokens, estimated: true }, undefined, turn.model)
}

/** Withdraws a failed attempt: it never enters the transcript, and what it cost is booked apart. */
export function discardAttempt(turn: Turn, { id, usage, cost }: AssistantMessage, reason: DiscardReason, further: readonly string[] = []): void {
  const { step, attempt, model } = turn
  turn.record({ type: 'message-discarded', step, messageId: id, reason, attempt })
  for (const messageId of further) turn.record({ type: 'message-discarded', step, messageId, reason })
  turn.discard(further)
  turn.bookApart('discarded-attempt', usage, cost, model)
}
