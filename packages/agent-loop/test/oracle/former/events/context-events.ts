import type { Cost, Usage } from '@bowline/llm'
import type { ModelName, RunEventBase } from './event-base.ts'

export type CompactionTrigger = 'threshold' | 'overflow' | 'window' | 'requested' | 'manual'

export interface CompactionStartEvent extends RunEventBase {
  readonly type: 'compaction-start'
  readonly step?: number
  readonly compactionId: string
  readonly trigger: CompactionTrigger
  readonly tokensBefore: number
}

export interface CompactionEndEvent extends RunEventBase {
  readonly type: 'compaction-end'
  readonly step?: number
  readonly compactionId: string
  readonly outcome: CompactionOutcome
  readonly reason?: string
  /** Present exactly when `done`. */
  readonly compaction?: Compaction
}

export type CompactionOutcome = 'done' | 'skipped' | 'cancelled' | 'failed'

/** What stands in the view for the messages before `firstKeptMessageId`. Nothing is deleted: without it the view is the old one. */
export interface Compaction {
  readonly compactionId: string
  readonly summary: string
  /** The first message that is shown as it is; empty when none is. */
  readonly firstKeptMessageId: string
  /** The latest message when it was made: usage up to there was that of another view. */
  readonly lastMessageId?: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly facts: readonly Fact[]
  /** `default`, `extension` or the name of the compactor. */
  readonly source: string
  /** Of the calls that made the summary. */
  readonly usage: Usage
}

/** What must not be lost with the messages: `file-read`, `file-modified`, `tool`, or a kind of the caller's. */
export interface Fact {
  readonly kind: string
  readonly value: string
}

/** Tokens that no `message-end` holds. The sum of both kinds is the turn's usage. */
export interface UsageEvent extends RunEventBase {
  readonly type: 'usage'
  readonly purpose: 'discarded-attempt' | 'compaction' | 'child' | 'other'
  readonly usage: Usage
  readonly cost?: Cost
  readonly estimated?: true
  readonly model?: ModelName
}
