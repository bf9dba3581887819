import type { Status } from '@bowline/agent-loop/events'
import type { ClientEvent } from './client-event.ts'
import type { ClientTools } from './client-tool.ts'
import type { Connection } from './connection.ts'
import type { Run } from './run.ts'
import type {
  DeclaredTool,
  JsonObject,
  JsonValue,
  MessageInput,
  OnBusy,
  RuntimeParams,
  SubmissionReceipt,
  ToolResultInput,
  UserInput,
} from './wire.ts'
import type {
  ApprovalReceipt,
  BranchList,
  CompactionResult,
  ForkRequest,
  InputReceipt,
  ResolveRequest,
  SessionView,
  StopReceipt,
  StopRequest,
  SwitchRequest,
} from './wire-sessions.ts'

/** Message of the user, or results of waiting tool calls. */
export type SendInput = UserInput | readonly ToolResultInput[]

/** Settings of one input, of its run, and of the session if the input creates it. */
export interface SendOptions {
  /** Client tools in addition to those of the client. A tool with the same name replaces the client's. */
  readonly tools?: ClientTools
  /** Stops reading and aborts the client tools. The run continues. */
  readonly abortSignal?: AbortSignal
  /** Agent of the session that this input creates. Ignored if the session exists. */
  readonly agent?: string
  /** Facts stored with the session that this input creates. Its tools can read them. */
  readonly metadata?: JsonObject
  /**
   * Earlier messages of the session that this input creates. The agent must accept messages from a client. `messages` of `state()`
   * are valid here.
   */
  readonly history?: readonly MessageInput[]
  /**
   * Remote tools that the agent itself does not have, for the session that this input creates. `tools` answers them. A tool made by
   * `defineTool` is valid here.
   */
  readonly declarations?: readonly (DeclaredTool | { toJSON(): DeclaredTool })[]
  /** Model of this run: one of those that the agent offers. */
  readonly model?: string
  /** Model parameters of this run. The agent decides which of them a client may set. */
  readonly runtimeParams?: RuntimeParams
  /** JSON Schema of an object that the final answer of this run must match. The agent must allow a client to set it. */
  readonly output?: JsonObject
  /** Action while a run is open. Default: the server refuses with `busy`. */
  readonly onBusy?: OnBusy
  /** Idempotency id. Inputs with the same id start one run, also from another process. Default: a new id. */
  readonly id?: string
  /** Additional headers of the request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Idempotency id of an input. */
export interface InputOptions extends CallOptions {
  /** Inputs with the same id count as one input. Default: a new id, which retries of this call share. */
  readonly id?: string
}

/** Idempotency id of an overlay, and the number of coming turns that see it. */
export interface OverlayOptions extends InputOptions {
  /** Number of coming turns that see it. Default 1. */
  readonly turns?: number
}

/** Details of an approval: replaced input, hash of the reviewed input, and reason. */
export interface ApproveOptions extends CallOptions {
  /** Replaces the input of the call. */
  readonly input?: JsonValue
  /** Hash of the input that the person saw. The decision is refused if the question is about another input. */
  readonly inputHash?: string
  /** Reason stored with the decision. The model sees the reason of a denial. */
  readonly reason?: string
}

/** Start and end of a reader of the log, and its connection callback. */
export interface AttachOptions {
  /** Log position after which reading starts. If absent, `from` decides. */
  readonly cursor?: string
  /** Start of the reading. `run`: the open or last run (default). `start`: the whole log. `now`: the next event. */
  readonly from?: 'run' | 'start' | 'now'
  /** Ends the reading when no work is open. Default: never. */
  readonly until?: 'settled'
  /** Ends the reading. The run continues. */
  readonly abortSignal?: AbortSignal
  /** Called when the connection is lost, is being retried, or is open again. */
  readonly onConnection?: (connection: Connection) => void
}

/** Abort signal of one request. */
export interface CallOptions {
  /** Ends the request and its retries. */
  readonly abortSignal?: AbortSignal
}

/**
 * Handle of a session on the server. It makes no request until a method is called. Promises of its methods reject with a
 * `ClientError`.
 */
export interface ClientSession {
  readonly id: string
  /** Tools of the client. */
  readonly tools: ClientTools
  /** Sends the input at once and returns its run. If the connection is lost, retries under the same id: at most one run starts. */
  send(input: SendInput, options?: SendOptions): Run
  /** Returns the events of the session across all runs and reconnections. Rejects with a `ClientError` if it cannot continue. */
  attach(options?: AttachOptions): AsyncIterable<ClientEvent> & { readonly cursor: string | undefined }
  /** Resolves with the newest page of messages, the open runs and the open questions. */
  state(options?: CallOptions & PageOptions): Promise<SessionView>
  /** Resolves with a page of messages, oldest first. Default is the newest page; `before` selects older ones. */
  messages(options?: CallOptions & PageOptions): Promise<Pick<SessionView, 'messages' | 'hasMore' | 'cursor'>>
  /** Stops the open run. Idempotent. */
  stop(options?: CallOptions & StopRequest): Promise<StopReceipt>
  /** Answers waiting calls. Idempotent for the same results. */
  submitToolResults(results: readonly ToolResultInput[], options?: CallOptions): Promise<SubmissionReceipt>
  /** Sets the outcome of a call whose outcome is unknown. Idempotent. */
  resolveTool(toolCallId: string, resolution: ResolveRequest, options?: CallOptions): Promise<{ readonly runId: string }>
  /** Adds an input to the open run before its next model call. Without an open run it starts one. The receipt says which. */
  steer(input: UserInput, options?: InputOptions): Promise<InputReceipt>
  /** Queues an input as its own run, directly after the open one. */
  followUp(input: UserInput, options?: InputOptions): Promise<InputReceipt>
  /** Shows an input to the model in the next turns without adding it to the transcript. Starts no run. Idempotent per id. */
  overlay(input: UserInput, options?: OverlayOptions): Promise<void>
  /** Approves a waiting call. Idempotent. */
  approve(approvalId: string, options?: ApproveOptions): Promise<ApprovalReceipt>
  /** Ends a waiting call as denied and tells the model the reason. Idempotent. */
  deny(approvalId: string, options?: Omit<ApproveOptions, 'input'>): Promise<ApprovalReceipt>
  /** Copies the path up to an entry into a new session and resolves with its handle. */
  fork(options?: CallOptions & ForkRequest): Promise<ClientSession>
  /**
   * Moves the active path to another entry (null: before the first one) and deletes nothing. A call with `summarize` is not
   * retried. If its request is lost, the log shows the outcome.
   */
  switchTo(entryId: string | null, options?: CallOptions & Omit<SwitchRequest, 'entryId'>): Promise<SessionView>
  /** Lists the last entries of all paths. */
  branches(options?: CallOptions & { readonly limit?: number; readonly cursor?: string }): Promise<BranchList>
  /** Names an entry of the active path. Null removes the name. */
  label(entryId: string, text: string | null, options?: CallOptions): Promise<void>
  /** Removes the label of an entry, as `label` with null does. */
  unlabel(entryId: string, options?: CallOptions): Promise<void>
  /**
   * Lets the model summarize the older part of the conversation. Not retried: if the request is lost, the log shows the outcome.
   */
  compact(options?: CallOptions & { readonly instructions?: string }): Promise<CompactionResult>
  /** Resolves with a stream of JSON lines for a file. */
  export(options?: CallOptions & { readonly events?: boolean; readonly allBranches?: boolean }): Promise<ReadableStream<Uint8Array>>
  /** Stops the open run and deletes the session. Idempotent. The next input under the id starts a new session. */
  delete(options?: CallOptions): Promise<void>
}

/** Size and position of a page of messages. */
export interface PageOptions {
  /** Maximum number of messages, 1–500. The default of the server is 200. */
  readonly limit?: number
  /** Only messages older than this one. */
  readonly before?: string
}

/** Filters and page of a list of sessions. A session must match all filters; an absent filter matches every session. */
export interface SessionQuery {
  readonly agent?: string
  readonly status?: Status
  /** True: only expired sessions. False: only sessions that have not expired. */
  readonly expired?: boolean
  /** Only child sessions of this session. Their ids are valid only for `state`, `messages` and `attach`. */
  readonly parent?: string
  /** Maximum number of sessions, 1–200. Default 50. */
  readonly limit?: number
  readonly cursor?: string
}
