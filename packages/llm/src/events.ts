import type { AssistantMessage, AssistantPart, JSONValue, ProviderMetadata, ToolCallPart } from './messages.ts'

/**
 * An event of a `MessageStream`. `message-start` comes first and `message-end` last, each once. Blocks may interleave; `index` is
 * the position of the block in `message.content`. Events never repeat the message so far and never change after delivery.
 */
export type MessageEvent =
  | {
      readonly type: 'message-start'
      readonly messageId: string
      readonly provider: string
      readonly modelId: string
      readonly at: number
    }
  | BlockEvent
  | { readonly type: 'message-end'; readonly message: AssistantMessage }

/** Events of content blocks, between `message-start` and `message-end`. */
export type BlockEvent =
  | {
      readonly type: 'text-start' | 'reasoning-start'
      readonly index: number
      readonly providerMetadata?: ProviderMetadata
    }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly index: number; readonly delta: string }
  | {
      readonly type: 'text-end' | 'reasoning-end'
      readonly index: number
      readonly text: string
      readonly providerMetadata?: ProviderMetadata
      readonly citations?: readonly JSONValue[]
    }
  | {
      readonly type: 'tool-call-start'
      readonly index: number
      readonly toolCallId: string
      readonly toolName: string
      readonly providerExecuted?: true
      readonly inputEncoding?: 'json' | 'text'
    }
  | { readonly type: 'tool-call-delta'; readonly index: number; readonly delta: string }
  | { readonly type: 'tool-call-end'; readonly index: number; readonly toolCall: ToolCallPart }
  | { readonly type: 'content-part'; readonly index: number; readonly part: WholePart }

/** A part of an answer that arrives as a whole, without deltas. */
export type WholePart = Exclude<AssistantPart, { type: 'text' | 'reasoning' } | ToolCallPart>
