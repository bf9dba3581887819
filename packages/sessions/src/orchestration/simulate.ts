import type { Usage } from '@bowline/llm'
import { isFields } from '@bowline/llm/arguments'
import { inputChecks } from '../arguments.ts'
import { applyPatch, enterStep } from './changes.ts'
import { checkSimulationOptions, checkUsage } from './check-options.ts'
import { Sequencer } from './sequencer.ts'
import { freshState } from './state-record.ts'
import type {
  Condition,
  ConditionContext,
  OrchestrationConfig,
  OrchestrationState,
  SimulationOptions,
  ToolDecision,
  ToolJudgement,
} from './types.ts'

/** A tool use to simulate, with the context that conditions see from this use on. */
export interface SimulatedUse {
  readonly tool: string
  /** Newest message of the user. Default: the message of the previous use. */
  readonly message?: string
  /** Turns of the session so far. Default: the turns of the previous use. */
  readonly turns?: number
  /** Tokens that are counted with this use, if it is allowed. */
  readonly usage?: Usage
}

/** Active step and allowed tools at one moment. */
export interface SimulatedMoment {
  /** Name of the active step. Absent: no step is active, and every tool is allowed. */
  readonly step?: string
  /** Reason why this step is active. */
  readonly because: string
  /** Conditions that select the step; of an `any`, only those that hold. */
  readonly conditions: readonly Condition[]
  /** Position in the sequence of the step. */
  readonly sequenceIndex: number
  /** The offered tools that are allowed. */
  readonly tools: ToolDecision['tools']
  /** Reason why each offered tool is allowed or not. */
  readonly reasons: readonly ToolJudgement[]
}

/** The moment before a use, and its result. */
export interface SimulatedUseReport extends SimulatedMoment, ToolJudgement {}

/** Result of a simulated configuration: one report per use, and the moment after the last one. */
export interface Simulation {
  readonly uses: readonly SimulatedUseReport[]
  /** The moment after the last use. */
  readonly end: SimulatedMoment
}

/**
 * Simulates a configuration: returns the step, the allowed tools and the reasons for each use. A use that is not allowed is
 * refused and changes nothing. Pure, without a store. Throws `invalid-config` for the configuration and `invalid-input` for a
 * use, with the path.
 */
export function simulateOrchestration(
  config: OrchestrationConfig,
  uses: readonly (string | SimulatedUse)[],
  options: SimulationOptions = {},
): Simulation {
  checkSimulationOptions('simulateOrchestration.options', options)
  const sequencer = new Sequencer(config, options)
  checkUses('uses', uses)
  const asked = uses.map((use) => (typeof use === 'string' ? { tool: use } : use))
  const { offered = [...new Set([...sequencer.toolNames, ...asked.map(({ tool }) => tool)])] } = options
  let state = freshState('simulation', { lastAccessed: 0, ttl: 'never', version: 1 })
  let context: ConditionContext = {}
  const reports = asked.map((use, at): SimulatedUseReport => {
    context = contextAt(use, context)
    const { moment, entered } = momentOf(sequencer, { state, context, offered })
    const judged = moment.reasons.find(({ tool }) => tool === use.tool) ?? { tool: use.tool, allowed: false, reason: 'it is not offered' }
    state = judged.allowed ? applyPatch(state, sequencer.recordUse(state, { tool: use.tool, at }, { context, usage: use.usage })) : entered
    return { ...judged, ...moment }
  })
  return { uses: reports, end: momentOf(sequencer, { state, context, offered }).moment }
}

interface Situation {
  readonly state: OrchestrationState
  readonly context: ConditionContext
  readonly offered: readonly string[]
}

function momentOf(
  sequencer: Sequencer,
  { state, context, offered }: Situation,
): { readonly moment: SimulatedMoment; readonly entered: OrchestrationState } {
  const { step, changed, because } = sequencer.select(state, context)
  const entered = changed ? applyPatch(state, enterStep(step?.name)) : state
  const { tools } = sequencer.show(entered, offered)
  const conditions = sequencer.reasonsFor(step, state, context)
  const { sequenceIndex } = entered
  return {
    entered,
    moment: { ...(step && { step: step.name }), because, conditions, sequenceIndex, tools, reasons: sequencer.judge(entered, offered) },
  }
}

function contextAt({ message, turns }: SimulatedUse, before: ConditionContext): ConditionContext {
  return { ...before, ...(message !== undefined && { message }), ...(turns !== undefined && { turns }) }
}

const useFields = inputChecks.record<SimulatedUse>({
  tool: inputChecks.checkName,
  message: inputChecks.checkText,
  turns: inputChecks.whole(0),
  usage: checkUsage,
})

function checkUse(path: string, use: unknown): void {
  if (typeof use === 'string') return inputChecks.checkName(path, use)
  inputChecks.checkRequired(path, use, 'the name of a tool, or an object with tool', isFields)
  useFields(path, use)
}

const checkUses = inputChecks.requiredList(checkUse)
