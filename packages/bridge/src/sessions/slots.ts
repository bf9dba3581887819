import { BridgeError } from '../errors.ts'
import type { BridgeExecutor } from '../executors/executor.ts'

const usualMaxSessions = 1000
const retryWhenFullMs = 1000

/** How many sessions each executor has, and may have. */
export class Slots {
  readonly #taken = new Map<BridgeExecutor, number>()

  /** Throws `CAPACITY`. Gives what frees the slot, once. */
  take(executor: BridgeExecutor): () => void {
    const taken = this.takenOf(executor)
    const capacity = capacityOf(executor)
    if (taken >= capacity) {
      const details = { reason: 'sessions', retryAfterMs: retryWhenFullMs }
      throw new BridgeError('CAPACITY', `All ${capacity} sessions of the ${executor.kind} executor are taken`, { details })
    }
    return this.hold(executor)
  }

  /** For a session that has been let in before, by this process or another: never refused. */
  hold(executor: BridgeExecutor): () => void {
    this.#taken.set(executor, this.takenOf(executor) + 1)
    let held = true
    return () => {
      if (held) this.#taken.set(executor, this.takenOf(executor) - 1)
      held = false
    }
  }

  takenOf(executor: BridgeExecutor): number {
    return this.#taken.get(executor) ?? 0
  }
}

export function capacityOf(executor: BridgeExecutor): number {
  return executor.limits?.maxSessions ?? usualMaxSessions
}
