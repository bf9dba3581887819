import type { BridgeExecutor } from './executors/executor.ts'

/** The owner of calls that name none: the program itself, and its client over stdio. */
export const localOwner = 'local'

export interface OwnerLimitOptions {
  readonly maxInFlight: number
  readonly maxQueued: number
  readonly maxInFlightPerOwner: number | undefined
  readonly maxQueuedPerOwner: number | undefined
  readonly maxSessionsPerOwner: number | undefined
}

/** How much of the bridge one owner may use. */
export interface OwnerLimits {
  maxInFlight(owner: string): number
  maxQueued(owner: string): number
  maxSessions(owner: string, executor: BridgeExecutor): number
}

const usualMaxSessions = 1000

/**
 * A configured limit holds for every owner. Without one an owner may use half of what there is, so that one cannot keep
 * out all others; only `local` may use all of it, because a program need not be protected from itself.
 */
export function ownerLimits(options: OwnerLimitOptions): OwnerLimits {
  const share = (owner: string, total: number, configured: number | undefined): number =>
    Math.min(total, configured ?? (owner === localOwner ? total : Math.ceil(total / 2)))
  return {
    maxInFlight: (owner) => share(owner, options.maxInFlight, options.maxInFlightPerOwner),
    maxQueued: (owner) => share(owner, options.maxQueued, options.maxQueuedPerOwner),
    maxSessions: (owner, executor) => share(owner, capacityOf(executor), options.maxSessionsPerOwner),
  }
}

/** The sessions that an executor takes. */
export function capacityOf(executor: BridgeExecutor): number {
  return executor.limits?.maxSessions ?? usualMaxSessions
}
