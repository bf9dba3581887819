import type { Agent, IdSource, Tool } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { LiveLog } from '../log/live-log.ts'
import type { RemoteDeltas } from '../log/remote-deltas.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord, SessionRecord, StopRequest } from '../contract/records.ts'
import type { ExpectedDrivers } from './run-driver.ts'
import type { OnBusy } from './types.ts'

/** Parts of the runtime that a session handle needs. */
export interface SessionContext {
  /** The open store. Reading it throws if the runtime has not started or has stopped. */
  readonly store: SessionStore
  readonly live: LiveLog
  /** Absent if no other process shares its deltas. */
  readonly remote?: () => RemoteDeltas | undefined
  readonly clock: Clock
  readonly ids: IdSource
  readonly onBusy: OnBusy
  /** Time after which the runs of a dead process are taken over. */
  readonly leaseMs: number
  /** Deletions in progress, by the incarnation of the session. */
  readonly deletions: Map<string, Promise<unknown>>
  /** Drivers of runs that were accepted here and have not started. */
  readonly drivers: ExpectedDrivers
  /** Returns a tool of the run's agent, as this process defines it. */
  toolOf(session: SessionRecord, run: RunRecord, name: string): Tool | undefined
  /** Agents with which sessions can be opened. */
  readonly agents: ReadonlyMap<string, Agent>
  /** Signals work to claim in this session, now or at a time (epoch milliseconds). */
  wake(key: string, atMs?: number): void
  /** Signals that a due time was stored. */
  lookAhead(): void
  /** Aborts the run if this process executes it. The request must already be stored. */
  abort(runId: string, request: StopRequest): void
  /** Stops executing the run in this process: it was ended elsewhere. */
  fence(runId: string): void
  /** Drops the cached data of this incarnation of a session. */
  readonly forget: (sessionId: string) => void
  /** Reports the failure of an extension outside a run. */
  readonly onExtensionError: (key: string, error: unknown) => void
  /** Removes the state that extensions store for a session. */
  readonly removeExtensionState: (key: string) => Promise<void>
}
