interface Write {
  readonly work: () => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** So many writes and what they set off take some milliseconds, for which nothing else happens in the process. */
const mostPerGroup = 16

/**
 * Does writes in the order in which they came, in groups: those that come while one group is on its way to the disk are the
 * next. Timers and sockets have their turn between two groups.
 */
export class WriteQueue {
  readonly #settle: () => Promise<void>
  readonly #waiting: Write[] = []
  #work: Promise<void> | undefined
  #settling: Promise<void> | undefined

  /** `settle` resolves when what a group has written is stored, and rejects when all of it was taken back. */
  constructor(settle: () => Promise<void>) {
    this.#settle = settle
  }

  /** Resolves when nothing can be read that may still be taken back; absent: that is so now. */
  get settled(): Promise<void> | undefined {
    return this.#settling
  }

  /**
   * Resolves with what the work returns, once that is stored. Holds the process until then. The next group waits for what
   * follows without a promise of its own.
   */
  run<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as Write['resolve'], reject })
      this.#work ??= this.#doAll()
    })
  }

  /** Resolves when all that waits is done. */
  async end(): Promise<void> {
    while (this.#work) await this.#work
  }

  async #doAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      this.#settling = this.#store(doneOf(this.#waiting.splice(0, mostPerGroup)))
      await this.#settling
      this.#settling = undefined
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.#work = undefined
  }

  async #store(done: ReadonlyMap<Write, unknown>): Promise<void> {
    try {
      await this.#settle()
      for (const [write, result] of done) write.resolve(result)
    } catch (error) {
      for (const write of done.keys()) write.reject(error)
    }
  }
}

/** The results of the writes that were done. Each fails alone. */
function doneOf(writes: readonly Write[]): ReadonlyMap<Write, unknown> {
  const done = new Map<Write, unknown>()
  for (const write of writes) {
    try {
      done.set(write, write.work())
    } catch (error) {
      write.reject(error)
    }
  }
  return done
}
