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

export type SendInput = UserInput | readonly ToolResultInput[]

export interface SendOptions {
  /** Besides the client's; the same name replaces. */
  readonly tools?: ClientTools
  /** Ends the reading and the client tools, not the run. */
  readonly abortSignal?: AbortSignal
  /** For the session that this input makes; without effect when there is one already. */
  readonly agent?: string
  /** Likewise: facts that are stored with the session and that its tools see. */
  readonly metadata?: JsonObject
  /** Likewise: what was said before, where the agent takes it from a client. `messages` of `state()` are taken as they are. */
  readonly history?: readonly MessageInput[]
  /** Likewise: remote tools that the agent does not have itself. `tools` answers them. */
  readonly declarations?: readonly ToolDeclaration[]
  /** One of those that the agent offers, for this run. */
  readonly model?: string
  /** Those that the agent lets a client set, for this run. */
  readonly runtimeParams?: RuntimeParams
  /** JSON Schema of an object, which the final answer of this run must fit, where the agent lets a client give one. */
  readonly output?: JsonObject
  /** What to do while a run is open. Default: the server refuses with `busy`. */
  readonly onBusy?: OnBusy
  /** Inputs under one id are one run, also from another process. Default: a new one. */
  readonly id?: string
  /** Sent along with the input. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface InputOptions extends CallOptions {
  /** Inputs under one id are one input. Default: a new one, so that a try that is repeated is the same input. */
  readonly id?: string
}

export interface OverlayOptions extends InputOptions {
  /** How many of the next turns see it. Default 1. */
  readonly turns?: number
}

export interface ApproveOptions extends CallOptions {
  /** What the call is to run with instead. */
  readonly input?: JsonValue
  /** Of the input that was shown: another one is refused. */
  readonly inputHash?: string
  /** Stored with the decision; of a denial, the model sees it. */
  readonly reason?: string
}

export interface AttachOptions {
  /** Go on behind this position. Without it `from` says where to begin. */
  readonly cursor?: string
  /** `run`: the open or last run (default); `start`: the whole log; `now`: what happens next. */
  readonly from?: 'run' | 'start' | 'now'
  /** End when nothing is open. Default: never. */
  readonly until?: 'settled'
  /** Ends the reading, not the run. */
  readonly abortSignal?: AbortSignal
  /** Called whenever the connection is lost, waited for, or there again. */
  readonly onConnection?: (connection: Connection) => void
}

export interface CallOptions {
  /** Ends the request and its retries. */
  readonly abortSignal?: AbortSignal
}

/** A conversation at the server. A handle makes no request until a method is called. */
export interface ClientSession {
  readonly id: string
  /** The client's tools. */
  readonly tools: ClientTools
  /** Sends the input at once. It becomes at most one run, however often the connection is lost. */
  send(input: SendInput, options?: SendOptions): Run
  /** The session's events over all its runs, over any number of connections. Rejects with a `ClientError` when there is no going on. */
  attach(options?: AttachOptions): AsyncIterable<ClientEvent> & { readonly cursor: string | undefined }
  /** The newest page of messages and what is open. */
  state(options?: CallOptions & PageOptions): Promise<SessionView>
  /** A page of messages, oldest first; the newest page comes first and `before` gives older ones. */
  messages(options?: CallOptions & PageOptions): Promise<Pick<SessionView, 'messages' | 'hasMore' | 'cursor'>>
  /** Ends the run. Safe to repeat. */
  stop(options?: CallOptions & StopRequest): Promise<StopReceipt>
  /** Answers waiting calls. Safe to repeat with the same results. */
  submitToolResults(results: readonly ToolResultInput[], options?: CallOptions): Promise<SubmissionReceipt>
  /** Says what became of a call whose outcome is unknown. Safe to repeat. */
  resolveTool(toolCallId: string, resolution: ResolveRequest, options?: CallOptions): Promise<{ readonly runId: string }>
  /** Into the open run, for its next model call; without one it starts a run, as the receipt says. */
  steer(input: UserInput, options?: InputOptions): Promise<InputReceipt>
  /** A run of its own right behind the open one. */
  followUp(input: UserInput, options?: InputOptions): Promise<InputReceipt>
  /** Shown to the model in the next turns, and stored in no message. It starts nothing. Safe to repeat under one id. */
  overlay(input: UserInput, options?: OverlayOptions): Promise<void>
  /** Lets a call run that was asked about. Safe to repeat. */
  approve(approvalId: string, options?: ApproveOptions): Promise<ApprovalReceipt>
  /** Ends it as denied; the model is told why. Safe to repeat. */
  deny(approvalId: string, options?: Omit<ApproveOptions, 'input'>): Promise<ApprovalReceipt>
  /** A session of its own with a copy of the path to an entry. */
  fork(options?: CallOptions & ForkRequest): Promise<ClientSession>
  /**
   * Goes on at another entry (null: before the first one); nothing is deleted. With `summarize` it is not tried again: what
   * came of a lost try is in the log.
   */
  switchTo(entryId: string | null, options?: CallOptions & Omit<SwitchRequest, 'entryId'>): Promise<SessionView>
  /** The ends of all paths. */
  branches(options?: CallOptions & { readonly limit?: number; readonly cursor?: string }): Promise<BranchList>
  /** Names an entry of the active path; null takes the name away. */
  label(entryId: string, text: string | null, options?: CallOptions): Promise<void>
  /** As `label` with null. */
  unlabel(entryId: string, options?: CallOptions): Promise<void>
  /** Has the older part summarised for the model. It is not tried again: what came of a lost try is in the log. */
  compact(options?: CallOptions & { readonly instructions?: string }): Promise<CompactionResult>
  /** Lines of JSON, for a file. */
  export(options?: CallOptions & { readonly events?: boolean; readonly allBranches?: boolean }): Promise<ReadableStream<Uint8Array>>
  /** Stops the open run and deletes all. Safe to repeat; the next input begins a new session under the id. */
  delete(options?: CallOptions): Promise<void>
}

export interface PageOptions {
  /** 1–500; the server's default is 200. */
  readonly limit?: number
  /** Only what is older than this message. */
  readonly before?: string
}

export interface SessionQuery {
  readonly agent?: string
  readonly status?: Status
  /** True: only those that have expired; false: only the others. */
  readonly expired?: boolean
  /** Those that this one handed work to. Their ids are good for `state`, `messages` and `attach` only. */
  readonly parent?: string
  /** 1–200, default 50. */
  readonly limit?: number
  readonly cursor?: string
}
