/**
 * Does work in the order in which it came, and at most so many pieces per turn of the event loop. Timers and sockets have
 * their turn in between, which promises alone never give them.
 */
export class TurnQueue {
  readonly #mostPerTurn: number
  readonly #waiting: (() => void)[] = []
  #doneThisTurn = 0

  constructor(mostPerTurn: number) {
    this.#mostPerTurn = mostPerTurn
  }

  /** Resolves with what the work returns, or rejects with what it throws. Holds the process until then. */
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

  /** Does all that waits at once. */
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
