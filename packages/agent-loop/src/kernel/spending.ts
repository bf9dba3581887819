import { costOf } from '@bowline/llm'
import { needed } from '@bowline/llm/arguments'
import { AgentError, messageOf } from '../base/agent-error.ts'
import { checkMethods, checkNumber, checkObject, refuseConfig } from '../base/checks.ts'
import { dropLateFailure, isThenable, settleWithin } from '../base/promises.ts'
import type { MaybePromise, TimeLimit } from '../base/promises.ts'
import type { Budget, BudgetEstimate, BudgetGrant, Limits, Reservation, Spending } from '../contract/run.ts'
import type { ModelTarget } from './model-target.ts'
import type { Turn } from './turn.ts'

const outputTokensUnlessKnown = 4_096

/** Returns the number of output tokens that the answer may need: as requested, as the model allows, or a guess. */
export function outputLimit({ info }: ModelTarget, maxTokens: number | undefined): number {
  return maxTokens ?? info.maxOutputTokens ?? outputTokensUnlessKnown
}

/** Estimates what a call of the current model may use. */
export function estimateOf({ model }: Turn, inputTokens: number, outputTokens: number): BudgetEstimate {
  const cost = costOf({ inputTokens, outputTokens }, model.info.price)
  return { tokens: inputTokens + outputTokens, ...(cost && { cost }) }
}

/** Longest time for one answer of a budget. */
const budgetTimeoutMs = 30_000

type Reserved = Reservation | { readonly refusedBy: Budget }

/**
 * Reserves the estimate on every budget or on none. Throws or rejects if a budget fails. If `settle` of a reservation fails, the
 * log gets an error and the turn continues.
 */
export function reserveOn(turn: Turn, estimate: BudgetEstimate): MaybePromise<Reserved> {
  return reserveFrom(turn, estimate, [])
}

function reserveFrom(turn: Turn, estimate: BudgetEstimate, reserved: Reservation[]): MaybePromise<Reserved> {
  try {
    for (let place = reserved.length; place < turn.budgets.length; place++) {
      const budget = turn.budgets[place] as Budget
      const answer = askBudget('budget.reserve', () => budget.reserve(estimate), checkReservation)
      if (isThenable(answer)) {
        return reservedLater(turn, answer).then(
          (reservation) => (reservation ? reserveFrom(turn, estimate, [...reserved, reservation]) : refuse(turn, reserved, budget)),
          (error: unknown) => giveBack(turn, reserved, error),
        )
      }
      if (!answer) return refuse(turn, reserved, budget)
      reserved.push(answer)
    }
  } catch (error) {
    return giveBack(turn, reserved, error)
  }
  return { settle: (actual) => settleAll(turn, reserved, actual) }
}

function refuse(turn: Turn, reserved: readonly Reservation[], refusedBy: Budget): Reserved {
  settleAll(turn, reserved, { usage: {} })
  return { refusedBy }
}

function giveBack(turn: Turn, reserved: readonly Reservation[], error: unknown): never {
  settleAll(turn, reserved, { usage: {} })
  throw error
}

function settleAll(turn: Turn, reserved: readonly Reservation[], actual: Spending): void {
  for (const reservation of reserved) count(turn, 'settle of a reservation', () => reservation.settle(actual))
}

/**
 * Rejects if the budget does not answer in time. An amount that it reserves after that, or after the run was stopped, is given
 * back.
 */
async function reservedLater(turn: Turn, answer: PromiseLike<Reservation | undefined>): Promise<Reservation | undefined> {
  const settled = await settleWithin(limitOf(turn), () => answer)
  if (settled.kind === 'value') {
    checkedAnswer('budget.reserve', settled.value, checkReservation)
    return settled.value
  }
  if (settled.kind !== 'failed')
    void Promise.resolve(answer)
      .then((late) => late?.settle({ usage: {} }))
      .catch(() => undefined)
  // The caller sees that the run is stopped, and makes no call.
  if (settled.kind === 'stopped') return { settle: () => undefined }
  throw named('budget.reserve', settled.kind === 'failed' ? settled.error : new Error(`no answer within ${budgetTimeoutMs} ms`))
}

function limitOf({ clock, stop }: Turn): TimeLimit {
  return { clock, abortSignal: stop.signal, timeoutMs: budgetTimeoutMs }
}

/**
 * Raises a budget. Returns false if the budget cannot be raised, or the run is stopped. Rejects if it fails, or does not answer in
 * time.
 */
export async function grantOn(turn: Turn, budget: Budget, id: string, amount: BudgetGrant): Promise<boolean> {
  if (!budget.grant) return false
  const settled = await settleWithin(limitOf(turn), async () => budget.grant?.(id, amount))
  if (settled.kind === 'value') return true
  if (settled.kind === 'stopped') return false
  throw named('budget.grant', settled.kind === 'failed' ? settled.error : new Error(`no answer within ${budgetTimeoutMs} ms`))
}

/**
 * Charges usage outside of a reservation to all budgets. If a budget fails, the log gets an error and the turn continues.
 * `isChild`: a subagent with a journal of its own has used it.
 */
export function chargeAll(turn: Turn, spent: Spending, isChild = false): void {
  for (const budget of turn.budgets) if (!isChild || !budget.coversChildren) count(turn, 'budget.charge', () => budget.charge(spent))
}

/** Has a budget count at once, or makes the next commit wait until it has: what is stored as spent must be counted. */
function count(turn: Turn, name: string, work: () => MaybePromise<void>): void {
  try {
    const counted = askBudget(name, work, () => undefined)
    if (isThenable(counted)) turn.owe(countedLater(turn, name, counted))
  } catch (error) {
    tellFailure(turn, error)
  }
}

/** Must not reject. A run that is stopped leaves the budget as much time as it has itself. */
async function countedLater(turn: Turn, name: string, counted: PromiseLike<void>): Promise<void> {
  const settled = await settleWithin({ ...limitOf(turn), stopDeadline: () => turn.stopDeadline, patient: true }, () => counted)
  if (settled.kind === 'failed') tellFailure(turn, named(name, settled.error))
  else if (settled.kind !== 'value') tellFailure(turn, named(name, new Error('it did not answer in time')))
}

function tellFailure(turn: Turn, error: unknown): void {
  turn.log.record({ type: 'error', source: 'extension', name: 'budget', message: messageOf(error), fatal: false })
}

/** Asks a budget, which may be the user's code. Throws an error that names what failed. */
function askBudget<Value>(name: string, asked: () => Value, check: (value: unknown) => void): Value {
  try {
    const value = asked()
    if (!isThenable(value)) check(value)
    return value
  } catch (error) {
    throw named(name, error)
  }
}

function checkedAnswer(name: string, value: unknown, check: (value: unknown) => void): void {
  askBudget(name, () => value, check)
}

function checkReservation(given: unknown): void {
  checkMethods('budget.reserve()', given, ['settle'])
}

function named(name: string, error: unknown): AgentError {
  return new AgentError('invalid-config', `${name} failed: ${messageOf(error)}`, { cause: error })
}

/** Throws `invalid-config` if a cost limit cannot be enforced: a model has no price, or the prices have two currencies. */
export function checkPrices(budgets: readonly Budget[], models: readonly ModelTarget[], limits?: Limits): void {
  if (limits?.maxCost === undefined && budgets.every((budget) => leftOf(budget).cost === undefined)) return
  const currencies = models.map(({ name, info }) => {
    if (info.price === undefined)
      refuseConfig(
        `maxCost needs the price of ${name.provider}:${name.modelId}: name the model and set models to a registry with its price`,
      )
    return info.price.currency ?? 'USD'
  })
  if (new Set(currencies).size > 1) refuseConfig(`maxCost needs prices in one currency; received ${[...new Set(currencies)].join(' and ')}`)
}

/** Returns the smallest amounts that the budgets of a turn have left. */
export function budgetLeft({ budgets }: Turn): Budget['left'] {
  if (budgets.length === 0) return {}
  const lefts = budgets.map(leftOf)
  const tokens = least(lefts.map((left) => left.tokens))
  const cost = least(lefts.map((left) => left.cost))
  return { ...(tokens !== undefined && { tokens }), ...(cost !== undefined && { cost }) }
}

/** Returns what a budget has left. Throws if the budget fails to say it. */
export function leftOf(budget: Budget): Budget['left'] {
  return askBudget(
    'budget.left',
    () => checkedLeft(budget.left),
    () => undefined,
  )
}

function checkedLeft(left: Budget['left']): Budget['left'] {
  if (isThenable(left)) dropLateFailure(left)
  checkObject('budget.left', needed(left))
  const { tokens, cost } = left as Readonly<Record<string, unknown>>
  checkNumber('budget.left.tokens', tokens, 0)
  checkNumber('budget.left.cost', cost, 0)
  return left
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
