import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { SessionError } from '../../errors.ts'
import { privateFile } from '../private-files.ts'
import { withFile } from './file-errors.ts'
import { printLine } from './log-line.ts'
import { syncFolder, writeAll, writeWhole } from './whole-file.ts'

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

  constructor(path: string, fsync: boolean, bytes = 0, lines = 0) {
    this.path = path
    this.#fsync = fsync
    this.#bytes = bytes
    this.#lines = lines
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * The line is on the disk when it returns. If `canWait`, it may reach the disk with the next line instead: one line at
   * most waits. If this throws, the file is as it was.
   */
  append(record: string, { canWait = false } = {}): void {
    const line = printLine(this.#lines + 1, record)
    const isSynced = this.#fsync && !(canWait && this.#isSynced)
    withFile(this.path, () => {
      const descriptor = openSync(this.path, 'a', privateFile)
      try {
        this.#cutBack(descriptor)
        this.#isUnclean = true
        writeAll(descriptor, line)
        if (isSynced) fdatasyncSync(descriptor)
        if (this.#fsync && this.#lines === 0) syncFolder(dirname(this.path))
        this.#isUnclean = false
      } catch (error) {
        // When even that fails, the next line does it first.
        ignoreErrors(() => this.#cutBack(descriptor))
        if (this.#bytes === 0) ignoreErrors(() => rmSync(this.path))
        throw error
      } finally {
        closeSync(descriptor)
      }
    })
    this.#isSynced = isSynced
    this.#bytes += line.length
    this.#lines += 1
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

function ignoreErrors(work: () => void): void {
  try {
    work()
  } catch {
    // On purpose: the first error is the one that counts.
  }
}
