import type { Clock } from '@bowline/llm'
import type { Lease, SessionStore } from '../contract/session-store.ts'
import { askAgain } from '../contract/steady-store.ts'
import { leaseEnded, stopCause, type ActiveRun, type ActiveRuns } from './active-runs.ts'
import type { ErrorContext } from './types.ts'

/** Lease of a run in ms, unless the options set one. */
export const defaultLeaseMs = 10_000

export interface LeasesOptions {
  readonly store: SessionStore
  readonly clock: Clock
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** Must not throw. */
  readonly onError: (error: unknown, where: ErrorContext) => void
}

/** A heartbeat that renews the leases of all active runs and applies stop requests from other processes. */
export class Leases {
  readonly #options: LeasesOptions
  readonly #runs: ActiveRuns
  #renewing = false
  /** Runs whose lease is being checked because of a hint. `again`: another hint came since. */
  readonly #looking = new Map<ActiveRun, 'once' | 'again'>()

  constructor(options: LeasesOptions, runs: ActiveRuns) {
    this.#options = options
    this.#runs = runs
  }

  beat(): void {
    for (const active of this.#runs.all()) active.unheardBeats += 1
    if (this.#renewing) return this.#abortUnheld()
    this.#renewing = true
    this.#renewInTime(this.#runs.all())
      .catch((error: unknown) => {
        this.#options.onError(error, { during: 'heartbeat' })
        this.#abortUnheld()
      })
      .finally(() => (this.#renewing = false))
  }

  /** Checks a run after another process has written to its session: it may have stopped or claimed the run. */
  look(active: ActiveRun): void {
    const looking = this.#looking
    if (looking.has(active)) return void looking.set(active, 'again')
    looking.set(active, 'once')
    this.#renew([active])
      // The next heartbeat checks it again.
      .catch((error: unknown) => this.#options.onError(error, { during: 'heartbeat' }))
      .finally(() => {
        const isDue = looking.get(active) === 'again'
        looking.delete(active)
        if (isDue) this.look(active)
      })
  }

  /** Checks all runs: any of them may have been stopped or claimed. */
  lookAtAll(): void {
    this.#renew(this.#runs.all()).catch((error: unknown) => this.#options.onError(error, { during: 'heartbeat' }))
  }

  /** Retries until the next heartbeat, or until the first of the leases may end. */
  #renewInTime(runs: readonly ActiveRun[]): Promise<void> {
    const { clock, heartbeatMs } = this.#options
    const untilMs = Math.min(clock.now() + heartbeatMs, ...runs.map(({ heldUntil }) => heldUntil))
    return askAgain(() => this.#renew(runs), { clock, forMs: untilMs - clock.now() - 1 })
  }

  async #renew(runs: readonly ActiveRun[]): Promise<void> {
    const { store, clock, leaseMs } = this.#options
    const heldUntil = clock.now() + leaseMs
    const leases = runs.map(({ claim: { run } }): Lease => ({ runId: run.id, epoch: run.epoch }))
    const states = leases.length === 0 ? [] : await store.renew(leases, leaseMs)
    for (const [place, { runId, held, stopping }] of states.entries()) {
      const active = this.#runs.get(runId)
      if (!active || active.claim.run.epoch !== leases[place]?.epoch) continue
      if (!held) this.#runs.abort(runId, { kind: 'fenced' })
      else if (stopping) this.#runs.abort(runId, stopCause(stopping))
      if (!held) continue
      active.heldUntil = heldUntil
      active.unheardBeats = 0
    }
  }

  /**
   * Aborts each run before its lease can end without an answer of the store, because another process may then claim the run.
   * Counts heartbeats too, because the clock may have been set back.
   */
  #abortUnheld(): void {
    const { clock, heartbeatMs, leaseMs } = this.#options
    const nextBeatAt = clock.now() + heartbeatMs
    for (const { claim, heldUntil, unheardBeats } of this.#runs.all()) {
      const isLate = heldUntil <= nextBeatAt || (unheardBeats + 1) * heartbeatMs >= leaseMs
      if (isLate) this.#runs.abort(claim.run.id, leaseEnded)
    }
  }
}
