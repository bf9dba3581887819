import { definedFields } from '@bowline/llm/arguments'
import { checkDecimal, checkKeys, checkWhole } from '../base/checks.ts'
import type { Limits } from '../contract/run.ts'

const defaults: Limits = { maxSteps: 32, maxToolCalls: 256, maxDepth: 3, maxQueuedInputs: 100 }
const least = { maxSteps: 1, maxToolCalls: 0, maxTotalTokens: 0, maxDurationMs: 1, maxDepth: 0, maxQueuedInputs: 0 } as const

/** Field by field in the place of `base`. Throws `invalid-config`. */
export function limitsOf(given: Partial<Limits> | undefined, base: Limits = defaults): Limits {
  if (given === undefined) return base
  checkKeys('limits', given, [...Object.keys(least), 'maxCost'])
  for (const key of Object.keys(least) as (keyof typeof least)[]) checkWhole(`limits.${key}`, given[key], least[key])
  checkDecimal('limits.maxCost', given.maxCost)
  return { ...base, ...definedFields(given) }
}
