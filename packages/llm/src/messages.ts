import type { JSONObject, JSONValue, SharedV4ProviderMetadata, SharedV4ProviderOptions, SharedV4Warning } from '@ai-sdk/provider'
import type { ModelError } from './model-error.ts'

export type { JSONObject, JSONValue }
/** Options for providers, keyed by each provider's options key. They are sent but not interpreted. */
export type ProviderOptions = SharedV4ProviderOptions
/** Data of a provider about one part. It is kept unchanged and sent back only to the same provider and model. */
export type ProviderMetadata = SharedV4ProviderMetadata
/** A warning of the provider about a call, for example about a setting that the model does not support. The call continued. */
export type Warning = SharedV4Warning

/**
 * One entry of a transcript. It is plain JSON: `JSON.parse(JSON.stringify(message))` equals it. `at` is epoch milliseconds.
 * Unknown fields are kept and never sent to a model.
 */
export type Message = UserMessage | AssistantMessage | ToolResultMessage

/** Input of a user: a text, or a list of texts and files. `at` is epoch milliseconds. */
export interface UserMessage {
  readonly role: 'user'
  readonly id?: string
  readonly content: string | readonly ContentPart[]
  readonly at?: number
  readonly providerOptions?: ProviderOptions
}

/** The result of one tool call. It names the call by `toolCallId`, and each call has exactly one. `at` is epoch milliseconds. */
export interface ToolResultMessage {
  readonly role: 'tool-result'
  readonly id?: string
  readonly toolCallId: string
  readonly toolName: string
  readonly output: ToolOutput
  readonly at?: number
}

/**
 * One answer of a model. Failed and aborted answers are included: `stopReason` says so, and `content` has the parts received so
 * far. `at` is epoch milliseconds. `timing` is in milliseconds: the whole call, and the time until the first delta.
 */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly id: string
  readonly content: readonly AssistantPart[]
  /** The called model under the names that it reports. Used to detect a change of model. */
  readonly provider: string
  readonly modelId: string
  readonly stopReason: StopReason
  readonly rawStopReason?: string
  /** The provider paused a long turn. To continue, call again without adding anything. */
  readonly paused?: true
  readonly abortReason?: string
  /** Present exactly when `stopReason` is `'error'`. */
  readonly error?: ModelError
  readonly usage: Usage
  /** Absent if price or tokens are unknown. */
  readonly cost?: Cost
  readonly response?: { readonly id?: string; readonly modelId?: string; readonly requestId?: string }
  readonly providerMetadata?: ProviderMetadata
  readonly warnings?: readonly Warning[]
  readonly repairs?: readonly Repair[]
  /** Structured output that an agent read from the answer. Never sent to a model. */
  readonly output?: JSONValue
  readonly at: number
  readonly timing: { readonly totalMs: number; readonly firstDeltaMs?: number }
}

/**
 * Reason of the end of an answer. `stop`: the model finished. `length`: the output limit was reached. `tool-calls`: the model waits
 * for results. `error`: the call failed, see `error` of the message. `aborted`: the caller stopped it.
 */
export type StopReason = 'stop' | 'length' | 'tool-calls' | 'error' | 'aborted'

/** A text in a user message or in a tool output. */
export interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly providerOptions?: ProviderOptions
}

/** A file in a user message or in a tool output. `mediaType` is its IANA media type, for example `image/png`. */
export interface FilePart {
  readonly type: 'file'
  readonly mediaType: string
  readonly data: FileData
  readonly filename?: string
  readonly providerOptions?: ProviderOptions
}

/** The content of a file as base64 text, or its URL. */
export type FileData = { readonly type: 'data'; readonly data: string } | { readonly type: 'url'; readonly url: string }

/** A part of a user message. */
export type ContentPart = TextPart | FilePart

/** Image of an input, in the form of the AI SDK. It is stored as a file. */
export interface ImagePart {
  readonly type: 'image'
  /** The image in base64, as a `data:` URL in base64, or as an http(s) URL. */
  readonly image: string
  /** Media type. Default: taken from the `data:` URL, else from the first bytes. */
  readonly mediaType?: string
}
/** An item of a tool output of type `content`. */
export type ContentItem = TextPart | FilePart

/**
 * The result of a tool as the model sees it. `error-text` and `error-json` tell the model that the tool failed, `execution-denied`
 * that the call was refused. `content` is a list of texts and files.
 */
export type ToolOutput =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json' | 'error-json'; readonly value: JSONValue }
  | { readonly type: 'execution-denied'; readonly reason?: string }
  | { readonly type: 'content'; readonly value: readonly ContentItem[] }

/** One part of an answer, discriminated by `type`. Parts are in the order in which the model began them. */
export type AssistantPart =
  | AssistantTextPart
  | ToolCallPart
  | ProviderToolResultPart
  | AssistantFilePart
  | SourcePart
  | CustomPart
  | ApprovalRequestPart

/** A text of an answer, or its reasoning. Redacted reasoning has `text: ''` and its data in `providerMetadata`. */
export interface AssistantTextPart {
  readonly type: 'text' | 'reasoning'
  readonly text: string
  readonly providerMetadata?: ProviderMetadata
  /** Sources that the provider cites for this text. */
  readonly citations?: readonly JSONValue[]
}

/**
 * A call of a tool. `input` holds the parsed arguments. `providerExecuted`: the provider runs the tool itself. `invalid` says why
 * the argument text could not be used: it was cut, is not JSON, or is not an object.
 */
export interface ToolCallPart {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  /** `{}` if the call is `invalid`. */
  readonly input: JSONValue
  readonly providerExecuted?: true
  readonly dynamic?: true
  readonly invalid?: 'truncated' | 'not-json' | 'not-object'
  /** Raw argument text; present only if the call is `invalid`. */
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

/** A file that the model created. `reasoning-file`: it belongs to the reasoning, not to the answer. */
export interface AssistantFilePart {
  readonly type: 'file' | 'reasoning-file'
  readonly mediaType: string
  readonly data: FileData
  readonly providerMetadata?: ProviderMetadata
}

/** A source that the model used. `url` is set for `sourceType: 'url'`; `mediaType` and `filename` describe a document. */
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

/** A part that only its provider understands. `kind` is `<provider>.<name>`; the content is in `providerMetadata`. */
export interface CustomPart {
  readonly type: 'custom'
  readonly kind: `${string}.${string}`
  readonly providerMetadata?: ProviderMetadata
}

/** A request of the provider to approve a tool call that the provider would run, named by `toolCallId`. */
export interface ApprovalRequestPart {
  readonly type: 'approval-request'
  readonly approvalId: string
  readonly toolCallId: string
  readonly providerMetadata?: ProviderMetadata
}

/**
 * Tokens of one call or a sum of calls. `inputTokens` includes cached tokens, `outputTokens` includes reasoning. A number that was
 * not reported is absent, never 0. `estimated` marks figures that were computed from text lengths.
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
 * The cost of one call or a sum of calls, as decimal texts without exponent, exact to the last digit. `output` includes reasoning.
 * `estimated` marks a figure that comes from estimated tokens, from a price that replaced a missing cache price, or from token
 * counts that contradict each other.
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

/** A change that `toPrompt` made to a transcript. */
export interface Repair {
  readonly code: RepairCode
  readonly messageIndex: number
  readonly toolCallId?: string
}

/**
 * Names one change that `toPrompt` made so that the provider accepts the transcript.
 *
 * - `missing-result`: added an error result for a call without one.
 * - `orphan-result`, `duplicate-result`: left out a result without a call, or a second result of one call.
 * - `moved-result`: moved a result directly after its call.
 * - `empty-content`: left out an empty text or reasoning.
 * - `foreign-part`: left out a part, or its metadata, that only another provider or model understands.
 * - `renamed-call`: replaced a tool call id that this provider does not accept, or that occurred twice.
 * - `dropped-call`, `dropped-message`: left out a call that cannot be sent, or a message of which nothing is left.
 * - `added-turn`: added a user message that the provider requires before a tool call.
 * - `file-unsupported`: replaced a file that the model does not take.
 * - `unknown-role`: left out a message whose role is unknown.
 * - `bad-unicode`: replaced halves of surrogate pairs.
 */
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
