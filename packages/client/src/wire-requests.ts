import type { JsonObject } from './wire.ts'

/** A recorded model request without its content. */
export interface RequestSummary {
  /** Id of the message of the attempt; `compactionId` for a compaction, `summaryEntryId` for a branch summary. */
  readonly id: string
  readonly purpose: 'answer' | 'compaction' | 'branch-summary'
  /** Empty for a branch summary. */
  readonly runId: string
  readonly turn: number
  /** 0 outside a turn. */
  readonly step: number
  /** Number of the attempt in its step, from 1. */
  readonly attempt: number
  /** Time of the request in epoch milliseconds. */
  readonly at: number
  readonly model: { readonly provider: string; readonly modelId: string }
  /** Number of messages in the prompt, including the system message. */
  readonly messageCount: number
  /** Number of leading messages that equal those of the previous request, if the sending process knew that request. */
  readonly sharedCount: number
  readonly toolCount: number
}

/** One page of recorded requests. `nextCursor` is absent on the last page. */
export interface RequestList {
  /** Newest first. */
  readonly requests: readonly RequestSummary[]
  readonly nextCursor?: string
}

/** A recorded model request in the form of the AI SDK. Data of files is replaced by its size, secrets by `[redacted]`. */
export interface RequestView extends RequestSummary {
  readonly prompt: readonly JsonObject[]
  /** Tools with descriptions and JSON Schemas. */
  readonly tools: readonly JsonObject[]
  /** `toolChoice`, `temperature`, `maxOutputTokens`, `responseFormat`, `providerOptions` and so on. */
  readonly settings: JsonObject
  /** True if the prompt was too large to be stored. */
  readonly omitted?: true
}
