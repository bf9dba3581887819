import type { Usage } from '@bowline/llm'
import { inputChecks } from '../arguments.ts'
import { addTokens, addUse, applyPatch, enterStep } from './changes.ts'
import { checkConditionContext, checkOffered, checkSequencerOptions, checkUseContext } from './check-options.ts'
import { holding, holds, namedTools, requiredTools, type ConditionWorld } from './conditions.ts'
import { checkConfig, type CheckedStep } from './config.ts'
import { findings, type Finding } from './explain.ts'
import { checkState } from './state-record.ts'
import { matchesAny } from './tool-patterns.ts'
import type {
  Condition,
  ConditionContext,
  OrchestrationConfig,
  OrchestrationDiagnostic,
  OrchestrationState,
  OrchestrationStep,
  Predicates,
  SequencerOptions,
  StatePatch,
  ToolDecision,
  ToolJudgement,
  ToolUse,
  UseContext,
} from './types.ts'

/** The orchestration step to activate, with the reason in one sentence. */
export interface Selection {
  /** Undefined: no step is selected. */
  readonly step?: OrchestrationStep
  readonly changed: boolean
  readonly because: string
}

/** Deterministic selection of the active orchestration step and of its allowed tools. */
export interface StepSequencer {
  select(state: OrchestrationState, context?: ConditionContext): Selection
  /** Returns the tools that the present step allows. */
  allowed(state: OrchestrationState, offered: readonly string[], context?: ConditionContext): ToolDecision
  /** Enters the step that is selected now, adds the use, advances the sequence, and selects again. */
  applyToolUse(state: OrchestrationState, tool: string, context?: UseContext): StatePatch
  /** Returns the next tools of the active step's sequence, or null if it has none or is finished. */
  expected(state: OrchestrationState): readonly string[] | null
  /** Returns the parts of the configuration that can have no effect. */
  explain(): readonly Finding[]
}

/** Creates a sequencer for a configuration. Pure, without I/O. Throws `invalid-config` with the path of the fault. */
export function createStepSequencer(config: OrchestrationConfig, options: SequencerOptions = {}): StepSequencer {
  checkSequencerOptions('createStepSequencer.options', options)
  const sequencer = new Sequencer(config, options)
  return {
    select(state, context) {
      checkState('state', state)
      checkConditionContext('context', context)
      return sequencer.select(state, context)
    },
    allowed(state, offered, context) {
      checkState('state', state)
      checkOffered('offered', offered)
      checkConditionContext('context', context)
      return sequencer.allowed(state, offered, context)
    },
    applyToolUse(state, tool, context) {
      checkState('state', state)
      inputChecks.checkName('tool', tool)
      checkUseContext('context', context)
      return sequencer.applyToolUse(state, tool, context)
    },
    expected(state) {
      checkState('state', state)
      return sequencer.expected(state)
    },
    explain: () => sequencer.explain(),
  }
}

/** The sequencer with additional methods for the orchestration. */
export class Sequencer implements StepSequencer {
  readonly #steps: readonly CheckedStep[]
  readonly #pick: 'first' | 'newest'
  readonly #predicates: Predicates
  readonly #tell: (diagnostic: OrchestrationDiagnostic) => void

  constructor(config: OrchestrationConfig, { predicates = {}, onDiagnostic = () => undefined }: SequencerOptions) {
    this.#steps = checkConfig(config, predicates)
    this.#pick = config.pick ?? 'first'
    this.#predicates = predicates
    this.#tell = onDiagnostic
  }

  get names(): readonly string[] {
    return this.#steps.map(({ name }) => name)
  }

  select(state: OrchestrationState, context: ConditionContext = {}): Selection {
    const { step, because } = this.#choose(state, context)
    const changed = step?.name !== state.activeStep
    if (changed)
      this.#tell({
        code: 'selected',
        sessionId: state.sessionId,
        ...(step && { step: step.name }),
        message: `${step?.name ?? 'No step'} is selected: ${because}.`,
      })
    return { ...(step && { step: step.given }), changed, because }
  }

  /** Returns undefined if the active step does not change. */
  applySelection(
    state: OrchestrationState,
    context: ConditionContext = {},
  ): { readonly patch: StatePatch; readonly because: string } | undefined {
    const { step, changed, because } = this.select(state, context)
    return changed ? { patch: enterStep(step?.name), because } : undefined
  }

  expected(state: OrchestrationState): readonly string[] | null {
    return this.#active(state)?.sequence[state.sequenceIndex] ?? null
  }

  sequenceLength(state: OrchestrationState): number {
    return this.#active(state)?.sequence.length ?? 0
  }

  allowed(state: OrchestrationState, offered: readonly string[], context: ConditionContext = {}): ToolDecision {
    const selection = this.applySelection(state, context)
    return this.show(selection ? applyPatch(state, selection.patch) : state, offered)
  }

  /** Judges by the active step, without selecting another one. */
  filter(state: OrchestrationState, offered: readonly string[]): ToolDecision {
    const step = this.#active(state)
    const judged = this.judge(state, offered)
    const tools = judged.flatMap(({ tool, allowed }) => (allowed ? [tool] : []))
    const reasons = judged.flatMap(({ tool, allowed, reason }) => (allowed ? [] : [{ tool, reason }]))
    return { tools, reasons, ...(step && { step: step.name }) }
  }

  /** Returns for each tool whether the active step allows it, and why. */
  judge(state: OrchestrationState, offered: readonly string[]): readonly ToolJudgement[] {
    const step = this.#active(state)
    const next = this.expected(state)
    return offered.map((tool) => ({ tool, ...verdictOn(step, next, tool) }))
  }

  /** Returns the conditions that select the step now. A default step has none. */
  reasonsFor(given: OrchestrationStep | undefined, state: OrchestrationState, context: ConditionContext): readonly Condition[] {
    const step = this.#steps.find(({ name }) => name === given?.name)
    if (!step || step.isDefault) return []
    const world = this.#worldOf(step, state, context, () => undefined)
    return step.conditions.every((condition) => holds(condition, world))
      ? step.conditions.flatMap((condition) => holding(condition, world))
      : []
  }

  /** Does the same as `filter`, and reports diagnostics. */
  show(state: OrchestrationState, offered: readonly string[]): ToolDecision {
    const { sessionId } = state
    const decision = this.filter(state, offered)
    const step = decision.step === undefined ? {} : { step: decision.step }
    const next = this.expected(state)
    if (next && !offered.some((tool) => next.includes(tool))) {
      this.#tell({
        code: 'tool-not-offered',
        sessionId,
        ...step,
        message: `The next tool of the sequence is not offered: ${next.join(', ')}.`,
      })
    }
    const message = `${decision.tools.length} of ${offered.length} tools are allowed.`
    this.#tell({ code: 'decided', sessionId, ...step, dropped: decision.reasons, message })
    return decision
  }

  /** Returns the patch that adds the use and advances the sequence. Does not select a step. */
  applyUse(state: OrchestrationState, use: ToolUse): StatePatch {
    const advances = this.expected(state)?.includes(use.tool) === true
    return { ...addUse(state, use), ...(advances && { sequenceIndex: state.sequenceIndex + 1 }) }
  }

  applyToolUse(state: OrchestrationState, tool: string, given: UseContext = {}): StatePatch {
    const { at = state.lastAccessed, key, ...context } = given
    return this.recordUse(state, { tool, at, ...(key !== undefined && { key }) }, { context })
  }

  /** Counts the use in the step that `allowed` would select. */
  recordUse(
    state: OrchestrationState,
    use: ToolUse,
    { context, usage }: { readonly context?: ConditionContext; readonly usage?: Usage | undefined } = {},
  ): StatePatch {
    const entry = this.applySelection(state, context)?.patch
    const entered = entry ? applyPatch(state, entry) : state
    const used = { ...(usage && addTokens(entered, usage)), ...this.applyUse(entered, use) }
    return { ...entry, ...used, ...this.applySelection(applyPatch(entered, used), context)?.patch }
  }

  /** Returns the tool names in the configuration, without patterns. */
  get toolNames(): readonly string[] {
    const named = this.#steps.flatMap(({ allow = [], deny, sequence, conditions }) => [
      ...allow,
      ...deny,
      ...sequence.flat(),
      ...conditions.flatMap(namedTools),
    ])
    return [...new Set(named.filter((name) => !name.includes('*')))]
  }

  explain(): readonly Finding[] {
    return findings(this.#steps, this.#pick)
  }

  #active({ activeStep }: OrchestrationState): CheckedStep | undefined {
    return this.#steps.find(({ name }) => name === activeStep)
  }

  /** Returns the step to activate and the reason. */
  #choose(state: OrchestrationState, context: ConditionContext): { readonly step: CheckedStep | undefined; readonly because: string } {
    const matching = this.#steps.filter((step) => !step.isDefault && this.#conditionsHold(step, state, context))
    const matched = this.#pick === 'first' ? matching[0] : newestOf(matching, state)
    if (matched) return { step: matched, because: 'its conditions hold' }
    const active = this.#active(state)
    if (active && (active.sticky || this.#conditionsHold(active, state, context))) return { step: active, because: 'it stays active' }
    if (state.activeStep !== undefined && !active) {
      const message = `The active step ${state.activeStep} is no longer configured.`
      this.#tell({ code: 'step-missing', sessionId: state.sessionId, step: state.activeStep, message })
    }
    const fallback = this.#steps.find(({ isDefault }) => isDefault)
    return fallback
      ? { step: fallback, because: 'it is the default' }
      : { step: undefined, because: 'no step matches and there is no default' }
  }

  #conditionsHold(owner: CheckedStep, state: OrchestrationState, context: ConditionContext): boolean {
    const onFault = (fault: string): void => {
      this.#tell({
        code: 'condition-failed',
        sessionId: state.sessionId,
        step: owner.name,
        message: `A condition of ${owner.name} does not hold: ${fault}.`,
      })
    }
    const world = this.#worldOf(owner, state, context, onFault)
    return owner.conditions.length > 0 && owner.conditions.every((condition) => holds(condition, world))
  }

  #worldOf(owner: CheckedStep, state: OrchestrationState, context: ConditionContext, onFault: ConditionWorld['onFault']): ConditionWorld {
    return { state, context, predicates: this.#predicates, owner, active: this.#active(state), onFault }
  }
}

/** Returns whether the step allows a tool, and why. */
function verdictOn(step: CheckedStep | undefined, next: readonly string[] | null, tool: string): Omit<ToolJudgement, 'tool'> {
  if (!step) return { allowed: true, reason: 'no step is active' }
  const { allow, deny } = step
  if (matchesAny(deny, tool)) return { allowed: false, reason: 'it is denied' }
  if (allow && !matchesAny(allow, tool)) return { allowed: false, reason: 'it is not among the allowed tools' }
  if (next)
    return next.includes(tool)
      ? { allowed: true, reason: 'it is next in the sequence' }
      : { allowed: false, reason: `the sequence expects ${next.join(' or ')}` }
  return { allowed: true, reason: allow ? 'it is among the allowed tools' : 'it is not denied' }
}

/** Returns the step whose required tool was used last. If several are equal, returns the first. */
function newestOf(matching: readonly CheckedStep[], { toolHistory }: OrchestrationState): CheckedStep | undefined {
  const newestUse = (step: CheckedStep): number => {
    const tools = new Set(step.conditions.flatMap((condition) => requiredTools(condition, step)))
    return toolHistory.findLastIndex(({ tool }) => tools.has(tool))
  }
  const ranked = matching.map((step) => ({ step, use: newestUse(step) }))
  return ranked.sort((left, right) => right.use - left.use)[0]?.step
}
