import type { Stage } from './stage.ts'

/** Longest takeover delay, plus the time until a runtime polls. */
const mostMs = 35_000

/** Runs whose process is dead and that no other process has claimed. */
export class OrphanedRuns {
  readonly #stage: Stage
  readonly #since = new Map<string, number>()

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** Notes a fault for each run that stays unclaimed for too long. */
  async look(): Promise<void> {
    const { store, time, gate, faults, program } = this.#stage
    // With limited concurrency a run may have to wait for a slot.
    if (this.#stage.replaced === 0 || program.setup.concurrency !== undefined) return
    const { items } = await store.listSessions({ status: ['running', 'waiting-for-retry'], limit: 1000 })
    for (const { key } of items) {
      const running = await store.listRuns(key, { status: ['running'] })
      for (const { id, epoch } of running.items) {
        if (gate.owners.ownerOf(id)?.state !== 'dead') continue
        const name = `${id} (epoch ${epoch})`
        const since = this.#since.get(name) ?? time.passed
        this.#since.set(name, since)
        if (time.passed - since > mostMs && !faults.some((fault) => fault.includes(name)))
          faults.push(`no process claimed the run ${name} of a dead process for ${time.passed - since} ms`)
      }
    }
  }
}
