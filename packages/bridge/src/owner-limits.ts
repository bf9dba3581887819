import type { BridgeExecutor } from './executors/executor.ts'

/** Default owner of calls: the program itself, and its client over stdio. */
export const localOwner = 'local'

export interface OwnerLimitOptions {
  readonly maxInFlight: number
  readonly maxQueued: number
  readonly maxInFlightPerOwner: number | undefined
  readonly maxQueuedPerOwner: number | undefined
  readonly maxSessionsPerOwner: number | undefined
}

/** Limits of one owner. */
export interface OwnerLimits {
  maxInFlight(owner: string): number
  maxQueued(owner: string): number
  maxSessions(owner: string, executor: BridgeExecutor): number
}

const usualMaxSessions = 1000

/**
 * A configured limit applies to every owner. By default, an owner may use half of the total, so that it cannot exclude all others.
 * Only `local` may use all of it, because a program need not be protected from itself.
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

/** Returns the maximum number of sessions of an executor. */
export function capacityOf(executor: BridgeExecutor): number {
  return executor.limits?.maxSessions ?? usualMaxSessions
}
