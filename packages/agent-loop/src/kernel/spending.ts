import { costOf } from '@bowline/llm'
import { needed } from '@bowline/llm/arguments'
import { AgentError, messageOf } from '../base/agent-error.ts'
import { checkMethods, checkNumber, checkObject, refuseConfig } from '../base/checks.ts'
import { dropLateFailure, isThenable } from '../base/promises.ts'
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

/**
 * Sets aside what a call may use at most, on every budget or on none. Throws if a budget fails. A reservation whose
 * `settle` fails is told in the log, and the turn goes on.
 */
export function reserveOn(turn: Turn, estimate: BudgetEstimate): Reservation | { readonly refusedBy: Budget } {
  const reserved: Reservation[] = []
  const settle: Reservation['settle'] = (actual) => {
    for (const reservation of reserved) tellFailure(turn, 'settle of a reservation', () => reservation.settle(actual))
  }
  try {
    for (const budget of turn.budgets) {
      const reservation = askBudget('budget.reserve', () => budget.reserve(estimate), (given) => checkMethods('budget.reserve()', given, ['settle']))
      if (!reservation) {
        settle({ usage: {} })
        return { refusedBy: budget }
      }
      reserved.push(reservation)
    }
  } catch (error) {
    settle({ usage: {} })
    throw error
  }
  return { settle }
}

/** Adds what was used outside of a reservation. A budget that fails is told in the log, and the turn goes on. */
export function chargeAll(turn: Turn, spent: Spending): void {
  for (const budget of turn.budgets) tellFailure(turn, 'budget.charge', () => budget.charge(spent))
}

function tellFailure(turn: Turn, name: string, count: () => void): void {
  try {
    askBudget(name, count, (given) => {
      if (isThenable(given)) refuseConfig('it must count at once; received a promise')
    })
  } catch (error) {
    turn.log.record({ type: 'error', source: 'extension', name: 'budget', message: messageOf(error), fatal: false })
  }
}

/** Asks a budget, which may be code of the user. Throws an error that names what failed. */
function askBudget<Value>(name: string, asked: () => Value, check: (value: unknown) => void): Value {
  try {
    const value = asked()
    if (isThenable(value)) dropLateFailure(value)
    check(value)
    return value
  } catch (error) {
    throw new AgentError('invalid-config', `${name} failed: ${messageOf(error)}`, { cause: error })
  }
}

/** Throws `invalid-config`: what has no price cannot be held to a price, and prices of two currencies not to one. */
export function checkPrices(limits: Limits, budgets: readonly Budget[], models: readonly ModelTarget[]): void {
  if (limits.maxCost === undefined && budgets.every((budget) => leftOf(budget).cost === undefined)) return
  const currencies = models.map(({ name, info }) => {
    if (info.price === undefined) refuseConfig(`maxCost needs the price of ${name.provider}:${name.modelId}: give the model by name, with models, a registry that has its price`)
    return info.price.currency ?? 'USD'
  })
  if (new Set(currencies).size > 1) refuseConfig(`maxCost needs prices of one currency, not of ${[...new Set(currencies)].join(' and ')}`)
}

/** What the budgets of a turn have left, taken together. */
export function budgetLeft({ budgets }: Turn): Budget['left'] {
  if (budgets.length === 0) return {}
  const lefts = budgets.map(leftOf)
  const tokens = least(lefts.map((left) => left.tokens))
  const cost = least(lefts.map((left) => left.cost))
  return { ...(tokens !== undefined && { tokens }), ...(cost !== undefined && { cost }) }
}

/** Throws if the budget fails to say it. */
export function leftOf(budget: Budget): Budget['left'] {
  return askBudget('budget.left', () => budget.left, (left) => {
    checkObject('budget.left', needed(left))
    const { tokens, cost } = left as Readonly<Record<string, unknown>>
    checkNumber('budget.left.tokens', tokens, 0)
    checkNumber('budget.left.cost', cost, 0)
  })
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
