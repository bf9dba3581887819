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
import { statusOf } from '@bowline/agent-loop/events'
import type { RunStatus, Status } from '@bowline/agent-loop/events'
import type { Cost, JSONObject, JSONValue, ModelError, RuntimeParams, Usage } from '@bowline/llm'
import type { NoticeType } from './notices.ts'

export type { RunStatus, Status }
/** Origin of a run: an input of a user, a follow-up, a call of a parent run, a notification from a background child, or a compaction. */
export type RunKind = 'user' | 'follow-up' | 'child' | 'notification' | 'compaction'
/** Priority class in the queue of a session. Within a lane the oldest run is first; among interrupts the newest is. */
export type Lane = 'compaction' | 'interrupt' | 'follow-up' | 'queue'

/** Statuses from which a run never leaves. Every other run is open. */
export const terminalStatuses = ['completed', 'aborted', 'error', 'halted', 'limit'] as const satisfies readonly RunStatus[]
/** Status of a run that has ended. A run never leaves it. */
export type TerminalStatus = (typeof terminalStatuses)[number]
/** Somebody outside has to say something before the run can go on, or its children have to end. */
export const waitingStatuses = ['awaiting-tools', 'awaiting-approval', 'awaiting-subagent', 'needs-recovery'] as const satisfies readonly RunStatus[]
/** Statuses that hold their session: at most one run of a session may be in one of them. */
export const holdingStatuses = ['running', ...waitingStatuses] as const

/** From each status, the statuses that a run may move to. */
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

/** Returns the word for the run as it is stored. */
export function statusOfRun({ status, openMessageId, turnState }: Pick<RunRecord, 'status' | 'openMessageId' | 'turnState'>): Status {
  return statusOf(status, openMessageId === undefined && turnState?.retry?.open === true)
}

/** Stored session, as a store returns it. Times are epoch milliseconds. */
export interface SessionRecord {
  readonly key: string
  /** The incarnation: another session under the same key has another id. */
  readonly id: string
  readonly agent: string
  readonly owner?: string
  /** Status of the run that holds the session or is next, else of the run that ended last. Absent before its first run. */
  readonly status?: Status
  /** How its last run ended, compactions apart. */
  readonly outcome?: TerminalStatus
  /** Rises with every commit. */
  readonly version: number
  readonly firstSeq: number
  /** The number that the next event gets. */
  readonly nextSeq: number
  /** The number that the next run gets. */
  readonly nextRun: number
  /** How many notices it has put. Absent: none. */
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
  /** The last commit. */
  readonly activeAt: number
  /** When it expires if nothing happens until then; absent: never, or it has expired. */
  readonly expiresAt?: number
  /** When it expired: it can be read, and not written. */
  readonly expiredAt?: number
}

/** Settings that are stored when a session is created. */
export interface SessionSettings {
  readonly ttl?: SessionTtl
  readonly runtimeParams?: RuntimeParams
  readonly channel?: string
  readonly remoteTools?: readonly ToolDeclaration[]
  /** Never shown: it holds a secret. */
  readonly notify?: Webhook
}

/** A receiver of notices, over HTTPS. */
export interface Webhook {
  /** Posted to. Must begin with `https://`, or with `http://` where the runtime allows it; no user and no password. */
  readonly url: string
  /** Which notices it gets: `settled`, `awaiting-answer`, `needs-recovery`, `budget`, `expired`. At least one. */
  readonly events: readonly NoticeType[]
  /** Signs each request; at least 16 characters. Of several each signs, so that a receiver can change from one to the next. */
  readonly secret: string | readonly string[]
  /** Headers added to each request. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long a notice is tried, in milliseconds from its commit. Default 3 days. */
  readonly retentionMs?: number
}

/** Lifetime in milliseconds, from creation and from the last activity. Default: no expiry. */
export interface SessionTtl {
  readonly maxAgeMs?: number | 'never'
  readonly idleMs?: number | 'never'
}

/** One node of the transcript tree. */
export interface EntryNode {
  /** Id of its message or compaction. An entry kept after a withdrawn one is stored again, under a new id. */
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
  /** What the path said that was left: shown to the model. */
  | { readonly type: 'branch-summary'; readonly summary: BranchSummary }
  /** Text that is shown to the model. */
  | { readonly type: 'note'; readonly text: string }
  /** Never shown to the model. */
  | { readonly type: 'custom'; readonly data: JSONObject }
  /** Names an entry of its path; null takes the name away. Never shown to the model. */
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
  /** Its place in the queue of the session: the smallest is next. Made from its lane and `n`; 0 once it was given back. */
  readonly place: number
  readonly status: RunStatus
  readonly reason?: EndReason | 'crash-loop'
  /** The fencing token: one more at each claim, 0 before the first. */
  readonly epoch: number
  readonly owner?: string
  readonly leaseUntil?: number
  /** When it was claimed last. */
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
  /** The call that started the subagent, on later runs in its session. It names their agent and the root that gets their questions. */
  readonly origin?: RunParent
  /** The hash of the definition that its agent had when it began. */
  readonly definition?: string
  /** The turn it is; absent before its `turn-start`. */
  readonly turn?: number
  readonly step: number
  /** A `message-start` without its end. */
  readonly openMessageId?: string
  readonly stop?: StopRequest
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** A call of a run below was answered since the run came to wait. The log of the root may still name the call. */
  readonly answeredBelow?: true
  /** Loop state of the open turn that has no field of its own. */
  readonly turnState?: TurnState
  /** Final status of the run, while its last records after the end of the turn are not stored yet. */
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
  /** How deep the agents above it let work be handed on, counted from the root. */
  readonly maxDepth: number
  /** A run above it asks for more budget: so does it. */
  readonly onBudget?: 'ask'
  readonly description?: string
  /** Task id of a background child. */
  readonly taskId?: string
}

/** Loop state of an open turn beyond the other fields of the run record. */
export type TurnState = Omit<OpenTurn, 'runId' | 'turn' | 'step' | 'openMessageId' | 'calls' | 'usage' | 'resume'> & {
  /** Of a child: what it has cost by itself so far, its own children apart. It is told to the sessions above when it ends. */
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
  /** Present exactly when settled, as is `outcome`. */
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
  /** Guardrails have given these before the call. */
  readonly warnings?: readonly string[]
  readonly approval?: ApprovalRecord
  /** The row is of no call: it keeps a question about the budget of the step. */
  readonly about?: NonNullable<CallRow['about']>
  /** Key of the child session, if the call delegated its work. */
  readonly childKey?: string
  /** Subagents of the call of which the run has told in the log. Absent where subagents write their events themselves. */
  readonly told?: NonNullable<CallRow['told']>
  /** Questions of the subagent, as far as the log names them. */
  readonly asked?: NonNullable<CallRow['asked']>
}

/** Approval of a call, with the external decision if there was one. `at` is epoch milliseconds. */
export type ApprovalRecord = CallApproval & {
  /** Of a decision that was given from outside. */
  readonly decided?: { readonly at: number; readonly by?: string }
}

/** Kind of an inbox row: an input, an answer, a decision, or a message from a child run. */
export type InboxKind = InboxRecord['kind']

/** Rows that wait for a run to take them. A `taken` row waits for nothing: it tells repeats. */
export const waitingKinds: readonly InboxKind[] = ['answer', 'decision', 'steer', 'overlay', 'child-settled', 'child-changed']

/**
 * A row of the inbox. Ids: `answer:<runId>:<toolCallId>`, `decision:<runId>:<approvalId>`, `child:<runId>:…`. `child-changed`
 * tells a waiting run that a child has ended or asks a question.
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

/** `hash`: of an input whose sender has named it. A repeat is known by it, also when the input was taken. */
export type InboxInput = { readonly inputId: string; readonly hash?: string; readonly input: JSONValue }

/** An input for the run that is active when it is accepted, and for no other one. Its row is `steer:<inputId>`. */
export type InboxSteering = InboxInput & { readonly runId: string }

/** What stays of a named input, under the id of its row, when a run has taken it. */
export type InboxTaken = { readonly inputId: string; readonly hash: string; readonly runId: string }

/** An input for the model in the next turns. It is not part of the transcript. */
export type InboxOverlay = InboxInput & {
  /** Turns that are still to see it. */
  readonly turns: number
  /** The run that has seen it last. */
  readonly takenBy?: string
}

/** Message that a background child has ended or needs help. */
export type ChildSettled = {
  readonly taskId: string
  readonly runId: string
  /** The parent run: children of one run are announced together. */
  readonly group: string
  readonly agent: string
  readonly status: RunStatus
  readonly description?: string
}

/** An answer in the form of the loop, with the hash that distinguishes a repeat from another answer. */
export type InboxAnswer = { readonly toolCallId: string; readonly hash: string; readonly answer: JSONObject }

/** A decision about an approval, in the form of the loop. */
export type InboxDecision = {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  /** What the call is to run with instead of what was asked about. */
  readonly input?: JSONValue
  readonly reason?: string
  readonly by?: string
}

/** Kind of a timer. `deadline`: ends the wait for the answer in the body. `schedule`: sends the input in the body. */
export type TimerKind = 'deadline' | 'schedule'

/** An action of a session that is due at a time. The commit that has its effect deletes it. */
export interface TimerRecord {
  readonly id: string
  readonly session: string
  readonly kind: TimerKind
  /** Null: it is kept, and never due. */
  readonly dueAt: number | null
  readonly body: JSONObject
}

/** A complete event of the log, with its number. */
export type StoredEvent = DurableEvent & { readonly seq: number }
