import { rmSync, statSync, truncateSync } from 'node:fs'
import { dirname } from 'node:path'
import { SessionError } from '../../errors.ts'
import { attempt, withFile, withFileAsync } from './file-errors.ts'
import { printLine } from './log-line.ts'
import { appendAll, syncFile, syncFileAsync, syncFolder, syncFolderAsync, writeWhole } from './whole-file.ts'

/** A file is rewritten if it is longer than this multiple of its needed length. */
const mostBytesPerByte = 3
const bytesNotWorthIt = 64 * 1024

export interface LogFileOptions {
  readonly path: string
  /** Durability: whether `append` and `sync` make lines survive a power failure. */
  readonly fsync: boolean
  readonly bytes: number
  readonly lines: number
  /** The file may end with bytes that do not count. */
  readonly isUnclean?: boolean
}

/** A file of lines that is appended to or replaced as a whole. */
export class LogFile {
  readonly path: string
  readonly #fsync: boolean
  #bytes: number
  #lines: number
  #isUnclean: boolean
  /** The name of the file may not be durable. */
  #isNew: boolean
  /** The last lines, not in the file yet. */
  #waiting: string[] = []
  /** File length above which `tidy` checks whether a rewrite pays. */
  #bytesWorthALook = bytesNotWorthIt

  constructor({ path, fsync, bytes, lines, isUnclean = false }: LogFileOptions) {
    this.path = path
    this.#fsync = fsync
    this.#bytes = bytes
    this.#lines = lines
    this.#isUnclean = isUnclean
    this.#isNew = bytes === 0
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The file has grown so much that `tidy` may rewrite it. */
  get isWorthALook(): boolean {
    return this.#bytes > this.#bytesWorthALook
  }

  /** Number of lines, with those that are not in the file yet. */
  get lines(): number {
    return this.#lines
  }

  /** Records of the last lines, which are not in the file yet. */
  get waiting(): readonly string[] {
    return this.#waiting
  }

  add(records: readonly string[]): void {
    this.#waiting.push(...records)
    this.#lines += records.length
  }

  /** Writes the lines that are not in the file yet. If this throws, the file is unchanged. */
  flush(): void {
    withFile(this.path, () => {
      this.#clean()
      if (this.#waiting.length === 0) return
      const first = this.#lines - this.#waiting.length + 1
      const lines = Buffer.concat(this.#waiting.map((record, index) => printLine(first + index, record)))
      this.#isUnclean = true
      try {
        appendAll(this.path, lines)
      } catch (error) {
        // If this fails too, the next write cuts the file first.
        attempt(() => this.check())
        throw error
      }
      this.#isUnclean = false
      this.#bytes += lines.length
      this.#waiting = []
    })
  }

  /** Resolves when all lines of the file are on the disk. */
  async sync(): Promise<void> {
    if (!this.#fsync) return
    await withFileAsync(this.path, async () => {
      await syncFileAsync(this.path)
      if (this.#isNew) await syncFolderAsync(dirname(this.path))
      this.#isNew = false
    })
  }

  /** Adds a line and returns when it is on the disk. If this throws, the file is unchanged. */
  append(record: string): void {
    const takeBack = this.mark()
    try {
      this.add([record])
      this.flush()
      if (this.#fsync) withFile(this.path, () => this.#syncNow())
    } catch (error) {
      takeBack()
      throw error
    }
  }

  #syncNow(): void {
    syncFile(this.path)
    if (this.#isNew) syncFolder(dirname(this.path))
    this.#isNew = false
  }

  /** Returns a function that removes all lines that are added after this call. All lines must be in the file. */
  mark(): () => void {
    const [bytes, lines] = [this.#bytes, this.#lines]
    return () => {
      this.#isUnclean ||= this.#bytes !== bytes
      this.#bytes = bytes
      this.#lines = lines
      this.#waiting = []
      // If this fails, the next write cuts the file first.
      attempt(() => this.check())
    }
  }

  /** Throws if another program has changed the file. */
  check(): void {
    withFile(this.path, () => this.#clean())
  }

  #clean(): void {
    const found = statSync(this.path, { throwIfNoEntry: false })
    if (found && !found.isFile()) throw new SessionError('store-unavailable', `${this.path} cannot be used: it is not a file`)
    const size = found?.size ?? 0
    if (size !== this.#bytes && !this.#isUnclean) {
      throw new SessionError(
        'store-corrupt',
        `${this.path} was changed by another program while it was in use; it was not changed further. Replace it with a backup`,
      )
    }
    if (this.#isUnclean && this.#bytes === 0) rmSync(this.path, { force: true })
    else if (size !== this.#bytes) truncateSync(this.path, this.#bytes)
    this.#isUnclean = false
  }

  /** Replaces the file by `records`, which must be equivalent to its content. Deletes the file if there are none. */
  replace(records: readonly string[]): void {
    const lines = records.map((record, index) => printLine(index + 1, record))
    withFile(this.path, () => {
      this.#clean()
      if (lines.length > 0) writeWhole(this.path, lines, this.#fsync)
      else rmSync(this.path, { force: true })
      this.#bytes = lines.reduce((sum, line) => sum + line.length, 0)
      this.#lines = lines.length
      this.#waiting = []
      this.#isNew = lines.length === 0
      if (this.#fsync) syncFolder(dirname(this.path))
    })
  }

  /**
   * Replaces the file if most of it is out of date. With `mustForget`, replaces it whatever its length, and deletes its backup. Returns
   * false if that failed: the old file is still valid, and a later call retries.
   */
  tidy(recordsOf: () => readonly string[], { mustForget = false, mustLook = false } = {}): boolean {
    if (!mustForget && !mustLook && !this.isWorthALook) return true
    const records = recordsOf()
    const needed = records.reduce((sum, record) => sum + Buffer.byteLength(record), 0)
    const isTidy = attempt(() => {
      if (mustForget || this.#bytes > needed * mostBytesPerByte + bytesNotWorthIt) this.replace(records)
      if (mustForget) withFile(this.path, () => rmSync(`${this.path}.bak`, { force: true }))
    })
    this.#bytesWorthALook = this.#bytes + needed * (mostBytesPerByte - 1) + bytesNotWorthIt
    return isTidy
  }
}
