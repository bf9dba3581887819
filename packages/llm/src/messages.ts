import type {
  JSONObject,
  JSONValue,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
  SharedV4Warning,
} from '@ai-sdk/provider'
import type { ModelError } from './model-error.ts'

export type { JSONObject, JSONValue }
/** Settings for one provider, under that provider's options key. Sent, never read. */
export type ProviderOptions = SharedV4ProviderOptions
/** What a provider said about one part. Kept byte for byte and sent back to the same origin. */
export type ProviderMetadata = SharedV4ProviderMetadata
export type Warning = SharedV4Warning

/**
 * One entry of a transcript: plain JSON, so `JSON.parse(JSON.stringify(message))` must equal it.
 * `at` is epoch milliseconds. Fields that others add are kept and never sent to a model.
 */
export type Message = UserMessage | AssistantMessage | ToolResultMessage

export interface UserMessage {
  readonly role: 'user'
  readonly id?: string
  readonly content: string | readonly ContentPart[]
  readonly at?: number
  readonly providerOptions?: ProviderOptions
}

export interface ToolResultMessage {
  readonly role: 'tool-result'
  readonly id?: string
  readonly toolCallId: string
  readonly toolName: string
  readonly output: ToolOutput
  readonly at?: number
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly id: string
  readonly content: readonly AssistantPart[]
  /** The model that was called, as it names itself: the origin for hand-off. */
  readonly provider: string
  readonly modelId: string
  readonly stopReason: StopReason
  readonly rawStopReason?: string
  /** The provider paused a long turn: call again with nothing added. */
  readonly paused?: true
  readonly abortReason?: string
  /** Present exactly when `stopReason` is `'error'`. */
  readonly error?: ModelError
  readonly usage: Usage
  /** Absent when the price or the tokens are not known. */
  readonly cost?: Cost
  readonly response?: { readonly id?: string; readonly modelId?: string; readonly requestId?: string }
  readonly providerMetadata?: ProviderMetadata
  readonly warnings?: readonly Warning[]
  readonly repairs?: readonly Repair[]
  /** What an agent with an output schema has read from the answer. Never sent to a model. */
  readonly output?: JSONValue
  readonly at: number
  readonly timing: { readonly totalMs: number; readonly firstDeltaMs?: number }
}

export type StopReason = 'stop' | 'length' | 'tool-calls' | 'error' | 'aborted'

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly providerOptions?: ProviderOptions
}

export interface FilePart {
  readonly type: 'file'
  readonly mediaType: string
  readonly data: FileData
  readonly filename?: string
  readonly providerOptions?: ProviderOptions
}

/** `data` is base64 text. */
export type FileData = { readonly type: 'data'; readonly data: string } | { readonly type: 'url'; readonly url: string }

/** What a user message may contain besides plain text. */
export type ContentPart = TextPart | FilePart
/** What a tool output of type `content` may contain. */
export type ContentItem = TextPart | FilePart

export type ToolOutput =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json' | 'error-json'; readonly value: JSONValue }
  | { readonly type: 'execution-denied'; readonly reason?: string }
  | { readonly type: 'content'; readonly value: readonly ContentItem[] }

export type AssistantPart =
  | AssistantTextPart
  | ToolCallPart
  | ProviderToolResultPart
  | AssistantFilePart
  | SourcePart
  | CustomPart
  | ApprovalRequestPart

/** Redacted reasoning has `text: ''` and its data in `providerMetadata`. */
export interface AssistantTextPart {
  readonly type: 'text' | 'reasoning'
  readonly text: string
  readonly providerMetadata?: ProviderMetadata
  /** What the provider named as support for this text. */
  readonly citations?: readonly JSONValue[]
}

export interface ToolCallPart {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  /** `{}` when the call is `invalid`. */
  readonly input: JSONValue
  readonly providerExecuted?: true
  readonly dynamic?: true
  readonly invalid?: 'truncated' | 'not-json' | 'not-object'
  /** The raw argument text; only on an `invalid` call. */
  readonly inputText?: string
  readonly providerMetadata?: ProviderMetadata
}

/** The result of a tool that the provider ran itself. */
export interface ProviderToolResultPart {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly result: JSONValue
  readonly isError?: true
  readonly providerMetadata?: ProviderMetadata
}

export interface AssistantFilePart {
  readonly type: 'file' | 'reasoning-file'
  readonly mediaType: string
  readonly data: FileData
  readonly providerMetadata?: ProviderMetadata
}

export interface SourcePart {
  readonly type: 'source'
  readonly sourceType: 'url' | 'document'
  readonly id: string
  readonly url?: string
  readonly title?: string
  readonly mediaType?: string
  readonly filename?: string
  readonly providerMetadata?: ProviderMetadata
}

export interface CustomPart {
  readonly type: 'custom'
  readonly kind: `${string}.${string}`
  readonly providerMetadata?: ProviderMetadata
}

export interface ApprovalRequestPart {
  readonly type: 'approval-request'
  readonly approvalId: string
  readonly toolCallId: string
  readonly providerMetadata?: ProviderMetadata
}

/**
 * Tokens of one call or a sum of calls. `inputTokens` includes cached ones, `outputTokens` includes reasoning.
 * A number that nobody reported is absent, never 0. `estimated` marks a figure made from text lengths.
 */
export interface Usage {
  readonly inputTokens?: number
  readonly noCacheTokens?: number
  readonly cacheReadTokens?: number
  readonly cacheWriteTokens?: number
  readonly outputTokens?: number
  readonly textTokens?: number
  readonly reasoningTokens?: number
  readonly totalTokens?: number
  readonly estimated?: true
  readonly raw?: JSONObject
}

/**
 * What one call or a sum of calls cost: decimal text without exponent, exact to the last digit. `output` contains
 * reasoning. `estimated` marks a figure that comes from estimated tokens, from a price that stood in for a missing
 * cache price, or from token counts that contradict each other.
 */
export interface Cost {
  readonly currency: string
  readonly total: string
  readonly input: string
  readonly cacheRead: string
  readonly cacheWrite: string
  readonly output: string
  readonly estimated?: true
}

/** A change that the conversion of a transcript to a provider prompt had to make. */
export interface Repair {
  readonly code: RepairCode
  readonly messageIndex: number
  readonly toolCallId?: string
}

export type RepairCode =
  | 'missing-result'
  | 'orphan-result'
  | 'duplicate-result'
  | 'moved-result'
  | 'empty-content'
  | 'foreign-part'
  | 'renamed-call'
  | 'dropped-call'
  | 'dropped-message'
  | 'added-turn'
  | 'file-unsupported'
  | 'unknown-role'
  | 'bad-unicode'
