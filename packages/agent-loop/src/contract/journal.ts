import type { AssistantMessage, Cost, JSONValue, ModelError, Usage, UserMessage } from '@bowline/llm'
import type { DeltaEvent, DurableEvent } from '../events/agent-event.ts'
import type { Compaction, CompactionTrigger } from '../events/message-events.ts'
import type { ApprovalRequest, ApprovalResolvedEvent, ChildUpdateEvent, PendingToolCall, ToolEffect, ToolResult } from '../events/tool-events.ts'
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
 * Stores the conversation of a run. The loop does not begin the work after a boundary before the commit of that boundary has
 * resolved. One run at a time uses a journal.
 */
export interface Journal {
  /** What stands written. The loop calls it once per run, before anything else. */
  load(): Promise<JournalState>
  /**
   * Must store all records or none, in call order of the commits, and give the `event` records consecutive numbers
   * from `firstSeq`. It must refuse, storing nothing, with `expect.noInputs` while inputs wait that `takeInputs` would
   * give, with `expect.nothingQueued: true` while other runs are queued after this one, and with `false` while none is.
   * Rejects with an `AgentError` `fenced` if another process owns the run by now, and with `journal-failed` for any
   * other failure. What is kept of an event must be a copy: it gets its number after the commit.
   */
  commit(records: readonly JournalRecord[], expect?: CommitExpectation): Promise<CommitOutcome>
  /** Live deltas. Must not throw, is not awaited, may lose them. */
  publish?(events: readonly DeltaEvent[]): void
  /**
   * Inputs from elsewhere, in the order of their acceptance; at most `max` of them. They stay where they are until a
   * commit confirms them with `inputs-taken`.
   */
  takeInputs?(window: Window, max: number): Promise<readonly QueuedInput[]>
  /**
   * Of the calls of steps that have ended: the row of the one that was answered from outside, by its id or that of its
   * approval. By it an answer that comes twice is known. Absent: results are compared with the transcript, and earlier
   * approvals are unknown.
   */
  findAnswered?(id: string): Promise<CallRow | undefined>
  /** Follow-ups become runs of their own. Without it the run keeps them and makes them its next turns. */
  enqueue?(input: AgentInput): Promise<Accepted>
  /** True: a compaction that is due behind the turn is only reported (`compactionDue`); `agent.compact` does it later. */
  readonly schedulesCompaction?: boolean
  /** The same object for all journals of one conversation: what a process remembers of that hangs on it. Absent: the journal itself. */
  readonly conversation?: object
  /** The journal of a subagent's conversation; the same one again for the same key. Absent: subagents cannot run. */
  child?(key: string, meta: ChildMeta): Journal
  readonly children?: ChildHost
  /** A stop request or a lost lease. `reason` is an `AbortCause`; anything else counts as a stop. */
  readonly abortSignal?: AbortSignal
}

/** Conditions of a commit. If one does not hold, the journal stores nothing and the commit resolves with `ok: false`. */
export interface CommitExpectation {
  readonly noInputs?: true
  /** True: else `runs-queued`. False: else `nothing-queued`. */
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

/** Where a subagent belongs: its name, and the run and tool call that started it. */
export interface ChildMeta {
  readonly agent: string
  readonly toolCallId: string
  readonly runId: string
}

/** Runs subagents in a journal's own way, for instance as durable runs in the background. */
export interface ChildHost {
  /** Delegate tools take a `sessionKey`. */
  readonly sessionKeys: boolean
  /** Delegate tools take `run_in_background`. */
  readonly background: boolean
  /** Made by `defineTool`: for agents that have subagents, beside the delegate tools. */
  readonly tools?: readonly { readonly name: string }[]
  /** How many agents stand above the run; absent: none. */
  readonly depth?: number
  /** How deep the agents above it let work be handed on, counted from the root. */
  readonly maxDepth?: number
  /** The setting of the run above it. */
  readonly onBudget?: 'end' | 'ask'
  /** It writes `child-start`, `child-update` and `child-end` into the log itself. Default false: the loop writes them. */
  readonly logs?: boolean
  /**
   * Given a key again it must start nothing anew, but tell what has become of the first. With a signal that is aborted
   * it must stop the subagent, or start none; a run that is only left does not abort it. What is pending is answered through the host; then the parent is run again.
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
  /** Ids of approvals that the log of the parent has told of, and not yet what became of them. */
  readonly asked: readonly string[]
  /** What binds the subagent, with all that it hands on. */
  readonly maxDepth: number
  readonly onBudget: 'end' | 'ask'
  readonly abortSignal: AbortSignal
}

/** The decision on an approval that a subagent asked for. `agent` is the path that the subagent uses. */
export type ChildDecision = Pick<ApprovalResolvedEvent, 'approvalId' | 'toolCallId' | 'decision' | 'reason' | 'editedInput' | 'by' | 'agent'>

/**
 * What became of a subagent: it ended, runs in the background (`launched`), waits for answers (`pending`), or was not started
 * because the signal was aborted. `decided` holds the decisions on approvals that the request listed in `asked`.
 */
export type ChildOutcome = { readonly decided?: readonly ChildDecision[] } & (
  | { readonly kind: 'ended'; readonly childRunId: string; readonly status: TurnStatus; readonly text: string; readonly steps: number
      readonly usage: Usage; readonly cost?: Cost; readonly error?: ModelError | AgentErrorData }
  | { readonly kind: 'launched'; readonly childRunId: string; readonly taskId: string }
  | { readonly kind: 'pending'; readonly childRunId: string; readonly pendingToolCalls: readonly PendingToolCall[]
      readonly pendingApprovals: readonly ApprovalRequest[] }
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

/** A message that the model is shown for one turn. It is in neither transcript nor log. A later record of the same input replaces the earlier one. */
export interface Overlay {
  readonly inputId: string
  readonly content: UserMessage['content']
  /** The id of the message behind which it stands; empty at the top. */
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
  /** Place among the calls of its answer, from 0. */
  readonly index: number
  readonly state: CallState
  readonly effect: ToolEffect
  /** 0 until it started, then the number of starts. */
  readonly attempt: number
  readonly idempotencyKey: string
  /** SHA-256, base64url, of the canonical JSON of the input. */
  readonly inputHash: string
  readonly startedAt?: number
  /** Of a started or remote call; of a pending one that of its approval. */
  readonly deadlineAt?: number
  /** What the tool is given, when a hook or an approval has changed it. */
  readonly input?: JSONValue
  /** Guardrails have given these before the call: they are added to its output, in whichever process it ends. */
  readonly warnings?: readonly string[]
  /** While the call waits for a decision, and behind it. */
  readonly approval?: CallApproval
  /** The row is of no call: it keeps a question about the budget of the step. */
  readonly about?: 'budget'
  /** Of a submitted result as it was given, by which a repeat is known: hooks may have changed what is stored. */
  readonly answerHash?: string
  /** Of a call that handed its work to a subagent: the key of the child's journal. */
  readonly childKey?: string
  /** Subagents of the call, and other work that its tool reports, of which the log tells. */
  readonly told?: readonly ToldChild[]
  /** What the subagent waits to have decided, as far as the log tells of it. */
  readonly asked?: readonly { readonly approvalId: string; readonly toolCallId: string }[]
  /** Present exactly when `state` is an outcome. */
  readonly outcome?: ToolResult
  /** The tool asked to end the turn after this answer. */
  readonly terminate?: true
}

/** The events about a subagent that are already in the log: its `child-start`, and those named here. */
export interface ToldChild {
  readonly childRunId: string
  /** The last `child-update`. Absent before the first one. */
  readonly update?: Pick<ChildUpdateEvent, 'step' | 'status' | 'text' | 'toolNames'>
  /** True after its `child-end`. */
  readonly ended?: true
}

/** The approval of a call, and its decision once there is one. */
export interface CallApproval {
  readonly approvalId: string
  readonly state: 'requested' | 'approved' | 'denied'
  /** Of the question; `input` is what was asked about. */
  readonly inputHash: string
  readonly input: JSONValue
  /** The hash of the tool's definition when it was asked about. Of a tool with `recheck`. */
  readonly definition?: string
  /** The id of the approval that does not count any more. */
  readonly replaces?: string
  /** The canonical JSON of decision, reason and edited input, by which a repeat is known. */
  readonly decision?: string
}

/** The state of a run as its last commit stored it. A later row replaces the earlier one. Times are in ms, `notBefore` is epoch milliseconds. */
export interface RunRow {
  readonly runId: string
  readonly state: 'running' | 'suspended' | 'ended'
  /** Present when suspended or ended. */
  readonly status?: TurnStatus
  readonly reason?: string
  readonly turn: number
  readonly step: number
  readonly usage: Usage
  readonly cost?: Cost
  /** Of the model call: 1, 2 … */
  readonly attempt: number
  /** A retry waits until then. */
  readonly notBefore?: number
  /** Once an attempt of the step has failed, until it has its answer. */
  readonly retry?: RetryRow
  /** Names that the open step offers; absent: all. */
  readonly activeTools?: readonly string[]
  /** The id of the message that the turn began with. */
  readonly inputMessageId?: string
  /** Its last step has ended, and only the end of the turn is missing. */
  readonly ending?: PendingOutcome
  /** How long the turn has run, its suspensions apart. */
  readonly elapsedMs: number
  /** The one compaction that an overflow may ask for has been used. */
  readonly overflowUsed?: true
  /** What the retries of the turn have waited in all. */
  readonly waitedMs?: number
  /** Added to the limits of the turn by decisions. */
  readonly granted?: GrantedAmounts
  /** By extension. */
  readonly extensionState?: Readonly<Record<string, JSONValue>>
  readonly compactionDue?: CompactionTrigger
  /** Behind its end, or its suspension, hooks or a compaction may store more: no other run may begin before this one is over. */
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

/** How a turn is to end. */
export interface PendingOutcome {
  readonly status: TurnStatus
  readonly reason: EndReason
  readonly error?: TurnError
  readonly receipt?: readonly CallReceipt[]
  /** A condition of the agent wants no further step, whatever comes. */
  readonly isLast?: true
}

/** Where the retries of a step stand. */
export interface RetryRow {
  /** How many the present model has had. */
  readonly count: number
  /** The place of the present model among those of the step. */
  readonly model: number
  /** Its `retry-start` has no `retry-end` yet. */
  readonly open?: true
  /** The last error of each model that has given up. */
  readonly failures?: readonly ModelError[]
}

/** Everything that a run needs to begin or to resume a turn. */
export interface JournalState {
  /** The transcript in order, without what was discarded. */
  readonly messages: readonly StoredMessage[]
  /** The number of the last durable event; 0 for an empty journal. */
  readonly seq: number
  /** Turns begun so far, the open one included. */
  readonly turns: number
  readonly open?: OpenTurn
  /** In force: it stands in the view for what came before its `firstKeptMessageId`. */
  readonly compaction?: Compaction
  /** A user message that is in the log already, and whose turn has no `turn-start` yet. */
  readonly input?: LoggedInput
  /** A journal that `child` has given must say it: its parent may not have come to see it. */
  readonly ended?: EndedTurn
  /** Tokens per character, as real usage has shown it. */
  readonly calibration?: number
}

/** The latest turn that has ended. */
export interface EndedTurn {
  readonly status: TurnStatus
  readonly steps: number
  readonly error?: TurnError
  /** Of all turns that have ended, together. */
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

/** How far an open step has come: its `step-start`, its `message-end` or its `step-end` is stored. */
export type StepProgress = 'begun' | 'answered' | 'ended'

/** A turn that has a `turn-start` and no end: it is suspended, or its process died. */
export interface OpenTurn {
  readonly runId: string
  readonly turn: number
  readonly step: number
  /** How far the step has come: after `step-start`, `message-end`, `step-end`. Absent: as the rest of the state tells. */
  readonly stepState?: StepProgress
  /** A `message-start` without its end. */
  readonly openMessageId?: string
  /** Of the open step; settled ones too, until their results are in the transcript. */
  readonly calls: readonly CallRow[]
  readonly usage: Usage
  readonly cost?: Cost
  /** Of the model call that was under way; 1 when absent, as of all that follows. */
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
  /** What the `turn-start` of the next segment says. */
  readonly resume?: { readonly cause: ResumeCause; readonly attempt: number; readonly definitionDiff?: JSONValue }
}
