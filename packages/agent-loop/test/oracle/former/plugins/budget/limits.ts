import { costOf } from '@bowline/llm'
import { refuseConfig } from '../../base/check-options.ts'
import type { Budget, BudgetEstimate, Reservation, Spending } from '../../contract/budget.ts'
import type { Limits } from '../../contract/run.ts'
import type { EndReason } from '../../events/types.ts'
import type { ModelTarget } from '../../kernel/model-target.ts'
import type { Turn } from '../../kernel/turn.ts'
import { createBudget } from './budget.ts'

const outputTokensUnlessKnown = 4_096

/** The turn's own limits as a budget, charged with what earlier segments have used. */
export function budgetOf(turn: Turn): Budget | undefined {
  const { maxTotalTokens, maxCost } = turn.run.limits
  if (maxTotalTokens === undefined && maxCost === undefined) return undefined
  const own = createBudget({
    ...(maxTotalTokens !== undefined && { maxTotalTokens }),
    ...(maxCost !== undefined && { maxCost }),
  })
  own.charge(turn)
  return own
}

/** Of one call, on every budget; `reason` is the limit that has no room for it. */
export type CallReservation = ({ readonly ok: true } & Reservation) | { readonly ok: false; readonly reason: EndReason }

/** Sets aside what the turn's next call may use at most, on every budget or on none. */
export function reserveCall(turn: Turn, maxTokens: number | undefined): CallReservation {
  const estimate = estimateOf(turn, turn.contextTokens(), outputLimit(turn.model, maxTokens))
  const reserved = reserveOnAll(turn.budgets, estimate)
  if ('refusedBy' in reserved) return { ok: false, reason: refusalOf(reserved.refusedBy, estimate) }
  return { ok: true, settle: (spent) => settleAll(reserved, spent) }
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
  const reserved = reserveOnAll(turn.budgets, estimateOf(turn, inputTokens, outputTokens))
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

/** Throws `invalid-config`: what has no price cannot be held to a price, and prices of two currencies not to one. */
export function checkPrices(limits: Limits, budgets: readonly Budget[], models: readonly ModelTarget[]): void {
  if (limits.maxCost === undefined && budgets.every(({ left }) => left.cost === undefined)) return
  const currencies = models.map(({ name, info }) => {
    if (info.price === undefined) refuseConfig(`maxCost needs the price of ${name.provider}:${name.modelId}: give the model by name, with models, a registry that has its price`)
    return info.price.currency ?? 'USD'
  })
  if (new Set(currencies).size > 1) refuseConfig(`maxCost needs prices of one currency, not of ${[...new Set(currencies)].join(' and ')}`)
}

/** Ends the turn as `limit` when its time is over. Gives what cancels that. */
export function watchDuration(turn: Turn): () => void {
  const { maxDurationMs } = turn.run.limits
  if (maxDurationMs === undefined) return () => undefined
  const endsAt = turn.clock.now() - turn.elapsedMs + maxDurationMs
  return turn.clock.setTimer(endsAt, () => {
    // What stands behind its end is not the turn's.
    if (!turn.log.hasEnded) turn.stop.stop({ kind: 'stop', status: 'limit', reason: 'max-duration', message: 'the turn has used up its time' })
  })
}

function estimateOf({ model }: Turn, inputTokens: number, outputTokens: number): BudgetEstimate {
  const cost = costOf({ inputTokens, outputTokens }, model.info.price)
  return { tokens: inputTokens + outputTokens, ...(cost && { cost }) }
}

function refusalOf(budget: Budget, { tokens }: BudgetEstimate): EndReason {
  const byTokens = budget.left.tokens !== undefined && tokens > budget.left.tokens
  return byTokens ? 'max-total-tokens' : 'max-cost'
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
