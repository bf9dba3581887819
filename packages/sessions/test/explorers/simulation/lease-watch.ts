import type { Claim, Lease, LeaseState, SessionStore } from '../../../src/contract/session-store.ts'
import { aroundStore } from '../../../../testing/src/around-store.ts'

/** Tracks the end of each lease, in ms since the start, from the answers that its owner got. */
export class LeaseWatch {
  readonly problems: string[] = []
  readonly #until = new Map<string, { readonly owner: string | undefined; readonly epoch: number; readonly until: number }>()

  /** Notes claims of the store. An owner may claim its run again as soon as it no longer executes it. */
  claimed(claims: readonly Claim[], leaseMs: number, now: number): void {
    for (const { run, previous } of claims) {
      const lease = this.#until.get(run.id)
      if (previous === 'running' && lease && run.owner !== lease.owner && now < lease.until) {
        this.problems.push(`the run ${run.id} was taken over ${lease.until - now} ms before the lease of epoch ${lease.epoch} ended`)
      }
      this.#until.set(run.id, { owner: run.owner, epoch: run.epoch, until: now + leaseMs })
    }
  }

  /** Wraps the store of a process. A renewed lease counts from the request of its renewal. */
  listen(store: SessionStore, now: () => number): SessionStore {
    return aroundStore(store, async (operation, args, go) => {
      if (operation !== 'renew') return go()
      const [leases, leaseMs] = args as [readonly Lease[], number]
      const askedAt = now()
      const states = (await go()) as readonly LeaseState[]
      for (const [index, { runId, held }] of states.entries()) {
        const epoch = leases[index]?.epoch ?? 0
        const lease = this.#until.get(runId)
        if (held && lease?.epoch === epoch) this.#until.set(runId, { ...lease, until: askedAt + leaseMs })
      }
      return states
    })
  }
}
