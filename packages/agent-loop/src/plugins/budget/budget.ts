import type { AssistantMessage, Cost, Usage } from '@bowline/llm'
import { needed } from '@bowline/llm/arguments'
import { messageOf } from '../../base/agent-error.ts'
import { checkDecimal, checkKeys, checkName, checkNumber, checkObject, checkRequired, checkWhole } from '../../base/checks.ts'
import type { Budget, BudgetEstimate, BudgetGrant, BudgetLimits, LocalBudget, Reservation, Spending } from '../../contract/run.ts'
import type { MaybePromise } from '../../base/promises.ts'
import type { EndReason } from '../../events/turn-events.ts'
import { awaitsApproval } from '../../kernel/call.ts'
import type { Call } from '../../kernel/call.ts'
import { limited, suspended } from '../../kernel/ending.ts'
import type { TurnOutcome } from '../../kernel/ending.ts'
import { finish } from '../../kernel/finish.ts'
import { withEstimate } from '../../kernel/model-call.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { askForMore, grantOf, isOpen, lacksTokens } from '../../kernel/question.ts'
import type { Standing } from '../../kernel/question.ts'
import { tellQuestion } from '../../kernel/settle.ts'
import { estimateOf, grantOn, leftOf, outputLimit, reserveOn } from '../../kernel/spending.ts'
import type { StepPlan } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'

const stateOf = turnState(() => ({ reservation: undefined as Reservation | undefined }))

/**
 * Reserves what each model call may use, on every budget of the turn. A call that does not fit ends the turn, or suspends it until
 * more is granted.
 */
export const budgetPlugin: Plugin = {
  name: 'budget',
  hooks: {
    beforeStep: reserve,
    // With `onBudget: 'end'`, the first call of the step was reserved before the step began.
    beforeAttempt: (turn, plan) => (stateOf(turn).reservation ? undefined : reserve(turn, plan)),
    count(turn, answered) {
      if (turn.budgets.length === 0) return
      if (isUncounted(answered.answer.message)) answered.answer = withEstimate(turn, answered.answer)
      settle(turn, answered.answer.message)
    },
    // Releases the reservation of a call that was never made, so that other runs can use it.
    asked: (turn) => settle(turn, { usage: {} }),
  },
}

function needOf(turn: Turn, { params }: StepPlan): BudgetEstimate {
  return estimateOf(turn, turn.contextTokens(), outputLimit(turn.model, params.maxTokens))
}

function reserve(turn: Turn, plan: StepPlan): MaybePromise<TurnOutcome | undefined> {
  if (turn.budgets.length === 0 || turn.stop.requested) return undefined
  // A question belongs to a step, so the step must begin first.
  if (turn.run.limits.onBudget === 'ask') return turn.stepState === 'ended' ? undefined : reserveOrAsk(turn, plan)
  const estimate = needOf(turn, plan)
  const take = (reserved: Awaited<ReturnType<typeof reserveOn>>): TurnOutcome | undefined => {
    if ('refusedBy' in reserved) return limited(refusalOf(reserved.refusedBy, estimate))
    stateOf(turn).reservation = reserved
    return undefined
  }
  try {
    const reserved = reserveOn(turn, estimate)
    return reserved instanceof Promise
      ? reserved.then(take).catch((error: unknown) => failedBudget(turn, messageOf(error)))
      : take(reserved)
  } catch (error) {
    return failedBudget(turn, messageOf(error))
  }
}

async function reserveOrAsk(turn: Turn, plan: StepPlan): Promise<TurnOutcome | undefined> {
  const { question } = turn
  if (question?.row.state === 'denied') return limited(lacksTokens(question) ? 'max-total-tokens' : 'max-cost')
  try {
    const estimate = needOf(turn, plan)
    const raised = new Set<Budget>()
    let reserved = await reserveOn(turn, estimate)
    // Raises each budget that has no room by the granted amount, once.
    while ('refusedBy' in reserved && !raised.has(reserved.refusedBy) && (await raise(turn, reserved.refusedBy))) {
      raised.add(reserved.refusedBy)
      reserved = await reserveOn(turn, estimate)
    }
    // The decision may not have taken effect: the process that resumes the turn applies it.
    if (turn.stop.requested && 'refusedBy' in reserved) return undefined
    if ('refusedBy' in reserved) return suspended([await stillAsking(turn, estimate)])
    stateOf(turn).reservation = reserved
    if (isOpen(question)) await closeQuestion(turn, question)
    return undefined
  } catch (error) {
    return failedBudget(turn, messageOf(error))
  }
}

/** Returns false if nothing was granted, or the budget cannot be raised. */
async function raise(turn: Turn, budget: Budget): Promise<boolean> {
  const { question } = turn
  const { approval } = question?.row ?? {}
  return question !== undefined && approval?.state === 'approved' && grantOn(turn, budget, approval.approvalId, grantOf(question))
}

/** Returns the question that waits for a decision. Asks a new one if the granted amount is not enough. */
async function stillAsking(turn: Turn, estimate: BudgetEstimate): Promise<Call> {
  const { question } = turn
  if (question && awaitsApproval(question)) return question
  if (isOpen(question)) await closeQuestion(turn, question)
  turn.question = askForMore(
    turn,
    estimate,
    turn.budgets.map((budget) => standingOf(turn, budget)),
  )
  tellQuestion(turn, turn.question)
  return turn.question
}

function standingOf({ ownBudget }: Turn, budget: Budget): Standing {
  const { name = 'shared', spent, reserved } = budget
  return { name: budget === ownBudget ? 'run' : name, left: leftOf(budget), ...(spent && { spent }), ...(reserved && { reserved }) }
}

/** Closes a question that was answered, or for which there is room by now. */
function closeQuestion(turn: Turn, question: Call): MaybePromise<void> {
  return finish(turn, question, { status: 'result', executed: 'no', output: { type: 'json', value: question.row.input ?? null } })
}

/** Ends the turn: without the budget it is not known whether the call fits. */
function failedBudget(turn: Turn, message: string): TurnOutcome {
  turn.log.record({ type: 'error', source: 'extension', name: 'budget', message, fatal: true })
  return { status: 'error', reason: 'extension-error', error: { code: 'extension-error', message } }
}

function refusalOf(budget: Budget, { tokens }: BudgetEstimate): EndReason {
  const { tokens: left } = leftOf(budget)
  return left !== undefined && tokens > left ? 'max-total-tokens' : 'max-cost'
}

/** Returns whether no usage was reported. Such an answer must not count as free. */
function isUncounted({ usage, stopReason }: AssistantMessage): boolean {
  return stopReason !== 'error' && [usage.inputTokens, usage.outputTokens, usage.totalTokens].every((tokens) => tokens === undefined)
}

function settle(turn: Turn, spent: Parameters<Reservation['settle']>[0]): void {
  const state = stateOf(turn)
  void state.reservation?.settle(spent)
  state.reservation = undefined
}

const decimals = 15

/**
 * Creates a budget in this process that any number of runs may share. Amounts are exact to 10⁻¹⁵. Throws `AgentError`
 * `invalid-config` if a limit is negative or not a number.
 */
export function createBudget(limits: BudgetLimits): LocalBudget {
  checkKeys('createBudget.limits', limits, ['maxTotalTokens', 'maxCost'])
  checkWhole('maxTotalTokens', limits.maxTotalTokens, 0)
  checkDecimal('maxCost', limits.maxCost)
  const maxTokens = limits.maxTotalTokens
  const maxCost = limits.maxCost === undefined ? undefined : fixedPoint(String(limits.maxCost))
  const [spent, reserved, granted] = [new Sum(), new Sum(), new Sum()]
  const known = new Set<string>()
  const left = (): { tokens: number; cost: bigint } => ({
    tokens: (maxTokens ?? Infinity) + granted.tokens - spent.tokens - reserved.tokens,
    cost: (maxCost ?? 0n) + granted.cost - spent.cost - reserved.cost,
  })
  const charge = (actual: Spending): void => {
    checkObject('actual', needed(actual))
    const { usage, cost: paid } = actual
    checkObject('actual.usage', needed(usage))
    checkPaid('actual.cost', paid)
    spent.add(tokensOf(usage), paid?.total)
  }
  return {
    reserve(estimate) {
      checkObject('estimate', needed(estimate))
      checkNumber('estimate.tokens', needed(estimate.tokens), 0)
      checkPaid('estimate.cost', estimate.cost)
      const { tokens, cost } = left()
      if (maxTokens !== undefined && estimate.tokens > tokens) return undefined
      if (maxCost !== undefined && fixedPoint(estimate.cost?.total ?? '0') > cost) return undefined
      reserved.add(estimate.tokens, estimate.cost?.total)
      let open = true
      return {
        settle(actual) {
          if (!open) return
          open = false
          reserved.add(-estimate.tokens, estimate.cost?.total, -1n)
          charge(actual)
        },
      }
    },
    charge,
    grant(id, amount) {
      checkName('id', id)
      checkGrant('amount', amount)
      if (known.has(id)) return
      known.add(id)
      granted.add(amount.tokens ?? 0, amount.cost === undefined ? undefined : String(amount.cost))
    },
    get left() {
      const { tokens, cost } = left()
      return {
        ...(maxTokens !== undefined && { tokens: Math.max(0, tokens) }),
        ...(maxCost !== undefined && { cost: numberOf(cost > 0n ? cost : 0n) }),
      }
    },
    get spent() {
      return spent.amounts
    },
    get reserved() {
      return reserved.amounts
    },
    get granted() {
      return granted.isZero ? undefined : { tokens: granted.tokens, cost: decimalOf(granted.cost) }
    },
  }
}

class Sum {
  tokens = 0
  cost = 0n

  add(tokens: number, cost: string | undefined, sign: 1n | -1n = 1n): void {
    this.tokens += tokens
    if (cost !== undefined) this.cost += sign * fixedPoint(cost)
  }

  get isZero(): boolean {
    return this.tokens === 0 && this.cost === 0n
  }

  get amounts(): { tokens: number; cost: number } {
    return { tokens: this.tokens, cost: numberOf(this.cost) }
  }
}

/** Checks a grant, which may have as many decimals as a question. */
function checkGrant(path: string, amount: BudgetGrant): void {
  checkObject(path, needed(amount))
  checkKeys(path, amount, ['tokens', 'cost'])
  checkWhole(`${path}.tokens`, amount.tokens, 0)
  if (amount.cost !== undefined)
    checkRequired(`${path}.cost`, amount.cost, 'a decimal number like "2.50"', (given) => /^\d+(\.\d{1,15})?$/.test(String(given)))
}

function checkPaid(path: string, cost: Cost | undefined): void {
  checkObject(path, cost)
  if (cost)
    checkRequired(
      `${path}.total`,
      cost.total,
      'a decimal number as text',
      (given) => typeof given === 'string' && /^\d+(\.\d+)?$/.test(given),
    )
}

/** Returns the tokens that a usage counts for: input and output. */
function tokensOf(usage: Usage): number {
  return usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
}

function fixedPoint(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))
}

function numberOf(cost: bigint): number {
  return Number(cost) / 10 ** decimals
}

function decimalOf(cost: bigint): string {
  const digits = String(cost).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '')
}
