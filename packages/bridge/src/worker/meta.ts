import type { JSONObject } from '@bowline/llm'
import type { AgentInfo, AgentProvider, Answer, BridgeEvent, CancelReason, CloseReason, PromptResult } from '../agent.ts'

// What Bowline says besides the Agent Client Protocol: under `_meta.bowline`, and as requests of its own.

export const acpVersion = 1
export const wireVersion = 1
export const pingMethod = '_bowline/ping'
export const answerMethod = '_bowline/answer'
/** The first line to a worker that must prove itself: a notification with its `token`. */
export const tokenMethod = '_bowline/token'

/** In `initialize`. */
export interface HelloMeta {
  readonly challenge: string
}

/** In the answer to `initialize`. */
export interface WorkerMeta {
  readonly protocol: typeof wireVersion
  readonly proof?: string
  readonly agent: AgentInfo
  readonly capabilities: readonly string[]
  readonly providers?: readonly AgentProvider[]
  readonly maxConcurrentSessions?: number
  readonly durable: boolean
  /** It answers pings. */
  readonly ping: true
}

/** In `session/new` and `session/resume`. What is optional goes to workers that speak this protocol only. */
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

/** In `session/prompt`. */
export interface PromptMeta {
  readonly requestId: string
  readonly runtimeParams: JSONObject
  readonly deadlineAt?: number
  readonly answers?: readonly Answer[]
}

/** In `session/update`: an event whole, or a part of the JSON of one that is too long for a line. */
export interface UpdateMeta {
  readonly requestId: string
  readonly event?: BridgeEvent
  readonly part?: string
  /** The event is complete. */
  readonly last?: boolean
}

/** In the answer to `session/prompt`. Without a result the events say how it ended. */
export interface AnswerMeta {
  readonly result?: PromptResult
}

/** In `session/cancel`. */
export interface CancelMeta {
  readonly requestId: string
  readonly reason: CancelReason
}

/** In `session/close`. A detached session ends without its hook. */
export interface CloseMeta {
  readonly reason?: CloseReason
  readonly detach?: boolean
}

/** Parameters of `_bowline/answer`, which says whether the answers were taken. */
export interface AnswerParams {
  readonly sessionId: string
  readonly requestId: string
  readonly answers: readonly Answer[]
}

/** What stands under `_meta.bowline`; empty when nothing does. It came from another process: nothing in it is sure. */
export function bowlineMeta(holder: unknown): Readonly<Record<string, unknown>> {
  return recordOf(recordOf(recordOf(holder)['_meta'])['bowline'])
}

export function withBowline(meta: object): { readonly _meta: { readonly bowline: object } } {
  return { _meta: { bowline: meta } }
}

export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
