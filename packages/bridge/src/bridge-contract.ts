import type { TurnStatus } from '@bowline/agent-loop/events'
import type { Clock, Cost, JSONObject, JSONValue, RuntimeParams, Usage } from '@bowline/llm'
import type { Answer, BridgeEvent, PendingInput, StopReason } from './agent.ts'
import type { BridgeError, BridgeErrorBody } from './errors.ts'
import type { DiscoveredAgent, WorkerHealth } from './executors/executor.ts'

/**
 * Takes prompts to agents and brings back exactly one outcome of each. Every call may name an `owner`, by default
 * `local`: sessions and requests of others are not there for it.
 */
export interface Bridge {
  readonly limits: BridgeLimits
  /** What all its times are measured by. */
  readonly clock: Clock
  /** Starts the executors in order. When one fails, those that run are stopped and its error is thrown. Repeatable. */
  start(): Promise<void>
  /**
   * Takes no new work, cancels what runs and waits for it, then stops the executors in reverse order. Durable agents
   * are left to go on. Resolves within `deadlineMs` (default 10,000) plus one second.
   */
  stop(options?: { readonly deadlineMs?: number }): Promise<void>
  /** Says in `owner` how much the caller uses of what one owner may use. */
  health(options?: OwnerOption): BridgeHealth
  counters(): BridgeCounters
  /** Executors in order, their agents in order of registration. `capability` must be in the agent's list exactly. */
  discover(query?: OwnerOption & { readonly capability?: string }): readonly ListedAgent[]
  /**
   * Lets every executor look anew at its agents, at most once per second. Waits at most `waitMs` (default 2,000) for agents
   * that are being started. Rejects for options that are none only.
   */
  refresh(options?: { readonly waitMs?: number }): Promise<void>
  /** Throws a `BridgeError`; then no session remains. */
  createSession(input?: CreateSessionInput): Promise<BridgeSession>
  /** One prompt in a session, or `answers` to what its request waits for. A refused call is told by its result. */
  prompt(input: PromptInput): BridgeRun
  /** Opens a session, sends the prompt, closes the session. A refused call is told by its result. */
  delegate(input: DelegateInput): BridgeRun
  /** Throws `NOT_FOUND` or `EXPIRED`. */
  session(sessionId: string, options?: OwnerOption): Promise<BridgeSession>
  /** Newest first. */
  sessions(filter?: SessionFilter): Promise<SessionPage>
  /** Requests that go on, and those that ended as long as they are kept. Newest first. */
  requests(filter?: RequestFilter): Promise<RequestPage>
  /** What became of a request. Waits up to `waitMs` (default 0) for it to end or to need input. */
  request(requestId: string, options?: RequestQuery): Promise<BridgeResult>
  /** Throws `NOT_FOUND`, also when session and request do not belong together. */
  cancel(input: CancelInput): Promise<CancelReceipt>
  close(input: CloseInput): Promise<CloseReceipt>
}

export interface ListedAgent extends DiscoveredAgent {
  /** The kind of the executor that reaches it. */
  readonly executor: string
  readonly default: boolean
}

/** What an owner may be allowed to do with an agent. What it has begun it may always see and end. */
export type BridgeAction = 'discover' | 'create' | 'prompt' | 'delegate'

export interface OwnerOption {
  /** Default `local`. */
  readonly owner?: string
}

/** How deep in delegations a call is made. Inside an agent of this process it is known without being said. */
export interface DepthOption {
  readonly depth?: number
  /** Ids of the agents above, from the outermost. */
  readonly path?: readonly string[]
}

export interface CreateSessionInput extends OwnerOption, DepthOption {
  readonly agentId?: string
  readonly metadata?: JSONObject
  /** An earlier session of the same owner whose conversation goes on under a new handle. */
  readonly resumeSessionId?: string
  /** The same key with the same input gives the same session. */
  readonly idempotencyKey?: string
}

export interface RequestOptions extends OwnerOption {
  /** Model and settings of this request, as far as the agent takes them. */
  readonly runtimeParams?: RuntimeParams
  /** 1–128 characters. The same id with the same input joins the first call. */
  readonly requestId?: string
  /** As `requestId`, for who needs no id of its own: give one of the two. */
  readonly idempotencyKey?: string
  /** For the whole request. */
  readonly timeoutMs?: number
  /** Aborting it cancels the request. */
  readonly abortSignal?: AbortSignal
}

/** Exactly one of `prompt` and `answers`. */
export interface PromptInput extends RequestOptions {
  readonly sessionId: string
  readonly prompt?: string
  readonly answers?: readonly Answer[]
}

export interface DelegateInput extends RequestOptions, DepthOption {
  readonly prompt: string
  readonly agentId?: string
  readonly metadata?: JSONObject
}

export interface SessionFilter extends OwnerOption {
  readonly agentId?: string
  readonly status?: SessionStatus
  /** 1–200. Default 50. */
  readonly limit?: number
  readonly cursor?: string
}

export interface RequestFilter extends OwnerOption {
  readonly sessionId?: string
  readonly status?: RequestStatus
  /** 1–200. Default 50. */
  readonly limit?: number
  readonly cursor?: string
}

export interface RequestQuery extends OwnerOption {
  readonly waitMs?: number
  /** Ends the waiting, not the request. */
  readonly abortSignal?: AbortSignal
}

export interface CancelInput extends OwnerOption {
  readonly sessionId?: string
  readonly requestId?: string
}

export interface CloseInput extends OwnerOption {
  readonly sessionId: string
  /** For the log. */
  readonly reason?: string
}

/** One request, until it ends or needs input. Iterating gives its events from then on; to stop iterating stops no work. */
export interface BridgeRun extends AsyncIterable<BridgeEvent> {
  /** Of a call that joined an earlier one, that of the first, once `accepted` has resolved. */
  readonly requestId: string
  readonly sessionId: string
  /** True once the request has its record; false when the call was refused. */
  accepted(): Promise<boolean>
  /** Always settles, never rejects. */
  result(): Promise<BridgeResult>
}

export type SessionStatus = 'active' | 'busy' | 'idle' | 'failed'

export interface BridgeSession {
  readonly sessionId: string
  readonly agentId: string
  readonly status: SessionStatus
  readonly createdAt: number
  readonly lastActivityAt: number
  readonly expiresAt?: number
  readonly currentRequestId?: string
  readonly lastError?: BridgeErrorBody
  readonly metadata?: JSONObject
}

export interface SessionPage {
  readonly sessions: readonly BridgeSession[]
  readonly nextCursor?: string
}

export interface RequestIds {
  readonly sessionId: string
  readonly agentId: string
  readonly requestId: string
}

export interface RequestSummary extends RequestIds {
  readonly status: RequestStatus
  /** When it was accepted, in ms since 1970. */
  readonly createdAt: number
  /** How the prompt begins: at most 120 characters. */
  readonly prompt: string
}

export interface RequestPage {
  readonly requests: readonly RequestSummary[]
  readonly nextCursor?: string
}

/** The words of a request that did not fail. */
export type OutcomeStatus = 'queued' | 'running' | SettledStatus
/** Those in which nobody works on it: it ended, or waits for answers. */
export type SettledStatus = Exclude<TurnStatus, 'needs-recovery' | 'error'>
export type RequestStatus = OutcomeStatus | 'error'

/** From acceptance to end. */
export const requestStatuses = [
  ...(['queued', 'running', 'awaiting-tools', 'awaiting-approval', 'awaiting-subagent'] as const),
  ...(['completed', 'aborted', 'halted', 'limit', 'error'] as const),
] as const satisfies readonly RequestStatus[]

export interface BridgeOutcome extends RequestIds {
  readonly status: OutcomeStatus
  /** There once it is settled. */
  readonly text?: string
  readonly stopReason?: StopReason
  readonly structured?: JSONValue
  readonly usage?: Usage
  readonly cost?: Cost
  readonly pending?: readonly PendingInput[]
  /** What a running request says of itself: characters of text so far, and when it said something last. */
  readonly progress?: { readonly message?: string; readonly chars: number; readonly at: number }
}

export type BridgeResult = ({ readonly ok: true } & BridgeOutcome) | BridgeFailure

export interface BridgeFailure {
  readonly ok: false
  readonly error: BridgeError
  /** The agent that was asked. Only `request()` says it, of a request that was accepted. */
  readonly agentId?: string
}

export interface CancelReceipt {
  readonly cancelled: boolean
  readonly sessionId: string
  readonly requestId?: string
  /** The agent stopped in time. */
  readonly settled: boolean
  readonly reason?: string
}

export interface CloseReceipt {
  readonly closed: true
  readonly sessionId: string
  /** True for the one caller whose close it was. */
  readonly existed: boolean
}

/** What callers need to know of the bridge's settings. */
export interface BridgeLimits {
  /** How long a call waits for its end before it answers with a request id. */
  readonly waitMs: number
  /** Silence in milliseconds after which a waiting call reports progress. */
  readonly heartbeatMs: number
  /** The longest `timeoutMs` of a request. */
  readonly maxTimeoutMs: number
}

export interface BridgeHealth {
  /** Started, with an agent that can be used, and every executor healthy. */
  readonly healthy: boolean
  readonly version: string
  readonly uptimeMs: number
  readonly agents: { readonly total: number; readonly ready: number }
  readonly sessions: { readonly active: number; readonly capacity: number }
  readonly requests: { readonly inFlight: number; readonly capacity: number; readonly queued: number }
  /** How much the owner that asked uses, and may use. */
  readonly owner: {
    readonly sessions: { readonly active: number; readonly capacity: number }
    readonly requests: { readonly inFlight: number; readonly capacity: number; readonly queued: number; readonly queueCapacity: number }
  }
  readonly executors: readonly {
    readonly kind: string
    readonly healthy: boolean
    /** Why it is not healthy, if no agent says so. */
    readonly reason?: string
    readonly workers?: readonly WorkerHealth[]
    /** Agents that are not listed, and why. */
    readonly leftOut?: readonly { readonly id: string; readonly reason: string }[]
  }[]
}

/** Since the bridge was made. */
export interface BridgeCounters {
  readonly sessionsOpened: number
  readonly sessionsClosed: Readonly<Record<'closed' | 'expired' | 'failed' | 'shutdown', number>>
  readonly requests: Readonly<Record<'completed' | 'aborted' | 'error' | 'halted' | 'limit', number>>
  readonly refused: number
  readonly inFlight: number
  readonly workerRestarts: number
  /** Events and results that came when they no longer counted. */
  readonly dropped: number
}
