import type { JSONValue } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { matchesAny } from './tool-patterns.ts'
import type { Predicates } from './types.ts'

export interface OrchestrationConfig {
  readonly steps: readonly OrchestrationStep[]
  /** Of several steps whose conditions hold: the first in order, or the one whose required tool was used last. Default `first`. */
  readonly pick?: 'first' | 'newest'
  readonly description?: string
}

/** A phase of a plan: when it is entered, and which tools it allows. */
export interface OrchestrationStep {
  readonly name: string
  readonly description?: string
  readonly isDefault?: boolean
  /** Stays active without a match. Default true. */
  readonly sticky?: boolean
  /** All must hold. */
  readonly conditions?: readonly Condition[]
  /** `*` matches any run of characters. Absent `allow`: all. */
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  /** Another form of `tools`. */
  readonly availableTools?: { readonly allowed?: readonly string[]; readonly denied?: readonly string[] }
  /** Tools that must be used in this order; a position may name alternatives. */
  readonly sequence?: readonly SequencePosition[]
}

export type SequencePosition = string | readonly string[]

export type Condition =
  | { readonly type: 'tool_used'; readonly value: string; readonly since?: 'step' }
  | { readonly type: 'tool_not_used'; readonly value: string; readonly within?: number }
  | { readonly type: 'sequence_match'; readonly value?: readonly string[] }
  | { readonly type: 'tool_count'; readonly value: string; readonly min?: number; readonly max?: number }
  | { readonly type: 'step_is'; readonly value: string }
  | { readonly type: 'sequence_done' }
  | { readonly type: 'message_contains'; readonly value: string }
  | { readonly type: 'tokens' | 'turns'; readonly min?: number; readonly max?: number }
  | { readonly type: 'predicate'; readonly name: string; readonly args?: JSONValue }
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }

/** A step as it is worked with. */
export interface CheckedStep {
  readonly given: OrchestrationStep
  readonly name: string
  readonly isDefault: boolean
  readonly sticky: boolean
  readonly conditions: readonly Condition[]
  readonly allow: readonly string[] | undefined
  readonly deny: readonly string[]
  readonly sequence: readonly (readonly string[])[]
}

/** Throws `invalid-config` that names the place. */
export function checkConfig(config: OrchestrationConfig, predicates: Predicates): readonly CheckedStep[] {
  const { steps = [], pick = 'first' } = config
  if (!Array.isArray(steps)) refuse('steps', 'must be a list')
  if (pick !== 'first' && pick !== 'newest') refuse('pick', "must be 'first' or 'newest'")
  const checked = steps.map((step: OrchestrationStep, index) => checkStep(step, `steps[${index}]`, predicates))
  const names = checked.map(({ name }) => name)
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index)
  if (twice >= 0) refuse(`steps[${twice}].name`, `is used twice: ${JSON.stringify(names[twice])}`)
  const defaults = checked.flatMap(({ isDefault }, index) => (isDefault ? [index] : []))
  if (defaults.length > 1) refuse(`steps[${defaults[1]}].isDefault`, 'is set in more than one step')
  return checked
}

function checkStep(step: OrchestrationStep, place: string, predicates: Predicates): CheckedStep {
  const { name, conditions = [], tools, availableTools, sequence } = step
  if (typeof name !== 'string' || name.trim() === '') refuse(`${place}.name`, 'must be a non-empty string')
  if (tools && availableTools) refuse(`${place}.availableTools`, 'cannot stand beside tools')
  const { allow, deny = [] } = tools ?? { allow: availableTools?.allowed, deny: availableTools?.denied }
  const lists = { allow, deny }
  for (const [key, list] of Object.entries(lists)) if (list !== undefined) checkNames(list, `${place}.tools.${key}`)
  checkConditions(conditions, `${place}.conditions`, predicates)
  const positions = sequence === undefined ? [] : checkSequence(sequence, `${place}.sequence`, deny)
  const needsSequence = conditions.findIndex((condition) => 'type' in condition && condition.type === 'sequence_match' && condition.value === undefined)
  if (needsSequence >= 0 && positions.length === 0) refuse(`${place}.conditions[${needsSequence}]`, 'needs a value, or a sequence of its step')
  return { given: step, name, isDefault: step.isDefault === true, sticky: step.sticky !== false, conditions, allow, deny, sequence: positions }
}

function checkSequence(sequence: readonly SequencePosition[], place: string, deny: readonly string[]): readonly (readonly string[])[] {
  if (!Array.isArray(sequence) || sequence.length === 0) return refuse(place, 'must have at least one position')
  return sequence.map((position: SequencePosition, index) => {
    const tools = typeof position === 'string' ? [position] : position
    checkNames(tools, `${place}[${index}]`)
    if (tools.length === 0) refuse(`${place}[${index}]`, 'must name at least one tool')
    const denied = tools.find((tool) => matchesAny(deny, tool))
    if (denied !== undefined) refuse(`${place}[${index}]`, `names a tool that is denied: ${JSON.stringify(denied)}`)
    return tools
  })
}

function checkConditions(conditions: readonly Condition[], place: string, predicates: Predicates): void {
  if (!Array.isArray(conditions)) refuse(place, 'must be a list')
  for (const [index, condition] of (conditions as readonly Condition[]).entries()) checkCondition(condition, `${place}[${index}]`, predicates)
}

/** A type that is not known is no fault here: such a condition never holds. */
function checkCondition(condition: Condition, place: string, predicates: Predicates): void {
  if (typeof condition !== 'object' || condition === null) refuse(place, 'must be an object')
  if ('all' in condition) return checkConditions(condition.all, `${place}.all`, predicates)
  if ('any' in condition) return checkConditions(condition.any, `${place}.any`, predicates)
  if ('not' in condition) return checkCondition(condition.not, `${place}.not`, predicates)
  switch (condition.type) {
    case 'tool_used':
    case 'tool_not_used':
    case 'tool_count':
    case 'step_is':
    case 'message_contains':
      if (typeof condition.value !== 'string' || condition.value === '') refuse(`${place}.value`, 'must be a non-empty string')
      break
    case 'sequence_match':
      if (condition.value !== undefined) checkNames(condition.value, `${place}.value`)
      if (condition.value?.length === 0) refuse(`${place}.value`, 'must name at least one tool')
      break
    case 'predicate':
      if (!Object.hasOwn(predicates, condition.name)) refuse(`${place}.name`, `is no registered predicate: ${JSON.stringify(condition.name)}`)
      break
    case 'sequence_done':
    case 'tokens':
    case 'turns':
      break
    default: {
      const unknown: never = condition
      return unknown
    }
  }
  for (const key of ['min', 'max', 'within'] as const) {
    const value: unknown = (condition as Readonly<Record<string, unknown>>)[key]
    if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) >= 0)) refuse(`${place}.${key}`, 'must be a whole number from 0 on')
  }
}

function checkNames(names: unknown, place: string): void {
  const isList = Array.isArray(names) && names.every((name: unknown) => typeof name === 'string' && name !== '')
  if (!isList) refuse(place, 'must be a list of names')
}

function refuse(place: string, why: string): never {
  throw new SessionError('invalid-config', `The orchestration cannot be used: ${place} ${why}.`)
}
