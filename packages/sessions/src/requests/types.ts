import type { Extension, ModelName } from '@bowline/agent-loop'
import type { Clock, JSONObject } from '@bowline/llm'
import type { Page, PageRequest } from '../contract/paging.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { StateStore, TimeToLive } from '../contract/state-store.ts'

/** Store, limits and redaction of recorded model requests. Only `store` is required. */
export interface RecordRequestsOptions {
  /** State store of the requests, or a session store, whose state store is used. The recorder does not close it. */
  readonly store: StateStore | SessionStore
  /** The space of the requests in the store. Default `model-requests`. */
  readonly namespace?: string
  /** Number of requests kept per session, at least 2; the oldest are deleted first. Default 200. */
  readonly maxRequests?: number
  /** UTF-8 bytes of JSON kept per session; the oldest requests are deleted first. Default 4 MiB, at least 16 KiB. */
  readonly maxBytes?: number
  /** Maximum lifetime of a request in milliseconds after it was sent; it may be deleted after half of it. Default 30 days. */
  readonly ttlMs?: TimeToLive
  /**
   * Changes a message of a prompt before it is stored, for example to remove names. Called once for each stored message. If it
   * throws, the request is not recorded and the log of the run has an `error` event. Default: no change.
   */
  readonly redact?: (message: JSONObject) => JSONObject
  /** Clock for the dates of requests. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'>
}

/** A recorded request without its content. */
export interface RequestSummary {
  /**
   * Id of the message that the answer became or would have become; `compactionId` for a compaction, `summaryEntryId` for a
   * branch summary.
   */
  readonly id: string
  readonly purpose: 'answer' | 'compaction' | 'branch-summary'
  /** Empty for a branch summary. */
  readonly runId: string
  readonly turn: number
  /** 0 outside a turn. */
  readonly step: number
  /** Number of the attempt in its step, from 1. Each attempt has an id of its own. */
  readonly attempt: number
  /** Time just before it was sent, in epoch milliseconds. */
  readonly at: number
  readonly model: ModelName
  /** Messages of the prompt, the system message included. */
  readonly messageCount: number
  /** Number of leading messages equal to those of the previous request, if the sending process knew that one. */
  readonly sharedCount: number
  readonly toolCount: number
}

/**
 * A recorded request with its content. Data of files is replaced by its size, values of secret fields in provider options by
 * `[redacted]`.
 */
export interface RecordedRequest extends RequestSummary {
  /** Messages in the form of the AI SDK (`LanguageModelV4Prompt`). Empty if the request alone is larger than half of `maxBytes`. */
  readonly prompt: readonly JSONObject[]
  /** Tools in the form of the AI SDK, with descriptions and JSON Schemas. */
  readonly tools: readonly JSONObject[]
  /** All other fields: `toolChoice`, `temperature`, `maxOutputTokens`, `responseFormat`, `providerOptions` and so on. */
  readonly settings: JSONObject
  /** True if the prompt was too large to be kept. */
  readonly omitted?: true
}

/**
 * Stored requests to models, by session. Methods throw `invalid-input` or `invalid-key` for wrong arguments, and the errors of
 * the store.
 */
export interface RequestRecorder {
  /**
   * Extension for each agent whose requests are to be recorded. If recording fails, the run gets an `error` event and the call is
   * still made.
   */
  readonly extension: Extension
  /** Lists requests, newest first, without content. */
  list(sessionKey: string, query?: PageRequest): Promise<Page<RequestSummary>>
  /** Resolves with the whole request, or with null if it was not recorded or was deleted. */
  get(sessionKey: string, id: string): Promise<RecordedRequest | null>
  /** Deletes all requests of a session. A runtime with the recorder as `requests` does so when the session is deleted. */
  remove(sessionKey: string): Promise<void>
}
