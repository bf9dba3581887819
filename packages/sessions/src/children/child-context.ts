import type { IdSource } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord } from '../contract/records.ts'

/** Limits of background work. */
export interface BackgroundSettings {
  /** `durable`: children outlive the process. */
  readonly mode: 'none' | 'in-process' | 'durable'
  /** Maximum number of running children per session. */
  readonly maxActive: number
  /** Maximum number of kept children per session, ended ones included. */
  readonly maxRetained: number
  /** Maximum number of agents above a background agent. */
  readonly maxDepth: number
}

/** Parts of the runtime that the host of child runs needs. */
export interface ChildContext {
  readonly store: SessionStore
  readonly clock: Clock
  readonly ids: IdSource
  readonly background: BackgroundSettings
  /** Resolves when the stop is stored and the child has ended, or its grace period is over. */
  stopChild(child: RunRecord): Promise<void>
  /** Resolves when the stop of everything that a run has started is stored. */
  stopBelow(run: RunRecord): Promise<void>
  /** Stops the subagents that the run waits for. */
  stopAwaited(run: RunRecord): Promise<void>
  /** Resolves when the task has settled, after `waitMs`, or when the signal is aborted. */
  waitForTask(task: RunRecord, waitMs: number, abortSignal: AbortSignal): Promise<void>
  /** Signals a write to this session. */
  announce(key: string): void
  /** Signals work to claim in this session. */
  wake(key: string): void
}
