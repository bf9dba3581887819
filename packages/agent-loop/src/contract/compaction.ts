import type { AnyLanguageModel, Message, ModelRef, Usage } from '@bowline/llm'
import type { Compaction, CompactionOutcome, CompactionTrigger, Fact } from '../events/message-events.ts'

/** Decides when old messages are replaced by a summary, and which messages stay. Sizes are estimated tokens. */
export interface CompactionPolicy {
  /** A compaction is due after a turn when less than this is free in the window. Default 16,384. */
  readonly reserveTokens: number
  /** About what stays as it is. Default 20,000. */
  readonly keepRecentTokens: number
  /** Share of the window from which on a compaction is due; wins over `reserveTokens`. */
  readonly triggerRatio?: number
  /** Default: the agent's. */
  readonly model?: AnyLanguageModel | ModelRef
  /** Extra focus of the summary. */
  readonly instructions?: string
  /** Failures, or shrinks below `minShrink`, in a row, after which none runs by itself. Default 3. */
  readonly maxFailures: number
  /** Share by which the estimate must fall. Default 0.1. */
  readonly minShrink: number
  /** Facts of a message that the loop does not find itself. */
  readonly facts?: (message: Message) => readonly Fact[]
  /** False: only on request and by hand. Default true. */
  readonly automatic: boolean
}

/** Replaces the default compaction. `compact` returns the compaction, or undefined to leave the view unchanged. */
export interface Compactor {
  readonly name: string
  compact(request: CompactionRequest): Promise<Compaction | undefined>
}

/** The conversation that a compactor shortens. `tokensBefore` and `contextWindow` are tokens. */
export interface CompactionRequest {
  readonly compactionId: string
  readonly trigger: CompactionTrigger
  /** What the model is shown today. */
  readonly view: readonly Message[]
  /** The compaction in force. */
  readonly previous?: Compaction
  readonly tokensBefore: number
  readonly contextWindow?: number
  readonly instructions?: string
  readonly abortSignal: AbortSignal
}

/**
 * The result of a compaction. `reason` says why there is none; `tokensAfter` and `compaction` are present exactly if `outcome` is
 * `done`. Numbers are tokens.
 */
export interface CompactionResult {
  readonly outcome: CompactionOutcome
  readonly reason?: string
  readonly tokensBefore: number
  readonly tokensAfter?: number
  readonly usage?: Usage
  readonly compaction?: Compaction
}
