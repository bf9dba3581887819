import { addCost, addUsage, type Cost, type Usage } from '@bowline/llm'
import type { SessionRecord } from '../contract/records.ts'
import type { Spent, UsageReport } from './types.ts'

export function usageOf({ usage, cost, childUsage, childCost }: SessionRecord): UsageReport {
  const sameCurrency = !cost || !childCost || cost.currency === childCost.currency
  return {
    own: spent(usage, cost),
    children: spent(childUsage, childCost),
    total: spent(addUsage(usage, childUsage), sameCurrency ? addCost(cost, childCost) : undefined),
  }
}

function spent(usage: Usage, cost: Cost | undefined): Spent {
  return { usage, ...(cost && { cost }) }
}
