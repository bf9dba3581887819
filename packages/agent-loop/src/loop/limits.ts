import { costOf } from '@bowline/llm'
import type { AssistantMessage } from '@bowline/llm'
import { refuseConfig } from '../agent/check-options.ts'
import type { Limits } from '../agent/options.ts'
import type { EndReason } from '../events/types.ts'
import { createBudget, tokensOf } from './budget.ts'
import type { Budget, BudgetEstimate, Reservation, Spending } from './budget.ts'
import type { ModelTarget } from './model-target.ts'
import type { Turn } from './turn.ts'

const outputTokensUnlessKnown = 4_096

/** The turn's own limits as a budget, charged with what earlier segments have used, beside those it shares. */
export function turnBudgets(turn: Turn): readonly Budget[] {
  const { limits, budgets } = turn.run
  const { maxTotalTokens, maxCost } = limits
  if (maxTotalTokens === undefined && maxCost === undefined) return budgets
  const own = createBudget({
    ...(maxTotalTokens !== undefined && { maxTotalTokens }),
    ...(maxCost !== undefined && { maxCost }),
  })
  own.charge(turn)
  return [own, ...budgets]
}

export type CallReservation = { readonly ok: true; settle(answer: AssistantMessage): void } | { readonly ok: false; readonly reason: EndReason }

const unlimited: CallReservation = { ok: true, settle: () => undefined }

/** Sets aside what a call may use at most, on every budget or on none. */
export function reserveCall(turn: Turn, maxOutputTokens: number): CallReservation {
  if (turn.budgets.length === 0) return unlimited
  const estimate = estimateOf(turn, maxOutputTokens)
  const reserved = reserveOnAll(turn.budgets, estimate)
  if ('refusedBy' in reserved) return { ok: false, reason: refusalOf(reserved.refusedBy, estimate) }
  return { ok: true, settle: (answer) => settleAll(reserved, spendingOf(turn, answer)) }
}

function reserveOnAll(budgets: readonly Budget[], estimate: BudgetEstimate): readonly Reservation[] | { readonly refusedBy: Budget } {
  const reserved: Reservation[] = []
  for (const budget of budgets) {
    const reservation = budget.reserve(estimate)
    if (!reservation) {
      settleAll(reserved, { usage: {} })
      return { refusedBy: budget }
    }
    reserved.push(reservation)
  }
  return reserved
}

function settleAll(reserved: readonly Reservation[], spent: Spending): void {
  for (const reservation of reserved) reservation.settle(spent)
}

/** Sets aside what another call than the turn's own may use at most. */
export function reserveTokens(turn: Turn, inputTokens: number, outputTokens: number): Reservation | undefined {
  const cost = costOf({ inputTokens, outputTokens }, turn.model.info.price)
  const estimate = { tokens: inputTokens + outputTokens, ...(cost && { cost }) }
  const reserved = reserveOnAll(turn.budgets, estimate)
  if ('refusedBy' in reserved) return undefined
  return { settle: (actual) => settleAll(reserved, actual) }
}

/** What the answer may need: as asked for, as the model allows, or a guess. */
export function outputLimit({ info }: ModelTarget, maxTokens: number | undefined): number {
  return maxTokens ?? info.maxOutputTokens ?? outputTokensUnlessKnown
}

/** Charges what was used outside of a model call of this turn. */
export function chargeBudgets(turn: Turn, spending: Spending): void {
  for (const budget of turn.budgets) budget.charge(spending)
}

export function budgetLeft(turn: Turn): Budget['left'] {
  const lefts = turn.budgets.map(({ left }) => left)
  const tokens = least(lefts.map((left) => left.tokens))
  const cost = least(lefts.map((left) => left.cost))
  return { ...(tokens !== undefined && { tokens }), ...(cost !== undefined && { cost }) }
}

/** Throws `invalid-config`: what has no price cannot be held to a price. */
export function checkPrices(limits: Limits, budget: Budget | undefined, models: readonly ModelTarget[]): void {
  if (limits.maxCost === undefined && budget?.left.cost === undefined) return
  const unpriced = models.find(({ info }) => info.price === undefined)
  if (!unpriced) return
  const { provider, modelId } = unpriced.name
  refuseConfig(`maxCost needs the price of ${provider}:${modelId}: give models, a registry that has it`)
}

/** Ends the turn as `limit` when its time is over. Gives what cancels that. */
export function watchDuration(turn: Turn): () => void {
  const { maxDurationMs } = turn.run.limits
  if (maxDurationMs === undefined) return () => undefined
  const endsAt = turn.clock.now() - turn.elapsedMs + maxDurationMs
  return turn.clock.setTimer(endsAt, () =>
    turn.stop.stop({ kind: 'stop', status: 'limit', reason: 'max-duration', message: 'the turn has used up its time' }),
  )
}

function estimateOf(turn: Turn, maxOutputTokens: number): BudgetEstimate {
  const inputTokens = turn.contextTokens()
  const cost = costOf({ inputTokens, outputTokens: maxOutputTokens }, turn.model.info.price)
  return { tokens: inputTokens + maxOutputTokens, ...(cost && { cost }) }
}

function refusalOf(budget: Budget, { tokens }: BudgetEstimate): EndReason {
  const byTokens = budget.left.tokens !== undefined && tokens > budget.left.tokens
  return byTokens ? 'max-total-tokens' : 'max-cost'
}

/** Without usage an estimate counts: a model that does not report must not be free. */
function spendingOf(turn: Turn, { usage, cost, content, stopReason }: AssistantMessage): Spending {
  if (tokensOf(usage) > 0 || content.length === 0 || stopReason === 'error') return { usage, cost }
  const inputTokens = turn.contextTokens()
  const outputTokens = Math.ceil(JSON.stringify(content).length / 4)
  const estimated = { inputTokens, outputTokens, estimated: true as const }
  return { usage: estimated, cost: costOf(estimated, turn.model.info.price) }
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
