import type { Clock } from '@bowline/llm'

/** `waking`: the process was stopped and continues. Its timers and store answers come first. */
type ProcessState = 'alive' | 'stopped' | 'waking' | 'dead'

/** A simulated process. Everything that it does outside, and every timer, passes through here. */
export class CrashProcess {
  readonly name: string
  /** Time of the scenario. The timers belong to this process. */
  readonly clock: Clock
  #state: ProcessState = 'alive'
  #changed = Promise.withResolvers<void>()
  /** Timers that were due while the process was stopped. */
  readonly #missed: (() => void)[] = []

  constructor(name: string, clock: Clock) {
    this.name = name
    this.clock = {
      now: () => clock.now(),
      setTimer: (atMs, run) => {
        let isSet = true
        const fire = (): void => {
          if (this.#state === 'stopped') this.#missed.push(fire)
          else if (this.#state !== 'dead' && isSet) run()
        }
        const cancel = clock.setTimer(atMs, fire)
        return () => {
          isSet = false
          cancel()
        }
      },
    }
  }

  get state(): ProcessState {
    return this.#state
  }

  /** Resolves when the process may continue. Never resolves if it is dead. */
  async pass(what: 'store' | 'code'): Promise<void> {
    while (this.#state !== 'alive' && !(this.#state === 'waking' && what === 'store')) await this.#changed.promise
  }

  kill(): void {
    this.#become('dead')
  }

  stop(): void {
    this.#become('stopped')
  }

  /** Runs missed timers now. Code continues at `finishWaking`. */
  wake(): void {
    this.#become('waking')
    for (const fire of this.#missed.splice(0)) fire()
  }

  finishWaking(): void {
    if (this.#state === 'waking') this.#become('alive')
  }

  #become(state: ProcessState): void {
    this.#state = state
    const changed = this.#changed
    this.#changed = Promise.withResolvers()
    // Waiters of a dead process are never resumed.
    if (state !== 'dead') changed.resolve()
  }
}
