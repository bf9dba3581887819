import type { JSONObject } from '@bowline/llm'
import type { AgentInfo, AgentProvider, Answer, BridgeEvent, CancelReason, CloseReason, PromptResult } from '../agent.ts'

// Bowline's extension of the Agent Client Protocol: data under `_meta.bowline`, and requests of its own.

export const acpVersion = 1
export const wireVersion = 1
export const pingMethod = '_bowline/ping'
export const answerMethod = '_bowline/answer'
/** Notification with the `token`: the first line to a worker that must prove its identity. */
export const tokenMethod = '_bowline/token'

/** `_meta.bowline` in `initialize`. */
export interface HelloMeta {
  readonly challenge: string
}

/** `_meta.bowline` in the response to `initialize`. */
export interface WorkerMeta {
  readonly protocol: typeof wireVersion
  readonly proof?: string
  readonly agent: AgentInfo
  readonly capabilities: readonly string[]
  readonly providers?: readonly AgentProvider[]
  readonly maxConcurrentSessions?: number
  readonly durable: boolean
  /** The worker answers pings. */
  readonly ping: true
}

/** `_meta.bowline` in `session/new` and `session/resume`. Optional fields are sent only to workers that use `serveWorker`. */
export interface SessionMeta {
  readonly agentId: string
  readonly metadata: JSONObject
  readonly runtimeParams: JSONObject
  readonly depth: number
  readonly path?: readonly string[]
  readonly sessionId?: string
  readonly conversationId?: string
  readonly owner?: string
  readonly createdAt?: number
}

/** `_meta.bowline` in `session/prompt`. */
export interface PromptMeta {
  readonly requestId: string
  readonly runtimeParams: JSONObject
  readonly deadlineAt?: number
  readonly answers?: readonly Answer[]
}

/** `_meta.bowline` in `session/update`: an event, or a part of the JSON of an event that is too long for one line. */
export interface UpdateMeta {
  readonly requestId: string
  readonly event?: BridgeEvent
  readonly part?: string
  /** Whether this part completes the event. */
  readonly last?: boolean
}

/** `_meta.bowline` in the response to `session/prompt`. Without a result, the events contain the outcome. */
export interface AnswerMeta {
  readonly result?: PromptResult
}

/** `_meta.bowline` in `session/cancel`. */
export interface CancelMeta {
  readonly requestId: string
  readonly reason: CancelReason
}

/** `_meta.bowline` in `session/close`. A detached session ends without its hook. */
export interface CloseMeta {
  readonly reason?: CloseReason
  readonly detach?: boolean
}

/** Parameters of `_bowline/answer`. Its response says whether the prompt took the answers. */
export interface AnswerParams {
  readonly sessionId: string
  readonly requestId: string
  readonly answers: readonly Answer[]
}

/** Returns `_meta.bowline`, or an empty object. It comes from another process, so its contents are unchecked. */
export function bowlineMeta(holder: unknown): Readonly<Record<string, unknown>> {
  return recordOf(recordOf(recordOf(holder)['_meta'])['bowline'])
}

export function withBowline(meta: object): { readonly _meta: { readonly bowline: object } } {
  return { _meta: { bowline: meta } }
}

export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
