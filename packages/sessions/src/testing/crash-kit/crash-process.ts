import type { Clock } from '@bowline/llm'

/** `waking`: it was stopped and goes on; timers and the store come first. */
type ProcessState = 'alive' | 'stopped' | 'waking' | 'dead'

/** What one process is to the outside: everything that leaves it passes here, and so does every timer. */
export class CrashProcess {
  readonly name: string
  /** The time of the scenario; the timers are those of this process. */
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

  /** Resolves when what wants to leave the process may: never, when it is dead. */
  async pass(what: 'store' | 'code'): Promise<void> {
    while (this.#state !== 'alive' && !(this.#state === 'waking' && what === 'store')) await this.#changed.promise
  }

  kill(): void {
    this.#become('dead')
  }

  stop(): void {
    this.#become('stopped')
  }

  /** Timers that were missed run now; code goes on with `finishWaking`. */
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
    // Whoever waits for a dead process would look in vain.
    if (state !== 'dead') changed.resolve()
  }
}
