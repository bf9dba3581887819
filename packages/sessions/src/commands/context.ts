import type { Agent, IdSource, Tool } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { LiveLog } from '../log/live-log.ts'
import type { RemoteDeltas } from '../log/remote-deltas.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord, SessionRecord, StopRequest } from '../contract/records.ts'
import type { ExpectedDrivers } from './run-driver.ts'
import type { OnBusy } from './types.ts'

/** What a session handle needs of its runtime. */
export interface SessionContext {
  /** The open store. Rejects when the runtime was not started or is stopped. */
  readonly store: SessionStore
  readonly live: LiveLog
  /** Absent: no other process shares its deltas. */
  readonly remote?: () => RemoteDeltas | undefined
  readonly clock: Clock
  readonly ids: IdSource
  readonly onBusy: OnBusy
  /** Of sessions that are being deleted, by their incarnation. */
  readonly deletions: Map<string, Promise<unknown>>
  /** Of runs that were accepted here and are not executed yet. */
  readonly drivers: ExpectedDrivers
  /** A tool of the agent of a run, as this process knows it. */
  toolOf(session: SessionRecord, run: RunRecord, name: string): Tool | undefined
  /** That sessions can be opened with. */
  readonly agents: ReadonlyMap<string, Agent>
  /** There is work to claim in this session, now or at a time (epoch milliseconds). */
  wake(key: string, atMs?: number): void
  /** A time was stored at which something is due. */
  lookAhead(): void
  /** Aborts the run if this process executes it. The request must be durable already. */
  abort(runId: string, request: StopRequest): void
  /** Leaves the run if this process executes it: it was ended otherwise. */
  fence(runId: string): void
  /** Forgets what this process remembers of this incarnation of a session. */
  readonly forget: (sessionId: string) => void
  /** Reports an extension that failed outside of a run. */
  readonly onExtensionError: (key: string, error: unknown) => void
  /** Removes the state that extensions store for a session. */
  readonly removeExtensionState: (key: string) => Promise<void>
}
