import type { CheckedStep } from './config.ts'
import type { ConditionContext, OrchestrationState, Predicates, ToolUse, Condition } from './types.ts'

export interface ConditionWorld {
  readonly state: OrchestrationState
  readonly context: ConditionContext
  readonly predicates: Predicates
  /** The step that has the condition. */
  readonly owner: CheckedStep
  readonly active: CheckedStep | undefined
  /** Called with the reason if a condition cannot be evaluated. */
  readonly onFault: (fault: string) => void
}

/** Undefined: the condition cannot be evaluated. Then neither it nor its negation holds. */
type Verdict = boolean | undefined

export function holds(condition: Condition, world: ConditionWorld): boolean {
  return judge(condition, world) === true
}

/**
 * Returns the conditions (without `all`, `any`, `not`) that make this one hold; of an `any`, only those that hold. Empty if it
 * does not hold.
 */
export function holding(condition: Condition, world: ConditionWorld): readonly Condition[] {
  if (!holds(condition, world)) return []
  if ('all' in condition) return condition.all.flatMap((each) => holding(each, world))
  if ('any' in condition) return condition.any.flatMap((each) => holding(each, world))
  return [condition]
}

function judge(condition: Condition, world: ConditionWorld): Verdict {
  if ('all' in condition) return judgeAll(condition.all, world)
  if ('any' in condition)
    return opposite(
      judgeAll(
        condition.any.map((not) => ({ not })),
        world,
      ),
    )
  if ('not' in condition) return opposite(judge(condition.not, world))
  try {
    const asked = judges[condition.type] as (condition: Condition, world: ConditionWorld) => unknown
    const verdict = asked(condition, world)
    return verdict === undefined ? undefined : verdict === true
  } catch (error) {
    world.onFault(`${condition.type} threw ${error instanceof Error ? error.name : typeof error}`)
    return undefined
  }
}

function judgeAll(conditions: readonly Condition[], world: ConditionWorld): Verdict {
  const verdicts = conditions.map((condition) => judge(condition, world))
  if (verdicts.includes(false)) return false
  return verdicts.includes(undefined) ? undefined : true
}

function opposite(verdict: Verdict): Verdict {
  return verdict === undefined ? undefined : !verdict
}

type Typed = Extract<Condition, { type: string }>
type Judges = { readonly [Type in Typed['type']]: (condition: Extract<Typed, { type: Type }>, world: ConditionWorld) => Verdict }

const judges: Judges = {
  tool_used: ({ value, since }, { state }) =>
    since === 'step' ? usesInStep(state).some(({ tool }) => tool === value) : state.recentlyUsedTools.includes(value),
  tool_not_used: ({ value, within }, { state }) =>
    within === undefined ? !state.recentlyUsedTools.includes(value) : newest(state.toolHistory, within).every(({ tool }) => tool !== value),
  sequence_match({ value }, { state, owner }) {
    const wanted = value?.map((tool) => [tool]) ?? owner.sequence
    const uses = newest(state.toolHistory, wanted.length)
    return wanted.length > 0 && uses.length === wanted.length && wanted.every((tools, place) => tools.includes(uses[place]?.tool ?? ''))
  },
  tool_count: ({ value, min, max }, { state }) => isBetween(state.toolHistory.filter(({ tool }) => tool === value).length, min, max),
  step_is: ({ value }, { state }) => state.activeStep === value,
  sequence_done: (_condition, { state, active }) =>
    active !== undefined && active.sequence.length > 0 && state.sequenceIndex >= active.sequence.length,
  message_contains: ({ value }, { context }) => context.message?.toLowerCase().includes(value.toLowerCase()),
  tokens: ({ min, max }, { state }) => isBetween(state.cumulativeTokenUsage.totalTokens, min, max),
  turns: ({ min, max }, { context }) => (context.turns === undefined ? undefined : isBetween(context.turns, min, max)),
  predicate({ name, args }, { state, context, predicates }) {
    const { args: _others, ...given } = context
    return predicates[name]?.({ ...given, state, ...(args === undefined ? {} : { args }) }) ?? false
  },
}

function usesInStep({ toolHistory, usesInStep: count }: OrchestrationState): readonly ToolUse[] {
  return newest(toolHistory, count)
}

function newest(history: readonly ToolUse[], count: number): readonly ToolUse[] {
  return count === 0 ? [] : history.slice(-count)
}

function isBetween(count: number, min = 0, max = Infinity): boolean {
  return count >= min && count <= max
}

/** Returns the tools whose use a condition requires. */
export function requiredTools(condition: Condition, owner: CheckedStep): readonly string[] {
  if ('all' in condition) return condition.all.flatMap((each) => requiredTools(each, owner))
  if ('any' in condition) return condition.any.flatMap((each) => requiredTools(each, owner))
  if ('not' in condition) return []
  if (condition.type === 'tool_used') return [condition.value]
  if (condition.type === 'tool_count') return (condition.min ?? 0) > 0 ? [condition.value] : []
  if (condition.type === 'sequence_match') return condition.value ?? owner.sequence.flat()
  return []
}

/** Returns the tools that a condition names. */
export function namedTools(condition: Condition): readonly string[] {
  if ('all' in condition) return condition.all.flatMap(namedTools)
  if ('any' in condition) return condition.any.flatMap(namedTools)
  if ('not' in condition) return namedTools(condition.not)
  if (condition.type === 'tool_used' || condition.type === 'tool_not_used' || condition.type === 'tool_count') return [condition.value]
  return condition.type === 'sequence_match' ? (condition.value ?? []) : []
}
