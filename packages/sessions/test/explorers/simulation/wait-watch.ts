import { firstInLine, openStatuses, openWords } from '../../../src/contract/run-status.ts'
import type { RunRecord } from '../../../src/contract/records.ts'
import type { SessionStore } from '../../../src/contract/session-store.ts'
import { claimableAt } from '../../../src/core/rules.ts'
import type { Cluster } from './cluster.ts'

/** Longer than the interval of polls, which is a second, to allow for delays of messages. */
const longestMs = 3_000

/** Finds runs that no process claims in time, although a healthy process could. */
export class WaitWatch {
  readonly problems: string[] = []
  readonly #cluster: Cluster
  readonly #waited = new Map<string, number>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** Checks all sessions. `ms` is the time since the last check. */
  async look(store: SessionStore, ms: number): Promise<void> {
    const { items } = await store.listSessions({ status: openWords, limit: 1000 })
    const open = await Promise.all(items.map(async ({ key }) => (await store.listRuns(key, { status: openStatuses, limit: 1000 })).items))
    const isSeen = this.#cluster.living.some(({ process }) => this.#cluster.network.isHealthy(process))
    const first = open.flatMap((runs) => this.#claimableIn(runs))
    const kept = await Promise.all(first.map((run) => this.#cluster.tenants.keepsBack(run)))
    const claimable = new Map(
      first.filter((_run, index) => kept[index] === false).map((run) => [`${run.id} (${run.status}, epoch ${run.epoch})`, run]),
    )
    for (const name of this.#waited.keys()) if (!claimable.has(name)) this.#waited.delete(name)
    if (!isSeen) return
    for (const name of claimable.keys()) {
      const waited = this.#waited.get(name)
      const longer = waited === undefined ? 0 : waited + ms
      this.#waited.set(name, longer)
      if (longer >= longestMs && (waited ?? 0) < longestMs)
        this.problems.push(`the run ${name} was claimable for ${longer} ms, but no process claimed it`)
    }
  }

  #claimableIn(runs: readonly RunRecord[]): readonly RunRecord[] {
    const first = firstInLine(runs)
    const { now } = this.#cluster.time
    if (!first || claimableAt(first, now) > now) return []
    const isLost = first.status === 'running' && (first.leaseUntil ?? 0) <= now
    return first.status === 'queued' || isLost ? [first] : []
  }
}
