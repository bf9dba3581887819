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

/** Types of the data between client and server. The server checks its schemas against these types. */

export type { SubmissionReceipt, ToolDeclaration }

type TurnEnd = Extract<AgentEvent, { type: 'turn-end' }>
export type Usage = TurnEnd['usage']
export type Cost = NonNullable<TurnEnd['cost']>
type TurnError = NonNullable<TurnEnd['error']>
type UserContent = Extract<AgentEvent, { type: 'user-message' }>['message']['content']

/** JSON value. Keys with `undefined` are left out of the JSON. */
export type JsonValue = null | string | number | boolean | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined }
/** JSON object. Keys with `undefined` are left out of the JSON. */
export type JsonObject = { readonly [key: string]: JsonValue | undefined }

/** Body of `POST /api/agent/execute`. */
export interface ExecuteRequest {
  /** Session id. If absent, the server generates one, and `context` is required. */
  readonly sessionId?: string
  readonly input: UserInput | readonly ToolResultInput[]
  readonly context?: SessionContext
  readonly options?: ExecuteOptions
}

/** A remote tool that a client declares, such as a tool without `execute` in its JSON form. The schema has either name. */
export type DeclaredTool =
  | ToolDeclaration
  | (Omit<ToolDeclaration, 'inputSchema'> & { readonly parameters: ToolDeclaration['inputSchema'] })

/** Settings of a new session; `{}` is valid. */
export interface SessionContext {
  readonly agent?: string
  /** Earlier messages. The agent must accept messages from a client. */
  readonly messages?: readonly MessageInput[]
  /** Remote tools that the client answers. They have no `execute`: a client cannot send code to the server. */
  readonly tools?: readonly DeclaredTool[]
  readonly metadata?: JsonObject
}

/**
 * Message in short form, or one that `GET` of a session returned. A user message keeps its content. An answer keeps only its text:
 * calls, results and reasoning are left out.
 */
export type MessageInput = Exclude<UserInput, string> | { readonly role: 'assistant'; readonly content: string } | StoredMessage

/** Settings of one run and of its stream. */
export interface ExecuteOptions {
  /** Model of the run: one of those that the agent offers. */
  readonly model?: string
  /** Model parameters of the run. The agent decides which of them a client may set. */
  readonly runtimeParams?: RuntimeParams
  /** JSON Schema of an object that the final answer must match. The agent must allow a client to set it. */
  readonly output?: JsonObject
  /** Action while a run is open. Default `reject`. */
  readonly onBusy?: OnBusy
  /**
   * False leaves deltas out. `short`: text and reasoning deltas come as `ShortDelta` if the stream has sent an event of their block
   * before. Default true.
   */
  readonly deltas?: boolean | 'short'
}

/** Model parameters of one run, such as temperature. */
export type RuntimeParams = NonNullable<RunOptions['runtimeParams']>

/**
 * Action while a run is open. `queue`: wait after the queued runs. `steer`: add to the open run. `interrupt`: stop the open run and
 * run before the queued ones. `reject`: refuse with `busy`.
 */
export type OnBusy = 'queue' | 'steer' | 'interrupt' | 'reject'

/** Message of the user in the stored form. */
export interface UserMessageInput {
  readonly role: 'user'
  readonly content: UserContent
}

/** A text, or a message of the user. */
export type UserInput =
  | string
  | { readonly role: 'user'; readonly content: string | readonly (Exclude<UserContent, string>[number] | ImagePart)[] }

/** Image in the form of the AI SDK. It is stored as a file with an image media type, and the limits of files apply. */
export interface ImagePart {
  readonly type: 'image'
  /** The image in base64, as a `data:` URL in base64, or as an http(s) URL if the server downloads files. */
  readonly image: string
  /** Media type. Default: taken from the `data:` URL, else from the first bytes. */
  readonly mediaType?: string
}

type Unknown = { readonly unknown: true }

/** Fields of a pending call. If they are sent along with an answer, they must equal those of the waiting call. */
type OfPendingCall = Partial<Omit<PendingToolCall, 'toolCallId' | 'path'>>

/** Result of a pending call: `{ ...call, output }`. */
export type ToolResultInput = { readonly role?: 'tool-result' } & (
  | (OfPendingCall & Exclude<SubmittedResult, Unknown>)
  | Extract<SubmittedResult, Unknown>
)

/** Frame of the transport. It is not part of the log and has no number. Its SSE id repeats the last cursor. */
export type TransportFrame = ExecuteComplete | StreamEnd | StreamError

/**
 * Short form of a text or reasoning delta on a stream with `deltas=short`: the index of its block, and the text. All other
 * fields equal the last event of that block on the same connection.
 */
export type ShortDelta = readonly [index: number, delta: string]

/** Frame with the outcome of a run. It is sent when the run ends or waits. */
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
  /** Runs of subagents that the run waits for. They are held until a client decides through the recover route. */
  readonly heldRuns?: readonly HeldRun[]
  readonly usage: Usage
  /** Absent if the price is unknown. */
  readonly cost?: Cost
  readonly error?: TurnError | AgentErrorData | { readonly code: string; readonly message: string }
}

/** Run of a subagent that is held because the definition of its agent has changed. */
export interface HeldRun {
  readonly runId: string
  /** Names of the agents from the root to the agent of the run. */
  readonly agent: readonly string[]
  /** Message that names each change. */
  readonly message: string
}

/** Last frame of a stream that the server ends, with the reason. */
export interface StreamEnd {
  readonly type: 'stream-end'
  readonly reason: 'settled' | 'drained' | 'slow-reader' | 'max-age' | 'token-expired' | 'deleted'
  /** True if the client should reconnect with the last cursor. */
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
  /** Open run, present with `busy`. */
  readonly runId?: string
  /** First position that the log still holds, present with `cursor-expired`. */
  readonly firstSeq?: number
}
