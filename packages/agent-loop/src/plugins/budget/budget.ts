import type { Cost, Usage } from '@bowline/llm'
import { needed } from '@bowline/llm/arguments'
import { checkDecimal, checkKeys, checkNumber, checkObject, checkRequired, checkWhole } from '../../base/checks.ts'
import type { Budget, BudgetLimits, Spending } from '../../contract/run.ts'

const decimals = 15

/** Throws `invalid-config`. */
export function createBudget(limits: BudgetLimits): Budget {
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
