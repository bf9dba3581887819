import { costOf } from '@bowline/llm'
import type { AssistantMessage } from '@bowline/llm'
import type { DiscardReason } from '../events/types.ts'
import { chargeBudgets } from '../plugins/budget/limits.ts'
import type { Turn } from './turn.ts'

/** The process died while the model spoke: the same attempt is made again. What it cost is a guess. */
export function discardCrashed(turn: Turn, messageId: string): void {
  turn.log.record({ type: 'message-discarded', step: turn.step, messageId, reason: 'crash' })
  const inputTokens = turn.contextTokens()
  const usage = { inputTokens, outputTokens: 0, totalTokens: inputTokens, estimated: true } as const
  const cost = costOf(usage, turn.model.info.price)
  turn.bookApart('discarded-attempt', usage, cost, turn.model)
  chargeBudgets(turn, { usage, cost })
}

/** Withdraws a failed attempt: it never enters the transcript, and what it cost is booked apart. */
export function discardAttempt(turn: Turn, { id, usage, cost }: AssistantMessage, reason: DiscardReason, further: readonly string[] = []): void {
  const { step, attempt, model } = turn
  turn.log.record({ type: 'message-discarded', step, messageId: id, reason, attempt })
  discardMessages(turn, further, reason === 'failed' ? 'failed' : 'rewind')
  turn.bookApart('discarded-attempt', usage, cost, model)
}

/** Withdraws messages of the transcript. */
export function discardMessages(turn: Turn, messageIds: readonly string[], reason: DiscardReason): void {
  for (const messageId of messageIds) turn.log.record({ type: 'message-discarded', step: turn.step, messageId, reason })
  turn.discard(messageIds)
}
