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
  reserve(expected: { readonly inputTokens: number; readonly outputTokens: number }): MaybePromise<Reservation | undefined>
  /** Adds to the sums of the turn; the budget has its reservation. */
  book(usage: Usage, cost: Cost | undefined): void
  beforeCompaction?(event: BeforeCompaction): Promise<CompactionDecision | undefined>
  /** The provider is about to be given this. Absent: nobody looks on. */
  readonly sent?: (request: SentModelRequest) => Promise<void>
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
