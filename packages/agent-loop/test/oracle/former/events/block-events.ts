import type { ToolCallPart, WholePart } from '@bowline/llm'
import type { StepEventBase } from './event-base.ts'

export interface BlockEventBase extends StepEventBase {
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
