import { canonicalJson } from '@bowline/agent-loop'
import type { CheckedStep } from './config.ts'
import { matchesAny } from './tool-patterns.ts'

/** A part of a configuration that can have no effect. */
export interface Finding {
  /**
   * `unreachable`: no condition leads to it. `shadowed`: an earlier step takes its place. `empty`: it allows no tool.
   * `blocked`: its sequence names tools that its own `allow` leaves out.
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
    if (earlier) found.push({ kind: 'shadowed', step: step.name, message: `${step.name} has the conditions of ${earlier.name}, which comes first.` })
    if (step.allow?.length === 0 || step.deny.includes('*')) {
      found.push({ kind: 'empty', step: step.name, message: `${step.name} allows no tool.` })
    }
    const blocked = blockedSequence(step)
    if (blocked !== undefined) found.push({ kind: 'blocked', step: step.name, message: blocked })
    return found
  })
}

/** A sequence with a denied tool is no configuration: only `allow` can block one. */
function blockedSequence({ name, allow, sequence }: CheckedStep): string | undefined {
  if (!allow) return undefined
  const outside = sequence.map((tools) => tools.filter((tool) => !matchesAny(allow, tool)))
  const places = outside.flatMap((tools, index) => tools.map((tool) => `${JSON.stringify(tool)} at sequence[${index}]`))
  if (places.length === 0) return undefined
  const end = outside.findIndex((tools, index) => tools.length === sequence[index]?.length)
  return `The sequence of ${name} names tools that its allow leaves out: ${places.join(', ')}.${end < 0 ? '' : ` It stops at sequence[${end}], where no tool is allowed.`}`
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
