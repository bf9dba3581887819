import type { Clock } from '@bowline/llm'
import type {
  AgentInfo,
  AgentProvider,
  BridgeEvent,
  CancelContext,
  CloseReason,
  PromptContext,
  SessionContext,
} from '../agent.ts'
import type { BridgeLogger } from '../logger.ts'

/**
 * Reaches agents of one kind. It only moves work: ids, limits, deadlines and outcomes are the bridge's. Session ids of
 * what it talks to must not leave it.
 */
export interface BridgeExecutor {
  readonly specificationVersion: 'v1'
  readonly kind: string
  start(host: ExecutorHost): Promise<void>
  /** Must resolve within `deadlineMs`. */
  stop(options: { readonly deadlineMs: number }): Promise<void>
  /** In order of registration, true at call time. */
  agents(): readonly DiscoveredAgent[]
  health(): ExecutorHealth
  /** Rejects with what the agent's `onSessionCreate` threw; the session does not exist then. */
  open(session: SessionContext): Promise<void>
  /** The events of one prompt. A failure rejects the reading. The bridge does not wait for `return()`. */
  prompt(request: PromptContext): AsyncIterable<BridgeEvent>
  cancel(request: CancelContext): Promise<void>
  close(session: SessionContext, reason: CloseReason): Promise<void>
}

export interface ExecutorHost {
  readonly clock: Clock
  readonly logger: BridgeLogger
}

export interface ExecutorHealth {
  readonly healthy: boolean
}

export interface DiscoveredAgent extends AgentInfo {
  readonly capabilities: readonly string[]
  readonly status: 'ready' | 'busy' | 'unavailable'
  readonly durable: boolean
  /** Only when declared and not empty. */
  readonly providers?: readonly AgentProvider[]
}
