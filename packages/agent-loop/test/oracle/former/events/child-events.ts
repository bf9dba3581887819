import type { Cost, ModelError, Usage } from '@bowline/llm'
import type { RunEventBase } from './event-base.ts'
import type { AgentErrorData, TurnStatus } from './turn-events.ts'

export interface ChildEventBase extends RunEventBase {
  readonly toolCallId: string
  readonly childRunId: string
}

/** A tool call hands work to another agent; of work delegated over a bridge the ids are the request's and the agent's. */
export interface ChildStartEvent extends ChildEventBase {
  readonly type: 'child-start'
  readonly step: number
  readonly subagent: string
  readonly description?: string
  /** Set if the child works in the background: its call ends before it does. */
  readonly taskId?: string
}

/** Reports the answer of a step of the child. It is repeated with another status when the child starts to wait after that step, and when it resumes. */
export interface ChildUpdateEvent extends ChildEventBase {
  readonly type: 'child-update'
  /** The child's own count. */
  readonly step: number
  readonly status: 'running' | TurnStatus
  /** At most 500 characters. */
  readonly text?: string
  readonly toolNames: readonly string[]
}

export interface ChildEndEvent extends ChildEventBase {
  readonly type: 'child-end'
  readonly step: number
  readonly status: TurnStatus
  readonly usage: Usage
  readonly cost?: Cost
  readonly error?: ModelError | AgentErrorData
}
