import type { AssistantMessage } from '@bowline/llm'
import type { Budget, BudgetEstimate, Reservation } from '../../contract/run.ts'
import type { EndReason } from '../../events/turn-events.ts'
import { limited } from '../../kernel/ending.ts'
import type { TurnOutcome } from '../../kernel/ending.ts'
import { withEstimate } from '../../kernel/model-call.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { estimateOf, outputLimit, reserveOn } from '../../kernel/spending.ts'
import type { StepPlan } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'

const stateOf = turnState(() => ({ reservation: undefined as Reservation | undefined }))

/** Sets aside what each model call may use, on every budget of the turn: a call that would not fit ends the turn. */
export const budgetPlugin: Plugin = {
  name: 'budget',
  hooks: {
    beforeStep: reserve,
    // Of the first call of a step the reservation is made before the step begins.
    beforeAttempt: (turn, plan) => (stateOf(turn).reservation ? undefined : reserve(turn, plan)),
    count(turn, answered) {
      if (turn.budgets.length === 0) return
      if (isUncounted(answered.answer.message)) answered.answer = withEstimate(turn, answered.answer)
      settle(turn, answered.answer.message)
    },
    // What was set aside for a call that was never made must not be lost to others.
    asked: (turn) => settle(turn, { usage: {} }),
  },
}

function reserve(turn: Turn, { params }: StepPlan): TurnOutcome | undefined {
  if (turn.budgets.length === 0 || turn.stop.requested) return undefined
  const estimate = estimateOf(turn, turn.contextTokens(), outputLimit(turn.model, params.maxTokens))
  const reserved = reserveOn(turn.budgets, estimate)
  if ('refusedBy' in reserved) return limited(refusalOf(reserved.refusedBy, estimate))
  stateOf(turn).reservation = reserved
  return undefined
}

function refusalOf(budget: Budget, { tokens }: BudgetEstimate): EndReason {
  const byTokens = budget.left.tokens !== undefined && tokens > budget.left.tokens
  return byTokens ? 'max-total-tokens' : 'max-cost'
}

/** What is held to a budget must not be free because its usage was not reported. */
function isUncounted({ usage, stopReason }: AssistantMessage): boolean {
  return stopReason !== 'error' && [usage.inputTokens, usage.outputTokens, usage.totalTokens].every((tokens) => tokens === undefined)
}

function settle(turn: Turn, spent: Parameters<Reservation['settle']>[0]): void {
  const state = stateOf(turn)
  state.reservation?.settle(spent)
  state.reservation = undefined
}
