import { systemClock } from '@bowline/llm'

/**
 * Keeps the process alive while calls are pending. Timers of the bridge do not: without this, the process could exit while a call
 * waits for a worker to restart or for a server to become reachable.
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
