import { BridgeError } from '../errors.ts'

export interface PlacesOptions {
  /** Requests that may run at once. */
  readonly maxInFlight: number
  /** Requests that may wait for a place. */
  readonly maxQueued: number
}

/** One request's claim to run. */
export interface Place {
  /** False: it stands in the queue. */
  readonly taken: boolean
  /** Resolves when the request may run. */
  readonly entered: Promise<void>
  /** Nobody works on the request for now: another one may run. Entering again is never refused. */
  step(out: boolean): void
  /** The request is over, also in the queue. Repeatable. */
  release(): void
}

const retryWhenFullMs = 1000

/** Who may run, and in which order those that wait come in: in order for each owner, and owners in turns. */
export class Places {
  readonly #options: PlacesOptions
  /** In order of the owner's turn. */
  readonly #queues = new Map<string, Claim[]>()
  #inFlight = 0
  #queued = 0

  constructor(options: PlacesOptions) {
    this.#options = options
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get queued(): number {
    return this.#queued
  }

  /** Throws `CAPACITY` when there is no place and no room in the queue. */
  reserve(owner: string): Place {
    const { maxInFlight, maxQueued } = this.#options
    const free = this.#inFlight < maxInFlight
    if (!free && this.#queued >= maxQueued) {
      const details = { reason: 'in-flight', retryAfterMs: retryWhenFullMs }
      throw new BridgeError('CAPACITY', `All ${maxInFlight} places are taken`, { details })
    }
    const claim = new Claim((was) => this.#left(owner, claim, was))
    if (free) this.#enter(claim)
    else this.#enqueue(owner, claim)
    return claim
  }

  #enter(claim: Claim): void {
    this.#inFlight += 1
    claim.enter(() => (this.#inFlight += 1))
  }

  #enqueue(owner: string, claim: Claim): void {
    const queue = this.#queues.get(owner) ?? []
    this.#queues.set(owner, queue)
    queue.push(claim)
    this.#queued += 1
  }

  #left(owner: string, claim: Claim, was: 'queued' | 'in'): void {
    if (was === 'queued') return this.#dequeue(owner, claim)
    this.#inFlight -= 1
    while (this.#inFlight < this.#options.maxInFlight && this.#queued > 0) this.#enter(this.#next())
  }

  #dequeue(owner: string, claim: Claim): void {
    const left = (this.#queues.get(owner) ?? []).filter((each) => each !== claim)
    if (left.length > 0) this.#queues.set(owner, left)
    else this.#queues.delete(owner)
    this.#queued -= 1
  }

  /** The first of the owner whose turn it is, who then has the last turn. */
  #next(): Claim {
    const [owner, queue] = this.#queues.entries().next().value as [string, Claim[]]
    const claim = queue.shift() as Claim
    this.#queues.delete(owner)
    if (queue.length > 0) this.#queues.set(owner, queue)
    this.#queued -= 1
    return claim
  }
}

class Claim implements Place {
  readonly entered: Promise<void>
  readonly #onLeave: (was: 'queued' | 'in') => void
  #resolve: () => void
  #state: 'queued' | 'in' | 'out' | 'over' = 'queued'
  #reenter = (): void => {}

  constructor(onLeave: (was: 'queued' | 'in') => void) {
    this.#onLeave = onLeave
    const { promise, resolve } = Promise.withResolvers<void>()
    this.entered = promise
    this.#resolve = resolve
  }

  get taken(): boolean {
    return this.#state !== 'queued'
  }

  enter(reenter: () => void): void {
    this.#state = 'in'
    this.#reenter = reenter
    this.#resolve()
  }

  step(out: boolean): void {
    if (out && this.#state === 'in') {
      this.#state = 'out'
      this.#onLeave('in')
    } else if (!out && this.#state === 'out') {
      this.#state = 'in'
      this.#reenter()
    }
  }

  release(): void {
    const was = this.#state
    this.#state = 'over'
    if (was === 'queued' || was === 'in') this.#onLeave(was)
  }
}
