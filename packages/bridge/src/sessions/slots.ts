import { BridgeError } from '../errors.ts'
import type { BridgeExecutor } from '../executors/executor.ts'
import { capacityOf } from '../owner-limits.ts'
import type { OwnerLimits } from '../owner-limits.ts'

const retryWhenFullMs = 1000

interface Taken {
  total: number
  readonly byOwner: Map<string, number>
}

/** Counts the sessions of each executor, in total and by owner. */
export class Slots {
  readonly #limits: OwnerLimits
  readonly #taken = new Map<BridgeExecutor, Taken>()

  constructor(limits: OwnerLimits) {
    this.#limits = limits
  }

  /**
   * Takes a slot and returns a function that frees it; repeated calls of that function have no effect. Throws `CAPACITY`.
   * `unattached`: number of the owner's sessions that are only in the store; they count towards its limit.
   */
  take(executor: BridgeExecutor, owner: string, unattached = 0): () => void {
    const capacity = capacityOf(executor)
    if (this.takenOf(executor) >= capacity) throw full('sessions', `${sessions(capacity)} of the ${executor.kind} executor`, 'maxSessions')
    if (this.isOwnerFull(executor, owner, unattached)) {
      const limit = this.#limits.maxSessions(owner, executor)
      throw full('owner-sessions', `${sessions(limit)} of the ${executor.kind} executor for one owner`, 'maxSessionsPerOwner')
    }
    return this.hold(executor, owner)
  }

  /** Returns whether the limit of the owner is below that of the executor. */
  isLimited(executor: BridgeExecutor, owner: string): boolean {
    return this.#limits.maxSessions(owner, executor) < capacityOf(executor)
  }

  isOwnerFull(executor: BridgeExecutor, owner: string, unattached: number): boolean {
    return this.takenBy(owner, executor) + unattached >= this.#limits.maxSessions(owner, executor)
  }

  /** Counts a session that this process or another accepted earlier. Never refuses it. */
  hold(executor: BridgeExecutor, owner: string): () => void {
    this.#change(executor, owner, 1)
    let held = true
    return () => {
      if (held) this.#change(executor, owner, -1)
      held = false
    }
  }

  takenOf(executor: BridgeExecutor): number {
    return this.#taken.get(executor)?.total ?? 0
  }

  takenBy(owner: string, executor: BridgeExecutor): number {
    return this.#taken.get(executor)?.byOwner.get(owner) ?? 0
  }

  #change(executor: BridgeExecutor, owner: string, change: 1 | -1): void {
    const taken = this.#taken.get(executor) ?? { total: 0, byOwner: new Map<string, number>() }
    this.#taken.set(executor, taken)
    taken.total += change
    const own = (taken.byOwner.get(owner) ?? 0) + change
    if (own === 0) taken.byOwner.delete(owner)
    else taken.byOwner.set(owner, own)
  }
}

function full(reason: string, limit: string, option: string): BridgeError {
  const details = { reason, retryAfterMs: retryWhenFullMs }
  return new BridgeError('CAPACITY', `The limit of ${limit} is reached: close one, or raise ${option}`, { details })
}

function sessions(count: number): string {
  return `${count} session${count === 1 ? '' : 's'}`
}
