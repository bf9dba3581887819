import type {
  AgentErrorData,
  AgentEvent,
  ApprovalRequest,
  EndReason,
  OutcomeStatus,
  PendingToolCall,
  StoredMessage,
  SubmissionReceipt,
  SubmittedResult,
  TurnStatus,
} from '@bowline/agent-loop'

/** What goes over the wire between client and server. The server checks its schemas against these types. */

export type { SubmissionReceipt }

type Usage = Extract<AgentEvent, { type: 'turn-end' }>['usage']
type TurnError = NonNullable<Extract<AgentEvent, { type: 'turn-end' }>['error']>
type UserContent = Extract<AgentEvent, { type: 'user-message' }>['message']['content']

export type JsonValue = null | string | number | boolean | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined }
export type JsonObject = { readonly [key: string]: JsonValue | undefined }

export interface ExecuteRequest {
  /** Absent: the server makes one, and `context` is needed. */
  readonly sessionId?: string
  readonly input: UserMessageInput | readonly ToolResultInput[]
  /** For a new session only; `{}` is enough. */
  readonly context?: { readonly agent?: string; readonly metadata?: JsonObject }
  readonly options?: { readonly onBusy?: 'queue' | 'reject'; readonly deltas?: boolean }
}

export interface UserMessageInput {
  readonly role: 'user'
  readonly content: UserContent
}

export type ToolResultInput = { readonly role?: 'tool-result' } & SubmittedResult

/** Frames of the transport: not in the log and not numbered; their SSE id repeats the last cursor. */
export type TransportFrame = ExecuteComplete | StreamEnd | StreamError

export interface ExecuteComplete {
  readonly type: 'execute-complete'
  readonly sessionId: string
  readonly runId: string
  /** Of the run's last `turn-end`. */
  readonly status: TurnStatus
  readonly reason?: EndReason | 'crash-loop'
  readonly submission?: SubmissionReceipt
  readonly pendingToolCalls?: readonly PendingToolCall[]
  readonly pendingApprovals?: readonly ApprovalRequest[]
  readonly usage: Usage
  readonly error?: TurnError | AgentErrorData | { readonly code: string; readonly message: string }
}

export interface StreamEnd {
  readonly type: 'stream-end'
  readonly reason: 'settled' | 'drained' | 'slow-reader' | 'max-age' | 'token-expired' | 'deleted'
  /** Whether to come back with the last cursor. */
  readonly resume: boolean
}

export interface StreamError {
  readonly type: 'stream-error'
  readonly problem: Problem
}

export interface SessionView {
  readonly sessionId: string
  readonly agent: string
  readonly status: 'active' | 'busy' | 'idle' | 'failed' | 'expired'
  readonly messages: readonly StoredMessage[]
  readonly hasMore: boolean
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  readonly run?: { readonly runId: string; readonly status: 'queued' | 'running' | TurnStatus; readonly attempts: number }
  readonly usage: Usage
  /** The log position that this view is true for. */
  readonly cursor: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly metadata: JsonObject
}

export interface SessionSummary {
  readonly sessionId: string
  readonly agent: string
  readonly status: SessionView['status']
  readonly createdAt: number
  readonly updatedAt: number
  readonly metadata: JsonObject
}

export interface SessionList {
  readonly sessions: readonly SessionSummary[]
  readonly nextCursor?: string
}

export interface AgentSummary {
  readonly id: string
  readonly description?: string
  readonly clientTools: 'none' | 'declared' | 'any'
  readonly default: boolean
}

export interface StopRequest {
  readonly runId?: string
  readonly mode?: 'stop'
  readonly scope?: 'active' | 'all'
  /** 0–30,000, default 10,000. */
  readonly waitMs?: number
}

export interface StopReceipt {
  readonly runId: string | null
  readonly state: 'settled' | 'pending' | 'nothing-to-stop'
  readonly status?: 'queued' | 'running' | TurnStatus
  readonly calls: readonly { readonly toolCallId: string; readonly toolName: string; readonly status: OutcomeStatus | 'running' }[]
  readonly children: readonly StopReceipt[]
}

export type ToolResolution =
  | { readonly result: JsonValue }
  | { readonly error: string }
  | { readonly runAgain: true }
  | { readonly unknown: true }

/** For `?ticket=` of one stream of events of one session, for an `EventSource` for example. */
export interface Ticket {
  readonly ticket: string
  /** Epoch milliseconds by which the stream must be open. */
  readonly expiresAt: number
}

/** `application/problem+json`. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: string
  readonly requestId: string
  readonly retryable: boolean
  readonly retryAfterMs?: number
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
  readonly refused?: readonly { readonly id: string; readonly code: string }[]
  /** The open run, with `busy`. */
  readonly runId?: string
  /** The first position that the log still holds, with `cursor-expired`. */
  readonly firstSeq?: number
}
