import type { AssistantMessage, Cost, Message, ModelError, ToolCallPart, Usage, WholePart } from '@bowline/llm'
import type { OutputChange, OutputMode } from './output.ts'
import type { ModelName, RunEventBase, StepEventBase } from './turn-events.ts'

/** An attempt of a model call begins. Its deltas carry the same `messageId`. `attempt` counts the attempts of the step from 1. */
export interface MessageStartEvent extends StepEventBase {
  readonly type: 'message-start'
  readonly messageId: string
  readonly attempt: number
  readonly model: ModelName
  /** For an agent with an output schema: the way in which this model is asked for the final answer. */
  readonly output?: OutputMode
}

/** The answer is complete and stored; it is never changed. `message` holds all that the deltas carried. */
export interface MessageEndEvent extends StepEventBase {
  readonly type: 'message-end'
  readonly messageId: string
  readonly message: AssistantMessage
  readonly attempt: number
}

/** A message is withdrawn. Readers drop it; no later event carries its id. */
export interface MessageDiscardedEvent extends RunEventBase {
  readonly type: 'message-discarded'
  /** Absent for a message that was withdrawn before the first step. */
  readonly step?: number
  readonly messageId: string
  readonly reason: DiscardReason
  readonly attempt?: number
}

/**
 * Why a message was withdrawn: another attempt follows (`retry`, `overflow`), the retry goes further back (`rewind`), its turn
 * failed (`failed`), its process died (`crash`), or a hook changed or handled it (`replaced`).
 */
export type DiscardReason = 'retry' | 'overflow' | 'rewind' | 'failed' | 'crash' | 'replaced'

/** Announces a retry before its wait. Exactly one `retry-end` follows. Delays are ms. */
export interface RetryStartEvent extends StepEventBase {
  readonly type: 'retry-start'
  /** The attempt that it announces: 2, 3 … */
  readonly attempt: number
  readonly maxAttempts: number
  readonly delayMs: number
  /** Epoch milliseconds at which the wait ends. */
  readonly notBefore: number
  readonly cause: 'error' | 'overflow' | 'fallback'
  /** For a fallback: the model that takes over the step. */
  readonly model?: ModelName
  readonly error: ModelError
}

/** The attempt that `retry-start` announced has ended, or did not take place. */
export interface RetryEndEvent extends StepEventBase {
  readonly type: 'retry-end'
  readonly attempt: number
  readonly success: boolean
  readonly error?: ModelError
}

interface BlockEventBase extends StepEventBase {
  readonly messageId: string
  /** Place of the block in the message's content. */
  readonly index: number
}

/** A text or reasoning block of the answer begins. Live only. */
export interface TextStartEvent extends BlockEventBase {
  readonly type: 'text-start' | 'reasoning-start'
}

/**
 * The next piece of a text or reasoning block. Not stored. The deltas of a block together are its text, for each reader: what a
 * reader has not had when the answer is complete comes as one delta per block, directly before `message-end`. Only an answer that
 * `message-discarded` withdraws may stay without its end.
 */
export interface TextDeltaEvent extends BlockEventBase {
  readonly type: 'text-delta' | 'reasoning-delta'
  readonly delta: string
  /** Set if the delta holds the rest of a block that this reader has not had. No `text-start` or `text-end` comes with it. */
  readonly catchUp?: true
}

/** A text or reasoning block is complete. Live only. */
export interface TextEndEvent extends BlockEventBase {
  readonly type: 'text-end' | 'reasoning-end'
  /** The text of this block. */
  readonly text: string
}

/** The model begins to write a tool call. Live only. The tool does not run before `message-end`. */
export interface ToolCallStartEvent extends BlockEventBase {
  readonly type: 'tool-call-start'
  readonly toolCallId: string
  readonly toolName: string
  readonly providerExecuted?: true
}

/** The next piece of the argument text of a tool call, not parsed. Live only. */
export interface ToolCallDeltaEvent extends BlockEventBase {
  readonly type: 'tool-call-delta'
  readonly toolCallId: string
  readonly delta: string
}

/** A tool call is completely written, in `toolCall`. Live only. */
export interface ToolCallEndEvent extends BlockEventBase {
  readonly type: 'tool-call-end'
  readonly toolCallId: string
  readonly toolCall: ToolCallPart
}

/** A part that arrives as a whole: a file, a source, a result of the provider, or a custom part. Live only. */
export interface ContentPartEvent extends BlockEventBase {
  readonly type: 'content-part'
  readonly part: WholePart
}

/** Changes that a piece of the final answer makes to the output of an agent with an output schema. Live only. */
export interface OutputDeltaEvent extends BlockEventBase {
  readonly type: 'output-delta'
  readonly patch: readonly OutputChange[]
}

/**
 * Why a compaction is made. `threshold`: after a turn, too little of the context window is free. `overflow`: the provider refused
 * a request as too long. `window`: before a call, prompt and output would not fit. `requested`: a tool or extension called
 * `compactAfterTurn`. `manual`: the caller called `agent.compact`.
 */
export type CompactionTrigger = 'threshold' | 'overflow' | 'window' | 'requested' | 'manual'

/** A compaction begins. `step` is set if it happens within a step. `tokensBefore` estimates what the model is shown, in tokens. */
export interface CompactionStartEvent extends RunEventBase {
  readonly type: 'compaction-start'
  readonly step?: number
  readonly compactionId: string
  readonly trigger: CompactionTrigger
  readonly tokensBefore: number
}

/** A compaction has ended. `reason` says why there is none if `outcome` is not `done`. */
export interface CompactionEndEvent extends RunEventBase {
  readonly type: 'compaction-end'
  readonly step?: number
  readonly compactionId: string
  readonly outcome: CompactionOutcome
  readonly reason?: string
  /** Present exactly if `outcome` is `done`. */
  readonly compaction?: Compaction
}

/**
 * `done`: a compaction is stored and in force. `skipped`: there was nothing to do, or no budget. `cancelled`: a hook or an abort
 * ended it. `failed`: no summary could be made.
 */
export type CompactionOutcome = 'done' | 'skipped' | 'cancelled' | 'failed'

/** A summary that a model is shown instead of all messages before `firstKeptMessageId`. The messages stay stored. */
export interface Compaction {
  readonly compactionId: string
  readonly summary: string
  /** The first message that is shown as it is; empty if none is. */
  readonly firstKeptMessageId: string
  /** The latest message when it was made. Usage reported up to there belongs to another view. */
  readonly lastMessageId?: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly facts: readonly Fact[]
  /** `default`, `extension` or the name of the compactor. */
  readonly source: string
  /** Tokens of the model calls that made the summary. */
  readonly usage: Usage
}

/** A fact that stays in the summary when its messages are compacted: `file-read`, `file-modified`, `tool`, or a kind of your own. */
export interface Fact {
  readonly kind: string
  readonly value: string
}

/** Tokens that no `message-end` contains. The usage of a turn is the sum of both. */
export interface UsageEvent extends RunEventBase {
  readonly type: 'usage'
  /** Present for a `cache-miss`. */
  readonly step?: number
  /** A `cache-miss` has no tokens of its own: those of the answer are in its `message-end`. */
  readonly purpose: 'discarded-attempt' | 'compaction' | 'child' | 'cache-miss' | 'other'
  readonly usage: Usage
  readonly cost?: Cost
  readonly estimated?: true
  readonly model?: ModelName
  /** For a `cache-miss` or a `discarded-attempt`: the first difference from the previous request of this conversation. */
  readonly cacheMiss?: CacheMiss
}

/**
 * The first part of a request that differs from the previous request, in the order sections of the prompt, tools by name,
 * messages. `index` is the place in the request, from 0. Without `role` there is no message at that place.
 */
export type CacheMiss =
  | { readonly part: 'section' | 'tool'; readonly name: string }
  | { readonly part: 'message'; readonly index: number; readonly role?: Message['role'] }
