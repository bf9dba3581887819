import type {
  AgentErrorData,
  AgentEvent,
  ApprovalRequest,
  EndReason,
  PendingToolCall,
  RunOptions,
  StoredMessage,
  SubmissionReceipt,
  SubmittedResult,
  ToolDeclaration,
  TurnStatus,
} from '@bowline/agent-loop'

/** What goes over the wire between client and server. The server checks its schemas against these types. */

export type { SubmissionReceipt, ToolDeclaration }

type TurnEnd = Extract<AgentEvent, { type: 'turn-end' }>
export type Usage = TurnEnd['usage']
export type Cost = NonNullable<TurnEnd['cost']>
type TurnError = NonNullable<TurnEnd['error']>
type UserContent = Extract<AgentEvent, { type: 'user-message' }>['message']['content']

/** A JSON value. Keys with `undefined` are left out of the JSON. */
export type JsonValue = null | string | number | boolean | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined }
/** A JSON object. Keys with `undefined` are left out of the JSON. */
export type JsonObject = { readonly [key: string]: JsonValue | undefined }

/** Body of `POST /api/agent/execute`. */
export interface ExecuteRequest {
  /** Absent: the server makes one, and `context` is needed. */
  readonly sessionId?: string
  readonly input: UserInput | readonly ToolResultInput[]
  readonly context?: SessionContext
  readonly options?: ExecuteOptions
}

/** Settings of a new session; `{}` is valid. */
export interface SessionContext {
  readonly agent?: string
  /** Earlier messages, if the agent accepts them from a client. */
  readonly messages?: readonly MessageInput[]
  /** Remote tools that the client answers. They have no `execute`: a client cannot bring code to the server. */
  readonly tools?: readonly ToolDeclaration[]
  readonly metadata?: JsonObject
}

/**
 * A message in short form, or one that `GET` of a session returned. A user message keeps its content, an answer only its text:
 * calls, results and reasoning are left out.
 */
export type MessageInput = Exclude<UserInput, string> | { readonly role: 'assistant'; readonly content: string } | StoredMessage

/** Settings of one run, and of its stream. */
export interface ExecuteOptions {
  /** Model of the run, one that the agent offers. */
  readonly model?: string
  /** Model parameters of the run, those that the agent lets a client set. */
  readonly runtimeParams?: RuntimeParams
  /** JSON Schema of an object, which the final answer must fit. For agents that let a client give one. */
  readonly output?: JsonObject
  /** Action while a run is open. Default `reject`. */
  readonly onBusy?: OnBusy
  /**
   * False leaves deltas out. `short`: text and reasoning deltas come as `ShortDelta` where the stream has had an event of their
   * block before. Default true.
   */
  readonly deltas?: boolean | 'short'
}

/** Model parameters of one run, such as temperature. */
export type RuntimeParams = NonNullable<RunOptions['runtimeParams']>

/**
 * Action while a run is open. `queue`: wait after the queued runs. `steer`: add to the open run. `interrupt`: stop the open
 * run and go before the queue. `reject`: refuse with `busy`.
 */
export type OnBusy = 'queue' | 'steer' | 'interrupt' | 'reject'

/** A message of the user in the stored form. */
export interface UserMessageInput {
  readonly role: 'user'
  readonly content: UserContent
}

/** A text, or a message of the user. */
export type UserInput = string | { readonly role: 'user'; readonly content: string | readonly (Exclude<UserContent, string>[number] | ImagePart)[] }

/** An image in the form of the AI SDK. It is stored as a file with an image media type, and has the limits of a file. */
export interface ImagePart {
  readonly type: 'image'
  /** The image in base64, as a `data:` URL in base64, or as an http(s) URL if the server downloads files. */
  readonly image: string
  /** Media type. Default: from the `data:` URL, else from the first bytes. */
  readonly mediaType?: string
}

type Unknown = { readonly unknown: true }

/** Fields of a pending call. If they are sent back with an answer, they must match the call that waits. */
type OfPendingCall = Partial<Omit<PendingToolCall, 'toolCallId' | 'path'>>

/** Result of a pending call: `{ ...call, output }`. */
export type ToolResultInput = { readonly role?: 'tool-result' } & (
  | (OfPendingCall & Exclude<SubmittedResult, Unknown>)
  | Extract<SubmittedResult, Unknown>
)

/** A frame of the transport: not part of the log and without a number. Its SSE id repeats the last cursor. */
export type TransportFrame = ExecuteComplete | StreamEnd | StreamError

/**
 * Short form of a text or reasoning delta on a stream with `deltas=short`: the index of its block, and the text. All other
 * fields equal the last event of that block on the same connection.
 */
export type ShortDelta = readonly [index: number, delta: string]

/** Frame with the outcome of a run, sent when the run ends or waits. */
export interface ExecuteComplete {
  readonly type: 'execute-complete'
  readonly sessionId: string
  readonly runId: string
  /** Status in the run's last `turn-end`. */
  readonly status: TurnStatus
  readonly reason?: EndReason | 'crash-loop'
  readonly submission?: SubmissionReceipt
  /** Output of a run with an output schema that is `completed`. */
  readonly output?: JsonValue
  readonly pendingToolCalls?: readonly PendingToolCall[]
  readonly pendingApprovals?: readonly ApprovalRequest[]
  /** Runs of subagents that the run waits for and that are held until a client decides through the recover route. */
  readonly heldRuns?: readonly HeldRun[]
  readonly usage: Usage
  /** Absent when the price is not known. */
  readonly cost?: Cost
  readonly error?: TurnError | AgentErrorData | { readonly code: string; readonly message: string }
}

/** A run of a subagent that waits because the definition of its agent has changed. */
export interface HeldRun {
  readonly runId: string
  /** Names of the agents from the root to its own. */
  readonly agent: readonly string[]
  /** Names each change. */
  readonly message: string
}

/** Last frame of a stream that the server ends, with the reason. */
export interface StreamEnd {
  readonly type: 'stream-end'
  readonly reason: 'settled' | 'drained' | 'slow-reader' | 'max-age' | 'token-expired' | 'deleted'
  /** Whether to come back with the last cursor. */
  readonly resume: boolean
}

/** Last frame of a stream that failed. */
export interface StreamError {
  readonly type: 'stream-error'
  readonly problem: Problem
}

/** Body of a refused request, `application/problem+json` (RFC 9457). */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: string
  readonly requestId: string
  readonly retryable: boolean
  readonly retryAfterMs?: number
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
  readonly refused?: readonly { readonly id: string; readonly code: string }[]
  /** The open run, with `busy`. */
  readonly runId?: string
  /** The first position that the log still holds, with `cursor-expired`. */
  readonly firstSeq?: number
}
