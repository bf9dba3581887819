import type { RunRecord } from '../../../src/contract/records.ts'
import type { Claim, SessionStore } from '../../../src/contract/session-store.ts'
import { tenantOfRun } from '../../../src/core/rules.ts'

/** Counts the running runs of each tenant in all processes. */
export class TenantWatch {
  readonly problems: string[] = []
  readonly #store: SessionStore
  readonly #most: number

  constructor(store: SessionStore, most = Infinity) {
    this.#store = store
    this.#most = most
  }

  /** Checks the limit after claims of the store. */
  async claimed(claims: readonly Claim[]): Promise<void> {
    if (this.#most === Infinity) return
    for (const { run, previous } of claims) {
      const tenant = previous === 'queued' ? tenantOfRun(run.session, run) : null
      const count = tenant === null ? 0 : await this.#runningOf(tenant)
      if (count > this.#most)
        this.problems.push(`after the claim of ${run.id} the tenant ${tenant} has ${count} running runs, expected at most ${this.#most}`)
    }
  }

  /** Returns true if the run is queued only because its tenant has reached the limit. */
  async keepsBack(run: RunRecord): Promise<boolean> {
    const tenant = this.#most === Infinity || run.status !== 'queued' ? null : tenantOfRun(run.session, run)
    return tenant !== null && (await this.#runningOf(tenant)) >= this.#most
  }

  async #runningOf(tenant: string): Promise<number> {
    const { items } = await this.#store.listSessions({ keyPrefix: `tenant:${tenant}:`, limit: 1000 })
    const running = await Promise.all(
      items.map(async ({ key }) => (await this.#store.listRuns(key, { status: ['running'], limit: 1000 })).items),
    )
    return running.flat().filter((run) => tenantOfRun(run.session, run) === tenant).length
  }
}
