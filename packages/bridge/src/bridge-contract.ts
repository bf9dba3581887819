import type { TurnStatus } from '@bowline/agent-loop/events'
import type { Clock, Cost, JSONObject, JSONValue, RuntimeParams, Usage } from '@bowline/llm'
import type { Answer, BridgeEvent, PendingInput, StopReason } from './agent.ts'
import type { BridgeError, BridgeErrorBody } from './errors.ts'
import type { DiscoveredAgent, WorkerHealth } from './executors/executor.ts'

/**
 * A router of prompts from callers to agents: each prompt ends in exactly one outcome. Every call may name an `owner` (default
 * `local`); sessions and requests of other owners are invisible to it.
 */
export interface Bridge {
  readonly limits: BridgeLimits
  /** The clock that all times of this bridge use. */
  readonly clock: Clock
  /** Starts the executors in order. If one fails, the started ones are stopped and its error is thrown. Repeatable. */
  start(): Promise<void>
  /**
   * Refuses new work, cancels running requests and waits for them, then stops the executors in reverse order. Runs of durable
   * agents continue. Resolves within `deadlineMs` (default 10,000) plus one second.
   */
  stop(options?: { readonly deadlineMs?: number }): Promise<void>
  /** Returns whether the bridge works, and its load in total and for one owner. */
  health(options?: OwnerOption): BridgeHealth
  /** Returns counts since the bridge was created. */
  counters(): BridgeCounters
  /**
   * Lists the agents: executors in order, their agents in order of registration. With `capability`, lists only agents that declare
   * exactly this one.
   */
  discover(query?: OwnerOption & { readonly capability?: string }): readonly ListedAgent[]
  /**
   * Updates the agents of every executor, at most once per second. Waits up to `waitMs` (default 2,000) for agents that are
   * starting. Rejects only for wrong options.
   */
  refresh(options?: { readonly waitMs?: number }): Promise<void>
  /**
   * Calls `listener` after agents were added, removed or described differently. A change of `status` is not reported. Returns a
   * function that removes the listener.
   */
  onAgentsChanged(listener: () => void): () => void
  /** Opens a session with an agent. Rejects with a `BridgeError`; then no session remains. */
  createSession(input?: CreateSessionInput): Promise<BridgeSession>
  /** Sends one prompt to a session, or `answers` to its waiting request. The result reports a refusal. */
  prompt(input: PromptInput): BridgeRun
  /** Opens a session, sends the prompt and closes the session. The result reports a refusal. */
  delegate(input: DelegateInput): BridgeRun
  /** Resolves with one session. Rejects with `NOT_FOUND` or `EXPIRED`. */
  session(sessionId: string, options?: OwnerOption): Promise<BridgeSession>
  /** Lists sessions, the newest first. */
  sessions(filter?: SessionFilter): Promise<SessionPage>
  /** Lists requests, the newest first: open ones, and ended ones for as long as they are kept. */
  requests(filter?: RequestFilter): Promise<RequestPage>
  /** Resolves with the current result of a request. Waits up to `waitMs` (default 0) for its end or for a question. */
  request(requestId: string, options?: RequestQuery): Promise<BridgeResult>
  /**
   * Cancels a request, or the running request of a session. Rejects with `NOT_FOUND`, also if the session and the request do
   * not belong together.
   */
  cancel(input: CancelInput): Promise<CancelReceipt>
  /** Closes a session and cancels its running request. Repeatable. */
  close(input: CloseInput): Promise<CloseReceipt>
}

/** A discovered agent with the kind of its executor, and whether it is the default agent. */
export interface ListedAgent extends DiscoveredAgent {
  /** Kind of the agent's executor. */
  readonly executor: string
  readonly default: boolean
}

/** Action on an agent that `authorize` permits or refuses. Owners may always read and end their own sessions and requests. */
export type BridgeAction = 'discover' | 'create' | 'prompt' | 'delegate'

/** Owner of a call. Sessions and requests of other owners are invisible to it. */
export interface OwnerOption {
  /** Default `local`. */
  readonly owner?: string
}

/** Number of delegations above a call. Calls inside an agent of this process get it automatically. */
export interface DepthOption {
  readonly depth?: number
  /** Ids of the delegating agents, from the outermost. */
  readonly path?: readonly string[]
}

/** Agent, metadata and idempotency key of a new session. */
export interface CreateSessionInput extends OwnerOption, DepthOption {
  readonly agentId?: string
  readonly metadata?: JSONObject
  /** Earlier session of the same owner. The new session continues its conversation. */
  readonly resumeSessionId?: string
  /** A repeated call with the same key and input returns the same session. */
  readonly idempotencyKey?: string
}

/** Settings of one request: id, time limit (ms) and model parameters. */
export interface RequestOptions extends OwnerOption {
  /** Model and settings of this request; an agent may ignore some. */
  readonly runtimeParams?: RuntimeParams
  /** Id of 1–128 characters. A repeated call with the same id and input joins the first call. */
  readonly requestId?: string
  /** The same as `requestId`. Give only one of the two. */
  readonly idempotencyKey?: string
  /** Time limit of the whole request in milliseconds. */
  readonly timeoutMs?: number
  /** Aborting it cancels the request. */
  readonly abortSignal?: AbortSignal
}

/** Session with exactly one of `prompt` and `answers`. */
export interface PromptInput extends RequestOptions {
  readonly sessionId: string
  readonly prompt?: string
  readonly answers?: readonly Answer[]
}

/** Prompt and agent of a request in a session of its own. Default agent: the default agent of the bridge. */
export interface DelegateInput extends RequestOptions, DepthOption {
  readonly prompt: string
  readonly agentId?: string
  readonly metadata?: JSONObject
}

/** Filters and page of a list of sessions. Filters are combined; an absent one matches all. */
export interface SessionFilter extends OwnerOption {
  readonly agentId?: string
  readonly status?: SessionStatus
  /** 1–200. Default 50. */
  readonly limit?: number
  readonly cursor?: string
}

/** Filters and page of a list of requests. Filters are combined; an absent one matches all. */
export interface RequestFilter extends OwnerOption {
  readonly sessionId?: string
  readonly status?: RequestStatus
  /** 1–200. Default 50. */
  readonly limit?: number
  readonly cursor?: string
}

/** Maximum waiting time in ms (default 0) of a status query. */
export interface RequestQuery extends OwnerOption {
  readonly waitMs?: number
  /** Aborting it ends the wait, not the request. */
  readonly abortSignal?: AbortSignal
}

/** Request or session to cancel. At least one id is required. */
export interface CancelInput extends OwnerOption {
  readonly sessionId?: string
  readonly requestId?: string
}

/** Session to close. */
export interface CloseInput extends OwnerOption {
  readonly sessionId: string
  /** Reason in the log. */
  readonly reason?: string
}

/** A handle of one request. Iterating yields its events from that moment; stopping the iteration does not stop the request. */
export interface BridgeRun extends AsyncIterable<BridgeEvent> {
  /** Id of the request. If the call joined an earlier request, this is that request's id once `accepted` has resolved. */
  readonly requestId: string
  readonly sessionId: string
  /** Resolves with true once the request is recorded, or false if the call was refused. */
  accepted(): Promise<boolean>
  /** Always settles, never rejects. */
  result(): Promise<BridgeResult>
}

/** Status of a session: `active` (no prompt yet), `busy` (a request is open), `idle`, or `failed` (takes no prompts). */
export type SessionStatus = 'active' | 'busy' | 'idle' | 'failed'

/** A session as callers see it. Times are epoch milliseconds. */
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

/** One page of sessions. `nextCursor` is absent on the last page. */
export interface SessionPage {
  readonly sessions: readonly BridgeSession[]
  readonly nextCursor?: string
}

/** Ids of a request, of its session and of its agent. */
export interface RequestIds {
  readonly sessionId: string
  readonly agentId: string
  readonly requestId: string
}

/** A request without its result. */
export interface RequestSummary extends RequestIds {
  readonly status: RequestStatus
  /** Time of acceptance, in ms since 1970. */
  readonly createdAt: number
  /** Start of the prompt, at most 120 characters. */
  readonly prompt: string
}

/** One page of requests. `nextCursor` is absent on the last page. */
export interface RequestPage {
  readonly requests: readonly RequestSummary[]
  readonly nextCursor?: string
}

/** Status of a request, without `error`. */
export type OutcomeStatus = 'queued' | 'running' | SettledStatus
/** Status of a request that has ended or waits for answers. */
export type SettledStatus = Exclude<TurnStatus, 'needs-recovery' | 'error'>
/** Status of a request, `error` included. */
export type RequestStatus = OutcomeStatus | 'error'

/** All statuses, in order from acceptance to end. */
export const requestStatuses = [
  ...(['queued', 'running', 'awaiting-tools', 'awaiting-approval', 'awaiting-subagent'] as const),
  ...(['completed', 'aborted', 'halted', 'limit', 'error'] as const),
] as const satisfies readonly RequestStatus[]

/** Current result of a request: text, structured output, usage and open questions. Unsettled requests have `progress` only. */
export interface BridgeOutcome extends RequestIds {
  readonly status: OutcomeStatus
  /** Present once the request has settled. */
  readonly text?: string
  readonly stopReason?: StopReason
  readonly structured?: JSONValue
  readonly usage?: Usage
  readonly cost?: Cost
  readonly pending?: readonly PendingInput[]
  /**
   * Progress of a running request: its last message, characters of text so far, and the time of the last sign of life (epoch
   * milliseconds).
   */
  readonly progress?: { readonly message?: string; readonly chars: number; readonly at: number }
}

/** Result of a request. `ok: false` means that the call was refused or the request failed. */
export type BridgeResult = ({ readonly ok: true } & BridgeOutcome) | BridgeFailure

export interface BridgeFailure {
  readonly ok: false
  readonly error: BridgeError
  /** Agent of the request. Present only in results of `request()` for an accepted request. */
  readonly agentId?: string
}

/** Result of a cancellation. `cancelled: false` names the `reason`. */
export interface CancelReceipt {
  readonly cancelled: boolean
  readonly sessionId: string
  readonly requestId?: string
  /** Whether the agent stopped within the grace period. */
  readonly settled: boolean
  readonly reason?: string
}

/** Result of a close. It is the same for repeated calls, except for `existed`. */
export interface CloseReceipt {
  readonly closed: true
  readonly sessionId: string
  /** True for exactly one caller: the one that closed the session. */
  readonly existed: boolean
}

/** Time limits of a bridge that callers need to know, in milliseconds. */
export interface BridgeLimits {
  /** Maximum time that a call stays open before it answers with a request id. */
  readonly waitMs: number
  /** Time without progress after which a waiting call sends a progress message. */
  readonly heartbeatMs: number
  /** Maximum of `timeoutMs` of a request. */
  readonly maxTimeoutMs: number
}

/** Health and load of a bridge. `uptimeMs` counts from `start`. */
export interface BridgeHealth {
  /** Whether the bridge is started, has a usable agent, and every executor is healthy. */
  readonly healthy: boolean
  readonly version: string
  readonly uptimeMs: number
  readonly agents: { readonly total: number; readonly ready: number }
  readonly sessions: { readonly active: number; readonly capacity: number }
  readonly requests: { readonly inFlight: number; readonly capacity: number; readonly queued: number }
  /** Usage and limits of the owner that asks. */
  readonly owner: {
    readonly sessions: { readonly active: number; readonly capacity: number }
    readonly requests: { readonly inFlight: number; readonly capacity: number; readonly queued: number; readonly queueCapacity: number }
  }
  readonly executors: readonly {
    readonly kind: string
    readonly healthy: boolean
    /** Reason if it is unhealthy and no agent states one. */
    readonly reason?: string
    readonly workers?: readonly WorkerHealth[]
    /** Agents that cannot be listed, with the reason. */
    readonly leftOut?: readonly { readonly id: string; readonly reason: string }[]
  }[]
}

/** Counts since the bridge was created. They are not stored. */
export interface BridgeCounters {
  readonly sessionsOpened: number
  readonly sessionsClosed: Readonly<Record<'closed' | 'expired' | 'failed' | 'shutdown', number>>
  readonly requests: Readonly<Record<'completed' | 'aborted' | 'error' | 'halted' | 'limit', number>>
  readonly refused: number
  readonly inFlight: number
  readonly workerRestarts: number
  /** Number of events and results that arrived too late and were ignored. */
  readonly dropped: number
}
