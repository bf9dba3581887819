/**
 * Runs work in order, at most `mostPerTurn` pieces per turn of the event loop. Timers and sockets run in between, which promises
 * alone never allow.
 */
export class TurnQueue {
  readonly #mostPerTurn: number
  readonly #waiting: (() => void)[] = []
  #doneThisTurn = 0

  constructor(mostPerTurn: number) {
    this.#mostPerTurn = mostPerTurn
  }

  /** Runs `work`. Resolves with its result or rejects with its error. Keeps the process alive until then. */
  run<T>(work: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const attempt = (): void => {
      try {
        resolve(work())
      } catch (error) {
        reject(error)
      }
    }
    if (this.#doneThisTurn < this.#mostPerTurn) this.#do(attempt)
    else this.#waiting.push(attempt)
    return promise
  }

  /** Runs all waiting work at once. */
  flush(): void {
    for (const attempt of this.#waiting.splice(0)) attempt()
  }

  #do(attempt: () => void): void {
    if (this.#doneThisTurn === 0) setImmediate(() => this.#startTurn())
    this.#doneThisTurn += 1
    attempt()
  }

  #startTurn(): void {
    this.#doneThisTurn = 0
    for (const attempt of this.#waiting.splice(0, this.#mostPerTurn)) this.#do(attempt)
  }
}
