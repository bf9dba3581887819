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
  /** The length of the file before them. */
  readonly bytes: number
  readonly lines: number
  mustSync: boolean
}

/** A file of lines that only grows, or is replaced as a whole. */
export class LogFile {
  readonly path: string
  readonly #fsync: boolean
  #bytes: number
  #lines: number
  /** Something that does not count may stand at its end. */
  #isUnclean = false
  /** All of it is on the disk. */
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

  /** All its lines wait for the disk: its name may have to be synced, too. */
  get isNew(): boolean {
    return this.#unsynced?.lines === 0
  }

  /** The line is on the disk when it returns. If this throws, the file is as it was. */
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
   * The line counts after `sync` and `keep`, unless `takeBack` is called; without `fsync` it counts when this returns. If
   * `canWait`, it may reach the disk with the next line instead: one line at most waits. If this throws, the file is as it
   * was.
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
      // When even that fails, the next line does it first.
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
      throw new SessionError('store-corrupt', `${this.path} was changed by somebody else while it was in use; it was left as it is`)
    }
    ftruncateSync(descriptor, this.#bytes)
    this.#isUnclean = false
  }

  /** Resolves when its lines are on the disk. */
  async sync(): Promise<void> {
    const { descriptor, mustSync } = this.#unsynced ?? {}
    if (descriptor !== undefined && mustSync) await withFileAsync(this.path, () => synced(fdatasync, descriptor))
  }

  keep(): void {
    this.#isSynced = this.#unsynced?.mustSync === true
    this.#close()
  }

  /** Takes back the lines since the last `keep`. */
  takeBack(): void {
    if (!this.#unsynced) return
    const { descriptor, bytes, lines } = this.#unsynced
    this.#bytes = bytes
    this.#lines = lines
    this.#isUnclean = true
    // When even that fails, the next line does it first.
    ignoreErrors(() => this.#cutBack(descriptor))
    this.#close()
  }

  /** An empty file goes. */
  #close(): void {
    if (!this.#unsynced) return
    const { descriptor } = this.#unsynced
    this.#unsynced = undefined
    if (this.#bytes === 0) ignoreErrors(() => fstatSync(descriptor).size === 0 && rmSync(this.path))
    closeSync(descriptor)
  }

  /** The records must say the same as the file does. Without any the file goes. */
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
    // On purpose: the first error is the one that counts.
  }
}
