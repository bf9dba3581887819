import { costOf } from '@bowline/llm'
import { refuseConfig } from '../base/checks.ts'
import type { Budget, BudgetEstimate, Limits, Reservation, Spending } from '../contract/run.ts'
import type { ModelTarget } from './model-target.ts'
import type { Turn } from './turn.ts'

const outputTokensUnlessKnown = 4_096

/** What the answer may need: as asked for, as the model allows, or a guess. */
export function outputLimit({ info }: ModelTarget, maxTokens: number | undefined): number {
  return maxTokens ?? info.maxOutputTokens ?? outputTokensUnlessKnown
}

/** What a call of the present model may use. */
export function estimateOf({ model }: Turn, inputTokens: number, outputTokens: number): BudgetEstimate {
  const cost = costOf({ inputTokens, outputTokens }, model.info.price)
  return { tokens: inputTokens + outputTokens, ...(cost && { cost }) }
}

/** Sets aside what a call may use at most, on every budget or on none. */
export function reserveOn(budgets: readonly Budget[], estimate: BudgetEstimate): Reservation | { readonly refusedBy: Budget } {
  const reserved: Reservation[] = []
  for (const budget of budgets) {
    const reservation = budget.reserve(estimate)
    if (!reservation) {
      settleAll(reserved, { usage: {} })
      return { refusedBy: budget }
    }
    reserved.push(reservation)
  }
  return { settle: (actual) => settleAll(reserved, actual) }
}

function settleAll(reserved: readonly Reservation[], spent: Spending): void {
  for (const reservation of reserved) reservation.settle(spent)
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

/** What the budgets of a turn have left, taken together. */
export function budgetLeft({ budgets }: Turn): Budget['left'] {
  if (budgets.length === 0) return {}
  const lefts = budgets.map(({ left }) => left)
  const tokens = least(lefts.map((left) => left.tokens))
  const cost = least(lefts.map((left) => left.cost))
  return { ...(tokens !== undefined && { tokens }), ...(cost !== undefined && { cost }) }
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
