import { BridgeError } from '../errors.ts'
import { Claim } from './claim.ts'
import type { Place } from './claim.ts'

export interface AdmissionLimits {
  /** Maximum number of running requests. */
  readonly maxInFlight: number
  /** Maximum number of waiting requests. */
  readonly maxQueued: number
  readonly ofOwner: {
    maxInFlight(owner: string): number
    maxQueued(owner: string): number
  }
}

/** Number of running and waiting requests of one owner. */
export interface OwnerLoad {
  readonly inFlight: number
  readonly queued: number
}

const retryWhenFullMs = 1000

/**
 * Decides which requests may run. Waiting requests of one owner keep their order, and owners take turns. An owner at its own limit
 * is skipped. Requests above an owner's limit do not count against the total.
 */
export class AdmissionQueue {
  readonly #limits: AdmissionLimits
  /** Ordered by whose turn is next. */
  readonly #queues = new Map<string, Claim[]>()
  readonly #running = new Map<string, number>()
  #inFlight = 0
  /** Running requests, counted for each owner only up to its limit. */
  #counted = 0
  #queued = 0

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get queued(): number {
    return this.#queued
  }

  of(owner: string): OwnerLoad {
    return { inFlight: this.#running.get(owner) ?? 0, queued: this.#queues.get(owner)?.length ?? 0 }
  }

  /** Throws `CAPACITY` if the request can neither run nor wait. */
  reserve(owner: string): Place {
    const isFree = this.#isFree(owner)
    if (!isFree) this.#checkQueue(owner)
    const claim = this.#claimFor(owner)
    if (isFree) this.#enter(owner, claim)
    else this.#enqueue(owner, claim)
    return claim
  }

  /** Counts a request that an earlier bridge accepted. Never refuses it. */
  hold(owner: string): Place {
    const claim = this.#claimFor(owner)
    this.#enter(owner, claim)
    return claim
  }

  #claimFor(owner: string): Claim {
    const claim: Claim = new Claim((was) => this.#left(owner, claim, was))
    return claim
  }

  #isFree(owner: string): boolean {
    return this.#counted < this.#limits.maxInFlight && this.of(owner).inFlight < this.#limits.ofOwner.maxInFlight(owner)
  }

  #checkQueue(owner: string): void {
    const { maxInFlight, maxQueued, ofOwner } = this.#limits
    const { inFlight, queued } = this.of(owner)
    const own = { maxInFlight: ofOwner.maxInFlight(owner), maxQueued: ofOwner.maxQueued(owner) }
    if (this.#queued < maxQueued && queued < own.maxQueued) return
    if (inFlight >= own.maxInFlight && own.maxInFlight < maxInFlight) {
      throw full('owner-in-flight', `${requests(own.maxInFlight)} in flight for one owner`, 'maxInFlightPerOwner')
    }
    if (queued >= own.maxQueued && own.maxQueued < maxQueued) {
      throw full('owner-queued', `${requests(own.maxQueued)} waiting for one owner`, 'maxQueuedPerOwner')
    }
    const waiting = maxQueued > 0 ? ` and ${maxQueued} waiting` : ''
    throw full('in-flight', `${requests(maxInFlight)} in flight${waiting}`, 'maxInFlight or maxQueued')
  }

  #enter(owner: string, claim: Claim): void {
    this.#count(owner, 1)
    claim.enter(() => this.#count(owner, 1))
  }

  #count(owner: string, change: 1 | -1): void {
    const limit = this.#limits.ofOwner.maxInFlight(owner)
    const before = this.of(owner).inFlight
    const after = before + change
    if (after === 0) this.#running.delete(owner)
    else this.#running.set(owner, after)
    this.#inFlight += change
    this.#counted += Math.min(after, limit) - Math.min(before, limit)
  }

  #enqueue(owner: string, claim: Claim): void {
    const queue = this.#queues.get(owner) ?? []
    this.#queues.set(owner, queue)
    queue.push(claim)
    this.#queued += 1
  }

  #left(owner: string, claim: Claim, was: 'queued' | 'in'): void {
    if (was === 'queued') return this.#dequeue(owner, claim)
    this.#count(owner, -1)
    for (let next = this.#nextOwner(); next !== undefined; next = this.#nextOwner()) this.#enter(next, this.#takeFirst(next))
  }

  #dequeue(owner: string, claim: Claim): void {
    const left = (this.#queues.get(owner) ?? []).filter((each) => each !== claim)
    if (left.length > 0) this.#queues.set(owner, left)
    else this.#queues.delete(owner)
    this.#queued -= 1
  }

  /** Returns the owner whose turn is next. */
  #nextOwner(): string | undefined {
    if (this.#counted >= this.#limits.maxInFlight) return undefined
    return [...this.#queues.keys()].find((owner) => this.#isFree(owner))
  }

  /** Removes the owner's first request from the queue and moves the owner to the end. */
  #takeFirst(owner: string): Claim {
    const queue = this.#queues.get(owner) as Claim[]
    const claim = queue.shift() as Claim
    this.#queues.delete(owner)
    if (queue.length > 0) this.#queues.set(owner, queue)
    this.#queued -= 1
    return claim
  }
}

function full(reason: string, limit: string, option: string): BridgeError {
  const details = { reason, retryAfterMs: retryWhenFullMs }
  return new BridgeError('CAPACITY', `The limit of ${limit} is reached: retry in ${retryWhenFullMs} ms, or raise ${option}`, { details })
}

function requests(count: number): string {
  return `${count} request${count === 1 ? '' : 's'}`
}
