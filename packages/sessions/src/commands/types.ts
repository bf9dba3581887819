import type { AgentErrorData, AgentInput, ApprovalRequest, EndReason, OutcomeStatus, PendingToolCall, StoredMessage, SubmissionReceipt, SubmittedResult, ToolReturnValue, TurnStatus } from '@bowline/agent-loop'
import type { AssistantMessage, Cost, Decimal, JSONObject, JSONValue, ModelError, RuntimeParams, Usage } from '@bowline/llm'
import type { LogEvents, LoggedEvent } from '../contract/log-events.ts'
import type { Page, PageRequest } from '../contract/paging.ts'
import type { RunFailure, RunKind, RunStatus, Status, TerminalStatus } from '../contract/records.ts'
import type { RunsQuery } from '../contract/session-store.ts'
import type { ScheduleInfo, ScheduleOptions, SessionSchedules } from './schedules/types.ts'
import type { Branch, CompactOptions, ExportOptions, ForkOptions, Label, StoredCompaction, SwitchOptions } from './tree/types.ts'

/** A handle of one session: its transcript, its queue of runs and its log. It does no I/O until a method is called. */
export interface Session {
  readonly key: string
  /** Creates the session if it does not exist. Resolves with its facts once they are stored. */
  open(): Promise<SessionInfo>
  /** Resolves with the facts of the session, or with null if it does not exist or belongs to another owner. */
  info(): Promise<SessionInfo | null>
  /**
   * Queues an input as a new run. Resolves once the input is durable; creates the session if there is none. Throws
   * `invalid-input`, `id-reused`, `busy` (with `onBusy: 'reject'`) and `queue-full`; then nothing was written.
   */
  send(input: AgentInput, options?: SendOptions): Promise<RunHandle>
  /** Adds an input to the active run, before its next model call. If no run is active, it does the same as `send`. */
  steer(input: AgentInput, options?: InputOptions): Promise<RunHandle>
  /** Queues an input as a turn of its own, after the active run and before the inputs that wait. */
  followUp(input: AgentInput, options?: InputOptions): Promise<RunHandle>
  /** Shows an input to the model in the next turns without adding it to the transcript. Starts no run. */
  overlay(input: AgentInput, options?: OverlayOptions): Promise<void>
  /**
   * Requests a stop and waits up to `waitMs` for the end of the run. The request is durable before anything is aborted. If no
   * run is open, the state is `nothing-to-stop`.
   */
  stop(options?: StopOptions): Promise<StopReceipt>
  /**
   * Must check the submission as a whole before anything is stored: `invalid-input`, `unknown-tool-call` and
   * `tool-result-conflict` refuse all of it. A result may hold the fields of its pending call (`{ ...call, output }`), which
   * must agree with the call that waits. The last open answer queues the run in the same commit.
   */
  submitToolResults(results: readonly SubmittedResult[], options?: SubmitOptions): Promise<SubmissionReceipt & { readonly run: RunHandle }>
  /**
   * Lets a call run whose approval was asked for. Must be durable before it resolves; the last open answer of the run
   * queues it in the same commit. The same decision again gives the first receipt, another one is refused with
   * `approval-conflict`. While the run still does something else, it resolves when the run waits.
   */
  approve(approvalId: string, options?: DecisionOptions): Promise<ApprovalReceipt>
  /**
   * Gives a run more that asks about its budget (`about: 'budget'`): each of its budgets without room gets the amount. As
   * `approve` with the amount as `input`; `deny` ends the run as `limit`.
   */
  grant(approvalId: string, amount: GrantOptions): Promise<ApprovalReceipt>
  /** Ends the call as `denied`; otherwise as `approve`. */
  deny(approvalId: string, options?: DecisionOptions): Promise<ApprovalReceipt>
  /** Sets the outcome of a call whose outcome is unknown, and queues the run in the same commit. Repeatable. */
  resolveTool(toolCallId: string, resolution: ToolResolution, options?: { readonly path?: readonly string[] }): Promise<RunHandle>
  /**
   * Continues or stops a run that waits because its agent definition has changed: one of this session, or of a subagent at any
   * depth, as `heldRuns` names it. Resolves with the handle of this session's own run.
   */
  recover(runId: string, decision: 'continue' | 'stop'): Promise<RunHandle>
  /** Ends all open work at once, in whichever process, and closes this handle. */
  kill(options?: { readonly reason?: string }): Promise<StopReceipt>
  /** Kills, and removes everything but the numbers that go on under the key. Readers end with `session-end`. */
  delete(): Promise<void>
  /**
   * Sends an input at the times of a rule until it is deleted: one per time, however many processes there are. Makes the
   * session if there is none. Throws `invalid-input`, also for the 101st of a session, and `id-reused`.
   */
  schedule(options: ScheduleOptions): Promise<ScheduleInfo>
  /** Lists, pauses, resumes and deletes them. A kill pauses them all; they end with the session. */
  readonly schedules: SessionSchedules
  /** One JSON record of the session's own. */
  readonly state: SessionState
  /** Resolves with tokens and money of the session and of its subagents. */
  usage(): Promise<UsageReport>
  /**
   * Creates a session with a copy of the path to an entry (default: the end of the active path). Afterwards both are
   * independent. Throws `busy` while a run is open, `unknown-entry`, `invalid-input` for an entry between a call and its
   * result, and `conflict` if a session has the key already.
   */
  fork(options?: ForkOptions): Promise<Session>
  /**
   * Moves the active path to another entry (null: before the first one) and deletes nothing. Throws as `fork` does. With
   * `summarize`, a summary of the path that is left follows the entry; if it fails, it throws `summary-failed` and nothing has
   * changed.
   */
  switchTo(entryId: string | null, options?: SwitchOptions): Promise<SessionInfo>
  /** Lists the ends of all paths, in order of creation. */
  branches(page?: PageRequest): Promise<Page<Branch>>
  /** Names an entry of the active path; null takes the name away. Throws `busy`, `unknown-entry`, `invalid-input`. */
  label(entryId: string, text: string | null): Promise<void>
  /** Lists the labels of the active path, or of the path to `leaf`, in order of creation. */
  labels(options?: { readonly leaf?: string }): Promise<readonly Label[]>
  /**
   * Has the model summarise the older part of the active path; all messages stay readable. Resolves when a runtime has done
   * it; inputs queue after it. A failed or stopped summary changes nothing and is told by the outcome. Throws `busy`.
   */
  compact(options?: CompactOptions): Promise<StoredCompaction>
  /** The active path, or the whole tree, as lines of JSON for `importSession`, each without its line feed. */
  export(options?: ExportOptions): AsyncIterable<string>
  /**
   * The log from a cursor on (a string is a cursor; default: from the first event), then live. Ends only without `live`, by
   * the abort signal, or, with `runId`, when that run waits or ends.
   */
  events(options?: string | EventsOptions): LogEvents
  /** The active path, oldest first within the page; the newest page comes first and `before` gives older ones. */
  messages(options?: MessagesOptions): Promise<Page<StoredMessage> & { readonly cursor: string }>
  /** A page may hold fewer runs than its limit; more follow as long as it has `next`. */
  runs(query?: RunsQuery): Promise<Page<RunInfo>>
}

/** The read-only methods of a session. */
export type SessionReader = Pick<Session, 'key' | 'info' | 'usage' | 'events' | 'messages' | 'runs' | 'branches' | 'labels' | 'export'>

/** Options of one `send`: idempotency, queueing, run parameters and reading mode. Times are in milliseconds. */
export interface SendOptions {
  /** Idempotency id, 1–200 bytes, scoped to the session: equal content gives the same run, other content `id-reused`. */
  readonly id?: string
  /** Action while a run is open. Default: `onBusy` of the runtime, else `queue`. */
  readonly onBusy?: OnBusy
  /** Bound of the queue, this run included; above it the input is refused with `queue-full`. Default and maximum: 1,000. */
  readonly maxQueued?: number
  /** Model parameters of this run. They override those of the agent. */
  readonly runtimeParams?: RuntimeParams
  /** JSON Schema of an object for the final answer of this run. Replaces the agent's. Stored with the run. */
  readonly output?: JSONObject
  /** Holds the run, and the runs queued after it, until this time (epoch milliseconds). */
  readonly notBefore?: number
  /**
   * `synchronized`: while this process executes the run, it waits at each turn-start, step-start and step-end until the reader
   * of the handle asks for the next event, ends its iteration, or `driverTimeoutMs` passes. Default `live`: the run waits for
   * no reader.
   */
  readonly mode?: 'live' | 'synchronized'
  /** Longest wait for the reader in mode `synchronized`, in milliseconds. Default 30,000. */
  readonly driverTimeoutMs?: number
}

/** Options of `steer` and `followUp`: the idempotency id and the bound of the queue. */
export interface InputOptions {
  /** Idempotency id, 1–200 bytes, scoped to the session. */
  readonly id?: string
  /** If the input becomes a run: the bound of the queue, as in `send`. */
  readonly maxQueued?: number
}

/** Options of `overlay`: the idempotency id and the number of turns. */
export interface OverlayOptions extends Pick<InputOptions, 'id'> {
  /** How many of the next turns see it. Default 1. */
  readonly turns?: number
}

/**
 * Action on an input while a run is open. `queue`: wait after the queued runs. `steer`: add to the active run. `interrupt`:
 * stop the active run and go before the queue. `reject`: throw `busy`.
 */
export type OnBusy = 'queue' | 'steer' | 'interrupt' | 'reject'

/** Target, scope and waiting time (ms) of a `stop`. */
export interface StopOptions {
  /** A run of this session or of a subagent below it, such as `childRunId` of `child-start`. Default: the open run that came first. */
  readonly runId?: string
  /** `all` stops the queued runs too. Default `active`. */
  readonly scope?: 'active' | 'all'
  /** Stored with the end of the run, for people. */
  readonly reason?: string
  /** How long to wait for the end; then the receipt is `pending`. Default 10,000; 0 answers at once. */
  readonly waitMs?: number
}

/** Options of `submitToolResults`: whether results may settle calls with an unknown outcome. */
export interface SubmitOptions {
  /** False: a call whose outcome is unknown is left to `resolveTool`, and refused as `unknown-tool-call`. Default true. */
  readonly unknownOutcomes?: boolean
}

/** Result of a stop or kill. `calls` are the tool calls of the stopped run, each with its final status. */
export interface StopReceipt {
  readonly runId: string | null
  readonly state: 'settled' | 'pending' | 'nothing-to-stop'
  readonly status?: Status
  readonly calls: readonly { readonly toolCallId: string; readonly toolName: string; readonly status: OutcomeStatus | 'running' }[]
  readonly children: readonly StopReceipt[]
}

/**
 * Exactly one outcome; `output` has the form of a tool's return value. Fields of the pending call may be given too, as in `{
 * ...call, output }`, and must match it.
 */
export type ToolResolution =
  | { readonly result: JSONValue }
  | { readonly output: ToolReturnValue['output']; readonly details?: JSONValue; readonly isError?: boolean }
  | { readonly error: string }
  | { readonly runAgain: true }
  | { readonly unknown: true }

/** Details of an approval or denial: checked input, replaced input, reason and person. */
export interface DecisionOptions {
  /** Hash of the input that the person saw. If the question is about another one: `approval-conflict`. */
  readonly inputHash?: string
  /** For an approval: replaces the input of the call. Must match the schema of the tool. */
  readonly input?: JSONValue
  /** The model is told why a call was denied. */
  readonly reason?: string
  /** The person or system that decides. */
  readonly by?: string
}

export interface GrantOptions {
  /** Input and output together. */
  readonly tokens?: number
  /** In the currency of the prices. */
  readonly cost?: Decimal
  readonly reason?: string
  /** Who decides. */
  readonly by?: string
}

/** The stored decision about an approval. `at` is epoch milliseconds. */
export interface ApprovalReceipt {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  readonly by?: string
  readonly at: number
  /** It was decided so before; the receipt is the first one. */
  readonly repeated: boolean
  /** Approval ids of the run that are still open. */
  readonly missing: readonly string[]
}

/** Tokens and money of a session: its own runs, its subagents at every depth, and the sum of both. */
export interface UsageReport {
  readonly own: Spent
  readonly children: Spent
  readonly total: Spent
}

/** Tokens, and their cost in one currency. */
export interface Spent {
  readonly usage: Usage
  /** Sum of the known prices. Absent if none is known. */
  readonly cost?: Cost
}

/** Start, end and buffer size of a reader of the log. */
export interface EventsOptions {
  /** Starts after this position. Default: the beginning of the log. */
  readonly cursor?: string
  /** Default true. False ends at the present end of the log, `so-far` after the deltas that this process has beyond it. */
  readonly live?: boolean | 'so-far'
  /** Only until this run waits for outside help or ends. */
  readonly runId?: string
  /** Aborting it ends the reading. */
  readonly abortSignal?: AbortSignal
  /** Bytes buffered in memory for this reader. If it is slower, it continues from the store. Default and maximum: 1 MiB. */
  readonly bufferBytes?: number
}

/** Path and page of `messages()`. */
export interface MessagesOptions {
  /** The path to this entry. Default: the active one. */
  readonly leaf?: string
  /** Only entries older than this one. */
  readonly before?: string
  /** Default 100, at most 1,000. */
  readonly limit?: number
}

/** One run, in whichever process it is executed. Iterating reads its events from the first one on. */
export interface RunHandle extends AsyncIterable<LoggedEvent> {
  readonly runId: string
  readonly session: Session
  readonly accepted: 'queued' | 'steered' | 'duplicate'
  status(): Promise<Status>
  /** Events from the run's first one (or the cursor) to the `turn-end` and `save-point` with which it waits or ends. */
  events(options?: Pick<EventsOptions, 'cursor' | 'abortSignal' | 'bufferBytes'>): LogEvents
  /** Settles when the run ends or waits for outside help; never rejects for a failed run. */
  result(): Promise<RunResult>
  stop(options?: { readonly reason?: string; readonly waitMs?: number }): Promise<StopReceipt>
}

/** Outcome of a run when it ends or waits for an answer: status, new messages, output, usage and cost. */
export interface RunResult {
  readonly runId: string
  readonly status: RunStatus
  readonly reason?: EndReason | 'crash-loop'
  /** Messages that the run has added to the active path, its input first. */
  readonly messages: readonly StoredMessage[]
  /** The last answer. */
  readonly message?: AssistantMessage
  /** Text of the last answer. With an output schema: the output as JSON. */
  readonly text: string
  /** Final answer parsed by the output schema. Only if the agent has one and the run is `completed`. */
  readonly output?: JSONValue
  readonly error?: ModelError | AgentErrorData | RunFailure
  readonly usage: Usage
  readonly cost?: Cost
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** The same as `RunInfo.heldRuns`. */
  readonly heldRuns?: readonly HeldRun[]
}

/** Facts of a session at one commit. Times are epoch milliseconds. */
export interface SessionInfo {
  readonly key: string
  readonly agent: string
  /** Status of the run that holds the session or is next, else of the run that ended last. Absent before its first run. */
  readonly status?: Status
  /** How its last run ended, compactions apart. */
  readonly outcome?: TerminalStatus
  readonly leaf: string | null
  readonly version: number
  readonly cursor: string
  readonly openRun?: RunInfo
  readonly queued: number
  /** Tokens of its own runs, without subagents. */
  readonly usage: Usage
  /** Cost of its own runs, as far as prices are known. */
  readonly cost?: Cost
  /** Tokens and cost of its subagents at every depth, background work included. */
  readonly children: Spent
  /** Sum of its own runs and its subagents. */
  readonly total: Spent
  readonly metadata: JSONObject
  /** The session that handed work to this one. */
  readonly parent?: string
  /** Session and entry that a fork was copied from. */
  readonly forkedFrom?: { readonly key: string; readonly entryId: string | null }
  readonly createdAt: number
  readonly activeAt: number
  /** Time at which it expires without further activity. */
  readonly expiresAt?: number
  /** Time at which it expired. An expired session is read-only. */
  readonly expiredAt?: number
}

/** Facts of a run at one commit. Times are epoch milliseconds. */
export interface RunInfo {
  readonly runId: string
  readonly session: string
  readonly kind: RunKind
  readonly status: Status
  /** How its last segment ended; absent while it is queued or running. */
  readonly outcome?: TurnStatus
  readonly reason?: EndReason | 'crash-loop'
  readonly attempts: number
  /** The position before its first event. */
  readonly cursor: string
  /** The id under which its input was sent. */
  readonly inputId?: string
  /** Calls that wait for an answer; those already answered are left out. */
  readonly pendingToolCalls: readonly PendingToolCall[]
  /** Questions about calls that wait for a decision; those already decided are left out. */
  readonly pendingApprovals: readonly ApprovalRequest[]
  /**
   * Runs of subagents, at any depth, that this run waits for and that wait for `recover`. Absent if there are none. The log
   * names them, and those of background tasks, in `error` events of source `definition`.
   */
  readonly heldRuns?: readonly HeldRun[]
  readonly stopping: boolean
  /** The run that handed the work to this one. */
  readonly parent?: string
  /** Set if the child works in the background. */
  readonly taskId?: string
  readonly error?: ModelError | AgentErrorData | RunFailure
  readonly usage: Usage
  readonly cost?: Cost
  readonly createdAt: number
  readonly startedAt?: number
  readonly endedAt?: number
}

/** A run of a subagent that waits because the definition of its agent has changed. */
export interface HeldRun {
  readonly runId: string
  /** Names of the agents from the root to its own. */
  readonly agent: readonly string[]
  /** Names each change. */
  readonly message: string
}

export type { Page, PageRequest, RunsQuery }

/** One JSON record of the session, outside of the conversation. It lives as long as the session. */
export interface SessionState {
  /** Null: there is none yet. */
  get(): Promise<SessionStateValue | null>
  /** Writes when the record has this version (null: there must be none); without one in any case. Throws `conflict`. */
  set(value: JSONValue, options?: { readonly version?: number | null }): Promise<SessionStateValue>
  /** Compare-and-set with retry. Throws `conflict` if another writer was faster 20 times. */
  update(change: (value: JSONValue | null) => JSONValue): Promise<SessionStateValue>
}

/** The JSON state of a session with its version. Pass the version back for a compare-and-set. */
export interface SessionStateValue {
  readonly value: JSONValue
  readonly version: number
}
