import { addCost } from '@bowline/llm'
import type { Cost, Usage } from '@bowline/llm'

interface Spent {
  readonly usage: Usage
  readonly cost: Cost | undefined
}

/** The cost of both: not known when a part of it is not, or when the currencies differ. */
export function totalCost(before: Spent, added: Spent): Cost | undefined {
  if (!before.cost) return hasTokens(before.usage) ? undefined : added.cost
  if (!added.cost) return hasTokens(added.usage) ? undefined : before.cost
  return before.cost.currency === added.cost.currency ? addCost(before.cost, added.cost) : undefined
}

function hasTokens({ inputTokens = 0, outputTokens = 0, totalTokens = 0 }: Usage): boolean {
  return inputTokens + outputTokens + totalTokens > 0
}
