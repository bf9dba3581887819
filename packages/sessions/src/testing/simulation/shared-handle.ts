import type { SessionStore } from '../../contract/session-store.ts'

/** How one process reaches the shared store. */
export type SharedHandle = SessionStore & {
  /** Completes the ticket of a session, outside of any commit: only a mistake does so. */
  completeTicket(key: string): Promise<void>
}

/** Mistakes of the shared store that simulations have to find. */
export interface SharedStoreFaults {
  /** Leases are compared by the clock of the process that asks. */
  readonly trustsClocks?: true
  /** A wake is dropped while a process looks at the session, and the end of a run looks at what was queued when it was claimed. */
  readonly losesWakes?: true
  /** A claim ends at the first session whose tenant has as many runs as it may have. */
  readonly waitsForTenants?: true
}
