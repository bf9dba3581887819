import type { Clock } from '@bowline/llm'
import type { FieldChecks } from '@bowline/llm/arguments'
import type { StateStore } from '@bowline/sessions'
import type {
  AgentInfo,
  AgentProvider,
  AnswersContext,
  BridgeEvent,
  CancelContext,
  CloseReason,
  PromptContext,
  SessionContext,
} from '../agent.ts'
import { configChecks as check } from '../arguments.ts'
import type { BridgeError } from '../errors.ts'
import type { BridgeLogger } from '../logger.ts'
import type { NoticeBody } from '../notices.ts'

/**
 * Transport to agents of one kind. Ids, limits, deadlines and outcomes belong to the bridge. Session ids of the far side must
 * not leave the executor.
 */
export interface BridgeExecutor {
  readonly specificationVersion: 'v1'
  readonly kind: string
  /** Kept by the bridge, for the sessions of all agents of this executor. */
  readonly limits?: ExecutorLimits
  /** Store in which the bridge keeps its records, unless `store` of the bridge is set. */
  readonly stateStore?: StateStore | undefined
  start(host: ExecutorHost): Promise<void>
  /** Must resolve within `deadlineMs`. */
  stop(options: { readonly deadlineMs: number }): Promise<void>
  /** Returns the agents in order of registration, true at the time of the call. */
  agents(): readonly DiscoveredAgent[]
  health(): ExecutorHealth
  /** Updates the list that `agents()` returns. Waits at most `waitMs` (default 2,000) for agents that are starting. Never rejects. */
  refresh?(options?: { readonly waitMs?: number }): Promise<void>
  /**
   * Opens a session. Rejects with the error of the agent's `onSessionCreate`; then the session does not exist. `attach`: the
   * session was created before, by this process or another, and no hook runs. If `conversationId` is not the session's own id
   * and the agent cannot continue an earlier conversation, rejects with `CONFIG`, `reason: 'not-resumable'`.
   */
  open(session: SessionContext, how: 'create' | 'attach'): Promise<void>
  /** The events of one prompt. A failure rejects the reading. The bridge does not wait for `return()`. */
  prompt(request: PromptContext): AsyncIterable<BridgeEvent>
  /** Hands answers to the open prompt. False: it takes none while it is open, so they must wait for its end. */
  answer?(request: AnswersContext): Promise<boolean>
  cancel(request: CancelContext): Promise<void>
  /** Forgets a session that lives on elsewhere, or that its agent no longer has. No hook runs. */
  detach?(session: SessionContext): void
  close(session: SessionContext, reason: CloseReason): Promise<void>
}

/** Limits of an executor's sessions. Times are in milliseconds; 0 disables a limit. */
export interface ExecutorLimits {
  /** Lifetime of a session from its creation. Default 0: off. */
  readonly ttlMs?: number
  /** Lifetime of a session from the end of its last prompt. Default 0: off. */
  readonly idleMs?: number
  /** Number of open sessions. Default 1,000. */
  readonly maxSessions?: number
  /** Inactivity timeout of prompts, unless the bridge sets one. Default 2 minutes. */
  readonly inactivityMs?: number
}

export const limitChecks: FieldChecks<ExecutorLimits> = {
  ttlMs: check.whole(0),
  idleMs: check.whole(0),
  maxSessions: check.whole(1),
  inactivityMs: check.whole(0),
}

/** Clock, logger and callbacks that an executor gets from its bridge. */
export interface ExecutorHost {
  readonly clock: Clock
  readonly logger: BridgeLogger
  /** A session without a prompt can no longer be prompted. For one with a prompt its failure says so: `sessionValid: false`. */
  sessionFailed(sessionId: string, error: BridgeError): void
  /** A transition, drop or restart that only the executor sees: one line of the log, one event, one count. */
  notify(notice: NoticeBody): void
}

/** Health of an executor. */
export interface ExecutorHealth {
  /** All that it was configured with can be used now. */
  readonly healthy: boolean
  /** Why it is not, if no agent says so: an executor that cannot know its agents. */
  readonly reason?: string
  readonly workers?: readonly WorkerHealth[]
}

/** State and number of restarts of one worker process. */
export interface WorkerHealth {
  readonly id: string
  readonly state: 'starting' | 'ready' | 'waiting' | 'unavailable' | 'stopped'
  readonly restarts: number
  /** Why it is not ready. */
  readonly reason?: string
}

/** An agent as discovery shows it, true at the time of the call. */
export interface DiscoveredAgent extends AgentInfo {
  readonly capabilities: readonly string[]
  /** `starting`: its first start has not ended yet. Prompts wait for it. */
  readonly status: 'ready' | 'busy' | 'starting' | 'unavailable'
  /** Why it is not ready, if that is known. */
  readonly reason?: string
  readonly durable: boolean
  /** An earlier conversation can go on under a new session. Default: as `durable`. */
  readonly resumable?: boolean
  /** Only when declared and not empty. */
  readonly providers?: readonly AgentProvider[]
}
