import { checkCondition, planChecks, refusal } from './check-condition.ts'
import { matchesAny } from './tool-patterns.ts'
import type { Condition, OrchestrationConfig, OrchestrationStep, Predicates, SequencePosition } from './types.ts'

/** A step after validation, with defaults filled in. */
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

/** Checks a configuration. Throws `invalid-config` with the path of the fault. */
export function checkConfig(config: OrchestrationConfig, predicates: Predicates): readonly CheckedStep[] {
  checkShape(config)
  const { steps = [] } = config
  const checked = steps.map((step, index) => checkStep(step, `steps[${index}]`, predicates))
  const names = checked.map(({ name }) => name)
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index)
  if (twice >= 0) refuse(`steps[${twice}].name`, `is used twice: ${JSON.stringify(names[twice])}`)
  const defaults = checked.flatMap(({ isDefault }, index) => (isDefault ? [index] : []))
  if (defaults.length > 1) refuse(`steps[${defaults[1]}].isDefault`, 'is set in more than one step')
  return checked
}

const names = planChecks.listOf(planChecks.checkName)

const stepShape = planChecks.optionalRecord<OrchestrationStep>({
  // `checkStep` reports a missing name.
  name: planChecks.optional((path, name) =>
    planChecks.checkRequired(path, name, 'a text with at least one character', (given) => typeof given === 'string' && given.trim() !== ''),
  ),
  description: planChecks.checkText,
  isDefault: planChecks.checkBoolean,
  sticky: planChecks.checkBoolean,
  conditions: planChecks.checkList,
  tools: planChecks.optionalRecord<NonNullable<OrchestrationStep['tools']>>({ allow: names, deny: names }),
  availableTools: planChecks.optionalRecord<NonNullable<OrchestrationStep['availableTools']>>({ allowed: names, denied: names }),
  sequence: planChecks.listOf((path, position) =>
    typeof position === 'string' ? planChecks.checkName(path, position) : checkSomeNames(path, position),
  ),
})

const checkSteps = planChecks.listOf((path, step) => {
  planChecks.checkRequired(path, step, 'an object', (given) => given !== undefined)
  stepShape(path, step)
})

function checkShape(config: OrchestrationConfig): void {
  planChecks.checkRequired('config', config, 'an object', (given) => given !== undefined)
  planChecks.checkKeys('config', config, ['steps', 'pick', 'description'] satisfies (keyof OrchestrationConfig)[])
  checkSteps('steps', config.steps)
  planChecks.checkOneOf('pick', config.pick, ['first', 'newest'])
  planChecks.checkText('description', config.description)
}

function checkSomeNames(path: string, given: unknown): void {
  planChecks.checkRequired(path, given, 'a list with at least one name', (list) => Array.isArray(list) && list.length > 0)
  names(path, given)
}

function checkStep(step: OrchestrationStep, place: string, predicates: Predicates): CheckedStep {
  const { name, conditions = [], tools, availableTools, sequence } = step
  if (name === undefined) refuse(`${place}.name`, 'is missing')
  if (tools && availableTools) refuse(`${place}.availableTools`, 'cannot be set together with tools')
  const { allow, deny = [] } = tools ?? { allow: availableTools?.allowed, deny: availableTools?.denied }
  for (const [index, condition] of conditions.entries()) checkCondition(condition, `${place}.conditions[${index}]`, predicates)
  const positions = sequence === undefined ? [] : checkSequence(sequence, `${place}.sequence`, deny)
  const needsSequence = conditions.findIndex(
    (condition) => 'type' in condition && condition.type === 'sequence_match' && condition.value === undefined,
  )
  if (needsSequence >= 0 && positions.length === 0)
    refuse(`${place}.conditions[${needsSequence}]`, 'needs a value, or its step needs a sequence')
  return {
    given: step,
    name,
    isDefault: step.isDefault === true,
    sticky: step.sticky !== false,
    conditions,
    allow,
    deny,
    sequence: positions,
  }
}

function checkSequence(sequence: readonly SequencePosition[], place: string, deny: readonly string[]): readonly (readonly string[])[] {
  if (sequence.length === 0) return refuse(place, 'must have at least one position')
  return sequence.map((position, index) => {
    const tools = typeof position === 'string' ? [position] : position
    const denied = tools.find((tool) => matchesAny(deny, tool))
    if (denied !== undefined) refuse(`${place}[${index}]`, `names a tool that is denied: ${JSON.stringify(denied)}`)
    return tools
  })
}

function refuse(place: string, why: string): never {
  throw refusal(`${place} ${why}`)
}
