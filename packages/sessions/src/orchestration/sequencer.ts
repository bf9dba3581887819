import { addUse, applyPatch, enterStep } from './changes.ts'
import { holds, requiredTools } from './conditions.ts'
import { checkConfig } from './config.ts'
import type { CheckedStep, OrchestrationConfig, OrchestrationStep } from './config.ts'
import { findings } from './explain.ts'
import type { Finding } from './explain.ts'
import { matchesAny } from './tool-patterns.ts'
import type { ConditionContext, OrchestrationDiagnostic, OrchestrationState, Predicates, StatePatch, ToolDecision, ToolUse } from './types.ts'

export interface SequencerOptions {
  readonly predicates?: Predicates
  readonly onDiagnostic?: (diagnostic: OrchestrationDiagnostic) => void
}

export interface Selection {
  /** Undefined: no step is to be active. */
  readonly step?: OrchestrationStep
  readonly changed: boolean
  readonly because: string
}

/** Which orchestration step is to be active, and which tools it allows: the same answer for the same question. */
export interface StepSequencer {
  select(state: OrchestrationState, context?: ConditionContext): Selection
  /** As the step decides that is selected now. */
  allowed(state: OrchestrationState, offered: readonly string[], context?: ConditionContext): ToolDecision
  /** The use, the advance of the sequence and the selection behind it. */
  applyToolUse(state: OrchestrationState, tool: string, context?: ConditionContext & Partial<Omit<ToolUse, 'tool'>>): StatePatch
  /** The next tools of the active step's sequence. Null: it has none, or it is finished. */
  expected(state: OrchestrationState): readonly string[] | null
  /** What of the configuration can have no effect. */
  explain(): readonly Finding[]
}

/** What the orchestration itself asks besides. */
export interface InnerSequencer extends StepSequencer {
  readonly names: readonly string[]
  /** As the active step decides, whatever would be selected. */
  filter(state: OrchestrationState, offered: readonly string[]): ToolDecision
  /** The same, explained. */
  show(state: OrchestrationState, offered: readonly string[]): ToolDecision
  /** The use and the advance of the sequence, without a selection. */
  applyUse(state: OrchestrationState, use: ToolUse): StatePatch
  /** Undefined: nothing is to change. */
  applySelection(state: OrchestrationState, context?: ConditionContext): { readonly patch: StatePatch; readonly because: string } | undefined
  sequenceLength(state: OrchestrationState): number
}

/** Pure, without input or output. Throws `invalid-config` that names the place. */
export function createStepSequencer(config: OrchestrationConfig, options: SequencerOptions = {}): StepSequencer {
  const { select, allowed, applyToolUse, expected, explain } = innerSequencer(config, options)
  return { select, allowed, applyToolUse, expected, explain }
}

export function innerSequencer(config: OrchestrationConfig, { predicates = {}, onDiagnostic = () => undefined }: SequencerOptions = {}): InnerSequencer {
  const steps = checkConfig(config, predicates)
  const pick = config.pick ?? 'first'
  const stepNamed = (name: string | undefined): CheckedStep | undefined => steps.find((step) => step.name === name)
  const activeIn = (state: OrchestrationState): CheckedStep | undefined => stepNamed(state.activeStep)

  function conditionsHold(owner: CheckedStep, state: OrchestrationState, context: ConditionContext): boolean {
    const onFault = (fault: string): void => {
      onDiagnostic({ code: 'condition-failed', sessionId: state.sessionId, step: owner.name, message: `A condition of ${owner.name} does not hold: ${fault}.` })
    }
    const world = { state, context, predicates, owner, active: activeIn(state), onFault }
    return owner.conditions.length > 0 && owner.conditions.every((condition) => holds(condition, world))
  }

  /** The step, and why it is that one. */
  function choose(state: OrchestrationState, context: ConditionContext): { readonly step: CheckedStep | undefined; readonly because: string } {
    const matching = steps.filter((step) => !step.isDefault && conditionsHold(step, state, context))
    const matched = pick === 'first' ? matching[0] : newestOf(matching, state)
    if (matched) return { step: matched, because: 'its conditions hold' }
    const active = activeIn(state)
    if (active && (active.sticky || conditionsHold(active, state, context))) return { step: active, because: 'it stays active' }
    if (state.activeStep !== undefined && !active) {
      const message = `The active step ${state.activeStep} is not configured any more.`
      onDiagnostic({ code: 'step-missing', sessionId: state.sessionId, step: state.activeStep, message })
    }
    const fallback = steps.find(({ isDefault }) => isDefault)
    return fallback ? { step: fallback, because: 'it is the default' } : { step: undefined, because: 'no step matches, and there is no default' }
  }

  function select(state: OrchestrationState, context: ConditionContext = {}): Selection {
    const { step, because } = choose(state, context)
    const changed = step?.name !== state.activeStep
    if (changed) onDiagnostic({ code: 'selected', sessionId: state.sessionId, ...(step && { step: step.name }), message: `${step?.name ?? 'No step'} is selected: ${because}.` })
    return { ...(step && { step: step.given }), changed, because }
  }

  function applySelection(state: OrchestrationState, context: ConditionContext = {}): ReturnType<InnerSequencer['applySelection']> {
    const { step, changed, because } = select(state, context)
    return changed ? { patch: enterStep(step?.name), because } : undefined
  }

  function expected(state: OrchestrationState): readonly string[] | null {
    return activeIn(state)?.sequence[state.sequenceIndex] ?? null
  }

  function filter(state: OrchestrationState, offered: readonly string[]): ToolDecision {
    const step = activeIn(state)
    const next = expected(state)
    const judged = offered.map((tool) => ({ tool, reason: step && objection(step, next, tool) }))
    const tools = judged.flatMap(({ tool, reason }) => (reason === undefined ? [tool] : []))
    const reasons = judged.flatMap(({ tool, reason }) => (reason === undefined ? [] : [{ tool, reason }]))
    return { tools, reasons, ...(step && { step: step.name }) }
  }

  function show(state: OrchestrationState, offered: readonly string[]): ToolDecision {
    const { sessionId } = state
    const decision = filter(state, offered)
    const step = decision.step === undefined ? {} : { step: decision.step }
    const next = expected(state)
    if (next && !offered.some((tool) => next.includes(tool))) {
      onDiagnostic({ code: 'tool-not-offered', sessionId, ...step, message: `The next tool of the sequence is not offered: ${next.join(', ')}.` })
    }
    const message = `${decision.tools.length} of ${offered.length} tools are allowed.`
    onDiagnostic({ code: 'decided', sessionId, ...step, dropped: decision.reasons, message })
    return decision
  }

  function applyUse(state: OrchestrationState, use: ToolUse): StatePatch {
    const advances = expected(state)?.includes(use.tool) === true
    return { ...addUse(state, use), ...(advances && { sequenceIndex: state.sequenceIndex + 1 }) }
  }

  return {
    ...{ names: steps.map(({ name }) => name), select, applySelection, expected, filter, applyUse },
    sequenceLength: (state) => activeIn(state)?.sequence.length ?? 0,
    show,
    allowed(state, offered, context = {}) {
      const selection = applySelection(state, context)
      return show(selection ? applyPatch(state, selection.patch) : state, offered)
    },
    applyToolUse(state, tool, { at = state.lastAccessed, key, ...context } = {}) {
      const patch = applyUse(state, { tool, at, ...(key !== undefined && { key }) })
      return { ...patch, ...applySelection(applyPatch(state, patch), context)?.patch }
    },
    explain: () => findings(steps, pick),
  }
}

/** Why a step does not allow a tool. Undefined: it does. */
function objection({ allow, deny }: CheckedStep, next: readonly string[] | null, tool: string): string | undefined {
  if (matchesAny(deny, tool)) return 'it is denied'
  if (allow && !matchesAny(allow, tool)) return 'it is not among the allowed tools'
  return next && !next.includes(tool) ? `the sequence expects ${next.join(' or ')}` : undefined
}

/** The one whose required tool was used last; of equals the first. */
function newestOf(matching: readonly CheckedStep[], { toolHistory }: OrchestrationState): CheckedStep | undefined {
  const newestUse = (step: CheckedStep): number => {
    const tools = new Set(step.conditions.flatMap((condition) => requiredTools(condition, step)))
    return toolHistory.findLastIndex(({ tool }) => tools.has(tool))
  }
  const ranked = matching.map((step) => ({ step, use: newestUse(step) }))
  return ranked.sort((left, right) => right.use - left.use)[0]?.step
}
