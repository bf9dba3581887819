import type { AssistantMessage, JSONValue, ModelError, ToolCallPart, Usage, UserMessage, WholePart } from '@bowline/llm'
import type { AgentErrorData, ModelName, OutcomeStatus, PendingToolCall, ToolResult, TurnStatus } from './types.ts'

/**
 * What a reader of the log knows. A view is never changed: each event gives a new one that shares what stayed the
 * same. Messages keep their references.
 */
export interface RunView {
  /** Of the last durable event that was folded in. */
  readonly seq: number
  readonly phase: 'idle' | 'turn'
  /** Of the latest run. */
  readonly status?: RunStatus
  readonly runId?: string
  readonly turn: number
  readonly step: number
  /** The transcript. Results of a step enter it together, in call order, at `step-end`. */
  readonly messages: readonly ViewMessage[]
  /** The message being streamed. */
  readonly open?: OpenMessage
  /** Every call of the conversation, by tool call id. */
  readonly toolCalls: Readonly<Record<string, ToolCallView>>
  /**
   * What running tools have said so far, by tool call id: at least the last `progressCharacters` of it. Like `open` it
   * is made of deltas, so it ends with the call.
   */
  readonly progress: Readonly<Record<string, string>>
  readonly pendingToolCalls: readonly PendingToolCall[]
  /** Of the latest turn. */
  readonly usage: Usage
  /** Why the latest turn ended as `error`. */
  readonly error?: ModelError | AgentErrorData
  /** Events are missing: load the transcript and go on from its cursor. */
  readonly gap: boolean
}

export type RunStatus = 'queued' | 'running' | TurnStatus

export type ViewMessage = UserMessage | AssistantMessage | ToolResult

export interface OpenMessage {
  readonly messageId: string
  readonly step: number
  readonly attempt: number
  readonly model: ModelName
  readonly blocks: readonly OpenBlock[]
}

/**
 * One content block so far. A delta replaces the block by a copy with the longer text; engines join strings without
 * copying them, so its cost does not grow with the text.
 */
export type OpenBlock =
  | { readonly type: 'text' | 'reasoning'; readonly index: number; readonly text: string; readonly closed: boolean }
  | OpenToolCall
  | { readonly type: 'part'; readonly index: number; readonly part: WholePart }

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

/** `pending`: not started; `running`: started; `remote`: somebody outside must answer; else the outcome. */
export interface ToolCallView {
  readonly toolCallId: string
  readonly toolName: string
  readonly label?: string
  readonly input: JSONValue
  readonly state: 'pending' | 'running' | 'remote' | OutcomeStatus
  /** 0 until it started, then the number of starts. */
  readonly attempt: number
  readonly startedAt?: number
  /** Present exactly when `state` is an outcome. */
  readonly result?: ToolResult
  readonly durationMs?: number
}

/** How much of a running tool's progress a view keeps. */
export const progressCharacters = 20_000

/** The view of a log without events. */
export const emptyView: RunView = Object.freeze({
  seq: 0,
  phase: 'idle',
  turn: 0,
  step: 0,
  messages: Object.freeze([]),
  toolCalls: Object.freeze({}),
  progress: Object.freeze({}),
  pendingToolCalls: Object.freeze([]),
  usage: Object.freeze({}),
  gap: false,
})
