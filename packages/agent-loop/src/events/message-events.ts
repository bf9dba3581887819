import type { AssistantMessage, Cost, Message, ModelError, ToolCallPart, Usage, WholePart } from '@bowline/llm'
import type { OutputChange, OutputMode } from './output.ts'
import type { ModelName, RunEventBase, StepEventBase } from './turn-events.ts'

export interface MessageStartEvent extends StepEventBase {
  readonly type: 'message-start'
  readonly messageId: string
  readonly attempt: number
  readonly model: ModelName
  /** Of an agent with an output schema: how this model is asked for the final answer. */
  readonly output?: OutputMode
}

export interface MessageEndEvent extends StepEventBase {
  readonly type: 'message-end'
  readonly messageId: string
  readonly message: AssistantMessage
  readonly attempt: number
}

/** The message is withdrawn: readers drop it, and nothing will ever follow under its id. */
export interface MessageDiscardedEvent extends RunEventBase {
  readonly type: 'message-discarded'
  /** Absent for a message that was withdrawn before the first step. */
  readonly step?: number
  readonly messageId: string
  readonly reason: DiscardReason
  readonly attempt?: number
}

/** `replaced`: a user message that a hook changed or handled. `failed`: withdrawn with the turn that failed. */
export type DiscardReason = 'retry' | 'overflow' | 'rewind' | 'failed' | 'crash' | 'replaced'

/** Comes before its wait, and has exactly one `retry-end`. */
export interface RetryStartEvent extends StepEventBase {
  readonly type: 'retry-start'
  /** The attempt that it announces: 2, 3 … */
  readonly attempt: number
  readonly maxAttempts: number
  readonly delayMs: number
  /** Epoch milliseconds at which the wait ends. */
  readonly notBefore: number
  readonly cause: 'error' | 'overflow' | 'fallback'
  /** Of a fallback: the model that takes the step. */
  readonly model?: ModelName
  readonly error: ModelError
}

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

export interface TextStartEvent extends BlockEventBase {
  readonly type: 'text-start' | 'reasoning-start'
}

export interface TextDeltaEvent extends BlockEventBase {
  readonly type: 'text-delta' | 'reasoning-delta'
  readonly delta: string
}

export interface TextEndEvent extends BlockEventBase {
  readonly type: 'text-end' | 'reasoning-end'
  /** The text of this block. */
  readonly text: string
}

export interface ToolCallStartEvent extends BlockEventBase {
  readonly type: 'tool-call-start'
  readonly toolCallId: string
  readonly toolName: string
  readonly providerExecuted?: true
}

/** Raw argument text, never parsed on the way. */
export interface ToolCallDeltaEvent extends BlockEventBase {
  readonly type: 'tool-call-delta'
  readonly toolCallId: string
  readonly delta: string
}

export interface ToolCallEndEvent extends BlockEventBase {
  readonly type: 'tool-call-end'
  readonly toolCallId: string
  readonly toolCall: ToolCallPart
}

export interface ContentPartEvent extends BlockEventBase {
  readonly type: 'content-part'
  readonly part: WholePart
}

/** What a piece of the final answer of an agent with an output schema changes in its output. */
export interface OutputDeltaEvent extends BlockEventBase {
  readonly type: 'output-delta'
  readonly patch: readonly OutputChange[]
}

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

/** A summary that a model is shown in the place of all messages before `firstKeptMessageId`. The messages stay stored. */
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
  /** Tokens of the model calls that made the summary. */
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
  /** Of a `cache-miss`. */
  readonly step?: number
  /** `cache-miss`: tokens of its own it has none, those of the answer are in its `message-end`. */
  readonly purpose: 'discarded-attempt' | 'compaction' | 'child' | 'cache-miss' | 'other'
  readonly usage: Usage
  readonly cost?: Cost
  readonly estimated?: true
  readonly model?: ModelName
  /** Of a `cache-miss` or a `discarded-attempt`: with what the request differs first from the one before in this conversation. */
  readonly cacheMiss?: CacheMiss
}

/**
 * The first part of a request that is not as it was in the last one, in the order of the prompt's sections, the tools by
 * name, the messages. `index`: place in the request, from 0. Without `role` there is no message at that place any more.
 */
export type CacheMiss =
  | { readonly part: 'section' | 'tool'; readonly name: string }
  | { readonly part: 'message'; readonly index: number; readonly role?: Message['role'] }
