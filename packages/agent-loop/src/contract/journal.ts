import type { AssistantMessage, Cost, JSONValue, ModelError, Usage, UserMessage } from '@bowline/llm'
import type { DeltaEvent, DurableEvent } from '../events/agent-event.ts'
import type { Compaction, CompactionTrigger } from '../events/message-events.ts'
import type {
  ApprovalRequest,
  ApprovalResolvedEvent,
  ChildUpdateEvent,
  PendingToolCall,
  ToolEffect,
  ToolResult,
} from '../events/tool-events.ts'
import type {
  AgentErrorData,
  CallReceipt,
  EndReason,
  InputSource,
  OutcomeStatus,
  ResumeCause,
  TurnError,
  TurnStatus,
  Window,
} from '../events/turn-events.ts'
import type { Accepted, AgentInput } from './input.ts'

/**
 * Stores the conversation of a run. The loop starts the work after a boundary only when the commit of that boundary has resolved.
 * One run at a time uses a journal.
 */
export interface Journal {
  /** Returns the stored state. The loop calls it once per run, before anything else. */
  load(): Promise<JournalState>
  /**
   * Stores all records or none, in the order of the commit calls, and gives the `event` records consecutive numbers from
   * `firstSeq`. Must store nothing and resolve with `ok: false` in these cases: with `expect.noInputs` while inputs wait that
   * `drainInputs` would return; with `expect.nothingQueued: true` while other runs are queued after this one; with
   * `expect.nothingQueued: false` while none is. Rejects with an `AgentError` `fenced` if another process owns the run by now, and
   * with `journal-failed` for any other failure. A journal that keeps an event must copy it: the event gets its number after the
   * commit.
   */
  commit(records: readonly JournalRecord[], expect?: CommitExpectation): Promise<CommitOutcome>
  /** Publishes live deltas. Must not throw, is not awaited, and may lose deltas. */
  publish?(events: readonly DeltaEvent[]): void
  /**
   * Returns inputs from elsewhere in the order of their acceptance, at most `max`. They stay in the journal until a commit confirms
   * them with `inputs-taken`.
   */
  drainInputs?(window: Window, max: number): Promise<readonly QueuedInput[]>
  /**
   * Returns the row of a call that was answered from outside in a step that has ended. `id` is the id of the call or of its
   * approval. The loop recognises repeated answers by it. Absent: results are compared with the transcript, and earlier approvals
   * are unknown.
   */
  findAnswered?(id: string): Promise<CallRow | undefined>
  /** Stores a follow-up as a run of its own. Absent: the run keeps follow-ups and makes them its next turns. */
  enqueue?(input: AgentInput): Promise<Accepted>
  /** True: a compaction that is due after the turn is only reported (`compactionDue`); `agent.compact` makes it later. */
  readonly schedulesCompaction?: boolean
  /**
   * The same object for all journals of one conversation. The process attaches to it what it remembers of the conversation. Absent:
   * the journal itself.
   */
  readonly conversation?: object
  /** Returns the journal of a subagent's conversation; the same key returns the same journal. Absent: subagents cannot run. */
  child?(key: string, meta: ChildMeta): Journal
  readonly children?: ChildHost
  /** Aborted by a stop request or a lost lease. `reason` is an `AbortCause`; any other reason counts as a stop. */
  readonly abortSignal?: AbortSignal
}

/** Conditions of a commit. If one does not hold, the journal stores nothing and the commit resolves with `ok: false`. */
export interface CommitExpectation {
  readonly noInputs?: true
  /** True: fails as `runs-queued` while other runs are queued. False: fails as `nothing-queued` while none is. */
  readonly nothingQueued?: boolean
}

/** Whether a commit stored its records. `firstSeq` is the number of its first event. `reason` names the expectation that did not hold. */
export type CommitOutcome =
  | { readonly ok: true; readonly firstSeq: number }
  | { readonly ok: false; readonly reason: 'inputs-waiting' | 'runs-queued' | 'nothing-queued' }

/** An input that waits in the journal until a turn takes it. */
export interface QueuedInput {
  readonly inputId: string
  readonly source: InputSource
  readonly input: AgentInput
}

/** The origin of a subagent: its name, and the run and tool call that started it. */
export interface ChildMeta {
  readonly agent: string
  readonly toolCallId: string
  readonly runId: string
}

/** Runs subagents in a journal's own way, for instance as durable runs in the background. */
export interface ChildHost {
  /** True: delegate tools take a `sessionKey`. */
  readonly sessionKeys: boolean
  /** True: delegate tools take `run_in_background`. */
  readonly background: boolean
  /** Further tools for agents that have subagents, besides the delegate tools. Made by `defineTool`. */
  readonly tools?: readonly { readonly name: string }[]
  /** Number of agents above the run; absent: none. */
  readonly depth?: number
  /** Greatest depth that the agents above the run allow, counted from the root. */
  readonly maxDepth?: number
  /** Setting of the run above. */
  readonly onBudget?: 'end' | 'ask'
  /**
   * True: the host writes `child-start`, `child-update` and `child-end` into the log itself. Default false: the loop writes them.
   */
  readonly logs?: boolean
  /**
   * Starts a subagent or resumes it. For a known key it must start nothing new, but return the state of the first start. If the
   * signal is aborted, it must stop the subagent, or start none; a run that only yields does not abort the signal. Pending calls
   * and approvals are answered through the host; then the parent is run again.
   */
  start(request: ChildRequest): Promise<ChildOutcome>
}

/** Asks a host to start or resume the subagent of one tool call. `key` identifies it: the same key means the same subagent. */
export interface ChildRequest {
  readonly agent: string
  readonly key: string
  readonly input: AgentInput
  readonly toolCallId: string
  readonly runId: string
  readonly turn: number
  readonly step: number
  readonly description?: string
  readonly sessionKey?: string
  readonly background: boolean
  /** Ids of approvals that the parent's log has requested but not yet resolved. */
  readonly asked: readonly string[]
  /** Limits that bind the subagent and everything that it delegates. */
  readonly maxDepth: number
  readonly onBudget: 'end' | 'ask'
  readonly abortSignal: AbortSignal
}

/** The decision on an approval that a subagent asked for. `agent` is the path that the subagent uses. */
export type ChildDecision = Pick<
  ApprovalResolvedEvent,
  'approvalId' | 'toolCallId' | 'decision' | 'reason' | 'editedInput' | 'by' | 'agent'
>

/**
 * The state of a subagent: it ended, runs in the background (`launched`), waits for answers (`pending`), or was not started because
 * the signal was aborted. `decided` holds the decisions on approvals that the request listed in `asked`.
 */
export type ChildOutcome = { readonly decided?: readonly ChildDecision[] } & (
  | {
      readonly kind: 'ended'
      readonly childRunId: string
      readonly status: TurnStatus
      readonly text: string
      readonly steps: number
      readonly usage: Usage
      readonly cost?: Cost
      readonly error?: ModelError | AgentErrorData
    }
  | { readonly kind: 'launched'; readonly childRunId: string; readonly taskId: string }
  | {
      readonly kind: 'pending'
      readonly childRunId: string
      readonly pendingToolCalls: readonly PendingToolCall[]
      readonly pendingApprovals: readonly ApprovalRequest[]
    }
  | { readonly kind: 'not-started' }
)

/** `stop` ends the turn; `yield` leaves it open for another process; `fenced` forbids any further commit. */
export interface AbortCause {
  readonly kind: 'stop' | 'yield' | 'fenced'
  readonly reason?: string
}

/**
 * One write of a commit: an event for the log, a change of the transcript, a row of the tool ledger, an overlay, the confirmation
 * of inputs, or the state of the run.
 */
export type JournalRecord =
  | { readonly type: 'event'; readonly event: DurableEvent }
  | { readonly type: 'append'; readonly message: StoredMessage }
  | { readonly type: 'discard'; readonly messageIds: readonly string[] }
  | { readonly type: 'compaction'; readonly compaction: Compaction }
  | { readonly type: 'call'; readonly call: CallRow }
  | { readonly type: 'overlay'; readonly overlay: Overlay }
  | { readonly type: 'inputs-taken'; readonly inputIds: readonly string[] }
  | { readonly type: 'run'; readonly run: RunRow }

/** A message in a journal. It always has an id. */
export type StoredMessage = (UserMessage & { readonly id: string }) | AssistantMessage | ToolResult

/**
 * A message that the model is shown for one turn. It is neither in the transcript nor in the log. A later record of the same input
 * replaces the earlier one.
 */
export interface Overlay {
  readonly inputId: string
  readonly content: UserMessage['content']
  /** Id of the message after which it is shown; empty at the top. */
  readonly anchor: string
}

/** The state of a call: `pending` (nothing happened yet), `started` (the effect may happen), `remote` (given away), or its outcome. */
export type CallState = 'pending' | 'started' | 'remote' | OutcomeStatus

/** One row of the tool ledger. The key is run, step and tool call id; a later row replaces the earlier one. */
export interface CallRow {
  readonly runId: string
  readonly step: number
  readonly toolCallId: string
  readonly toolName: string
  /** Position among the calls of its answer, from 0. */
  readonly index: number
  readonly state: CallState
  readonly effect: ToolEffect
  /** Number of starts; 0 before the first. */
  readonly attempt: number
  readonly idempotencyKey: string
  /** SHA-256, base64url, of the canonical JSON of the input. */
  readonly inputHash: string
  readonly startedAt?: number
  /** Deadline of a started or remote call; for a pending call, the deadline of its approval. */
  readonly deadlineAt?: number
  /** The input that the tool gets, if a hook or an approval has changed it. */
  readonly input?: JSONValue
  /** Warnings of guardrails before the call. They are added to its output, in whichever process the call ends. */
  readonly warnings?: readonly string[]
  /** Present from the approval request on, also after the decision. */
  readonly approval?: CallApproval
  /** Set if the row is not a call: it stores a question about the budget of the step. */
  readonly about?: 'budget'
  /** Hash of a submitted result as it was given. Identifies a repeat, because hooks may have changed the stored result. */
  readonly answerHash?: string
  /** Key of the child's journal, for a call that delegated to a subagent. */
  readonly childKey?: string
  /** Subagents of the call, and other work that its tool reported, which have events in the log. */
  readonly told?: readonly ToldChild[]
  /** Approvals that the subagent waits for, as far as the log has them. */
  readonly asked?: readonly { readonly approvalId: string; readonly toolCallId: string }[]
  /** Present exactly when `state` is an outcome. */
  readonly outcome?: ToolResult
  /** The tool asked to end the turn after this answer. */
  readonly terminate?: true
}

/** The events about a subagent that are already in the log: its `child-start`, and those named here. */
export interface ToldChild {
  readonly childRunId: string
  /** Name of the subagent, as its `child-start` has it. */
  readonly subagent: string
  /** The last `child-update`. Absent before the first one. */
  readonly update?: Pick<ChildUpdateEvent, 'step' | 'status' | 'text' | 'toolNames'>
  /** True after its `child-end`. */
  readonly ended?: true
}

/** The approval of a call, and its decision once there is one. */
export interface CallApproval {
  readonly approvalId: string
  readonly state: 'requested' | 'approved' | 'denied'
  /** Hash of the input in the question; `input` is that input. */
  readonly inputHash: string
  readonly input: JSONValue
  /** Hash of the tool's definition at the time of the question. Only for a tool with `recheck`. */
  readonly definition?: string
  /** Id of the approval that does not count any more. */
  readonly replaces?: string
  /** Canonical JSON of decision, reason and edited input. Identifies a repeat. */
  readonly decision?: string
}

/**
 * The state of a run as its last commit stored it. A later row replaces the earlier one. Times are in ms, `notBefore` is epoch
 * milliseconds.
 */
export interface RunRow {
  readonly runId: string
  readonly state: 'running' | 'suspended' | 'ended'
  /** Present if suspended or ended. */
  readonly status?: TurnStatus
  readonly reason?: string
  readonly turn: number
  readonly step: number
  readonly usage: Usage
  readonly cost?: Cost
  /** Attempt of the model call: 1, 2 … */
  readonly attempt: number
  /** Time until which a retry waits. */
  readonly notBefore?: number
  /** Present once an attempt of the step has failed, until the step has its answer. */
  readonly retry?: RetryRow
  /** Names of the tools that the open step offers; absent: all. */
  readonly activeTools?: readonly string[]
  /** The id of the message that the turn began with. */
  readonly inputMessageId?: string
  /** Present if the last step has ended and only the end of the turn is missing. */
  readonly ending?: PendingOutcome
  /** Running time of the turn, without its suspensions. */
  readonly elapsedMs: number
  /** Set once the turn has used the one compaction that an overflow may request. */
  readonly overflowUsed?: true
  /** Total wait of all retries of the turn. */
  readonly waitedMs?: number
  /** Amounts that decisions added to the limits of the turn. */
  readonly granted?: GrantedAmounts
  /** States of extensions, by extension name. */
  readonly extensionState?: Readonly<Record<string, JSONValue>>
  readonly compactionDue?: CompactionTrigger
  /**
   * Set if hooks or a compaction may store more after the end or the suspension of the run: no other run may begin before that is
   * over.
   */
  readonly followed?: true
  readonly pendingToolCalls?: readonly PendingToolCall[]
  readonly pendingApprovals?: readonly ApprovalRequest[]
  readonly error?: JSONValue
}

/** Amounts that decisions added to a budget. `cost` is an exact decimal text. */
export interface GrantedAmounts {
  readonly tokens: number
  readonly cost: string
}

/** The outcome with which a turn is going to end. */
export interface PendingOutcome {
  readonly status: TurnStatus
  readonly reason: EndReason
  readonly error?: TurnError
  readonly receipt?: readonly CallReceipt[]
  /** A condition of the agent forbids a further step, in any case. */
  readonly isLast?: true
}

/** Retry state of a step. */
export interface RetryRow {
  /** Number of retries of the current model. */
  readonly count: number
  /** Index of the current model among the models of the step. */
  readonly model: number
  /** Set while its `retry-start` has no `retry-end`. */
  readonly open?: true
  /** The last error of each model that has given up. */
  readonly failures?: readonly ModelError[]
}

/** Everything that a run needs to begin or to resume a turn. */
export interface JournalState {
  /**
   * The transcript in order, without what was discarded. If a later `load` returns the same list again, it may only have grown at
   * its end: the loop then looks only at the new messages, and a turn costs the same however long the conversation is.
   */
  readonly messages: readonly StoredMessage[]
  /** The number of the last durable event; 0 for an empty journal. */
  readonly seq: number
  /** Turns begun so far, the open one included. */
  readonly turns: number
  readonly open?: OpenTurn
  /** The compaction in force: the view shows it instead of the messages before its `firstKeptMessageId`. */
  readonly compaction?: Compaction
  /** A user message that is in the log, but whose turn has no `turn-start` yet. */
  readonly input?: LoggedInput
  /** The latest turn that has ended. A journal that `child` returned must give it: the parent may not have seen the end. */
  readonly ended?: EndedTurn
}

/** The latest turn that has ended. */
export interface EndedTurn {
  readonly status: TurnStatus
  readonly steps: number
  readonly error?: TurnError
  /** Total of all turns that have ended. */
  readonly usage: Usage
  readonly cost?: Cost
}

/** The user message of a turn that has not begun. */
export interface LoggedInput {
  readonly messageId: string
  readonly message: UserMessage
  readonly source: string
  readonly inputId?: string
}

/** Progress of an open step: its `step-start`, its `message-end` or its `step-end` is stored. */
export type StepProgress = 'begun' | 'answered' | 'ended'

/** A turn that has a `turn-start` and no end: it is suspended, or its process died. */
export interface OpenTurn {
  readonly runId: string
  readonly turn: number
  readonly step: number
  /** Progress of the step: after `step-start`, `message-end`, `step-end`. Absent: derived from the rest of the state. */
  readonly stepState?: StepProgress
  /** Id of a message that has a `message-start` but no end. */
  readonly openMessageId?: string
  /** Calls of the open step; settled calls too, until their results are in the transcript. */
  readonly calls: readonly CallRow[]
  readonly usage: Usage
  readonly cost?: Cost
  /** Attempt of the model call that was in progress. Default 1. */
  readonly attempt?: number
  readonly notBefore?: number
  readonly retry?: RunRow['retry']
  readonly activeTools?: readonly string[]
  readonly inputMessageId?: string
  readonly ending?: RunRow['ending']
  readonly elapsedMs?: number
  readonly waitedMs?: number
  readonly overflowUsed?: true
  readonly overlays?: readonly Overlay[]
  readonly granted?: GrantedAmounts
  readonly extensionState?: Readonly<Record<string, JSONValue>>
  /** Fields for the `turn-start` of the next segment. */
  readonly resume?: { readonly cause: ResumeCause; readonly attempt: number; readonly definitionDiff?: JSONValue }
}
