import type { IdSource } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { LiveLog } from '../log/live-log.ts'
import type { SessionStore } from '../store/contract.ts'
import type { StopRequest } from '../store/records.ts'
import type { OnBusy } from './types.ts'

/** What a session handle needs of its runtime. */
export interface SessionContext {
  /** The open store. Rejects when the runtime was not started or is stopped. */
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
  readonly ids: IdSource
  readonly onBusy: OnBusy
  /** There is work to claim. */
  wake(): void
  /** Aborts the run if this process executes it. The request must be durable already. */
  abort(runId: string, request: StopRequest): void
}
