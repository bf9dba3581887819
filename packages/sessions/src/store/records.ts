import type {
  AgentErrorData,
  ApprovalRequest,
  CallApproval,
  Compaction,
  DurableEvent,
  EndReason,
  OpenTurn,
  OutcomeStatus,
  PendingToolCall,
  StoredMessage,
  ToolEffect,
  ToolResult,
  TurnStatus,
} from '@bowline/agent-loop'
import type { JSONObject, JSONValue, ModelError, Usage } from '@bowline/llm'

export type SessionStatus = 'active' | 'busy' | 'idle' | 'failed'
export type RunStatus = 'queued' | 'running' | TurnStatus
export type RunKind = 'user' | 'follow-up'

/** Statuses from which a run never leaves. Every other run is open. */
export const terminalStatuses = ['completed', 'aborted', 'error', 'halted', 'limit'] as const satisfies readonly RunStatus[]
/** Statuses that hold their session: at most one run of a session may be in one of them. */
export const holdingStatuses = ['running', 'awaiting-tools', 'awaiting-approval', 'needs-recovery'] as const satisfies readonly RunStatus[]

/** From each status, the statuses that a run may move to. */
export const runMoves: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  queued: ['running', 'aborted'],
  running: ['running', 'queued', 'awaiting-tools', 'awaiting-approval', 'needs-recovery', 'completed', 'aborted', 'error', 'halted', 'limit'],
  'awaiting-tools': ['queued', 'aborted'],
  'awaiting-approval': ['queued', 'aborted'],
  'needs-recovery': ['queued', 'aborted'],
  completed: [],
  aborted: [],
  error: [],
  halted: [],
  limit: [],
}

export interface SessionRecord {
  readonly key: string
  /** The incarnation: another session under the same key has another id. */
  readonly id: string
  readonly agent: string
  readonly owner?: string
  readonly status: SessionStatus
  /** Rises with every commit. */
  readonly version: number
  readonly firstSeq: number
  /** The number that the next event gets. */
  readonly nextSeq: number
  /** The number that the next run gets. */
  readonly nextRun: number
  /** The entry at the end of the active path; null for an empty transcript. */
  readonly leaf: string | null
  /** Turns begun so far. */
  readonly turns: number
  readonly usage: Usage
  readonly metadata: JSONObject
  readonly createdAt: number
  readonly activeAt: number
}

/** One node of the transcript tree. */
export interface EntryNode {
  /**
   * That of its message, or of its compaction. What stays on the active path when something before it was withdrawn
   * stands there again, as an entry with an id of its own.
   */
  readonly id: string
  readonly n: number
  readonly parentId: string | null
  readonly at: number
  readonly runId?: string
}

export type EntryRecord = EntryNode &
  (
    | { readonly type: 'message'; readonly message: StoredMessage }
    | { readonly type: 'compaction'; readonly compaction: Compaction }
  )

export interface RunRecord {
  readonly id: string
  readonly session: string
  /** Order of acceptance in the session, from 1. */
  readonly n: number
  /** The number of its first event: what the session's next event was when the run was inserted. */
  readonly firstSeq: number
  readonly kind: RunKind
  readonly status: RunStatus
  readonly reason?: EndReason | 'crash-loop'
  /** The fencing token: one more at each claim, 0 before the first. */
  readonly epoch: number
  readonly owner?: string
  readonly leaseUntil?: number
  /** Claims after a loss since the last commit that made progress. */
  readonly attempts: number
  readonly totalAttempts: number
  readonly inputId?: string
  readonly inputHash: string
  readonly input: JSONValue
  /** The turn it is; absent before its `turn-start`. */
  readonly turn?: number
  readonly step: number
  /** A `message-start` without its end. */
  readonly openMessageId?: string
  readonly stop?: StopRequest
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** What the loop keeps of its open turn besides, as it gets it back. */
  readonly turnState?: TurnState
  /** How the run comes to rest, once its owner has stored what stands behind the end of the turn. */
  readonly rest?: RunRest
  readonly error?: ModelError | AgentErrorData | RunFailure
  readonly usage: Usage
  readonly createdAt: number
  readonly startedAt?: number
  readonly endedAt?: number
}

export type TurnState = Omit<OpenTurn, 'runId' | 'turn' | 'step' | 'openMessageId' | 'calls' | 'usage' | 'resume'>

export interface RunRest {
  readonly status: TurnStatus
  readonly reason?: EndReason
  readonly error?: ModelError | AgentErrorData
}

/** A run that ended for a reason outside of the loop. */
export interface RunFailure {
  readonly code: 'crash-loop' | 'store-unavailable'
  readonly message: string
}

export interface StopRequest {
  readonly at: number
  readonly reason?: string
}

/** A row of the tool ledger: the intent of a call and its one outcome. */
export interface ToolCallRecord {
  readonly runId: string
  readonly step: number
  readonly toolCallId: string
  readonly session: string
  readonly index: number
  readonly name: string
  readonly effect: ToolEffect
  readonly idempotencyKey: string
  readonly inputHash: string
  readonly state: 'pending' | 'started' | 'remote' | 'settled'
  /** Present exactly when settled, as is `outcome`. */
  readonly status?: OutcomeStatus
  readonly outcome?: ToolResult
  /** Of a call that was answered from outside: SHA-256, base64url, of the canonical JSON of the answer as given. */
  readonly answerHash?: string
  readonly attempt: number
  readonly startedAt?: number
  readonly deadlineAt?: number
  readonly terminate?: true
  /** What the tool is given, when a hook or an approval has changed it. */
  readonly input?: JSONValue
  readonly approval?: ApprovalRecord
}

export type ApprovalRecord = CallApproval & {
  /** Of a decision that was given from outside. */
  readonly decided?: { readonly at: number; readonly by?: string }
}

export type InboxKind = 'answer' | 'decision'

/**
 * What waits to be taken by a run. An `answer` belongs to a tool call and its id is `answer:<runId>:<toolCallId>`, a
 * `decision` to an approval: `decision:<runId>:<approvalId>`.
 */
export type InboxRecord = { readonly id: string; readonly at: number } & (
  | { readonly kind: 'answer'; readonly body: InboxAnswer }
  | { readonly kind: 'decision'; readonly body: InboxDecision }
)

/** An answer as the loop takes it, and the hash that tells a repeat from another answer. */
export type InboxAnswer = { readonly toolCallId: string; readonly hash: string; readonly answer: JSONObject }

/** As the loop takes it. */
export type InboxDecision = {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  readonly reason?: string
  readonly by?: string
}

/** An event as the log gives it back: whole, and with its number. */
export type StoredEvent = DurableEvent & { readonly seq: number }
