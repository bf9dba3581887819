import type {
  AgentErrorData,
  ApprovalRequest,
  CallApproval,
  CallRow,
  Compaction,
  DurableEvent,
  EndReason,
  OpenTurn,
  OutcomeStatus,
  PendingToolCall,
  StoredMessage,
  ToolDeclaration,
  ToolEffect,
  ToolResult,
  TurnStatus,
} from '@bowline/agent-loop'
import type { RunStatus, Status } from '@bowline/agent-loop/events'
import type { Cost, JSONObject, JSONValue, ModelError, RuntimeParams, Usage } from '@bowline/llm'
import type { NoticeType } from './notices.ts'

export type { RunStatus, Status }
/** Origin of a run: an input of a user, a follow-up, a call of a parent run, a notification from a background child, or a compaction. */
export type RunKind = 'user' | 'follow-up' | 'child' | 'notification' | 'compaction'
/** Priority class in the queue of a session. Within a lane the oldest run is first; in `interrupt` the newest is. */
export type Lane = 'compaction' | 'interrupt' | 'follow-up' | 'queue'

/** Statuses of runs that have ended. All other runs are open. */
export const terminalStatuses = ['completed', 'aborted', 'error', 'halted', 'limit'] as const satisfies readonly RunStatus[]
/** Status of a run that has ended. A run never leaves it. */
export type TerminalStatus = (typeof terminalStatuses)[number]
/** Statuses in which a run waits for an answer or decision from outside, or for its children. */
export const waitingStatuses = [
  'awaiting-tools',
  'awaiting-approval',
  'awaiting-subagent',
  'needs-recovery',
] as const satisfies readonly RunStatus[]
/** Statuses that hold their session: at most one run of a session may be in one of them. */
export const holdingStatuses = ['running', ...waitingStatuses] as const

/** Allowed moves: for each status, the statuses that a run may move to next. */
export const runMoves: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  queued: ['running', 'aborted'],
  running: ['running', 'queued', ...waitingStatuses, ...terminalStatuses],
  'awaiting-tools': ['queued', 'awaiting-subagent', 'aborted'],
  'awaiting-approval': ['queued', 'awaiting-subagent', 'aborted'],
  'awaiting-subagent': ['queued', 'aborted'],
  'needs-recovery': ['queued', 'aborted'],
  completed: [],
  aborted: [],
  error: [],
  halted: [],
  limit: [],
}

/** Stored session, as a store returns it. Times are epoch milliseconds. */
export interface SessionRecord {
  readonly key: string
  /** Id of the incarnation. A later session under the same key has another id. */
  readonly id: string
  readonly agent: string
  readonly owner?: string
  /** Status of the run that holds the session or is next, else of the run that ended last. Absent before its first run. */
  readonly status?: Status
  /** Final status of the last ended run. Compactions do not count. */
  readonly outcome?: TerminalStatus
  /** Rises with every commit. */
  readonly version: number
  readonly firstSeq: number
  /** The number that the next event gets. */
  readonly nextSeq: number
  /** The number that the next run gets. */
  readonly nextRun: number
  /** Number of notices created so far. Absent: none. */
  readonly notices?: number
  /** The entry at the end of the active path; null for an empty transcript. */
  readonly leaf: string | null
  /** Turns begun so far. */
  readonly turns: number
  /** Tokens of its own runs. */
  readonly usage: Usage
  readonly cost?: Cost
  /** Tokens of its child runs at every depth. */
  readonly childUsage: Usage
  readonly childCost?: Cost
  readonly metadata: JSONObject
  readonly settings: SessionSettings
  /** Key of the session that delegated work to this child session. */
  readonly parent?: string
  readonly forkedFrom?: { readonly key: string; readonly entryId: string | null }
  readonly createdAt: number
  /** Time of the last commit that created the session or added a run. Other commits move it at most once a minute. */
  readonly activeAt: number
  /** Time at which it expires without further activity. Absent: it never expires, or has expired. */
  readonly expiresAt?: number
  /** Time at which it expired. It can be read but not written. */
  readonly expiredAt?: number
}

/** Settings that are stored when a session is created. */
export interface SessionSettings {
  readonly ttl?: SessionTtl
  readonly runtimeParams?: RuntimeParams
  readonly channel?: string
  readonly remoteTools?: readonly ToolDeclaration[]
  /** Never returned to callers, because it holds a secret. */
  readonly notify?: Webhook
}

/** An endpoint that receives notices over HTTPS. */
export interface Webhook {
  /** URL of the POST requests. Must begin with `https://`, or `http://` if the runtime allows it; without user and password. */
  readonly url: string
  /** Notice types to send: `settled`, `awaiting-answer`, `needs-recovery`, `budget`, `expired`. At least one. */
  readonly events: readonly NoticeType[]
  /** Signing secrets of at least 16 characters. With several, each signs every request, so that secrets can be rotated. */
  readonly secret: string | readonly string[]
  /** Headers added to each request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Time for which delivery is retried, in ms from the commit. Default 3 days. */
  readonly retentionMs?: number
}

/** Lifetime in milliseconds, from creation and from the last activity. Default: no expiry. */
export interface SessionTtl {
  readonly maxAgeMs?: number | 'never'
  readonly idleMs?: number | 'never'
}

/** One node of the transcript tree. */
export interface EntryNode {
  /** Id of its message or compaction. If an entry before it is withdrawn, it is stored again under a new id. */
  readonly id: string
  readonly n: number
  readonly parentId: string | null
  readonly at: number
  readonly runId?: string
}

/** An entry of the transcript tree with its content. */
export type EntryRecord = EntryNode & (EntryBody | { readonly type: 'message'; readonly message: StoredMessage })

/** Content of an entry that is not a message. */
export type EntryBody =
  | { readonly type: 'compaction'; readonly compaction: Compaction }
  /** Summary of the path that was left. Shown to the model. */
  | { readonly type: 'branch-summary'; readonly summary: BranchSummary }
  /** Text that is shown to the model. */
  | { readonly type: 'note'; readonly text: string }
  /** Never shown to the model. */
  | { readonly type: 'custom'; readonly data: JSONObject }
  /** Names an entry of its path; null removes the name. Never shown to the model. */
  | { readonly type: 'label'; readonly label: { readonly entryId: string; readonly text: string | null } }

/** Summary of a path that was left: its text, its last entry, and the entry that both paths share. */
export interface BranchSummary {
  readonly text: string
  readonly fromLeaf: string
  readonly commonAncestor: string | null
}

/** Stored run, as a store returns it. Times are epoch milliseconds. */
export interface RunRecord {
  readonly id: string
  readonly session: string
  /** Order of acceptance in the session, from 1. */
  readonly n: number
  /** Number of its first event: the next event number of the session when the run was inserted. */
  readonly firstSeq: number
  readonly kind: RunKind
  /**
   * Position in the queue of the session: the smallest is next. Made from lane and `n`; 0 if the run is queued again after its
   * turn has begun.
   */
  readonly place: number
  readonly status: RunStatus
  readonly reason?: EndReason | 'crash-loop'
  /** Fencing token: rises by one with each claim; 0 before the first. */
  readonly epoch: number
  readonly owner?: string
  readonly leaseUntil?: number
  /** Time of the last claim. */
  readonly claimedAt?: number
  /** Time before which neither this run nor the runs after it may be claimed. */
  readonly notBefore?: number
  /** Claims after a loss since the last commit that made progress. */
  readonly attempts: number
  readonly totalAttempts: number
  readonly inputId?: string
  readonly inputHash: string
  readonly input: JSONValue
  readonly options?: RunOptionsRecord
  /** The call that started a child run. */
  readonly parent?: RunParent
  /** On later runs of a child session: the call that started the subagent. It names the agents and the root session that gets questions. */
  readonly origin?: RunParent
  /** Hash of the definition of its agent when the run began. */
  readonly definition?: string
  /** Number of its turn; absent before `turn-start`. */
  readonly turn?: number
  readonly step: number
  /** Id of a message that has a `message-start` but no end yet. */
  readonly openMessageId?: string
  readonly stop?: StopRequest
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** A call of a run below was answered while this run waited. The log of the root may still list the call as pending. */
  readonly answeredBelow?: true
  /** Loop state of the open turn that no other field holds. */
  readonly turnState?: TurnState
  /** Status with which the turn ended or was suspended, until the last records after that are stored. */
  readonly rest?: RunRest
  readonly error?: ModelError | AgentErrorData | RunFailure
  readonly usage: Usage
  readonly cost?: Cost
  readonly createdAt: number
  readonly startedAt?: number
  readonly endedAt?: number
}

/** Stored options of an input that affect the execution of its run. */
export interface RunOptionsRecord {
  readonly runtimeParams?: RuntimeParams
  /** JSON Schema of the final answer. */
  readonly output?: JSONObject
}

/** The call of a parent run that started a child run, with its position in the tree of agents. */
export interface RunParent {
  /** The key of the session that the parent run belongs to. */
  readonly session: string
  readonly runId: string
  readonly toolCallId: string
  /** Turn of the call in the log of that session. */
  readonly turn: number
  readonly step: number
  /** Names of the agents from the root's child down to this one. */
  readonly path: readonly string[]
  /** The session at the root of the tree, and its agent. */
  readonly root: string
  readonly rootAgent: string
  /** Highest depth of delegation that the agents above it allow, counted from the root. */
  readonly maxDepth: number
  /** Set if a run above asks for more budget at a limit: then this run asks too. */
  readonly onBudget?: 'ask'
  readonly description?: string
  /** Task id of a background child. */
  readonly taskId?: string
}

/** Loop state of an open turn beyond the other fields of the run record. */
export type TurnState = Omit<OpenTurn, 'runId' | 'turn' | 'step' | 'openMessageId' | 'calls' | 'usage' | 'resume'> & {
  /** For a child run: its own usage and cost so far, without its children. Added to the sessions above when it ends. */
  readonly spent?: RunSpending
}

export interface RunSpending {
  readonly usage: Usage
  readonly cost?: Cost
}

/** Final status of a run whose last records are not stored yet. */
export interface RunRest {
  readonly status: TurnStatus
  readonly reason?: EndReason
  readonly error?: ModelError | AgentErrorData
}

/** Error of a run that ended for a reason outside of the agent loop. */
export interface RunFailure {
  readonly code: 'crash-loop' | 'store-unavailable' | 'definition-changed'
  readonly message: string
}

/** A stored request to stop a run. `at` is epoch milliseconds. */
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
  /** Set if and only if the call is settled, as is `outcome`. */
  readonly status?: OutcomeStatus
  readonly outcome?: ToolResult
  /** Hash of an external answer: SHA-256, base64url, of its canonical JSON as given. */
  readonly answerHash?: string
  readonly attempt: number
  readonly startedAt?: number
  readonly deadlineAt?: number
  readonly terminate?: true
  /** Input of the tool, if a hook or an approval has changed it. */
  readonly input?: JSONValue
  /** Warnings that guardrails gave before the call. */
  readonly warnings?: readonly string[]
  readonly approval?: ApprovalRecord
  /** Set if the row is not a call but a question about the budget of the step. */
  readonly about?: NonNullable<CallRow['about']>
  /** Key of the child session, if the call delegated its work. */
  readonly childKey?: string
  /** Subagents of the call that the run has announced in the log. Absent if subagents write their events themselves. */
  readonly told?: NonNullable<CallRow['told']>
  /** Questions of the subagent that the log names so far. */
  readonly asked?: NonNullable<CallRow['asked']>
}

/** Approval of a call, with the external decision if there was one. `at` is epoch milliseconds. */
export type ApprovalRecord = CallApproval & {
  /** Time and author of a decision from outside. */
  readonly decided?: { readonly at: number; readonly by?: string }
}

/** Kind of an inbox row: an input, an answer, a decision, or a message from a child run. */
export type InboxKind = InboxRecord['kind']

/** Kinds of rows that wait for a run. A `taken` row does not wait: it only detects repeats. */
export const waitingKinds: readonly InboxKind[] = ['answer', 'decision', 'steer', 'overlay', 'child-settled', 'child-changed']

/**
 * A row of the inbox. Ids: `answer:<runId>:<toolCallId>`, `decision:<runId>:<approvalId>`, `child:<runId>:…`. `child-changed`
 * notifies a waiting run that a child has ended or asks a question.
 */
export type InboxRecord = { readonly id: string; readonly at: number } & (
  | { readonly kind: 'answer'; readonly body: InboxAnswer }
  | { readonly kind: 'decision'; readonly body: InboxDecision }
  | { readonly kind: 'steer'; readonly body: InboxSteering }
  | { readonly kind: 'overlay'; readonly body: InboxOverlay }
  | { readonly kind: 'taken'; readonly body: InboxTaken }
  | { readonly kind: 'child-settled'; readonly body: ChildSettled }
  | { readonly kind: 'child-changed'; readonly body: { readonly runId: string } }
)

/** A stored input. `hash` is set if the sender gave an id: it identifies a repeat, even after the input was taken. */
export type InboxInput = { readonly inputId: string; readonly hash?: string; readonly input: JSONValue }

/** An input for the run that is active when it is accepted. No other run takes it. Its row is `steer:<inputId>`. */
export type InboxSteering = InboxInput & { readonly runId: string }

/** Remainder of a named input after a run has taken it. It keeps the id of the row. */
export type InboxTaken = { readonly inputId: string; readonly hash: string; readonly runId: string }

/** An input for the model in the next turns. It is not part of the transcript. */
export type InboxOverlay = InboxInput & {
  /** Number of turns in which it is still shown. */
  readonly turns: number
  /** Id of the last run that has seen it. */
  readonly takenBy?: string
}

/** Notification that a background child has ended or needs help. */
export type ChildSettled = {
  readonly taskId: string
  readonly runId: string
  /** Id of the parent run. Children of one run are announced together. */
  readonly group: string
  readonly agent: string
  readonly status: RunStatus
  readonly description?: string
}

/** An answer in the format of the agent loop. The hash distinguishes a repeat from a different answer. */
export type InboxAnswer = { readonly toolCallId: string; readonly hash: string; readonly answer: JSONObject }

/** A decision about an approval, in the format of the agent loop. */
export type InboxDecision = {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  /** Input for the call, instead of the input that was shown for approval. */
  readonly input?: JSONValue
  readonly reason?: string
  readonly by?: string
}

/** Kind of a timer. `deadline`: ends the wait for the answer in the body. `schedule`: sends the input in the body. */
export type TimerKind = 'deadline' | 'schedule'

/** A timed action of a session. The commit that applies its effect deletes it. */
export interface TimerRecord {
  readonly id: string
  readonly session: string
  readonly kind: TimerKind
  /** Due time; null: the timer is kept but never due. */
  readonly dueAt: number | null
  readonly body: JSONObject
}

/** A complete event of the log, with its number. */
export type StoredEvent = DurableEvent & { readonly seq: number }
