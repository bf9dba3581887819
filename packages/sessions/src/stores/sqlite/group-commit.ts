import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Work that waits for its turn to write. */
interface Write {
  readonly work: () => unknown
  /** A power failure, which also ends this process, may undo it. */
  readonly isProvisional: boolean
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Limit of writes per transaction: this many block the process for some milliseconds. */
const mostAtOnce = 32

/** Result of a write, once its transaction is stored. */
type Written = { readonly result: unknown } | { readonly error: unknown }

/**
 * Writes of one turn of the event loop share a transaction, and so the wait for the disk, which is most of the cost. Each of them
 * fails alone.
 */
export class GroupCommit {
  readonly #database: DatabaseSync
  /** Transactions wait for the disk. */
  readonly #isSynced: boolean
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync
  readonly #mark: StatementSync
  readonly #release: StatementSync
  readonly #rollbackToMark: StatementSync
  readonly #waiting: Write[] = []
  #rolledBack = (): void => undefined

  /** `synchronous` is the mode in which the database was opened. */
  constructor(database: DatabaseSync, synchronous: 'full' | 'normal') {
    this.#database = database
    this.#isSynced = synchronous === 'full'
    // Takes the write lock at once: a transaction that reads first could find it taken when it writes.
    this.#begin = database.prepare('begin immediate')
    this.#commit = database.prepare('commit')
    this.#rollback = database.prepare('rollback')
    this.#mark = database.prepare('savepoint write')
    this.#release = database.prepare('release write')
    this.#rollbackToMark = database.prepare('rollback to write')
  }

  /**
   * Resolves with the result of the work once it is stored. If the work throws, it is undone. A provisional write does not wait for the
   * disk, unless it shares a transaction with a write that does.
   */
  write<T>(work: () => T, isProvisional: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, isProvisional, resolve: resolve as (result: unknown) => void, reject })
      if (this.#waiting.length === 1) setImmediate(() => this.#storeSome())
    })
  }

  /** Calls the listener when work was undone, before anything can read. Replaces the one before. */
  onRollback(listener: () => void): void {
    this.#rolledBack = listener
  }

  /** Stores all pending writes. Must be called before the database is closed. */
  flush(): void {
    while (this.#waiting.length > 0) this.#storeNext()
  }

  #storeSome(): void {
    this.#storeNext()
    if (this.#waiting.length > 0) setImmediate(() => this.#storeSome())
  }

  #storeNext(): void {
    const writes = this.#waiting.splice(0, mostAtOnce)
    if (writes.length === 0) return
    try {
      const written = this.#store(writes)
      written.forEach((each, index) => ('error' in each ? writes[index]?.reject(each.error) : writes[index]?.resolve(each.result)))
    } catch (error) {
      // None of them is stored.
      for (const { reject } of writes) reject(error)
    }
  }

  #store(writes: readonly Write[]): readonly Written[] {
    if (!this.#isSynced || writes.some(({ isProvisional }) => !isProvisional)) return this.#storeTogether(writes)
    this.#database.exec('pragma synchronous = normal')
    try {
      return this.#storeTogether(writes)
    } finally {
      this.#database.exec('pragma synchronous = full')
    }
  }

  #storeTogether(writes: readonly Write[]): readonly Written[] {
    this.#begin.run()
    try {
      const written = writes.map(({ work }) => (writes.length === 1 ? { result: work() } : this.#writeOne(work)))
      this.#commit.run()
      return written
    } catch (error) {
      // A full disk has already ended the transaction.
      if (this.#database.isTransaction) this.#rollback.run()
      this.#rolledBack()
      throw error
    }
  }

  /** Does the work of one write. If it fails, undoes only it. Throws if the whole transaction was rolled back. */
  #writeOne(work: () => unknown): Written {
    this.#mark.run()
    try {
      return { result: work() }
    } catch (error) {
      if (!this.#database.isTransaction) throw error
      this.#rollbackToMark.run()
      this.#rolledBack()
      return { error }
    } finally {
      if (this.#database.isTransaction) this.#release.run()
    }
  }
}
