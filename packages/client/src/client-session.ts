import type { Status } from '@bowline/agent-loop/events'
import type { ClientEvent } from './client-event.ts'
import type { ClientTools } from './client-tool.ts'
import type { Connection } from './connection.ts'
import type { Run } from './run.ts'
import type {
  JsonObject,
  JsonValue,
  MessageInput,
  OnBusy,
  RuntimeParams,
  SubmissionReceipt,
  ToolDeclaration,
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

/** A message of the user, or results of waiting tool calls. */
export type SendInput = UserInput | readonly ToolResultInput[]

/** Settings of one input, of its run, and of the session if the input creates it. */
export interface SendOptions {
  /** Client tools in addition to the client's; a tool with the same name replaces. */
  readonly tools?: ClientTools
  /** Ends the reading and the client tools, not the run. */
  readonly abortSignal?: AbortSignal
  /** Agent of the session that this input creates. Ignored if the session exists. */
  readonly agent?: string
  /** Facts stored with the session that this input creates; its tools see them. */
  readonly metadata?: JsonObject
  /**
   * Earlier messages of the session that this input creates, if the agent accepts them from a client. `messages` of `state()`
   * are valid here.
   */
  readonly history?: readonly MessageInput[]
  /** Remote tools of the session that this input creates, which the agent does not have itself. `tools` answers them. */
  readonly declarations?: readonly ToolDeclaration[]
  /** Model of this run, one that the agent offers. */
  readonly model?: string
  /** Model parameters of this run, those that the agent lets a client set. */
  readonly runtimeParams?: RuntimeParams
  /** JSON Schema of an object, which the final answer of this run must fit, where the agent lets a client give one. */
  readonly output?: JsonObject
  /** Action while a run is open. Default: the server refuses with `busy`. */
  readonly onBusy?: OnBusy
  /** Idempotency id: inputs under one id are one run, also from another process. Default: a new one. */
  readonly id?: string
  /** Further headers of the request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Idempotency id of an input. */
export interface InputOptions extends CallOptions {
  /** Inputs under one id are one input. Default: a new one, so that a try that is repeated is the same input. */
  readonly id?: string
}

/** Idempotency id and number of turns of an overlay. */
export interface OverlayOptions extends InputOptions {
  /** How many of the next turns see it. Default 1. */
  readonly turns?: number
}

/** Details of an approval: replaced input, checked input and reason. */
export interface ApproveOptions extends CallOptions {
  /** Replaces the input of the call. */
  readonly input?: JsonValue
  /** Hash of the input that the person saw. If the question is about another input, the decision is refused. */
  readonly inputHash?: string
  /** Reason, stored with the decision. The model sees the reason of a denial. */
  readonly reason?: string
}

/** Start and end of a reader of the log, with its connection callback. */
export interface AttachOptions {
  /** Starts after this position. Without it `from` decides. */
  readonly cursor?: string
  /** Start of the reading. `run`: the open or last run (default); `start`: the whole log; `now`: the next event. */
  readonly from?: 'run' | 'start' | 'now'
  /** End when nothing is open. Default: never. */
  readonly until?: 'settled'
  /** Ends the reading, not the run. */
  readonly abortSignal?: AbortSignal
  /** Called whenever the connection is lost, waited for, or there again. */
  readonly onConnection?: (connection: Connection) => void
}

/** Abort signal of one request. */
export interface CallOptions {
  /** Ends the request and its retries. */
  readonly abortSignal?: AbortSignal
}

/**
 * A handle of a session at the server. It makes no request until a method is called. Promises of its methods reject with a
 * `ClientError`.
 */
export interface ClientSession {
  readonly id: string
  /** The client's tools. */
  readonly tools: ClientTools
  /** Sends the input at once and returns its run. Lost connections are retried under one id, so that it becomes at most one run. */
  send(input: SendInput, options?: SendOptions): Run
  /** Returns the session's events over all its runs, across reconnections. Rejects with a `ClientError` if it cannot go on. */
  attach(options?: AttachOptions): AsyncIterable<ClientEvent> & { readonly cursor: string | undefined }
  /** Resolves with the newest page of messages, and with open runs and questions. */
  state(options?: CallOptions & PageOptions): Promise<SessionView>
  /** Resolves with a page of messages, oldest first. The newest page comes first; `before` selects older ones. */
  messages(options?: CallOptions & PageOptions): Promise<Pick<SessionView, 'messages' | 'hasMore' | 'cursor'>>
  /** Stops the open run. Safe to repeat. */
  stop(options?: CallOptions & StopRequest): Promise<StopReceipt>
  /** Answers waiting calls. Safe to repeat with the same results. */
  submitToolResults(results: readonly ToolResultInput[], options?: CallOptions): Promise<SubmissionReceipt>
  /** Sets the outcome of a call whose outcome is unknown. Safe to repeat. */
  resolveTool(toolCallId: string, resolution: ResolveRequest, options?: CallOptions): Promise<{ readonly runId: string }>
  /** Adds an input to the open run, before its next model call. Without an open run it starts one, as the receipt says. */
  steer(input: UserInput, options?: InputOptions): Promise<InputReceipt>
  /** Queues an input as a run of its own, directly after the open one. */
  followUp(input: UserInput, options?: InputOptions): Promise<InputReceipt>
  /** Shows an input to the model in the next turns without adding it to the transcript. Starts no run. Safe to repeat under one id. */
  overlay(input: UserInput, options?: OverlayOptions): Promise<void>
  /** Approves a call that waits. Safe to repeat. */
  approve(approvalId: string, options?: ApproveOptions): Promise<ApprovalReceipt>
  /** Ends a waiting call as denied and tells the model the reason. Safe to repeat. */
  deny(approvalId: string, options?: Omit<ApproveOptions, 'input'>): Promise<ApprovalReceipt>
  /** Copies the path to an entry into a new session and resolves with its handle. */
  fork(options?: CallOptions & ForkRequest): Promise<ClientSession>
  /**
   * Moves the active path to another entry (null: before the first one) and deletes nothing. With `summarize` it is not
   * retried: the log tells the outcome of a lost request.
   */
  switchTo(entryId: string | null, options?: CallOptions & Omit<SwitchRequest, 'entryId'>): Promise<SessionView>
  /** Lists the ends of all paths. */
  branches(options?: CallOptions & { readonly limit?: number; readonly cursor?: string }): Promise<BranchList>
  /** Names an entry of the active path; null takes the name away. */
  label(entryId: string, text: string | null, options?: CallOptions): Promise<void>
  /** Removes the label of an entry, as `label` with null does. */
  unlabel(entryId: string, options?: CallOptions): Promise<void>
  /** Has the model summarise the older part of the conversation. Not retried: the log tells the outcome of a lost request. */
  compact(options?: CallOptions & { readonly instructions?: string }): Promise<CompactionResult>
  /** Resolves with a stream of JSON lines, for a file. */
  export(options?: CallOptions & { readonly events?: boolean; readonly allBranches?: boolean }): Promise<ReadableStream<Uint8Array>>
  /** Stops the open run and deletes the session. Safe to repeat. The next input starts a new session under the id. */
  delete(options?: CallOptions): Promise<void>
}

/** Size and position of a page of messages. */
export interface PageOptions {
  /** 1–500; the server's default is 200. */
  readonly limit?: number
  /** Only messages older than this one. */
  readonly before?: string
}

/** Filters and page of a list of sessions. Filters are combined; an absent one matches all. */
export interface SessionQuery {
  readonly agent?: string
  readonly status?: Status
  /** True: only expired sessions; false: only the others. */
  readonly expired?: boolean
  /** Only child sessions of this one. Their ids are valid only for `state`, `messages` and `attach`. */
  readonly parent?: string
  /** 1–200, default 50. */
  readonly limit?: number
  readonly cursor?: string
}
