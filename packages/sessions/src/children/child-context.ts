import type { IdSource } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord } from '../contract/records.ts'

/** What work in the background may do. */
export interface BackgroundSettings {
  /** `durable`: children outlive the process. */
  readonly mode: 'none' | 'in-process' | 'durable'
  /** Children of a session that have not ended. */
  readonly maxActive: number
  /** Children of a session that are kept, ended ones included. */
  readonly maxRetained: number
  /** How many agents may stand above one in the background. */
  readonly maxDepth: number
}

/** What the host of child runs needs of its runtime. */
export interface ChildContext {
  readonly store: SessionStore
  readonly clock: Clock
  readonly ids: IdSource
  readonly background: BackgroundSettings
  /** Resolves when the stop is stored and the child has ended, or does not within its grace. */
  stopChild(child: RunRecord): Promise<void>
  /** Resolves when the stop of all that a run has started is stored. */
  stopBelow(run: RunRecord): Promise<void>
  /** Stops the subagents that the run waits for. */
  stopAwaited(run: RunRecord): Promise<void>
  /** Resolves when the task has settled, the time is over, or the signal is aborted. */
  waitForTask(task: RunRecord, waitMs: number, abortSignal: AbortSignal): Promise<void>
  /** Something was written to this session. */
  announce(key: string): void
  /** There is work to claim in this session. */
  wake(key: string): void
}
