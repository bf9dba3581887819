import type { AssistantMessage, Cost, Usage } from '@bowline/llm'
import { needed } from '@bowline/llm/arguments'
import { messageOf } from '../../base/agent-error.ts'
import { checkDecimal, checkKeys, checkNumber, checkObject, checkRequired, checkWhole } from '../../base/checks.ts'
import type { Budget, BudgetEstimate, BudgetLimits, LocalBudget, Reservation, Spending } from '../../contract/run.ts'
import type { MaybePromise } from '../../base/promises.ts'
import type { EndReason } from '../../events/turn-events.ts'
import { limited } from '../../kernel/ending.ts'
import type { TurnOutcome } from '../../kernel/ending.ts'
import { withEstimate } from '../../kernel/model-call.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { estimateOf, leftOf, outputLimit, reserveOn } from '../../kernel/spending.ts'
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

function reserve(turn: Turn, { params }: StepPlan): MaybePromise<TurnOutcome | undefined> {
  if (turn.budgets.length === 0 || turn.stop.requested) return undefined
  const estimate = estimateOf(turn, turn.contextTokens(), outputLimit(turn.model, params.maxTokens))
  const take = (reserved: Awaited<ReturnType<typeof reserveOn>>): TurnOutcome | undefined => {
    if ('refusedBy' in reserved) return limited(refusalOf(reserved.refusedBy, estimate))
    stateOf(turn).reservation = reserved
    return undefined
  }
  try {
    const reserved = reserveOn(turn, estimate)
    return reserved instanceof Promise ? reserved.then(take).catch((error: unknown) => failedBudget(turn, messageOf(error))) : take(reserved)
  } catch (error) {
    return failedBudget(turn, messageOf(error))
  }
}

/** Whether the call fits cannot be guessed: a budget that fails ends the turn. */
function failedBudget(turn: Turn, message: string): TurnOutcome {
  turn.log.record({ type: 'error', source: 'extension', name: 'budget', message, fatal: true })
  return { status: 'error', reason: 'extension-error', error: { code: 'extension-error', message } }
}

function refusalOf(budget: Budget, { tokens }: BudgetEstimate): EndReason {
  const { tokens: left } = leftOf(budget)
  return left !== undefined && tokens > left ? 'max-total-tokens' : 'max-cost'
}

/** What is held to a budget must not be free because its usage was not reported. */
function isUncounted({ usage, stopReason }: AssistantMessage): boolean {
  return stopReason !== 'error' && [usage.inputTokens, usage.outputTokens, usage.totalTokens].every((tokens) => tokens === undefined)
}

function settle(turn: Turn, spent: Parameters<Reservation['settle']>[0]): void {
  const state = stateOf(turn)
  void state.reservation?.settle(spent)
  state.reservation = undefined
}

const decimals = 15

/** Throws `invalid-config`. */
export function createBudget(limits: BudgetLimits): LocalBudget {
  checkKeys('createBudget.limits', limits, ['maxTotalTokens', 'maxCost'])
  checkWhole('maxTotalTokens', limits.maxTotalTokens, 0)
  checkDecimal('maxCost', limits.maxCost)
  const maxTokens = limits.maxTotalTokens
  const maxCost = limits.maxCost === undefined ? undefined : fixedPoint(String(limits.maxCost))
  let tokens = 0
  let cost = 0n
  const add = (sign: 1 | -1, amount: { tokens: number; cost?: Cost | undefined }): void => {
    tokens += sign * amount.tokens
    if (amount.cost) cost += BigInt(sign) * fixedPoint(amount.cost.total)
  }
  const charge = (actual: Spending): void => {
    checkObject('actual', needed(actual))
    const { usage, cost: paid } = actual
    checkObject('actual.usage', needed(usage))
    checkPaid('actual.cost', paid)
    add(1, { tokens: tokensOf(usage), cost: paid })
  }
  return {
    reserve(estimate) {
      checkObject('estimate', needed(estimate))
      checkNumber('estimate.tokens', needed(estimate.tokens), 0)
      checkPaid('estimate.cost', estimate.cost)
      const wanted = estimate.cost ? fixedPoint(estimate.cost.total) : 0n
      if (maxTokens !== undefined && tokens + estimate.tokens > maxTokens) return undefined
      if (maxCost !== undefined && cost + wanted > maxCost) return undefined
      add(1, estimate)
      let open = true
      return {
        settle(actual) {
          if (!open) return
          open = false
          add(-1, estimate)
          charge(actual)
        },
      }
    },
    charge,
    get left() {
      return {
        ...(maxTokens !== undefined && { tokens: Math.max(0, maxTokens - tokens) }),
        ...(maxCost !== undefined && { cost: Number(maxCost > cost ? maxCost - cost : 0n) / 10 ** decimals }),
      }
    },
  }
}

function checkPaid(path: string, cost: Cost | undefined): void {
  checkObject(path, cost)
  if (cost) checkRequired(`${path}.total`, cost.total, 'a decimal number as text', (given) => typeof given === 'string' && /^\d+(\.\d+)?$/.test(given))
}

/** What a usage counts for: all that went in and all that came out. */
function tokensOf(usage: Usage): number {
  return usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
}

function fixedPoint(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))
}
