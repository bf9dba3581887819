import type { Cost, Usage } from '@bowline/llm'
import type { IdSource } from '../../base/ids.ts'
import { deepFreeze } from '../../base/json.ts'
import type { Reservation } from '../../contract/budget.ts'
import type { CompactionPolicy, CompactionResult } from '../../contract/compaction.ts'
import type { CompactionDecision, Hooks } from '../../contract/extension.ts'
import type {
  Compaction,
  CompactionEndEvent,
  CompactionStartEvent,
  CompactionTrigger,
  ModelName,
  ToolEffect,
  UsageEvent,
} from '../../events/types.ts'
import type { ContextEstimate } from '../../transcript/estimate.ts'
import { markedSummary } from '../../transcript/marked-summary.ts'
import type { View } from '../../transcript/view.ts'
import type { Breaker } from './breaker.ts'
import { makeCompaction } from './make-compaction.ts'
import type { Made } from './make-compaction.ts'
import type { CompactionSetting } from './policy.ts'
import type { SummaryModel } from './summary-model.ts'

type FieldsOf<Event> = Event extends unknown ? Omit<Event, 'at' | 'runId' | 'turn' | 'seq' | 'step'> : never
export type CompactionRecord = FieldsOf<CompactionStartEvent | CompactionEndEvent | UsageEvent>
export type BeforeCompaction = Parameters<NonNullable<Hooks['beforeCompaction']>>[0]

/** What a compaction needs of the turn or the journal that it works for. */
export interface CompactionHost {
  readonly setting: CompactionSetting
  readonly view: View
  readonly estimate: ContextEstimate
  readonly breaker: Breaker
  /** The conversation's own. */
  readonly model: ModelName
  readonly contextWindow: number | undefined
  readonly abortSignal: AbortSignal
  readonly ids: IdSource
  /** That of the policy, or else the conversation's own. What it throws makes the compaction fail. */
  summaryModel(policy: CompactionPolicy): SummaryModel
  effectOf(toolName: string): ToolEffect | undefined
  /** Drafts an event. */
  record(event: CompactionRecord): void
  /** Drafts the journal's record of the compaction. */
  store(compaction: Compaction): void
  /** Stores what was drafted. A rejection leaves view and breaker as they are and is passed on. */
  commit(boundary: 'start' | 'end'): Promise<void>
  /** Room in the budget; undefined when there is none. The reservation is settled once. */
  reserve(expected: { readonly inputTokens: number; readonly outputTokens: number }): Reservation | undefined
  /** Adds to the sums of the turn; the budget has its reservation. */
  book(usage: Usage, cost: Cost | undefined): void
  beforeCompaction?(event: BeforeCompaction): Promise<CompactionDecision | undefined>
  /** Behind the commit. */
  afterCompaction?(compaction: Compaction): Promise<void>
}

export interface CompactionOrder {
  readonly trigger: CompactionTrigger
  /** Extra focus of the summary. */
  readonly instructions?: string
}

/** One compaction that is under way. */
export interface CompactionTask extends CompactionOrder {
  readonly compactionId: string
  readonly tokensBefore: number
}

/**
 * Makes a compaction and stores it with its events. Whatever goes wrong on the way is its outcome and leaves the view
 * as it is; it rejects only when a commit does. It asks nobody whether it is due.
 */
export async function compact(host: CompactionHost, order: CompactionOrder): Promise<CompactionResult> {
  const tokensBefore = host.estimate.tokens
  if (host.setting.kind === 'off') return { outcome: 'skipped', reason: 'compaction is off', tokensBefore }
  const task: CompactionTask = { ...order, compactionId: host.ids.next('compaction'), tokensBefore }
  const { compactionId, trigger } = task
  host.record({ type: 'compaction-start', compactionId, trigger, tokensBefore })
  const made = await makeCompaction(host, host.setting, task)
  const compaction = made.outcome === 'done' ? compactionOf(host, task, made) : undefined
  bookUsage(host, made)
  host.record({
    ...{ type: 'compaction-end', compactionId, outcome: made.outcome },
    ...(made.outcome !== 'done' && { reason: made.reason }),
    ...(compaction && { compaction }),
  })
  if (compaction) host.store(compaction)
  await host.commit('end')
  judge(host, task, made, compaction)
  if (compaction) {
    host.view.setCompaction(compaction)
    host.estimate.restart(host.view.messages, host.view.freshFrom)
    await host.afterCompaction?.(compaction)
  }
  return resultOf(task, made, compaction)
}

/** The compaction as it is stored. Its size is estimated with what will be kept. */
function compactionOf(host: CompactionHost, { compactionId, tokensBefore }: CompactionTask, made: Extract<Made, { outcome: 'done' }>): Compaction {
  const { summary, index, facts, source, spent } = made
  const { uncompacted } = host.view
  const kept = uncompacted.slice(index)
  const last = uncompacted.at(-1)
  return deepFreeze({
    ...{ compactionId, summary, firstKeptMessageId: kept[0]?.id ?? '' },
    ...(last && { lastMessageId: last.id }),
    tokensBefore,
    tokensAfter: host.estimate.tokensWith([markedSummary({ compactionId, summary, facts }), ...kept]),
    ...{ facts, source, usage: spent?.usage ?? {} },
  })
}

function bookUsage(host: CompactionHost, { spent }: Made): void {
  if (!spent) return
  const { usage, cost, model } = spent
  host.book(usage, cost)
  host.record({
    ...{ type: 'usage', purpose: 'compaction', usage },
    ...(cost && { cost }),
    ...(usage.estimated && { estimated: true as const }),
    ...(model && { model }),
  })
}

/** Keeps the breaker: what was skipped or stopped says nothing. */
function judge(host: CompactionHost, task: CompactionTask, { outcome }: Made, compaction: Compaction | undefined): void {
  const { setting, breaker, model } = host
  if (setting.kind === 'off' || outcome === 'skipped' || outcome === 'cancelled') return
  const shrink = compaction ? 1 - compaction.tokensAfter / Math.max(1, task.tokensBefore) : 0
  const isUseful = compaction !== undefined && (task.trigger === 'manual' || shrink >= setting.policy.minShrink)
  if (isUseful) breaker.close()
  else breaker.addUseless(model)
}

function resultOf({ tokensBefore }: CompactionTask, made: Made, compaction: Compaction | undefined): CompactionResult {
  return {
    ...{ outcome: made.outcome, tokensBefore },
    ...(made.outcome !== 'done' && { reason: made.reason }),
    ...(made.spent && { usage: made.spent.usage }),
    ...(compaction && { compaction, tokensAfter: compaction.tokensAfter }),
  }
}
