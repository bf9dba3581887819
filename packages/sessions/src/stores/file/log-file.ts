import { closeSync, fdatasync, fdatasyncSync, fstatSync, ftruncateSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { SessionError } from '../../errors.ts'
import { privateFile } from '../private-files.ts'
import { withFile, withFileAsync } from './file-errors.ts'
import { printLine } from './log-line.ts'
import { syncFolder, synced, writeAll, writeWhole } from './whole-file.ts'

/** Lines that were written and may not be on the disk yet. */
interface Unsynced {
  readonly descriptor: number
  /** Length of the file before them. */
  readonly bytes: number
  readonly lines: number
  mustSync: boolean
}

/** A file of lines that is appended to or replaced as a whole. */
export class LogFile {
  readonly path: string
  readonly #fsync: boolean
  #bytes: number
  #lines: number
  /** The file may end with bytes that do not count. */
  #isUnclean = false
  /** Everything is on the disk. */
  #isSynced = false
  #unsynced: Unsynced | undefined

  constructor(path: string, fsync: boolean, bytes = 0, lines = 0) {
    this.path = path
    this.#fsync = fsync
    this.#bytes = bytes
    this.#lines = lines
  }

  get bytes(): number {
    return this.#bytes
  }

  /** True if no earlier line is on the disk: then the folder may have to be synced too, for the name of the file. */
  get isNew(): boolean {
    return this.#unsynced?.lines === 0
  }

  /** Appends a line and returns when it is on the disk. If this throws, the file is unchanged. */
  append(record: string): void {
    this.write(record)
    const { descriptor } = this.#unsynced ?? {}
    if (descriptor === undefined) return
    try {
      withFile(this.path, () => {
        fdatasyncSync(descriptor)
        if (this.isNew) syncFolder(dirname(this.path))
      })
    } catch (error) {
      this.takeBack()
      throw error
    }
    this.keep()
  }

  /**
   * Appends a line, which is durable after `sync` and `keep`, and removed by `takeBack`. Without `fsync` it is valid when this
   * returns. If `canWait`, the line may reach the disk together with the next one; at most one line waits. If this throws, the file
   * is unchanged.
   */
  write(record: string, { canWait = false } = {}): void {
    const line = printLine(this.#lines + 1, record)
    const unsynced = withFile(this.path, () => this.#write(line))
    unsynced.mustSync ||= this.#fsync && !(canWait && this.#isSynced)
    this.#isSynced = false
    this.#bytes += line.length
    this.#lines += 1
    if (!this.#fsync) this.keep()
  }

  #write(line: Buffer): Unsynced {
    const { descriptor } = (this.#unsynced ??= this.#open())
    try {
      this.#cutBack(descriptor)
      this.#isUnclean = true
      writeAll(descriptor, line)
      this.#isUnclean = false
    } catch (error) {
      // If this fails too, the next write cuts the file first.
      ignoreErrors(() => this.#cutBack(descriptor))
      if (this.#unsynced.bytes === this.#bytes) this.#close()
      throw error
    }
    return this.#unsynced
  }

  #open(): Unsynced {
    return { descriptor: openSync(this.path, 'a', privateFile), bytes: this.#bytes, lines: this.#lines, mustSync: false }
  }

  #cutBack(descriptor: number): void {
    const { size } = fstatSync(descriptor)
    if (size === this.#bytes) return
    if (!this.#isUnclean) {
      throw new SessionError(
        'store-corrupt',
        `${this.path} was changed by another program while it was in use; it was not changed further. Replace it with a backup`,
      )
    }
    ftruncateSync(descriptor, this.#bytes)
    this.#isUnclean = false
  }

  /** Resolves when all lines are on the disk. */
  async sync(): Promise<void> {
    const { descriptor, mustSync } = this.#unsynced ?? {}
    if (descriptor !== undefined && mustSync) await withFileAsync(this.path, () => synced(fdatasync, descriptor))
  }

  keep(): void {
    this.#isSynced = this.#unsynced?.mustSync === true
    this.#close()
  }

  /** Removes the lines since the last `keep`. */
  takeBack(): void {
    if (!this.#unsynced) return
    const { descriptor, bytes, lines } = this.#unsynced
    this.#bytes = bytes
    this.#lines = lines
    this.#isUnclean = true
    // If this fails, the next write cuts the file first.
    ignoreErrors(() => this.#cutBack(descriptor))
    this.#close()
  }

  /** Closes the file, and deletes it if it is empty. */
  #close(): void {
    if (!this.#unsynced) return
    const { descriptor } = this.#unsynced
    this.#unsynced = undefined
    if (this.#bytes === 0) ignoreErrors(() => fstatSync(descriptor).size === 0 && rmSync(this.path))
    closeSync(descriptor)
  }

  /** Replaces the file by `records`, which must be equivalent to its content. Deletes the file if there are none. */
  replace(records: readonly string[]): void {
    const lines = records.map((record, index) => printLine(index + 1, record))
    withFile(this.path, () => {
      if (lines.length > 0) writeWhole(this.path, lines, this.#fsync)
      else rmSync(this.path, { force: true })
      this.#bytes = lines.reduce((sum, line) => sum + line.length, 0)
      this.#lines = lines.length
      if (this.#fsync) syncFolder(dirname(this.path))
    })
  }
}

function ignoreErrors(work: () => unknown): void {
  try {
    work()
  } catch {
    // Ignored on purpose: the first error counts.
  }
}
