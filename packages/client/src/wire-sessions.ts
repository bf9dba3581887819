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

/** What the routes of a session take and answer. */

export interface SessionView extends SessionSummary {
  readonly messages: readonly StoredMessage[]
  readonly hasMore: boolean
  readonly pendingToolCalls: readonly PendingToolCall[]
  readonly pendingApprovals: readonly ApprovalRequest[]
  /** Of its first open run; `outcome` is there while it waits, and says how its last segment ended. */
  readonly run?: { readonly runId: string; readonly status: Status; readonly outcome?: TurnStatus; readonly attempts: number }
  /**
   * Runs of subagents that `run` waits for and that are held because the definition of their agent has changed: the recover
   * route takes their ids. Absent if there are none.
   */
  readonly heldRuns?: readonly HeldRun[]
  /** Of its own runs, without their subagents, as the cost. */
  readonly usage: Usage
  readonly cost?: Cost
  /** Of its subagents at every depth, those in the background too. */
  readonly children: Spent
  /** Of both. */
  readonly total: Spent
  /** The log position that this view is true for. */
  readonly cursor: string
  /** Where the session stands in the plan of its agent, and the tools that it may use now. */
  readonly orchestration?: { readonly step?: string; readonly sequenceIndex: number; readonly tools: readonly string[] }
}

export interface Spent {
  readonly usage: Usage
  /** As far as prices are known. */
  readonly cost?: Cost
}

/** Who the server takes the caller for. */
export interface Identity {
  readonly id: string
  readonly tenant: string
  /** `admin` contains all others. */
  readonly scopes: readonly Scope[]
  /** Epoch milliseconds from which the token is refused. Absent: it does not expire. */
  readonly expiresAt?: number
}

/** What a caller may do within its tenant. */
export type Scope = 'agents:read' | 'sessions:read' | 'sessions:write' | 'sessions:delete' | 'approvals' | 'mcp' | 'metrics' | 'spending' | 'requests:read' | 'admin'

/** Where the tenant of the caller stands in the present window of its budget. */
export interface TenantSpending {
  readonly tenant: string
  /** What it may spend in the window, as a decimal. Absent: it has no limit. */
  readonly maxCost?: string
  readonly currency: string
  /** What was granted beside the limit in the window, as a decimal. Absent: nothing. */
  readonly granted?: string
  /** Absent: nothing was spent. */
  readonly spent?: Cost
  /** For model calls that are under way. Absent: there are none. */
  readonly reserved?: Cost
  /** A number for people: the budget itself is exact. Absent without a limit. */
  readonly left?: number
  /** Epoch milliseconds. */
  readonly windowStartsAt: number
  readonly windowEndsAt: number
}

/** What a session is a copy of. */
export interface SessionOrigin {
  readonly sessionId: string
  /** The last entry that was copied; null: none was there. */
  readonly entryId: string | null
}

export interface SessionSummary {
  readonly sessionId: string
  readonly agent: string
  /** That of its first open run, else that of the last one that ended. Absent before its first run. */
  readonly status?: Status
  /** How its last run ended, compactions apart. */
  readonly outcome?: TurnStatus
  readonly createdAt: number
  readonly updatedAt: number
  readonly metadata: JsonObject
  readonly parent?: string
  readonly forkedFrom?: SessionOrigin
  /** When it expires if nothing happens until then. */
  readonly expiresAt?: number
  /** When it expired: it takes nothing any more. */
  readonly expiredAt?: number
}

export interface SessionList {
  readonly sessions: readonly SessionSummary[]
  readonly nextCursor?: string
}

export interface AgentSummary {
  readonly id: string
  readonly description?: string
  readonly capabilities: readonly string[]
  /** Which tools a client may bring to a new session. */
  readonly clientTools: 'none' | 'declared' | 'any'
  /** Those that a client may ask for. */
  readonly models: readonly string[]
  readonly default: boolean
}

/** `kill` ends all that is open at once, whoever executes it, and needs more rights. */
export type StopRequest =
  | {
      /** A run of this session or of a subagent below it, such as `childRunId` of `child-start`. Default: the open run that came first. */
      readonly runId?: string
      readonly mode?: 'stop'
      readonly scope?: 'active' | 'all'
      /** 0–30,000, default 10,000. */
      readonly waitMs?: number
    }
  | { readonly mode: 'kill' }

export interface StopReceipt {
  readonly runId: string | null
  readonly state: 'settled' | 'pending' | 'nothing-to-stop'
  readonly status?: Status
  readonly calls: readonly { readonly toolCallId: string; readonly toolName: string; readonly status: OutcomeStatus | 'running' }[]
  readonly children: readonly StopReceipt[]
}

/** Exactly one answer; `output` is what a tool returns. The fields of the pending call may be sent along. */
export type ToolResolution =
  | (Partial<PendingToolCall> &
      (
        | { readonly result: JsonValue }
        | ToolOutput
        | { readonly error: string }
        | { readonly runAgain: true }
      ))
  | { readonly unknown: true }

type ToolOutput = Pick<Extract<ToolResultInput, { readonly output: unknown }>, 'output' | 'details' | 'isError'>

export type ResolveRequest = ToolResolution & {
  /** Of a call of a child run: the tool calls that lead to it. */
  readonly path?: readonly string[]
}

export interface InputRequest {
  readonly input: UserInput
  /** Repeats with the same id and input are one input. */
  readonly id?: string
}

export interface OverlayRequest extends InputRequest {
  /** How many of the next turns see it: 1–1,000, default 1. */
  readonly turns?: number
}

/** `steered`: into the open run. `queued`: as a run of its own. `duplicate`: it was there before. */
export interface InputReceipt {
  readonly runId: string
  readonly accepted: 'steered' | 'queued' | 'duplicate'
}

export type ApprovalAnswer =
  | {
      readonly decision: 'approve'
      /** What the call is to run with instead. */
      readonly input?: JsonValue
      /** Of the input that is decided about. */
      readonly inputHash?: string
      readonly reason?: string
    }
  | { readonly decision: 'deny'; readonly inputHash?: string; readonly reason?: string }

export interface ApprovalReceipt {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  /** Who decided. */
  readonly by?: string
  readonly at: number
  /** It was decided so before; the receipt is the first one. */
  readonly repeated: boolean
  /** Approvals of the run that are still open. */
  readonly missing: readonly string[]
}

export interface ForkRequest {
  /** Where the copy ends. Default: where the active path does. */
  readonly entryId?: string
  readonly newSessionId?: string
}

export interface SwitchRequest {
  /** Null: before the first entry. */
  readonly entryId: string | null
  /** Have the way that is left summarised by the agent's model: the summary stands behind the target. Default false. */
  readonly summarize?: boolean
  /** Extra focus of the summary. */
  readonly instructions?: string
}

export interface LabelRequest {
  /** Of the active path. */
  readonly entryId: string
  /** 1–200 characters; null takes the name away. */
  readonly text: string | null
}

export interface Label {
  readonly entryId: string
  readonly text: string
  /** When it was given. */
  readonly at: number
}

/** The names on a path, in the order in which they were given. */
export interface LabelList {
  readonly labels: readonly Label[]
}

/** The end of a path. */
export interface Branch {
  readonly leaf: string
  /** On the path from the root. */
  readonly entries: number
  readonly at: number
  readonly label?: string
  readonly active: boolean
}

export interface BranchList {
  readonly branches: readonly Branch[]
  readonly nextCursor?: string
}

/** `entryId`: of the compaction in the tree, when one was made. */
export type CompactionResult = CompactionEnd & { readonly entryId?: string }

/** For `?ticket=` of one stream of events of one session, for an `EventSource` for example. */
export interface Ticket {
  readonly ticket: string
  /** Epoch milliseconds by which the stream must be open. */
  readonly expiresAt: number
}
