import type { AnyLanguageModel, Message, ModelRef, Usage } from '@bowline/llm'
import type { Compaction, CompactionOutcome, CompactionTrigger, Fact } from '../events/message-events.ts'

/** Decides when old messages are replaced by a summary, and which messages stay. Sizes are estimated tokens. */
export interface CompactionPolicy {
  /** Free tokens of the context window below which a compaction is due after a turn. Default 16,384. */
  readonly reserveTokens: number
  /** Approximate size of the latest messages that stay unchanged. Default 20,000. */
  readonly keepRecentTokens: number
  /** Share of the context window from which a compaction is due; wins over `reserveTokens`. */
  readonly triggerRatio?: number
  /** Model that writes the summary. Default: the agent's. */
  readonly model?: AnyLanguageModel | ModelRef
  /** Additional instructions for the summary. */
  readonly instructions?: string
  /**
   * Number of compactions in a row that may fail, or shrink less than `minShrink`, before automatic compaction stops. Default 3.
   */
  readonly maxFailures: number
  /** Share by which a compaction must shrink the estimate. Default 0.1. */
  readonly minShrink: number
  /** Returns facts of a message that the loop does not find itself. */
  readonly facts?: (message: Message) => readonly Fact[]
  /** False: compactions run only on request. Default true. */
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
  /** Messages that the model is shown now. */
  readonly view: readonly Message[]
  /** The compaction that is in force now. */
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
