/** Place of one request in the admission queue. */
export interface Place {
  /** False while the request is queued. */
  readonly taken: boolean
  /** Resolves once the request may run. */
  readonly entered: Promise<void>
  /**
   * With true, pauses the request while it waits for input, so that another one may run. With false, it runs again; that is never
   * refused.
   */
  step(out: boolean): void
  /** Gives up the place, running or queued. Repeatable. */
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
