import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { StateStore } from '../../contract/state-store.ts'
import { StateTable } from '../../state/state-table.ts'
import type { StateChange } from '../../state/state-table.ts'
import { tableStateStore } from '../../state/table-state-store.ts'
import { attempt, damageOf, withFile } from './file-errors.ts'
import { LogFile } from './log-file.ts'
import { newestFormat } from './log-record.ts'
import { dropTornEnd, scanFile } from './scanned-file.ts'
import type { ScannedFile } from './scanned-file.ts'

/** Content of one line of the file: the changes of state records in one step. */
interface StateRecord {
  readonly format: typeof newestFormat
  readonly states: readonly StateChange[]
  /** Highest version of the records that were deleted before the file was rewritten. Only in its last line. */
  readonly deleted?: number
}

export interface StateLogOptions {
  readonly fsync: boolean
  readonly maxRecordBytes: number
  readonly now: () => number
}

/** The file is rewritten if it is longer than this multiple of its needed length. */
const mostBytesPerByte = 3
const bytesNotWorthIt = 64 * 1024

/** Reads the file of a namespace. Changes nothing. */
export function scanStates(folder: string): ScannedFile<StateRecord> {
  const path = join(folder, 'state.jsonl')
  return existsSync(path) ? scanFile(path) : { path, bytes: 0, wholeBytes: 0, records: [] }
}

/** The state records of a namespace in memory, and the file with one line of changes per step. */
export class StateLog {
  readonly #path: string
  readonly #table = new StateTable()
  readonly #log: LogFile
  readonly #store: StateStore
  readonly #damagedLine: number | undefined
  /** File length above which `tidy` checks whether a rewrite pays. */
  #bytesWorthALook = 0
  /** The file holds values of deleted records. */
  #hasRemains = false

  constructor(scanned: ScannedFile<StateRecord>, { fsync, maxRecordBytes, now }: StateLogOptions) {
    const { path, bytes, wholeBytes, records } = scanned
    this.#path = path
    this.#store = tableStateStore({ table: this.#table, now, maxRecordBytes, keep: (changes) => this.#keep(changes) })
    this.#log = new LogFile(path, fsync, wholeBytes, records.length)
    this.#damagedLine = this.#replay(scanned)
    if (this.#damagedLine !== undefined) return
    if (wholeBytes < bytes) dropTornEnd(path, wholeBytes, fsync)
    if (wholeBytes === 0) rmSync(path, { force: true })
    this.tidy()
  }

  /** Applies all records. Returns the number of the first invalid line, or undefined if there is none. */
  #replay({ records, damagedLine }: ScannedFile<StateRecord>): number | undefined {
    if (damagedLine !== undefined) return damagedLine
    const wrong = records.findIndex((record) => !record || !this.#replayRecord(record))
    return wrong === -1 ? undefined : wrong + 1
  }

  #replayRecord({ states, deleted = 0 }: StateRecord): boolean {
    this.#table.deleted = Math.max(this.#table.deleted, deleted)
    return states.every((change) => {
      this.#noteRemains(change)
      return this.#table.apply(change)
    })
  }

  #noteRemains({ space, id, life }: StateChange): void {
    if (!life && this.#table.find(space, id)) this.#hasRemains = true
  }

  /** Throws if the file is damaged. */
  get store(): StateStore {
    if (this.#damagedLine !== undefined) throw damageOf(this.#path, this.#damagedLine)
    return this.#store
  }

  /** Writes one line. The changes are durable once the line is on the disk. */
  #keep(changes: readonly StateChange[]): void {
    // Must precede the append: the table does not have these changes yet, so a rewrite after it would lose them.
    if (this.#log.bytes > this.#bytesWorthALook) this.tidy()
    this.#log.append(printStates(changes))
    for (const change of changes) this.#noteRemains(change)
  }

  /**
   * Rewrites the file if most of it is obsolete or if it holds values to be forgotten. Ignores failures: the old file is still
   * valid, and a later call retries.
   */
  tidy(): void {
    if (this.#damagedLine !== undefined || (!this.#hasRemains && this.#log.bytes <= this.#bytesWorthALook)) return
    const lines = [...linesOf(this.#table)]
    const needed = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)
    if (this.#hasRemains || this.#log.bytes > needed * mostBytesPerByte + bytesNotWorthIt) attempt(() => this.#replace(lines))
    // After a failed rewrite the next check waits as long as after a success.
    this.#bytesWorthALook = this.#log.bytes + needed * (mostBytesPerByte - 1) + bytesNotWorthIt
  }

  #replace(lines: readonly string[]): void {
    this.#log.replace(lines)
    // The backup may hold values to be forgotten too.
    if (this.#hasRemains) withFile(this.#path, () => rmSync(`${this.#path}.bak`, { force: true }))
    this.#hasRemains = false
  }
}

/** Yields the lines of a file with only these records. */
function* linesOf(table: StateTable): Iterable<string> {
  for (const [space, id, { version, value, usedAt, expiresAt }] of table.records()) {
    yield printStates([{ space, id, version, life: { usedAt, expiresAt }, value }])
  }
  if (table.deleted > 0) yield printStates([], table.deleted)
}

function printStates(states: readonly StateChange[], deleted?: number): string {
  const record: StateRecord = { format: newestFormat, states, ...(deleted !== undefined && { deleted }) }
  return JSON.stringify(record)
}
