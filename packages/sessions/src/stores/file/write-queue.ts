interface Write {
  readonly work: () => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Limit of writes per group: this many, with what they trigger, block the process for some milliseconds. */
const mostPerGroup = 16

/**
 * Runs writes in order and in groups: writes that arrive while one group is being synced form the next one. Timers and sockets run
 * between two groups.
 */
export class WriteQueue {
  readonly #settle: () => Promise<void>
  readonly #waiting: Write[] = []
  #work: Promise<void> | undefined
  #settling: Promise<void> | undefined

  /** `settle` resolves when the writes of a group are stored, and rejects when all of them were taken back. */
  constructor(settle: () => Promise<void>) {
    this.#settle = settle
  }

  /** Resolves when no readable write can be taken back any more. Undefined if that is so now. */
  get settled(): Promise<void> | undefined {
    return this.#settling
  }

  /**
   * Runs `work` and resolves with its result once it is stored. Keeps the process alive until then. Continuations of this promise
   * run before the next group.
   */
  run<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as Write['resolve'], reject })
      this.#work ??= this.#doAll()
    })
  }

  /** Resolves when the queue is empty. */
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

/** Returns the results of the writes that succeeded. A failed write rejects alone. */
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
