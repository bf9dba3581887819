import { canonicalJson } from '@bowline/agent-loop'
import type { CheckedStep } from './config.ts'

/** What of a configuration can have no effect. */
export interface Finding {
  /** `unreachable`: no condition leads to it. `shadowed`: an earlier step takes its place. `empty`: it allows no tool. */
  readonly kind: 'unreachable' | 'shadowed' | 'empty'
  readonly step: string
  readonly message: string
}

export function findings(steps: readonly CheckedStep[], pick: 'first' | 'newest'): readonly Finding[] {
  return steps.flatMap((step, index) => {
    const found: Finding[] = []
    if (!step.isDefault && step.conditions.length === 0) {
      found.push({ kind: 'unreachable', step: step.name, message: `${step.name} has no condition and is not the default.` })
    }
    const earlier = pick === 'first' ? steps.slice(0, index).find((other) => takesPlaceOf(other, step)) : undefined
    if (earlier) found.push({ kind: 'shadowed', step: step.name, message: `${step.name} has the conditions of ${earlier.name}, which comes first.` })
    if (step.allow?.length === 0 || step.deny.includes('*')) {
      found.push({ kind: 'empty', step: step.name, message: `${step.name} allows no tool.` })
    }
    return found
  })
}

/** In whatever order: all of them must hold. */
function takesPlaceOf(earlier: CheckedStep, later: CheckedStep): boolean {
  if (earlier.isDefault || later.isDefault || later.conditions.length === 0) return false
  return conditionsText(earlier) === conditionsText(later)
}

/** A match of a sequence that the condition does not name means that of its step. */
function conditionsText({ conditions, sequence }: CheckedStep): string {
  const texts = conditions.map((condition) => {
    const own = 'type' in condition && condition.type === 'sequence_match' && condition.value === undefined
    return canonicalJson(own ? { ...condition, own: sequence } : condition)
  })
  return texts.sort().join('\n')
}
