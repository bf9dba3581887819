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

/** What a line of the file says: what became of state records in one step. */
interface StateRecord {
  readonly format: typeof newestFormat
  readonly states: readonly StateChange[]
}

export interface StateLogOptions {
  readonly fsync: boolean
  readonly maxRecordBytes: number
  readonly now: () => number
}

/** The file may be this many times as long as it must be before it is written anew. */
const mostBytesPerByte = 3
const bytesNotWorthIt = 64 * 1024

/** The file of a namespace as it was found; nothing is changed yet. */
export function scanStates(folder: string): ScannedFile<StateRecord> {
  const path = join(folder, 'state.jsonl')
  return existsSync(path) ? scanFile(path) : { path, bytes: 0, wholeBytes: 0, records: [] }
}

/** The state records of a namespace in memory, and the one file in which each line says what became of some. */
export class StateLog {
  readonly #path: string
  readonly #table = new StateTable()
  readonly #log: LogFile
  readonly #store: StateStore
  readonly #damagedLine: number | undefined
  /** When the file is longer than this it may be worth writing it anew. */
  #bytesWorthALook = 0
  /** Values of records that are gone stand in the file. */
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

  /** Puts together what the lines say; the number of the first one that cannot be right. */
  #replay({ records, damagedLine }: ScannedFile<StateRecord>): number | undefined {
    if (damagedLine !== undefined) return damagedLine
    const wrong = records.findIndex((record) => !record?.states.every((change) => this.#replayChange(change)))
    return wrong === -1 ? undefined : wrong + 1
  }

  #replayChange(change: StateChange): boolean {
    this.#noteRemains(change)
    return this.#table.apply(change)
  }

  #noteRemains({ space, id, life }: StateChange): void {
    if (!life && this.#table.find(space, id)) this.#hasRemains = true
  }

  /** Throws when the file is damaged. */
  get store(): StateStore {
    if (this.#damagedLine !== undefined) throw damageOf(this.#path, this.#damagedLine)
    return this.#store
  }

  /** One line. What it says has happened once the line is on the disk. */
  #keep(changes: readonly StateChange[]): void {
    // Before the line: the table does not say yet what that says.
    if (this.#log.bytes > this.#bytesWorthALook) this.tidy()
    this.#log.append(printStates(changes))
    for (const change of changes) this.#noteRemains(change)
  }

  /**
   * Writes the file anew when little of it is still true, or when it has what is to be forgotten. It is whole as it is:
   * that can wait for a better time.
   */
  tidy(): void {
    if (this.#damagedLine !== undefined || (!this.#hasRemains && this.#log.bytes <= this.#bytesWorthALook)) return
    const lines = [...this.#table.changes()].map((change) => printStates([change]))
    const needed = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)
    if (this.#hasRemains || this.#log.bytes > needed * mostBytesPerByte + bytesNotWorthIt) attempt(() => this.#replace(lines))
    // When it could not be written, the next look waits as long as it does after a success.
    this.#bytesWorthALook = this.#log.bytes + needed * (mostBytesPerByte - 1) + bytesNotWorthIt
  }

  #replace(lines: readonly string[]): void {
    this.#log.replace(lines)
    // It may hold what is to be forgotten, too.
    if (this.#hasRemains) withFile(this.#path, () => rmSync(`${this.#path}.bak`, { force: true }))
    this.#hasRemains = false
  }
}

function printStates(states: readonly StateChange[]): string {
  const record: StateRecord = { format: newestFormat, states }
  return JSON.stringify(record)
}
