import type { SessionStore } from '../../../src/contract/session-store.ts'

/** The shared store as one process calls it. */
export type SharedHandle = SessionStore & {
  /** Completes the ticket of a session outside of a commit. Only a planted fault calls it. */
  completeTicket(key: string): Promise<void>
}

/** Faults of the shared store that simulations must find. */
export interface SharedStoreFaults {
  /** Compares leases by the clock of the calling process. */
  readonly trustsClocks?: true
  /**
   * Drops a wake while a process holds the ticket of the session. The end of a run then looks only for runs that were queued at
   * its claim.
   */
  readonly losesWakes?: true
  /** Ends a claim at the first session whose tenant has reached its limit. */
  readonly waitsForTenants?: true
}
