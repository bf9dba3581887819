import type { Cost, Usage } from '@bowline/llm'
import type { IdSource } from '../../base/ids.ts'
import type { MaybePromise } from '../../base/promises.ts'
import type { CompactionPolicy } from '../../contract/compaction.ts'
import type { BeforeCompaction, CompactionDecision, SentModelRequest } from '../../contract/extension.ts'
import type { Reservation } from '../../contract/run.ts'
import type { Compaction, CompactionEndEvent, CompactionStartEvent, CompactionTrigger, UsageEvent } from '../../events/message-events.ts'
import type { ToolEffect } from '../../events/tool-events.ts'
import type { ModelName } from '../../events/turn-events.ts'
import type { FactsOf } from '../../journal/turn-log.ts'
import type { ContextEstimate } from '../../transcript/estimate.ts'
import type { View } from '../../transcript/view.ts'
import type { Breaker, CompactionSetting } from './policy.ts'
import type { SummaryModel } from './summary.ts'

export type CompactionRecord = FactsOf<CompactionStartEvent | CompactionEndEvent | UsageEvent>

/** The parts of a turn or a journal that a compaction needs. */
export interface CompactionHost {
  readonly setting: CompactionSetting
  readonly view: View
  readonly estimate: ContextEstimate
  readonly breaker: Breaker
  /** The conversation's own model. */
  readonly model: ModelName
  readonly contextWindow: number | undefined
  readonly abortSignal: AbortSignal
  readonly ids: IdSource
  /** Returns the policy's model, or else the conversation's own. If it throws, the compaction fails. */
  summaryModel(policy: CompactionPolicy): SummaryModel
  effectOf(toolName: string): ToolEffect | undefined
  /** Drafts an event. */
  record(event: CompactionRecord): void
  /** Drafts the journal's record of the compaction. */
  store(compaction: Compaction): void
  /** Stores what was drafted. A rejection leaves view and breaker as they are and is passed on. */
  commit(boundary: 'start' | 'end'): Promise<void>
  /** Reserves room in the budget; undefined if there is none. The reservation is settled once. */
  reserve(expected: { readonly inputTokens: number; readonly outputTokens: number }): MaybePromise<Reservation | undefined>
  /** Adds to the sums of the turn. The budget counts through its reservation. */
  book(usage: Usage, cost: Cost | undefined): void
  beforeCompaction?(event: BeforeCompaction): Promise<CompactionDecision | undefined>
  /** Called with the request that the provider is about to get. Absent: there are no watchers. */
  readonly sent?: (request: SentModelRequest) => Promise<void>
  /** Called after the commit. */
  afterCompaction?(compaction: Compaction): Promise<void>
}

export interface CompactionOrder {
  readonly trigger: CompactionTrigger
  /** Additional instructions for the summary. */
  readonly instructions?: string
}

/** One compaction that is in progress. */
export interface CompactionTask extends CompactionOrder {
  readonly compactionId: string
  readonly tokensBefore: number
}
