import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { StateStore } from '../../contract/state-store.ts'
import { StateTable } from '../../state/state-table.ts'
import type { StateChange } from '../../state/state-table.ts'
import { tableStateStore } from '../../state/table-state-store.ts'
import { damageOf } from './file-errors.ts'
import { LogFile } from './log-file.ts'
import { emptyFile, scanFile, type ScannedFile } from './log-line.ts'
import { dropEnd } from './whole-file.ts'

const format = 1

/** Content of one line of the file: the changes of state records in one step. */
interface StateRecord {
  readonly format: typeof format
  readonly states: readonly StateChange[]
  /** Highest version of the records that were deleted before the file was rewritten. Only in its last line. */
  readonly deleted?: number
}

export interface StateLogOptions {
  readonly fsync: boolean
  readonly maxRecordBytes: number
  readonly now: () => number
}

/** Reads the file of a namespace. Changes nothing. */
export function scanStates(folder: string): ScannedFile<StateRecord> {
  const path = join(folder, 'state.jsonl')
  return existsSync(path) ? scanFile(path, format) : emptyFile(path)
}

/** The state records of a namespace in memory, and the file with one line of changes per step. */
export class StateLog {
  readonly #path: string
  readonly #table = new StateTable()
  readonly #log: LogFile
  readonly #store: StateStore
  readonly #damagedLine: number | undefined
  /** The file holds values of deleted records. */
  #hasRemains = false

  constructor(scanned: ScannedFile<StateRecord>, { fsync, maxRecordBytes, now }: StateLogOptions) {
    const { path, bytes, ends, records } = scanned
    const keptBytes = ends.at(-1) ?? 0
    this.#path = path
    this.#store = tableStateStore({ table: this.#table, now, maxRecordBytes, keep: (changes) => this.#keep(changes) })
    this.#log = new LogFile({ path, fsync, bytes: keptBytes, lines: records.length })
    this.#damagedLine = this.#replay(scanned)
    if (this.#damagedLine !== undefined) return
    if (keptBytes < bytes) dropEnd(path, keptBytes, fsync)
    if (keptBytes === 0) rmSync(path, { force: true })
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
    if (this.#log.isWorthALook) this.tidy()
    this.#log.append(printStates(changes))
    for (const change of changes) this.#noteRemains(change)
  }

  /** Rewrites the file if most of it is obsolete or if it holds values to be forgotten. */
  tidy(): void {
    if (this.#damagedLine !== undefined) return
    if (this.#log.tidy(() => [...linesOf(this.#table)], { mustForget: this.#hasRemains })) this.#hasRemains = false
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
  const record: StateRecord = { format, states, ...(deleted !== undefined && { deleted }) }
  return JSON.stringify(record)
}
