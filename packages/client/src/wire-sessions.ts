import type { Status } from '@bowline/agent-loop/events'
import type {
  ApprovalRequest,
  CompactionResult as CompactionEnd,
  OutcomeStatus,
  PendingToolCall,
  StoredMessage,
  TurnStatus,
} from '@bowline/agent-loop'
import type { Cost, HeldRun, JsonObject, JsonValue, ToolResultInput, Usage, UserInput } from './wire.ts'

/** State of a session at `cursor`: newest messages, open runs and open questions. */
export interface SessionView extends SessionSummary {
  readonly messages: readonly StoredMessage[]
  readonly hasMore: boolean
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** First open run. While it waits, `outcome` is the outcome of its last segment. */
  readonly run?: { readonly runId: string; readonly status: Status; readonly outcome?: TurnStatus; readonly attempts: number }
  /**
   * Runs of subagents that `run` waits for and that are held because the definition of their agent has changed. The recover route
   * takes their ids. Absent if there are none.
   */
  readonly heldRuns?: readonly HeldRun[]
  /** Tokens of its own runs, without subagents. `cost` is counted likewise. */
  readonly usage: Usage
  readonly cost?: Cost
  /** Tokens and cost of its subagents at every depth, including background work. */
  readonly children: Spent
  /** Sum of its own runs and its subagents. */
  readonly total: Spent
  /** Log position at which this view was read. */
  readonly cursor: string
  /** Current step in the plan of the agent, and the tools that it may use now. */
  readonly orchestration?: { readonly step?: string; readonly sequenceIndex: number; readonly tools: readonly string[] }
}

/** Tokens, and their cost in one currency. */
export interface Spent {
  readonly usage: Usage
  /** Sum of the known prices. Absent if none is known. */
  readonly cost?: Cost
}

/** Identity and rights of a caller as the server sees them. */
export interface Identity {
  readonly id: string
  readonly tenant: string
  /** Scopes. `admin` includes all others. */
  readonly scopes: readonly Scope[]
  /** Epoch milliseconds from which the token is refused. Absent if it does not expire. */
  readonly expiresAt?: number
}

/** Right of a caller within its tenant. */
export type Scope =
  | 'agents:read'
  | 'sessions:read'
  | 'sessions:write'
  | 'sessions:delete'
  | 'approvals'
  | 'mcp'
  | 'metrics'
  | 'spending'
  | 'requests:read'
  | 'admin'

/** Spent and remaining money of the caller's tenant in the current budget window. */
export interface TenantSpending {
  readonly tenant: string
  /** Limit per window as a decimal string. Absent if there is no limit. */
  readonly maxCost?: string
  readonly currency: string
  /** Money granted in the window in addition to the limit, as a decimal string. Absent if there is none. */
  readonly granted?: string
  /** Absent if nothing was spent. */
  readonly spent?: Cost
  /** Money reserved for running model calls. Absent if there is none. */
  readonly reserved?: Cost
  /** Remaining money as a number for display; the budget itself is exact. Absent without a limit. */
  readonly left?: number
  /** Start of the window in epoch milliseconds. */
  readonly windowStartsAt: number
  readonly windowEndsAt: number
}

/** Session and entry from which a fork was copied. */
export interface SessionOrigin {
  readonly sessionId: string
  /** Last copied entry. Null if there was none. */
  readonly entryId: string | null
}

/** Facts of a session without its messages. Times are epoch milliseconds. */
export interface SessionSummary {
  readonly sessionId: string
  readonly agent: string
  /** Status of its first open run, else of the run that ended last. Absent before the first run. */
  readonly status?: Status
  /** Outcome of its last run that was not a compaction. */
  readonly outcome?: TurnStatus
  readonly createdAt: number
  readonly updatedAt: number
  readonly metadata: JsonObject
  readonly parent?: string
  readonly forkedFrom?: SessionOrigin
  /** Expiry time if no activity comes before it. */
  readonly expiresAt?: number
  /** Time at which it expired. It accepts no input any more. */
  readonly expiredAt?: number
}

/** One page of sessions. `nextCursor` is absent on the last page. */
export interface SessionList {
  readonly sessions: readonly SessionSummary[]
  readonly nextCursor?: string
}

/** Agent and the rights of clients on it. */
export interface AgentSummary {
  readonly id: string
  readonly description?: string
  readonly capabilities: readonly string[]
  /** Tools that a client may declare for a new session. */
  readonly clientTools: 'none' | 'declared' | 'any'
  /** Models that a client may select. */
  readonly models: readonly string[]
  readonly default: boolean
}

/** Scope and reason of a stop. `kill` ends all open work at once, in every process, and needs more rights. */
export type StopRequest =
  | {
      /** Run of this session or of a subagent below it, such as `childRunId` of `child-start`. Default: the first open run. */
      readonly runId?: string
      readonly mode?: 'stop'
      readonly scope?: 'active' | 'all'
      /** Time in ms to wait for the end of the run, 0–30,000. Default 10,000. */
      readonly waitMs?: number
    }
  | { readonly mode: 'kill' }

/** Result of a stop: the stopped run with its calls and child runs. `pending`: the run has not ended yet. */
export interface StopReceipt {
  readonly runId: string | null
  readonly state: 'settled' | 'pending' | 'nothing-to-stop'
  readonly status?: Status
  readonly calls: readonly { readonly toolCallId: string; readonly toolName: string; readonly status: OutcomeStatus | 'running' }[]
  readonly children: readonly StopReceipt[]
}

/**
 * Outcome of a call in exactly one form. `output` has the form of a tool's return value. Fields of the pending call may be sent
 * along.
 */
export type ToolResolution =
  | (Partial<PendingToolCall> & ({ readonly result: JsonValue } | ToolOutput | { readonly error: string } | { readonly runAgain: true }))
  | { readonly unknown: true }

type ToolOutput = Pick<Extract<ToolResultInput, { readonly output: unknown }>, 'output' | 'details' | 'isError'>

/** Outcome for a call whose outcome is unknown. */
export type ResolveRequest = ToolResolution & {
  /** For a call of a child run: the tool calls that lead to it. */
  readonly path?: readonly string[]
}

/** Body of a steering or follow-up input. */
export interface InputRequest {
  readonly input: UserInput
  /** Idempotency id: retries with the same id and input count as one input. */
  readonly id?: string
}

/** Body of an overlay. */
export interface OverlayRequest extends InputRequest {
  /** Number of coming turns that see it: 1–1,000, default 1. */
  readonly turns?: number
}

/** Result of an input. `steered`: added to the open run. `queued`: queued as its own run. `duplicate`: accepted before. */
export interface InputReceipt {
  readonly runId: string
  readonly accepted: 'steered' | 'queued' | 'duplicate'
  readonly behind?: RunAhead
}

/** Run that must end before a queued run starts. If it waits for an answer, so does the queued run. */
export interface RunAhead {
  readonly runId: string
  readonly status: Status
}

/** Body of a decision about an approval. */
export type ApprovalAnswer =
  | {
      readonly decision: 'approve'
      /** Input with which the call runs instead. */
      readonly input?: JsonValue
      /** Hash of the input that the decision is about. */
      readonly inputHash?: string
      readonly reason?: string
    }
  | { readonly decision: 'deny'; readonly inputHash?: string; readonly reason?: string }

/** Stored decision about an approval. `at` is epoch milliseconds. */
export interface ApprovalReceipt {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  /** Identity that decided. */
  readonly by?: string
  readonly at: number
  /** True if the same decision was made before. The receipt is then that of the first one. */
  readonly repeated: boolean
  /** Ids of the approvals of the run that are still open. */
  readonly missing: readonly string[]
}

/** Last entry of the copied path, and id of the new session (default: a new one). */
export interface ForkRequest {
  /** Last copied entry. Default: the end of the active path. */
  readonly entryId?: string
  readonly newSessionId?: string
}

/** Target entry of a switch, and whether the model summarizes the path that is left. */
export interface SwitchRequest {
  /** Target entry. Null: before the first entry. */
  readonly entryId: string | null
  /** Lets the model of the agent summarize the path that is left; the summary follows the target entry. Default false. */
  readonly summarize?: boolean
  /** Extra focus of the summary. */
  readonly instructions?: string
}

/** Entry and new name. Null removes the name. */
export interface LabelRequest {
  /** Entry of the active path. */
  readonly entryId: string
  /** Name of 1–200 characters. Null removes it. */
  readonly text: string | null
}

/** Name of an entry. `at` is epoch milliseconds. */
export interface Label {
  readonly entryId: string
  readonly text: string
  /** Creation time in epoch milliseconds. */
  readonly at: number
}

/** Labels of a path, in order of creation. */
export interface LabelList {
  readonly labels: readonly Label[]
}

/** Path of the transcript tree, named by its last entry. */
export interface Branch {
  readonly leaf: string
  /** Number of entries on the path from the root. */
  readonly entries: number
  readonly at: number
  readonly label?: string
  readonly active: boolean
}

/** One page of branches. `nextCursor` is absent on the last page. */
export interface BranchList {
  readonly branches: readonly Branch[]
  readonly nextCursor?: string
}

/** Result of a compaction. `entryId` is its entry in the tree, absent if none was stored. */
export type CompactionResult = CompactionEnd & { readonly entryId?: string }

/** One-time credential for `?ticket=` of one event stream of one session, for example for an `EventSource`. */
export interface Ticket {
  readonly ticket: string
  /** Epoch milliseconds by which the stream must be open. */
  readonly expiresAt: number
}
