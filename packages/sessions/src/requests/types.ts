import type { Extension, ModelName } from '@bowline/agent-loop'
import type { Clock, JSONObject } from '@bowline/llm'
import type { Page, PageRequest } from '../contract/paging.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { StateStore, TimeToLive } from '../contract/state-store.ts'

/** Store, limits and redaction of recorded model requests. Only `store` is required. */
export interface RecordRequestsOptions {
  /** Where the requests are kept: a state store, or a session store, whose state store is used. It is not closed by this. */
  readonly store: StateStore | SessionStore
  /** The space of the requests in the store. Default `model-requests`. */
  readonly namespace?: string
  /** How many requests of a session are kept, at least 2; the oldest go first. Default 200. */
  readonly maxRequests?: number
  /** UTF-8 bytes of JSON that the requests of a session take in the store; the oldest go first. Default 4 MiB, at least 16 KiB. */
  readonly maxBytes?: number
  /** A request is gone at the latest so long after it was sent, in milliseconds, and may be gone when half of it has passed. Default 30 days. */
  readonly ttlMs?: TimeToLive
  /**
   * Changes a message of a prompt before it is stored, for example to take names out. Called once for each message that is
   * stored. If it throws, the request is not recorded and the log of the run has an `error` event. Default: nothing is changed.
   */
  readonly redact?: (message: JSONObject) => JSONObject
  /** Dates requests. Default: that of the system. */
  readonly clock?: Pick<Clock, 'now'>
}

/** A recorded request without its content. */
export interface RequestSummary {
  /** That of the message that the answer became or would have become; of a compaction its `compactionId`, of a branch summary its `summaryEntryId`. */
  readonly id: string
  readonly purpose: 'answer' | 'compaction' | 'branch-summary'
  /** Empty for a branch summary. */
  readonly runId: string
  readonly turn: number
  /** 0 outside of a turn. */
  readonly step: number
  /** Of the step, from 1. Each attempt has an id of its own. */
  readonly attempt: number
  /** Epoch milliseconds, when it was about to be sent. */
  readonly at: number
  readonly model: ModelName
  /** Messages of the prompt, the system message included. */
  readonly messageCount: number
  /** How many leading messages are those of the request before, as far as the process that sent it knew that one. */
  readonly sharedCount: number
  readonly toolCount: number
}

/**
 * A recorded request with its content. Data of files is replaced by its size, values of secret fields in provider options by
 * `[redacted]`.
 */
export interface RecordedRequest extends RequestSummary {
  /** In the form of the AI SDK (`LanguageModelV4Prompt`). Empty if the request alone is larger than half of `maxBytes`. */
  readonly prompt: readonly JSONObject[]
  /** In the form of the AI SDK, with descriptions and JSON Schemas. */
  readonly tools: readonly JSONObject[]
  /** All else: `toolChoice`, `temperature`, `maxOutputTokens`, `responseFormat`, `providerOptions` and so on. */
  readonly settings: JSONObject
  /** True if the prompt was too large to be kept. */
  readonly omitted?: true
}

/**
 * Stored requests to models, by session. Methods throw `invalid-input` or `invalid-key` for wrong arguments, and the errors of
 * the store.
 */
export interface RequestRecorder {
  /** For each agent whose requests are to be recorded. A failure is an `error` event of the run, and the call is made all the same. */
  readonly extension: Extension
  /** Newest first. Without content. */
  list(sessionKey: string, query?: PageRequest): Promise<Page<RequestSummary>>
  /** The whole request. Null if it was not recorded or is gone. */
  get(sessionKey: string, id: string): Promise<RecordedRequest | null>
  /** Removes all requests of a session. A runtime that has the recorder as `requests` does it when the session is deleted. */
  remove(sessionKey: string): Promise<void>
}
