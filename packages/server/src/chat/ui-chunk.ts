import type { JSONValue } from '@bowline/llm'

type FinishReason = 'stop' | 'length' | 'tool-calls' | 'other'

interface ToolInput {
  readonly toolCallId: string
  readonly toolName: string
  readonly providerExecuted?: true
}

/** Chunk of an AI SDK message stream: the kinds that this server sends. */
export type UiChunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata: { readonly sessionId: string; readonly runId: string } }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' | 'abort' }
  | { readonly type: 'finish'; readonly finishReason: FinishReason }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'text-start' | 'reasoning-start'; readonly id: string }
  | { readonly type: 'text-end' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | (ToolInput & { readonly type: 'tool-input-start' })
  | (ToolInput & { readonly type: 'tool-input-available'; readonly input: JSONValue })
  | (ToolInput & { readonly type: 'tool-input-error'; readonly input: JSONValue; readonly errorText: string })
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | { readonly type: 'tool-output-available'; readonly toolCallId: string; readonly output: unknown; readonly providerExecuted?: true }
  | { readonly type: 'tool-output-error'; readonly toolCallId: string; readonly errorText: string; readonly providerExecuted?: true }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | { readonly type: 'tool-approval-request'; readonly approvalId: string; readonly toolCallId: string; readonly reason?: string }
  | { readonly type: 'tool-approval-response'; readonly approvalId: string; readonly approved: boolean; readonly reason?: string }
  | { readonly type: 'source-url'; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: 'source-document'
      readonly sourceId: string
      readonly mediaType: string
      readonly title: string
      readonly filename?: string
    }
  | { readonly type: 'file' | 'reasoning-file'; readonly mediaType: string; readonly url: string }
  | { readonly type: 'custom'; readonly kind: `${string}.${string}` }
  /** A data chunk replaces an earlier one of the same type and id. A transient one is not part of the message. */
  | { readonly type: `data-${string}`; readonly id?: string; readonly transient?: true; readonly data: unknown }

export type Chunks = readonly UiChunk[]

export const noChunks: Chunks = []
