import type { AssistantMessage, Cost, JSONValue, ModelError, ToolCallPart, Usage, UserMessage, WholePart } from '@bowline/llm'
import type { Compaction, RetryStartEvent } from './message-events.ts'
import type { Status } from './status.ts'
import type { ApprovalRequest, PendingToolCall, ToolResult } from './tool-events.ts'
import type { AgentErrorData, ModelName, OutcomeStatus, TurnError, TurnStatus } from './turn-events.ts'

/**
 * The state of a conversation as its log tells it. A view never changes: each event makes a new one that shares unchanged parts.
 * Messages keep their references.
 */
export interface RunView {
  /** Number of the last durable event in the view. */
  readonly seq: number
  /** `compaction` is a compaction outside of a turn. */
  readonly phase: 'idle' | 'turn' | 'compaction'
  /** Status of the latest run. */
  readonly status?: Status
  /** Outcome of its last segment; absent while the run is queued or running. */
  readonly outcome?: TurnStatus
  readonly runId?: string
  readonly turn: number
  readonly step: number
  /** The transcript. Results of a step enter it together, in call order, when the last one has arrived. */
  readonly messages: readonly ViewMessage[]
  /** The message being streamed. */
  readonly open?: OpenMessage
  /**
   * Every call of the conversation, in the order of the requests; `toolCallOf` finds one. It is a list because copying it for a
   * change costs next to nothing, also in a long conversation.
   */
  readonly toolCalls: readonly ToolCallView[]
  /**
   * Live output of running tools so far, by tool call id: at least its last `progressCharacters`. Like `open` it is made of deltas,
   * so it ends with the call.
   */
  readonly progress: Readonly<Record<string, string>>
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** Work that calls have delegated to other agents, in the order of the starts. */
  readonly children: readonly ChildView[]
  /**
   * The compaction in force. The model is shown it instead of the messages before `firstKeptMessageId`, which stay in `messages`.
   */
  readonly compaction?: Compaction
  /** A retry that is announced or in progress. */
  readonly retry?: RetryView
  /** Usage of the latest turn. */
  readonly usage: Usage
  /** Cost of the latest turn; absent if the cost of a part is not known. */
  readonly cost?: Cost
  /** Why the latest turn ended as `error`. */
  readonly error?: TurnError
  /** Output of the latest turn, if the agent has an output schema: first the part that is written so far, then the stored one. */
  readonly output?: JSONValue
  /** Events are missing: load the transcript and continue from its cursor. */
  readonly gap: boolean
}

/** A message of a view: a stored message without live parts. */
export type ViewMessage = UserMessage | AssistantMessage | ToolResult

/** The answer that is being written, as far as its deltas have arrived. */
export interface OpenMessage {
  readonly messageId: string
  readonly step: number
  readonly attempt: number
  readonly model: ModelName
  readonly blocks: readonly OpenBlock[]
}

/**
 * One content block as far as its deltas have arrived. A delta replaces the block by a copy with the longer text; its cost does
 * not grow with the text.
 */
export type OpenBlock =
  | { readonly type: 'text' | 'reasoning'; readonly index: number; readonly text: string; readonly closed: boolean }
  | OpenToolCall
  | { readonly type: 'part'; readonly index: number; readonly part: WholePart }

/** A tool call that is being written. */
export interface OpenToolCall {
  readonly type: 'tool-call'
  readonly index: number
  readonly toolCallId: string
  readonly toolName: string
  /** Raw argument text, not parsed. */
  readonly inputText: string
  /** Present once the block is closed. */
  readonly toolCall?: ToolCallPart
}

/**
 * A tool call in a view. `pending`: not started. `running`: started. `remote`: waits for an answer from outside. Otherwise `state`
 * is its outcome.
 */
export interface ToolCallView {
  readonly toolCallId: string
  readonly toolName: string
  readonly label?: string
  readonly input: JSONValue
  readonly state: 'pending' | 'running' | 'remote' | OutcomeStatus
  /** Number of starts; 0 before the first. */
  readonly attempt: number
  readonly startedAt?: number
  /** Present exactly if `state` is an outcome. */
  readonly result?: ToolResult
  readonly durationMs?: number
}

/** One child run; `step`, `text` and `toolNames` are those of its last update. */
export interface ChildView {
  readonly toolCallId: string
  readonly childRunId: string
  readonly subagent: string
  readonly description?: string
  /** Set if the child works in the background. */
  readonly taskId?: string
  /** Step in the child's own count; 0 before its first update. */
  readonly step: number
  readonly status: Status
  /** Status in its last update or its end: how it waits, or how it ended. Absent while it is running. */
  readonly outcome?: TurnStatus
  readonly text?: string
  readonly toolNames: readonly string[]
  /** Present once the child has ended, as far as they are known. */
  readonly usage?: Usage
  readonly cost?: Cost
  readonly error?: ModelError | AgentErrorData
}

/** The retry that is waiting or running: the fields of its `retry-start`. */
export type RetryView = Pick<RetryStartEvent, 'attempt' | 'maxAttempts' | 'delayMs' | 'notBefore' | 'cause' | 'model' | 'error'>

/** The number of characters that a view keeps of a running tool's progress. */
export const progressCharacters = 20_000

/** The view of a log without events, from which `reduceEvents` begins. */
export const emptyView: RunView = Object.freeze({
  seq: 0,
  phase: 'idle',
  turn: 0,
  step: 0,
  messages: Object.freeze([]),
  toolCalls: Object.freeze([]),
  progress: Object.freeze({}),
  pendingToolCalls: Object.freeze([]),
  pendingApprovals: Object.freeze([]),
  children: Object.freeze([]),
  usage: Object.freeze({}),
  gap: false,
})

/** Returns the call with this id, or undefined if the view has none. */
export function toolCallOf(view: Partial<RunView> | null | undefined, toolCallId: string): ToolCallView | undefined {
  return view?.toolCalls?.findLast((call) => call.toolCallId === toolCallId)
}
