import type { AgentDefinition } from '../agent/definition.ts'
import type { CompactionPolicy, CompactionResult } from '../contract/compaction.ts'
import type { CompactionTrigger } from '../events/types.ts'
import { outputLimit, reserveTokens } from '../plugins/budget/limits.ts'
import { breakerOf } from '../plugins/compaction/breaker.ts'
import { compact } from '../plugins/compaction/compact.ts'
import type { CompactionHost } from '../plugins/compaction/compact.ts'
import { isDueAfterTurn, isDueBeforeCall, makesRoom, mayRunByItself } from '../plugins/compaction/due.ts'
import type { DueState } from '../plugins/compaction/due.ts'
import { summaryModel } from '../plugins/compaction/summary-model.ts'
import type { SummaryModel } from '../plugins/compaction/summary-model.ts'
import { compactionHooks } from '../plugins/extensions/compaction-hooks.ts'
import { modelTarget } from './model-target.ts'
import type { ModelTarget } from './model-target.ts'
import { inPhase } from './phases.ts'
import type { Turn } from './turn.ts'

/** Whether the next call would not fit into the window. */
export function needsRoom(turn: Turn, maxTokens: number | undefined): boolean {
  return isDueBeforeCall(dueState(turn), outputLimit(turn.model, maxTokens))
}

export async function compactForCall(turn: Turn): Promise<void> {
  await run(turn, 'window')
}

/** Whether an overflow may ask for a compaction: once per turn, and not when compactions are off or of no use. */
export function mayCompactForOverflow(turn: Turn): boolean {
  return !turn.overflowUsed && mayRunByItself(dueState(turn))
}

/** Whether the call that did not fit may be made again. */
export async function compactAfterOverflow(turn: Turn, maxTokens: number | undefined): Promise<boolean> {
  const result = await run(turn, 'overflow')
  turn.overflowUsed = true
  return makesRoom(result, turn.model.info.contextWindow, outputLimit(turn.model, maxTokens))
}

/** Why a compaction is due behind the turn. */
export function compactionDue(turn: Turn): CompactionTrigger | undefined {
  if (turn.agent.compaction.kind === 'off') return undefined
  if (turn.compactionRequested) return 'requested'
  return isDueAfterTurn(dueState(turn)) ? 'threshold' : undefined
}

/** The turn has ended: the journal is in the phase `compaction` meanwhile. */
export async function compactAfterTurn(turn: Turn, trigger: CompactionTrigger): Promise<void> {
  await inPhase(turn.run.journal, 'compaction', () => run(turn, trigger))
}

function run(turn: Turn, trigger: CompactionTrigger): Promise<CompactionResult> {
  return compact(hostOf(turn, trigger), { trigger })
}

function dueState(turn: Turn): DueState {
  return {
    setting: turn.agent.compaction,
    breaker: breakerOf(turn.run.journal),
    model: turn.model.name,
    tokens: turn.contextTokens(),
    contextWindow: turn.model.info.contextWindow,
    compaction: turn.transcript.shown.compaction,
  }
}

function hostOf(turn: Turn, trigger: CompactionTrigger): CompactionHost {
  const inTurn = trigger === 'overflow' || trigger === 'window'
  const { agent, transcript, hooks } = turn
  const inStep = turn.stepState === 'begun'
  return {
    ...{ setting: agent.compaction, view: transcript.shown, estimate: transcript.estimate, ids: turn.ids },
    ...{ breaker: breakerOf(turn.run.journal), model: turn.model.name, contextWindow: turn.model.info.contextWindow },
    abortSignal: turn.stop.signal,
    summaryModel: (policy) => summaryModelFor(turn, policy),
    effectOf: (toolName) => agent.tools.get(toolName)?.effect,
    record: (event) => turn.log.record(inStep && event.type !== 'usage' ? { ...event, step: turn.step } : event),
    store(compaction) {
      turn.log.write({ type: 'compaction', compaction })
      // One that the process did not survive has not been used.
      if (trigger === 'overflow') turn.overflowUsed = true
    },
    async commit() {
      if (inTurn) turn.log.writeRun('running')
      await turn.log.commit()
    },
    reserve: ({ inputTokens, outputTokens }) => reserveTokens(turn, inputTokens, outputTokens),
    book(usage, cost) {
      // Behind the turn it is not the turn's.
      if (inTurn) turn.book(usage, cost)
    },
    ...compactionHooks(hooks),
  }
}

/** Those that compactions of the agent may call beside its own. Throws `invalid-config` for a name that no registry resolves. */
export function summaryModels({ compaction, models }: AgentDefinition): readonly ModelTarget[] {
  if (compaction.kind === 'off' || compaction.policy.model === undefined) return []
  return [modelTarget(compaction.policy.model, models, {}, 'compaction.model')]
}

/** That of the policy, or the one that the turn calls. A model function has nobody who could summarise. */
export function summaryModelFor(turn: Pick<Turn, 'agent' | 'model' | 'clock'>, policy: CompactionPolicy): SummaryModel {
  const { models, runtimeParams } = turn.agent
  const target = policy.model === undefined ? turn.model : modelTarget(policy.model, models, {}, 'compaction.model')
  if (target.kind === 'function') throw new Error('a model function writes no summaries: give compaction.model')
  const { contextWindow, maxOutputTokens } = target.info
  return summaryModel({
    ...{ model: target.model, name: target.name, runtimeParams, clock: turn.clock, contextWindow, maxOutputTokens },
    ...(models && { models }),
  })
}
