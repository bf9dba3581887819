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
 * Transport to agents of one kind. The bridge handles ids, limits, deadlines and outcomes. The executor must not expose session ids
 * of the remote side.
 */
export interface BridgeExecutor {
  readonly specificationVersion: 'v1'
  readonly kind: string
  /** Limits for the sessions of all agents of this executor; the bridge enforces them. */
  readonly limits?: ExecutorLimits
  /** Store in which the bridge keeps its records, unless `store` of the bridge is set. */
  readonly stateStore?: StateStore | undefined
  start(host: ExecutorHost): Promise<void>
  /** Must resolve within `deadlineMs`. */
  stop(options: { readonly deadlineMs: number }): Promise<void>
  /** Returns the current agents, in order of registration. */
  agents(): readonly DiscoveredAgent[]
  health(): ExecutorHealth
  /** Updates the list that `agents()` returns. Waits at most `waitMs` (default 2,000) for agents that are starting. Never rejects. */
  refresh?(options?: { readonly waitMs?: number }): Promise<void>
  /**
   * Opens a session. If the agent's `onSessionCreate` fails, rejects with that error, and the session does not exist. With
   * `attach`, the session already exists, created by this process or another, and no hook runs. If `conversationId` is not the
   * session's own id and the agent cannot continue an earlier conversation, rejects with `CONFIG`, `reason: 'not-resumable'`.
   */
  open(session: SessionContext, how: 'create' | 'attach'): Promise<void>
  /** Yields the events of one prompt. If the prompt fails, the iteration rejects. The bridge does not wait for `return()`. */
  prompt(request: PromptContext): AsyncIterable<BridgeEvent>
  /**
   * Passes answers to the open prompt. Resolves with false if the agent cannot take them before the prompt ends; the bridge then
   * keeps them.
   */
  answer?(request: AnswersContext): Promise<boolean>
  cancel(request: CancelContext): Promise<void>
  /** Forgets a session without running a hook: it continues without this process, or its agent no longer has it. */
  detach?(session: SessionContext): void
  close(session: SessionContext, reason: CloseReason): Promise<void>
}

/** Limits of an executor's sessions. Times are in milliseconds; 0 disables a limit. */
export interface ExecutorLimits {
  /** Lifetime of a session from its creation. Default 0: off. */
  readonly ttlMs?: number
  /** Lifetime of a session from the end of its last prompt. Default 0: off. */
  readonly idleMs?: number
  /** Maximum number of open sessions. Default 1,000. */
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
  /**
   * Reports that a session without a running prompt has failed. A running prompt reports it in its error instead: `sessionValid:
   * false`.
   */
  sessionFailed(sessionId: string, error: BridgeError): void
  /** Reports that `agents()` may return other agents than before. The bridge compares, and tells its listeners of a change. */
  agentsChanged(): void
  /** Reports a transition, drop or restart that only the executor can see. The bridge logs, counts and emits it. */
  notify(notice: NoticeBody): void
}

/** Health of an executor. */
export interface ExecutorHealth {
  /** Whether every configured agent can be used now. */
  readonly healthy: boolean
  /** Reason if it is unhealthy and no agent states one, for example because its agents are unknown. */
  readonly reason?: string
  readonly workers?: readonly WorkerHealth[]
}

/** State and number of restarts of one worker process. */
export interface WorkerHealth {
  readonly id: string
  readonly state: 'starting' | 'ready' | 'waiting' | 'unavailable' | 'stopped'
  readonly restarts: number
  /** Reason if it is not ready. */
  readonly reason?: string
}

/** An agent as discovery lists it at the time of the call. */
export interface DiscoveredAgent extends AgentInfo {
  readonly capabilities: readonly string[]
  /** `starting`: the first start has not ended yet; prompts wait for it. */
  readonly status: 'ready' | 'busy' | 'starting' | 'unavailable'
  /** Reason if it is not ready, if known. */
  readonly reason?: string
  readonly durable: boolean
  /** Whether a new session can continue an earlier conversation. Default: the value of `durable`. */
  readonly resumable?: boolean
  /** Present only if declared and not empty. */
  readonly providers?: readonly AgentProvider[]
}
