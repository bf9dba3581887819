import type {
  AssistantMessage,
  JSONValue,
  ModelError,
  ToolCallPart,
  ToolOutput,
  Usage,
  UserMessage,
  WholePart,
} from '@bowline/llm'

/**
 * The protocol. Durable events are made by a commit and carry the `seq` it gave them: 1, 2, 3 … without gaps per
 * conversation. Deltas carry none. No event holds the message so far. Every event must survive a JSON round trip.
 */
export type AgentEvent = DurableEvent | DeltaEvent

export type DurableEvent =
  | SessionStartEvent
  | SessionEndEvent
  | RunQueuedEvent
  | UserMessageEvent
  | TurnStartEvent
  | StepStartEvent
  | StepEndEvent
  | TurnEndEvent
  | MessageStartEvent
  | MessageEndEvent
  | MessageDiscardedEvent
  | ToolExecutionStartEvent
  | ToolExecutionEndEvent
  | AwaitingToolsEvent
  | UsageEvent
  | SavePointEvent
  | SettledEvent

/** What is live only: the durable event that closes its message or call holds the whole. */
export type DeltaEvent =
  | TextStartEvent
  | TextDeltaEvent
  | TextEndEvent
  | ToolCallStartEvent
  | ToolCallDeltaEvent
  | ToolCallEndEvent
  | ContentPartEvent
  | ToolExecutionDeltaEvent

/**
 * `at` is epoch milliseconds; the durable events of one commit carry one time. `seq` is absent until the commit gave it.
 */
interface EventBase {
  readonly at: number
  readonly seq?: number
}

/** Events of a run. `turn` counts the turns of the conversation, `step` the model calls of the turn, both from 1. */
interface RunEventBase extends EventBase {
  readonly runId: string
  readonly turn: number
  /** Names of the agents from the root to the one that made the event; absent at the root. */
  readonly agent?: readonly string[]
}

interface StepEventBase extends RunEventBase {
  readonly step: number
}

export interface ModelName {
  readonly provider: string
  readonly modelId: string
}

export interface SessionStartEvent extends EventBase {
  readonly type: 'session-start'
  readonly sessionKey: string
}

export interface SessionEndEvent extends EventBase {
  readonly type: 'session-end'
  readonly sessionKey: string
  readonly reason: 'deleted' | 'expired'
}

export interface RunQueuedEvent extends EventBase {
  readonly type: 'run-queued'
  readonly runId: string
  readonly kind: 'user'
  /** As it was given. */
  readonly input: JSONValue
  readonly inputId?: string
}

export interface UserMessageEvent extends RunEventBase {
  readonly type: 'user-message'
  readonly messageId: string
  readonly message: UserMessage
  readonly source: string
  readonly inputId?: string
}

export interface TurnStartEvent extends RunEventBase {
  readonly type: 'turn-start'
  /** True for every segment of a turn but its first. */
  readonly resumed: boolean
  readonly attempt: number
  readonly cause?: ResumeCause
}

export type ResumeCause = 'answers' | 'takeover' | 'yield' | 'recovery'

export interface StepStartEvent extends StepEventBase {
  readonly type: 'step-start'
  readonly model: ModelName
}

export interface StepEndEvent extends StepEventBase {
  readonly type: 'step-end'
  readonly toolCalls: number
  readonly continues: boolean
}

export interface TurnEndEvent extends RunEventBase {
  readonly type: 'turn-end'
  readonly status: TurnStatus
  readonly reason: EndReason
  /** Of the whole turn, all its segments together. */
  readonly usage: Usage
  readonly steps: number
  readonly error?: ModelError | AgentErrorData
  /** After an abort: what became of each call of the step that was stopped. */
  readonly receipt?: readonly CallReceipt[]
}

export interface CallReceipt {
  readonly toolCallId: string
  readonly toolName: string
  readonly status: OutcomeStatus
}

export type TurnStatus = 'completed' | 'awaiting-tools' | 'limit' | 'aborted' | 'error' | 'needs-recovery'

export type EndReason =
  | 'stop'
  | 'length'
  | 'terminated'
  | 'handled'
  | 'pending'
  | 'max-steps'
  | 'max-tool-calls'
  | 'output-length'
  | 'abort'
  | 'yielded'
  | 'refused'
  | 'model-error'
  | 'journal-error'
  | 'unknown-outcome'

export type AgentErrorCode =
  | 'busy'
  | 'invalid-config'
  | 'invalid-input'
  | 'invalid-transcript'
  | 'unknown-tool-call'
  | 'tool-result-conflict'
  | 'pending-calls'
  | 'nothing-to-run'
  | 'journal-failed'
  | 'fenced'

export interface AgentErrorData {
  readonly code: AgentErrorCode
  readonly message: string
  readonly refused?: readonly { readonly id: string; readonly code: AgentErrorCode }[]
}

export interface MessageStartEvent extends StepEventBase {
  readonly type: 'message-start'
  readonly messageId: string
  readonly attempt: number
  readonly model: ModelName
}

export interface MessageEndEvent extends StepEventBase {
  readonly type: 'message-end'
  readonly messageId: string
  readonly message: AssistantMessage
  readonly attempt: number
}

/** The message is withdrawn: readers drop it, and nothing will ever follow under its id. */
export interface MessageDiscardedEvent extends StepEventBase {
  readonly type: 'message-discarded'
  readonly messageId: string
  readonly reason: 'crash'
  readonly attempt?: number
}

interface BlockEventBase extends StepEventBase {
  readonly messageId: string
  /** Place of the block in the message's content. */
  readonly index: number
}

export interface TextStartEvent extends BlockEventBase {
  readonly type: 'text-start' | 'reasoning-start'
}

export interface TextDeltaEvent extends BlockEventBase {
  readonly type: 'text-delta' | 'reasoning-delta'
  readonly delta: string
}

export interface TextEndEvent extends BlockEventBase {
  readonly type: 'text-end' | 'reasoning-end'
  /** The text of this block. */
  readonly text: string
}

export interface ToolCallStartEvent extends BlockEventBase {
  readonly type: 'tool-call-start'
  readonly toolCallId: string
  readonly toolName: string
  readonly providerExecuted?: true
}

/** Raw argument text, never parsed on the way. */
export interface ToolCallDeltaEvent extends BlockEventBase {
  readonly type: 'tool-call-delta'
  readonly toolCallId: string
  readonly delta: string
}

export interface ToolCallEndEvent extends BlockEventBase {
  readonly type: 'tool-call-end'
  readonly toolCallId: string
  readonly toolCall: ToolCallPart
}

export interface ContentPartEvent extends BlockEventBase {
  readonly type: 'content-part'
  readonly part: WholePart
}

interface ToolEventBase extends StepEventBase {
  readonly toolCallId: string
}

export interface ToolExecutionStartEvent extends ToolEventBase {
  readonly type: 'tool-execution-start'
  readonly toolName: string
  readonly label?: string
  readonly input: JSONValue
  readonly attempt: number
  /** `<runId>/<step>/<toolCallId>`, equal for every attempt of one call. */
  readonly idempotencyKey: string
  readonly effect: ToolEffect
}

export interface ToolExecutionDeltaEvent extends ToolEventBase {
  readonly type: 'tool-execution-delta'
  readonly delta: string
  /** The delta replaces what came before instead of following it. */
  readonly replace?: true
}

export interface ToolExecutionEndEvent extends ToolEventBase {
  readonly type: 'tool-execution-end'
  /** `here`: `execute` ran; `elsewhere`: the result was submitted; `no`: it never ran. */
  readonly executed: 'here' | 'elsewhere' | 'no'
  readonly message: ToolResult
  readonly terminate?: boolean
  readonly durationMs: number
}

export interface AwaitingToolsEvent extends StepEventBase {
  readonly type: 'awaiting-tools'
  readonly pendingToolCalls: readonly PendingToolCall[]
}

/** Tokens that no `message-end` holds. The sum of both kinds is the turn's usage. */
export interface UsageEvent extends RunEventBase {
  readonly type: 'usage'
  readonly purpose: 'discarded-attempt'
  readonly usage: Usage
  readonly estimated?: true
  readonly model?: ModelName
}

export interface SavePointEvent extends RunEventBase {
  readonly type: 'save-point'
}

/** Nothing is queued and nothing waits. */
export interface SettledEvent extends RunEventBase {
  readonly type: 'settled'
}

export type ToolEffect = 'pure' | 'idempotent' | 'once'

/** The exactly one outcome of a call. */
export type OutcomeStatus = 'result' | 'error' | 'denied' | 'cancelled' | 'unknown'

/** A tool-result message as the loop stores it. `details` is for the UI and is never sent to a model. */
export interface ToolResult {
  readonly role: 'tool-result'
  readonly id: string
  readonly toolCallId: string
  readonly toolName: string
  readonly output: ToolOutput
  readonly at: number
  readonly status: OutcomeStatus
  /** Place of the call among the calls of its answer, from 0. */
  readonly index: number
  readonly details?: JSONValue
}

/** A call that waits for somebody outside the run. */
export interface PendingToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JSONValue
  readonly deadlineAt?: number
  /** Tool call ids from the root; empty at the root. */
  readonly path: readonly string[]
  readonly agent: readonly string[]
  /** It may or may not have happened: the run is `needs-recovery`. */
  readonly unknown?: true
}
