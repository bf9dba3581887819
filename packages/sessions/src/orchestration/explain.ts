import { canonicalJson } from '@bowline/agent-loop'
import type { CheckedStep } from './config.ts'
import { matchesAny } from './tool-patterns.ts'

/** A part of a configuration that can have no effect. */
export interface Finding {
  /**
   * `unreachable`: no condition selects the step. `shadowed`: an earlier step is always selected instead. `empty`: the step
   * allows no tool. `blocked`: its sequence names tools that its own `allow` excludes.
   */
  readonly kind: 'unreachable' | 'shadowed' | 'empty' | 'blocked'
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
    if (earlier)
      found.push({ kind: 'shadowed', step: step.name, message: `${step.name} has the conditions of ${earlier.name}, which comes first.` })
    if (step.allow?.length === 0 || step.deny.includes('*')) {
      found.push({ kind: 'empty', step: step.name, message: `${step.name} allows no tool.` })
    }
    const blocked = blockedSequence(step)
    if (blocked !== undefined) found.push({ kind: 'blocked', step: step.name, message: blocked })
    return found
  })
}

/** Checks `allow` only, because a configuration whose sequence has a denied tool is refused. */
function blockedSequence({ name, allow, sequence }: CheckedStep): string | undefined {
  if (!allow) return undefined
  const outside = sequence.map((tools) => tools.filter((tool) => !matchesAny(allow, tool)))
  const places = outside.flatMap((tools, index) => tools.map((tool) => `${JSON.stringify(tool)} at sequence[${index}]`))
  if (places.length === 0) return undefined
  const end = outside.findIndex((tools, index) => tools.length === sequence[index]?.length)
  return `The sequence of ${name} names tools that its allow leaves out: ${places.join(', ')}.${end < 0 ? '' : ` It stops at sequence[${end}], where no tool is allowed.`}`
}

/** Compares conditions in any order, because all of them must hold. */
function takesPlaceOf(earlier: CheckedStep, later: CheckedStep): boolean {
  if (earlier.isDefault || later.isDefault || later.conditions.length === 0) return false
  return conditionsText(earlier) === conditionsText(later)
}

/** A `sequence_match` without a value refers to the sequence of its step, so the text includes that sequence. */
function conditionsText({ conditions, sequence }: CheckedStep): string {
  const texts = conditions.map((condition) => {
    const own = 'type' in condition && condition.type === 'sequence_match' && condition.value === undefined
    return canonicalJson(own ? { ...condition, own: sequence } : condition)
  })
  return texts.sort().join('\n')
}
