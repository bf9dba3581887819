import type { Agent, IdSource } from '@bowline/agent-loop'
import type { Clock, JSONObject } from '@bowline/llm'
import type { OnBusy, RunInfo, Session, SessionInfo } from '../session/types.ts'
import type { Page, SessionQuery, SessionStore } from '../store/contract.ts'

export interface RuntimeOptions {
  /** Unique names; the first is the default agent. */
  readonly agents: readonly Agent[]
  /** Default: a memory store. */
  readonly store?: SessionStore
  /** Part of every stored key. Default `default`. */
  readonly namespace?: string
  /** Runs at once in this process. Default 32. */
  readonly concurrency?: number
  /** Default `queue`. */
  readonly onBusy?: OnBusy
  /** Default: the agent's; a tool's own wins. */
  readonly onUnknownOutcome?: 'stop' | 'tell-model'
  /** Default 10,000 and 3,000. */
  readonly lease?: { readonly ttlMs?: number; readonly heartbeatMs?: number }
  /** When to give up a run that is lost again and again. Default 5 and 25. */
  readonly attempts?: { readonly withoutProgress?: number; readonly total?: number }
  readonly clock?: Clock
  readonly ids?: IdSource
  /** Background faults. Default: `console.error`, without content. */
  readonly onError?: (error: unknown, where: ErrorContext) => void
}

export interface ErrorContext {
  readonly during: 'claim' | 'run' | 'heartbeat' | 'read'
  readonly runId?: string
  readonly session?: string
}

/** Agents, a store and a scheduler in one process. Creating one does no I/O. */
export interface Runtime extends AsyncDisposable {
  readonly id: string
  readonly namespace: string
  readonly store: SessionStore
  /** The first is the default. */
  readonly agents: readonly Agent[]
  /** Opens the store, takes up the runs that a dead process left, and begins to claim. */
  start(options?: StartOptions): Promise<StartReport>
  /** Claims nothing more, lets tools settle within `graceMs` (default 10,000), gives the runs back and closes the store. */
  stop(options?: { readonly graceMs?: number }): Promise<void>
  /** No I/O. Throws `invalid-key` and `unknown-agent`. */
  session(key: string, options?: SessionOptions): Session
  sessions(query?: SessionQuery): Promise<Page<SessionInfo>>
  /** Looks only, never claims. */
  run(runId: string): Promise<RunInfo | null>
}

export interface StartOptions {
  /** Keep the process alive while idle. Default false. */
  readonly keepAlive?: boolean
}

export interface StartReport {
  /** Runs that a dead owner had left running. */
  readonly recovered: number
}

export interface SessionOptions {
  /** Fixed when the session is created. Default: the runtime's default agent. */
  readonly agent?: string
  /** A session of another owner is missing. */
  readonly owner?: string
  /** Stored at creation; tools see it as their `context`. */
  readonly metadata?: JSONObject
}
