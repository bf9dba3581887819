import type { AgentErrorData, ApprovalRequest, EndReason, PendingToolCall, StoredMessage, TurnStatus } from '@bowline/agent-loop'
import type { AssistantMessage, Cost, JSONObject, JSONValue, ModelError, Usage } from '@bowline/llm'
import type { RunFailure, RunKind, RunStatus, Status, TerminalStatus } from '../contract/records.ts'

/** Tokens and cost of a session: its own runs, its subagents at every depth, and the sum of both. */
export interface UsageReport {
  readonly own: Spent
  readonly children: Spent
  readonly total: Spent
}

/** Tokens, and their cost in one currency. */
export interface Spent {
  readonly usage: Usage
  /** Sum of the known prices. Absent if none is known. */
  readonly cost?: Cost
}

/** Outcome of a run when it ends or waits for an answer: status, new messages, output, usage and cost. */
export interface RunResult {
  readonly runId: string
  readonly status: RunStatus
  readonly reason?: EndReason | 'crash-loop'
  /** Messages that the run has added to the active path, its input first. */
  readonly messages: readonly StoredMessage[]
  /** The last answer. */
  readonly message?: AssistantMessage
  /** Text of the last answer. With an output schema: the output as JSON. */
  readonly text: string
  /** Final answer parsed by the output schema. Only if the agent has one and the run is `completed`. */
  readonly output?: JSONValue
  readonly error?: ModelError | AgentErrorData | RunFailure
  readonly usage: Usage
  readonly cost?: Cost
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** The same as `RunInfo.heldRuns`. */
  readonly heldRuns?: readonly HeldRun[]
}

/** Facts of a session at one commit. Times are epoch milliseconds. */
export interface SessionInfo {
  readonly key: string
  readonly agent: string
  /** Status of the run whose turn is open or next, otherwise of the run that ended last. Absent before the first run. */
  readonly status?: Status
  /** Outcome of the last ended run, compactions excluded. */
  readonly outcome?: TerminalStatus
  readonly leaf: string | null
  readonly version: number
  readonly cursor: string
  readonly openRun?: RunInfo
  readonly queued: number
  /** Tokens of its own runs, without subagents. */
  readonly usage: Usage
  /** Cost of its own runs, if prices are known. */
  readonly cost?: Cost
  /** Tokens and cost of its subagents at every depth, background work included. */
  readonly children: Spent
  /** Sum of its own runs and its subagents. */
  readonly total: Spent
  readonly metadata: JSONObject
  /** Key of the session that delegated work to this one. */
  readonly parent?: string
  /** Session and entry that a fork was copied from. */
  readonly forkedFrom?: { readonly key: string; readonly entryId: string | null }
  readonly createdAt: number
  /** Time at which a run was last added. Other commits move it at most once a minute. */
  readonly activeAt: number
  /** Expiry time if there is no further activity. */
  readonly expiresAt?: number
  /** Time at which it expired. An expired session is read-only. */
  readonly expiredAt?: number
}

/** Facts of a run at one commit, as its log tells them. Times are epoch milliseconds. */
export interface RunInfo {
  readonly runId: string
  readonly session: string
  readonly kind: RunKind
  readonly status: Status
  /** Outcome of its last segment. Absent while queued or running. */
  readonly outcome?: TurnStatus
  readonly reason?: EndReason | 'crash-loop'
  readonly attempts: number
  /** Position before its first event. */
  readonly cursor: string
  /** Idempotency id of its input. */
  readonly inputId?: string
  /** Calls that wait for an answer, without those already answered. */
  readonly pendingToolCalls: readonly PendingToolCall[]
  /** Questions about calls that wait for a decision, without those already decided. */
  readonly pendingApprovals: readonly ApprovalRequest[]
  /**
   * Runs of subagents, at any depth, that this run waits for and that wait for `recover`. Absent if there are none. `error` events
   * of source `definition` in the log report them, and those of background tasks.
   */
  readonly heldRuns?: readonly HeldRun[]
  readonly stopping: boolean
  /** Id of the run that delegated work to this one. */
  readonly parent?: string
  /** Set if the child works in the background. */
  readonly taskId?: string
  readonly error?: ModelError | AgentErrorData | RunFailure
  readonly usage: Usage
  readonly cost?: Cost
  readonly createdAt: number
  readonly startedAt?: number
  /** Absent while it is open, which includes the hooks after the end of its turn. */
  readonly endedAt?: number
  /** Set while hooks run after its turn has ended or waits: `status` is that of the log, and the session is not free yet. */
  readonly holdsSession?: true
}

/** A run of a subagent that waits because the definition of its agent has changed. */
export interface HeldRun {
  readonly runId: string
  /** Names of the agents from the root down to its own. */
  readonly agent: readonly string[]
  /** Description of each change. */
  readonly message: string
}
