import type { Clock, Models, RuntimeParams } from '@bowline/llm'
import type { CompactionPolicy, CompactionResult } from '../../contract/compaction.ts'
import type { CacheSetting } from '../../contract/options.ts'
import type { CompactionTrigger } from '../../events/message-events.ts'
import { inPhase } from '../../journal/phases.ts'
import { modelTarget } from '../../kernel/model-target.ts'
import type { ModelTarget } from '../../kernel/model-target.ts'
import { consult, turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { estimateOf, outputLimit, reserveOn } from '../../kernel/spending.ts'
import type { Turn } from '../../kernel/turn.ts'
import { compact } from './compact.ts'
import type { CompactionHost } from './host.ts'
import { breakerOf, isDueAfterTurn, isDueBeforeCall, makesRoom, mayRunByItself } from './policy.ts'
import type { CompactionSetting, DueState } from './policy.ts'
import { summaryModel } from './summary.ts'
import type { SummaryModel } from './summary.ts'

/** `overflowUsed`: this turn has used the one compaction that an overflow may request. */
const stateOf = turnState(({ open }) => ({ overflowUsed: open?.overflowUsed ?? false }))

/** Replaces old messages by a summary: before a call that would not fit, after a call that did not fit, and after the turn. */
export function compactionPlugin(setting: Exclude<CompactionSetting, { kind: 'off' }>): Plugin {
  const run = (turn: Turn, trigger: CompactionTrigger): Promise<CompactionResult> => compact(hostOf(turn, setting, trigger), { trigger })
  return {
    name: 'compaction',
    hooks: {
      open: (turn) => void stateOf(turn),
      beforeStep(turn, { params }) {
        if (turn.stop.requested || !isDueBeforeCall(dueState(turn, setting), outputLimit(turn.model, params.maxTokens))) return undefined
        return run(turn, 'window').then(() => undefined)
      },
      answer(turn, { plan, answer: { message } }) {
        const { error, stopReason } = message
        if (stopReason !== 'error' || error?.kind !== 'context-overflow' || turn.stop.requested) return undefined
        const state = stateOf(turn)
        if (state.overflowUsed || !mayRunByItself(dueState(turn, setting))) return undefined
        return {
          kind: 'retry',
          cause: 'overflow',
          delayMs: 0,
          error,
          withdraw: [],
          async prepare() {
            const result = await run(turn, 'overflow')
            state.overflowUsed = true
            return makesRoom(result, turn.model.info.contextWindow, outputLimit(turn.model, plan.params.maxTokens))
          },
        }
      },
      afterTurn(turn) {
        const trigger = turn.wishes.has('compaction') ? 'requested' : isDueAfterTurn(dueState(turn, setting)) ? 'threshold' : undefined
        if (!trigger) return undefined
        if (turn.run.journal.schedulesCompaction) return { row: { compactionDue: trigger } }
        // The turn has ended: during this work the journal is in the phase `compaction`.
        return { work: () => inPhase(turn.run.journal, 'compaction', () => run(turn, trigger)) }
      },
      row(turn, row) {
        if (stateOf(turn).overflowUsed) row.overflowUsed = true
      },
    },
  }
}

function dueState(turn: Turn, setting: CompactionSetting): DueState {
  return {
    setting,
    breaker: breakerOf(turn.run.journal),
    model: turn.model.name,
    tokens: turn.contextTokens(),
    contextWindow: turn.model.info.contextWindow,
    compaction: turn.transcript.shown.compaction,
  }
}

function hostOf(turn: Turn, setting: CompactionSetting, trigger: CompactionTrigger): CompactionHost {
  const inTurn = trigger === 'overflow' || trigger === 'window'
  const { agent, transcript, log } = turn
  const inStep = turn.stepState === 'begun'
  return {
    setting,
    view: transcript.shown,
    estimate: transcript.estimate,
    ids: turn.ids,
    breaker: breakerOf(turn.run.journal),
    model: turn.model.name,
    contextWindow: turn.model.info.contextWindow,
    abortSignal: turn.stop.signal,
    summaryModel: (policy) => summaryModelFor(agent, turn.model, turn.clock, policy),
    effectOf: (toolName) => agent.tools.get(toolName)?.effect,
    record: (event) => log.record(inStep && event.type !== 'usage' ? { ...event, step: turn.step } : event),
    store(compaction) {
      log.write({ type: 'compaction', compaction })
      // A compaction that was not stored before a crash does not count as used.
      if (trigger === 'overflow') stateOf(turn).overflowUsed = true
    },
    async commit() {
      if (inTurn) log.writeRun('running')
      await turn.commit()
    },
    async reserve({ inputTokens, outputTokens }) {
      const reserved = await reserveOn(turn, estimateOf(turn, inputTokens, outputTokens))
      return 'refusedBy' in reserved ? undefined : reserved
    },
    book(usage, cost) {
      // Usage of a compaction after the turn does not belong to the turn.
      if (inTurn) turn.book(usage, cost)
    },
    ...(turn.plugins.sent.asks.length > 0 && { sent: async (sent) => void (await consult(turn, 'sent', sent)) }),
    beforeCompaction: async (event) => consult(turn, 'beforeCompaction', event),
    afterCompaction: async (compaction) => void (await consult(turn, 'afterCompaction', compaction)),
  }
}

interface SummaryAgent {
  readonly cache: CacheSetting
  readonly models: Models | undefined
  readonly runtimeParams: RuntimeParams
}

/**
 * Returns the models that compactions may call besides the turn's own model. Throws `invalid-config` for a name that no registry
 * resolves.
 */
export function summaryModels(setting: CompactionSetting, models: Models | undefined): readonly ModelTarget[] {
  if (setting.kind === 'off' || setting.policy.model === undefined) return []
  return [modelTarget(setting.policy.model, models, {}, 'compaction.model')]
}

/** Returns the policy's model, or the one that the turn calls. Throws for a model function, which cannot summarise. */
export function summaryModelFor(
  { models, runtimeParams, cache }: SummaryAgent,
  own: ModelTarget,
  clock: Clock,
  policy: CompactionPolicy,
): SummaryModel {
  const target = policy.model === undefined ? own : modelTarget(policy.model, models, {}, 'compaction.model')
  if (target.kind === 'function') throw new Error('a model function cannot write summaries; set compaction.model')
  const { contextWindow, maxOutputTokens } = target.info
  return summaryModel({
    model: target.model,
    name: target.name,
    runtimeParams,
    clock,
    cache,
    contextWindow,
    maxOutputTokens,
    ...(models && { models }),
  })
}
