import type { AgentInput, OutcomeStatus, StoredMessage, SubmissionReceipt, SubmittedResult, ToolReturnValue } from '@bowline/agent-loop'
import type { Decimal, JSONObject, JSONValue, RuntimeParams } from '@bowline/llm'
import type { LogEvents, LoggedEvent } from '../contract/log-events.ts'
import type { Page, PageRequest } from '../contract/paging.ts'
import type { Status } from '../contract/records.ts'
import type { RunsQuery } from '../contract/session-store.ts'
import type { HeldRun, RunInfo, RunResult, SessionInfo, Spent, UsageReport } from './info.ts'
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
  /** Resolves with a handle of a run that this session accepted before. Throws `unknown-run`. */
  run(runId: string): Promise<RunHandle>
  /**
   * Shows an input to the model in the next turns without adding it to the transcript. Starts no run. If a turn is open, it is the
   * first of them, as long as a model call follows; a turn that waits for its reader at `step-end` makes one more.
   */
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
   * Approves a call. Must be durable before it resolves; the last open answer queues the run in the same commit. The same decision
   * again returns the first receipt; another one throws `approval-conflict`. If the run is still executing, this resolves once it
   * waits. `run` is the run of this session that asked. Its events begin after the question; after a repeat, with its first event.
   */
  approve(approvalId: string, options?: DecisionOptions): Promise<ApprovalReceipt & { readonly run: RunHandle }>
  /**
   * Adds to the budget of a run that asks for it (`about: 'budget'`): each of its exhausted budgets gets the amount. Works like
   * `approve` with the amount as `input`; `deny` ends the run as `limit`.
   */
  grant(approvalId: string, amount: GrantOptions): Promise<ApprovalReceipt & { readonly run: RunHandle }>
  /** Ends the call as `denied`. Otherwise works like `approve`. */
  deny(approvalId: string, options?: DecisionOptions): Promise<ApprovalReceipt & { readonly run: RunHandle }>
  /** Sets the outcome of a call whose outcome is unknown, and queues the run in the same commit. Can be repeated. */
  resolveTool(toolCallId: string, resolution: ToolResolution, options?: { readonly path?: readonly string[] }): Promise<RunHandle>
  /**
   * Continues or stops a run that waits because its agent definition has changed: one of this session, or of a subagent at any
   * depth, as `heldRuns` names it. Resolves with the handle of this session's own run.
   */
  recover(runId: string, decision: 'continue' | 'stop'): Promise<RunHandle>
  /** Ends all open work at once, in all processes, and closes this handle. */
  kill(options?: { readonly reason?: string }): Promise<StopReceipt>
  /** Kills the session and removes everything except numbers for a later session under its key. Readers end with `session-end`. */
  delete(): Promise<void>
  /**
   * Sends an input at the times of a rule until it is deleted: once per time, however many processes there are. Creates the session
   * if there is none. Throws `invalid-input`, also for more than 100 schedules per session, and `id-reused`.
   */
  schedule(options: ScheduleOptions): Promise<ScheduleInfo>
  /** Lists, pauses, resumes and deletes schedules. A kill pauses all of them; they end with the session. */
  readonly schedules: SessionSchedules
  /** JSON record of the session. */
  readonly state: SessionState
  /** Resolves with the tokens and cost of the session and of its subagents. */
  usage(): Promise<UsageReport>
  /**
   * Creates an independent session with a copy of the path to an entry (default: the end of the active path). Throws `busy` while a
   * run is open, `unknown-entry`, `invalid-input` for an entry between a call and its result, and `conflict` if the key is in use.
   */
  fork(options?: ForkOptions): Promise<Session>
  /**
   * Moves the end of the active path to another entry (null: before the first one) and deletes nothing. Throws like `fork`. With
   * `summarize`, a summary of the abandoned path follows the entry; if the summary fails, throws `summary-failed` and changes
   * nothing.
   */
  switchTo(entryId: string | null, options?: SwitchOptions): Promise<SessionInfo>
  /** Lists the ends of all paths, in order of creation. */
  branches(page?: PageRequest): Promise<Page<Branch>>
  /** Sets the label of an entry of the active path; null removes it. Throws `busy`, `unknown-entry`, `invalid-input`. */
  label(entryId: string, text: string | null): Promise<void>
  /** Lists the labels of the active path, or of the path to `leaf`, in order of creation. */
  labels(options?: { readonly leaf?: string }): Promise<readonly Label[]>
  /**
   * Has the model summarise the older part of the active path; all messages stay readable. Resolves once a runtime has done it;
   * inputs queue after it. A failed or stopped summary changes nothing and shows in the outcome. Throws `busy`.
   */
  compact(options?: CompactOptions): Promise<StoredCompaction>
  /** Yields the active path, or the whole tree, as lines of JSON for `importSession`, without line feeds. */
  export(options?: ExportOptions): AsyncIterable<string>
  /**
   * Reads the log from a cursor (a string is a cursor; default: from the first event), then live. Ends only without `live`, by the
   * abort signal, or, with `runId`, when that run waits or ends.
   */
  events(options?: string | EventsOptions): LogEvents
  /** Returns a page of the active path, oldest entry first. The first page is the newest; `before` selects older ones. */
  messages(options?: MessagesOptions): Promise<Page<StoredMessage> & { readonly cursor: string }>
  /** Returns a page of runs. It may hold fewer runs than its limit; if it has `next`, more follow. */
  runs(query?: RunsQuery): Promise<Page<RunInfo>>
}

/** The read-only methods of a session. */
export type SessionReader = Pick<Session, 'key' | 'info' | 'usage' | 'events' | 'messages' | 'runs' | 'branches' | 'labels' | 'export'>

/** Options of one `send`: idempotency, queueing, run parameters and reading mode. Times are in milliseconds. */
export interface SendOptions {
  /** Idempotency id, 1–200 bytes, scoped to the session: equal content gives the same run, other content `id-reused`. */
  readonly id?: string
  /** Action while a run is open. Default: `onBusy` of the runtime, otherwise `queue`. */
  readonly onBusy?: OnBusy
  /** Maximum length of the queue, this run included. If it is reached, throws `queue-full`. Default and maximum: 1,000. */
  readonly maxQueued?: number
  /** Model parameters of this run. They override those of the agent. */
  readonly runtimeParams?: RuntimeParams
  /** JSON Schema of an object for the final answer of this run. Replaces the agent's. Stored with the run. */
  readonly output?: JSONObject
  /** Earliest start of the run and of the runs queued after it, in epoch milliseconds. */
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

/** Options of `steer` and `followUp`: the idempotency id and the maximum length of the queue. */
export interface InputOptions {
  /** Idempotency id, 1–200 bytes, scoped to the session. */
  readonly id?: string
  /** Maximum length of the queue if the input becomes a run, as in `send`. */
  readonly maxQueued?: number
}

/** Options of `overlay`: the idempotency id and the number of turns. */
export interface OverlayOptions extends Pick<InputOptions, 'id'> {
  /** Number of next turns that see the input. Default 1. */
  readonly turns?: number
}

/**
 * Action on an input while a run is open. `queue`: wait after the queued runs. `steer`: add to the active run. `interrupt`:
 * stop the active run and go before the queue. `reject`: throw `busy`; while only hooks after the end of a turn run, wait for them
 * first, at most 10 s longer than a lease.
 */
export type OnBusy = 'queue' | 'steer' | 'interrupt' | 'reject'

/** Target, scope and waiting time (ms) of a `stop`. */
export interface StopOptions {
  /** Id of a run of this session or of a subagent below it, such as `childRunId` of `child-start`. Default: the oldest open run. */
  readonly runId?: string
  /** `all` stops the queued runs too. Default `active`. */
  readonly scope?: 'active' | 'all'
  /** Reason for people, stored with the end of the run. */
  readonly reason?: string
  /** Longest wait for the end in ms. After it the receipt is `pending`. Default 10,000; 0 returns at once. */
  readonly waitMs?: number
}

/** Options of `submitToolResults`: whether results may settle calls with an unknown outcome. */
export interface SubmitOptions {
  /** If false, refuses calls with an unknown outcome as `unknown-tool-call`; `resolveTool` takes them. Default true. */
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
  /** Hash of the input that the person saw. Throws `approval-conflict` if the approval is about another one. */
  readonly inputHash?: string
  /** Input that replaces the one of the call, for an approval. Must match the schema of the tool. */
  readonly input?: JSONValue
  /** Reason of a denial, which the model is told. */
  readonly reason?: string
  /** The person or system that decides. */
  readonly by?: string
}

export interface GrantOptions {
  /** Input and output tokens together. */
  readonly tokens?: number
  /** Amount in the currency of the prices. */
  readonly cost?: Decimal
  readonly reason?: string
  /** The person or system that decides. */
  readonly by?: string
}

/** The stored decision about an approval. `at` is epoch milliseconds. */
export interface ApprovalReceipt {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  readonly by?: string
  readonly at: number
  /** True if the same decision was made before; then this is the first receipt. */
  readonly repeated: boolean
  /** Approval ids of the run that are still open. */
  readonly missing: readonly string[]
}

/** Start, end and buffer size of a reader of the log. */
export interface EventsOptions {
  /** Starts after this position. Default: the beginning of the log. */
  readonly cursor?: string
  /**
   * If false, reads only stored events, without deltas, and ends at the current end of the log. `so-far` also reads deltas and ends
   * after those that this process has. Default true.
   */
  readonly live?: boolean | 'so-far'
  /** Id of a run: reading ends when the run waits for outside help or ends. */
  readonly runId?: string
  /** Signal that ends the reading. */
  readonly abortSignal?: AbortSignal
  /** Bytes buffered in memory for this reader. If it is slower, it continues from the store. Default and maximum: 1 MiB. */
  readonly bufferBytes?: number
}

/** Path and page of `messages()`. */
export interface MessagesOptions {
  /** Id of the entry that ends the path. Default: the active path. */
  readonly leaf?: string
  /** Id of an entry: only older ones are returned. */
  readonly before?: string
  /** Page size. Default 100, at most 1,000. */
  readonly limit?: number
}

/** Handle of one run of any process. Iterating reads its events from the first one. */
export interface RunHandle extends AsyncIterable<LoggedEvent> {
  readonly runId: string
  readonly session: Session
  readonly accepted: 'queued' | 'steered' | 'duplicate'
  status(): Promise<Status>
  /** Reads events from the first one of the run (or the cursor) to the `turn-end` and `save-point` with which it waits or ends. */
  events(options?: Pick<EventsOptions, 'cursor' | 'abortSignal' | 'bufferBytes'>): LogEvents
  /**
   * Settles when the run ends or waits for outside help; never rejects for a failed run. With `waitMs` it settles after that time at
   * the latest, with the status of the open run: `queued`, `running` or `awaiting-subagent`.
   */
  result(options?: { readonly waitMs?: number }): Promise<RunResult>
  /**
   * Resolves with the run that must end before this one starts, with what it waits for, or with null if this run has started or is
   * the next. While it waits for an answer, a decision or `recover`, so does this one.
   */
  behind(): Promise<RunInfo | null>
  /** Gives an overlay to the session: the next model call of its open turn sees it or, if none follows, its next turn. */
  overlay(input: AgentInput, options?: OverlayOptions): Promise<void>
  stop(options?: { readonly reason?: string; readonly waitMs?: number }): Promise<StopReceipt>
}

export type { HeldRun, RunInfo, RunResult, SessionInfo, Spent, UsageReport }
export type { Page, PageRequest, RunsQuery }

/** JSON record of the session, outside the conversation. It lives as long as the session. */
export interface SessionState {
  /** Returns the record, or null if there is none yet. */
  get(): Promise<SessionStateValue | null>
  /** Writes the record if it has this version (null: none exists); without a version, always. Throws `conflict`. */
  set(value: JSONValue, options?: { readonly version?: number | null }): Promise<SessionStateValue>
  /** Compare-and-set with retry. Throws `conflict` after 20 lost attempts. */
  update(change: (value: JSONValue | null) => JSONValue): Promise<SessionStateValue>
}

/** The JSON state of a session with its version. Pass the version back for a compare-and-set. */
export interface SessionStateValue {
  readonly value: JSONValue
  readonly version: number
}
