import type { Cost, JSONValue, ModelError, ToolOutput, Usage } from '@bowline/llm'
import type { AgentErrorData, OutcomeStatus, RunEventBase, StepEventBase, TurnStatus } from './turn-events.ts'

interface ToolEventBase extends StepEventBase {
  readonly toolCallId: string
}

/** A tool begins to run. It is stored before `execute` is called. `attempt` counts the starts of this call from 1. */
export interface ToolExecutionStartEvent<Name extends string = string, Input = JSONValue> extends ToolEventBase {
  readonly type: 'tool-execution-start'
  readonly toolName: Name
  readonly label?: string
  /** The input that was validated. */
  readonly input: Input
  readonly attempt: number
  /** `<runId>/<step>/<toolCallId>`, equal for every attempt of one call. */
  readonly idempotencyKey: string
  readonly effect: ToolEffect
}

/** Live text of a running tool (`context.emit`, or a text that its generator yields). It is not stored and the model does not see it. */
export interface ToolExecutionDeltaEvent extends ToolEventBase {
  readonly type: 'tool-execution-delta'
  readonly delta: string
  /** The delta replaces what came before instead of following it. */
  readonly replace?: true
}

/** A call has ended; `message` is its only outcome. `durationMs` is the time since its start, in ms. */
export interface ToolExecutionEndEvent<Name extends string = string, Output = JSONValue> extends ToolEventBase {
  readonly type: 'tool-execution-end'
  /** `here`: `execute` ran; `elsewhere`: the result was submitted; `no`: it never ran. */
  readonly executed: 'here' | 'elsewhere' | 'no'
  readonly message: ToolResult<Name, Output>
  readonly terminate?: boolean
  readonly durationMs: number
}

/**
 * Set for a background run, in the log of the root: the ids of the tool calls from the root to the call that launched the run.
 * `runId`, `turn` and `step` are those of that run, and the event may come anywhere in the log.
 */
interface MaybeBackground {
  readonly background?: readonly string[]
}

/**
 * Lists the calls that wait for an answer from outside. From a background run it replaces the list of that run; an empty list means
 * that the run no longer waits. The calls of other background runs stay, also those of runs launched below it.
 */
export interface AwaitingToolsEvent extends StepEventBase, MaybeBackground {
  readonly type: 'awaiting-tools'
  readonly pendingToolCalls: readonly PendingToolCall[]
  /** Set while other calls of the answer still run: the calls can be answered now. Without it, the segment ends. */
  readonly continues?: true
}

/** A call waits for a decision. The fields are those of `ApprovalRequest`. */
export interface ApprovalRequestedEvent extends ToolEventBase, MaybeBackground {
  readonly type: 'approval-requested'
  readonly approvalId: string
  readonly toolName: string
  readonly input: JSONValue
  /** SHA-256, base64url, of the canonical JSON of `input`. */
  readonly inputHash: string
  readonly reason?: string
  /** Id of an earlier approval of the same call. The tool has changed since, so the approval is requested again. */
  readonly replaces?: string
  /**
   * Absent: the request is about the call. `budget`: it is about more money or tokens for the run, and no call has this
   * `toolCallId`.
   */
  readonly about?: 'budget'
  readonly path: readonly string[]
  readonly deadlineAt?: number
}

/** An approval has a decision, or was cancelled together with its call. */
export interface ApprovalResolvedEvent extends ToolEventBase, MaybeBackground {
  readonly type: 'approval-resolved'
  readonly approvalId: string
  /** `cancelled`: there is no decision, and there will be none. */
  readonly decision: 'approve' | 'deny' | 'cancelled'
  readonly reason?: string
  /** The edited input that was validated. */
  readonly editedInput?: JSONValue
  readonly by?: string
}

/**
 * Effect of a second execution of the same call. `pure`: none. `idempotent`: none under the same `idempotencyKey`. `once`: a second
 * execution must not happen. After a crash the loop runs calls of the first two kinds again, and never those of the third.
 */
export type ToolEffect = 'pure' | 'idempotent' | 'once'

/** A tool-result message as the loop stores it. `details` is for the UI and is never sent to a model. */
export interface ToolResult<Name extends string = string, Output = JSONValue> {
  readonly role: 'tool-result'
  readonly id: string
  readonly toolCallId: string
  readonly toolName: Name
  /** Output for the model. The value that the tool returned is the `value` of `json` or, if it is a text or was cut, of `text`. */
  readonly output: Exclude<ToolOutput, { type: 'json' | 'error-json' }> | JsonOutput<Output>
  readonly at: number
  readonly status: OutcomeStatus
  /** Position of the call among the calls of its answer, from 0. */
  readonly index: number
  readonly details?: JSONValue
}

type JsonOutput<Value> = { readonly type: 'json'; readonly value: Value } | { readonly type: 'error-json'; readonly value: JSONValue }

/** A call that waits for an answer from outside the run. Answer it by its `toolCallId`. `deadlineAt` is epoch milliseconds. */
export interface PendingToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JSONValue
  readonly deadlineAt?: number
  /** Tool call ids from the root; empty at the root. */
  readonly path: readonly string[]
  readonly agent: readonly string[]
  /**
   * In a view, set only for a call of a background run, which outlives the turn: the ids of the tool calls from the root to the
   * call that launched the run.
   */
  readonly background?: readonly string[]
  /** The call may or may not have taken effect: the run is `needs-recovery`. */
  readonly unknown?: true
}

/** A call that waits for a decision. Decide it by its `approvalId`. `deadlineAt` is epoch milliseconds. */
export interface ApprovalRequest {
  readonly approvalId: string
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JSONValue
  /**
   * SHA-256, base64url, of the canonical JSON of `input`. A decision may repeat it, to be sure of the input that it decides about.
   */
  readonly inputHash: string
  readonly reason?: string
  /** Id of an earlier approval of the same call. The tool has changed since, so the approval is requested again. */
  readonly replaces?: string
  /**
   * Absent: the request is about the call. `budget`: it is about more money or tokens for the run, and no call has this
   * `toolCallId`.
   */
  readonly about?: 'budget'
  /** Tool call ids from the root; empty at the root. */
  readonly path: readonly string[]
  readonly agent: readonly string[]
  /**
   * In a view, set only for a request of a background run, which outlives the turn: the ids of the tool calls from the root to the
   * call that launched the run.
   */
  readonly background?: readonly string[]
  /** After this time the call counts as denied. */
  readonly deadlineAt?: number
}

interface ChildEventBase extends RunEventBase {
  readonly toolCallId: string
  readonly childRunId: string
  /** Name of the subagent. */
  readonly subagent: string
}

/**
 * A subagent starts to work for a tool call. For work delegated over a bridge, the ids are those of the request and of the remote
 * agent.
 */
export interface ChildStartEvent extends ChildEventBase {
  readonly type: 'child-start'
  readonly step: number
  readonly description?: string
  /** Set if the child works in the background: its call ends before it does. */
  readonly taskId?: string
}

/**
 * Reports the answer of a step of a subagent. It comes again with another status when the subagent begins to wait after that step,
 * and when it resumes.
 */
export interface ChildUpdateEvent extends ChildEventBase {
  readonly type: 'child-update'
  /** Step in the child's own count. */
  readonly step: number
  readonly status: 'running' | TurnStatus
  /** At most 500 characters. */
  readonly text?: string
  readonly toolNames: readonly string[]
}

/** A subagent has ended. `usage` and `cost` are those of its whole run. */
export interface ChildEndEvent extends ChildEventBase {
  readonly type: 'child-end'
  readonly step: number
  readonly status: TurnStatus
  readonly usage: Usage
  readonly cost?: Cost
  readonly error?: ModelError | AgentErrorData
}
