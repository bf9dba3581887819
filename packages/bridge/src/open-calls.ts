import { systemClock } from '@bowline/llm'

/**
 * Holds the process while somebody waits for an answer. No timer does that, and a call whose agent is only waited for,
 * because its worker is started again or its server cannot be reached, has nothing else that would.
 */
export class OpenCalls {
  #open = 0
  #release: (() => void) | undefined

  async during<T>(call: Promise<T>): Promise<T> {
    this.#release ??= systemClock.setTimer(Infinity, () => {}, { hold: true })
    this.#open += 1
    try {
      return await call
    } finally {
      this.#open -= 1
      if (this.#open === 0) this.#letEnd()
    }
  }

  #letEnd(): void {
    this.#release?.()
    this.#release = undefined
  }
}
