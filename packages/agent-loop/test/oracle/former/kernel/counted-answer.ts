import { costOf } from '@bowline/llm'
import { weigh } from '../transcript/weight.ts'
import type { ModelAnswer } from './answer.ts'
import type { Turn } from './turn.ts'

/** With an estimate where nobody reported usage: what is held to a budget must not be free. */
export function countedAnswer(turn: Turn, answer: ModelAnswer): ModelAnswer {
  const { usage, stopReason } = answer.message
  const isReported = [usage.inputTokens, usage.outputTokens, usage.totalTokens].some((tokens) => tokens !== undefined)
  return isReported || stopReason === 'error' || turn.budgets.length === 0 ? answer : withEstimate(turn, answer)
}

/** With the usage that the request and the answer may have had, flagged. */
export function withEstimate(turn: Turn, answer: ModelAnswer): ModelAnswer {
  const { message } = answer
  const inputTokens = turn.contextTokens()
  const outputTokens = Math.ceil(turn.transcript.estimate.tokensOf(weigh(message)))
  const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, estimated: true } as const
  const cost = costOf(usage, turn.model.info.price)
  return { ...answer, message: { ...message, usage, ...(cost && { cost }) } }
}
