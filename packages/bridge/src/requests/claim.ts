/** One request's claim to run. */
export interface Place {
  /** False while it waits in the queue. */
  readonly taken: boolean
  /** Resolves when the request may run. */
  readonly entered: Promise<void>
  /** The request waits for input, so another one may run. Entering again is never refused. */
  step(out: boolean): void
  /** The request is over, also in the queue. Repeatable. */
  release(): void
}

export class Claim implements Place {
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
