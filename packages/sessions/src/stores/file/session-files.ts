import { existsSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { SessionError } from '../../errors.ts'
import type { Change, Id, Read, Row, Table } from '../../rows/contract.ts'
import { applyTo, newMemorySpace, putRow, readFrom, undoAll } from '../../rows/memory-rows.ts'
import type { Effect, MemorySpace } from '../../rows/memory-rows.ts'
import { tables, type TableName } from '../../rows/tables.ts'
import { attempt, attemptAsync, damageOf } from './file-errors.ts'
import { fileNameOf, isFileName } from './file-names.ts'
import { LogFile } from './log-file.ts'
import { emptyFile, printLine, scanFile, type ScannedFile } from './log-line.ts'
import { applyChange, changeOf, type RowChange } from './row-change.ts'
import { dropEnd, makeFolder, unfinished } from './whole-file.ts'

const format = 2

/** Content of one line of a file: what one change did to a session. A definition belongs to no session and has its own file. */
interface LineRecord {
  readonly format: typeof format
  readonly key?: string
  readonly definition?: string
  /** All earlier rows are deleted. */
  readonly deleted?: true
  readonly rows: readonly RowChange[]
}

/** Content of one line of the journal: lines of files that are stored together. */
interface JournalRecord {
  readonly format: typeof format
  readonly parts: readonly JournalPart[]
}

interface JournalPart {
  /** Number of the first line. */
  readonly line: number
  readonly records: readonly LineRecord[]
}

type Owner = { readonly key: string } | { readonly definition: string }

interface OwnedFile {
  readonly owner: Owner
  readonly log: LogFile
}

/** A file that cannot be read and is never written to. */
interface DamagedFile {
  readonly path: string
  readonly line: number
  /** Ids of the runs that its readable lines mention. */
  readonly runs: ReadonlySet<string>
}

/** Changes that are applied in memory and not in the journal yet. */
interface Group {
  readonly lines: Map<OwnedFile, string[]>
  readonly effects: Effect[]
  mustSync: boolean
}

/** The journal is emptied when it is longer. */
const mostJournalBytes = 1024 * 1024
const mostSyncsAtOnce = 64
const rowsPerLine = 1000

/** Tables of the rows of a session, each with an index that begins with the session. */
const ofSessions = Object.entries<Table>(tables).flatMap(([table, { indexes }]): readonly (readonly [TableName, string])[] => {
  const index = Object.keys(indexes).find((name) => indexes[name]?.[0] === 'session')
  return index === undefined ? [] : [[table as TableName, index]]
})

/** Tables with the row of a session or definition itself. */
const mainTables: readonly string[] = ['session', 'definition']

/** First columns of the indexes whose rows belong to a session or a run. */
const ownerColumns: readonly (string | undefined)[] = ['session', 'run', 'parentRun', 'parentSession']

export interface SessionFilesOptions {
  readonly folder: string
  readonly fsync: boolean
  readonly maxRowBytes: number
}

/**
 * The rows of a namespace in memory, and a folder with one file of changes for each session. A change is stored once it is in the
 * journal, whatever the number of its sessions. It is then added to their files. The journal is emptied when these are on the disk.
 */
export class SessionFiles {
  readonly space: MemorySpace = newMemorySpace()
  readonly #options: SessionFilesOptions
  readonly #definitions: string
  #journal: LogFile
  /** By path. */
  readonly #files = new Map<string, OwnedFile>()
  readonly #damaged = new Map<string, DamagedFile>()
  /** Files with lines that are in the journal too, or with content to be forgotten. */
  readonly #dirty = new Set<OwnedFile>()
  #group: Group = newGroup()
  /** The end of the journal may not be on the disk. */
  #isBehind = false
  #wanted: 'checkpoint' | 'tidy' | undefined
  #journalLimit = mostJournalBytes

  constructor(options: SessionFilesOptions) {
    this.#options = options
    this.#definitions = join(options.folder, 'definitions')
    this.#journal = new LogFile({ path: join(options.folder, 'journal.jsonl'), fsync: options.fsync, bytes: 0, lines: 0 })
  }

  /** Reads all files. Checks their format before it changes any. */
  async load(): Promise<void> {
    const { folder, fsync } = this.#options
    makeFolder(this.#definitions, fsync)
    const paths = [folder, this.#definitions].flatMap((each) => readdirSync(each).map((name) => [name, join(each, name)] as const))
    const { path } = this.#journal
    const journal = existsSync(path) ? scanFile<JournalRecord>(path, format) : emptyFile<JournalRecord>(path)
    const scanned = paths.filter(([name]) => isFileName(name)).map(([, path]) => scanFile<LineRecord>(path, format))
    if (journal.damagedLine !== undefined) throw damageOf(journal.path, journal.damagedLine)
    for (const [name, each] of paths) if (name.endsWith(unfinished)) rmSync(each)
    const bytes = journal.ends.at(-1) ?? 0
    const isUnclean = bytes < journal.bytes
    this.#journal = new LogFile({ path: journal.path, fsync, bytes, lines: journal.records.length, isUnclean })
    const parts = this.#partsIn(journal)
    for (const file of scanned) this.#load(file, parts.get(file.path))
    const known = new Set(scanned.map((file) => file.path))
    for (const [each, part] of parts) {
      if (!known.has(each)) this.#load(emptyFile(each), part)
    }
    this.want('checkpoint')
    await this.settle()
    for (const file of this.#files.values()) if (!this.#dirty.has(file)) this.#tidy(file)
  }

  /** Returns the last lines of files by path. */
  #partsIn({ records }: ScannedFile<JournalRecord>): ReadonlyMap<string, JournalPart> {
    const parts = new Map<string, JournalPart>()
    for (const part of records.flatMap((record) => record?.parts ?? [])) {
      const [first] = part.records
      const path = first ? this.#pathOf(ownerOf(first)) : ''
      const before = parts.get(path)
      parts.set(path, before ? { ...before, records: [...before.records, ...part.records] } : part)
    }
    return parts
  }

  #load(file: ScannedFile<LineRecord>, part: JournalPart | undefined): void {
    const { path, ends, bytes } = file
    const kept = part ? part.line - 1 : file.records.length
    const records = [...file.records.slice(0, kept), ...(part?.records ?? [])]
    // Printed first: replaying changes the rows.
    const last = (part?.records ?? []).map((record) => JSON.stringify(record))
    const damagedLine = file.records.length < kept ? file.records.length + 1 : this.#replay(path, records)
    if (damagedLine !== undefined) {
      const runs = new Set(records.flatMap((record) => (record && this.#pathOf(ownerOf(record)) === path ? runsIn(record) : [])))
      this.#damaged.set(path, { path, line: damagedLine, runs })
      return
    }
    const { fsync } = this.#options
    const keptBytes = ends[kept - 1] ?? 0
    if (keptBytes < bytes) {
      const expected = Buffer.concat(last.map((record, index) => printLine(kept + 1 + index, record)))
      const isExpected = expected.subarray(0, bytes - keptBytes).equals(readFileSync(path).subarray(keptBytes))
      if (isExpected) truncateSync(path, keptBytes)
      else dropEnd(path, keptBytes, fsync)
    }
    const [first] = records
    if (!first) return rmSync(path)
    const log = new LogFile({ path, fsync, bytes: keptBytes, lines: kept })
    log.add(last)
    const loaded = { owner: ownerOf(first), log }
    this.#files.set(path, loaded)
    if (last.length > 0) this.#dirty.add(loaded)
  }

  /** Applies all records. Returns the number of the first line that is damaged or cannot follow, and applies none then. */
  #replay(path: string, records: readonly (LineRecord | undefined)[]): number | undefined {
    const [first] = records
    if (!first) return records.length > 0 ? 1 : undefined
    if (this.#pathOf(ownerOf(first)) !== path) return 1
    const isNext = (record: LineRecord | undefined): boolean =>
      record !== undefined && record.key === first.key && record.definition === first.definition && this.#replayOne(record)
    const wrong = records.findIndex((record) => !isNext(record))
    if (wrong === -1) return undefined
    this.#dropRows(ownerOf(first))
    return wrong + 1
  }

  #replayOne(record: LineRecord): boolean {
    if (record.deleted) this.#dropRows(ownerOf(record))
    return record.rows.every((row) => applyChange(this.space, row))
  }

  #dropRows(owner: Owner): void {
    for (const [table, id] of this.#rowsOf(owner)) putRow(this.space, table, id, () => undefined)
  }

  /** Throws if a file whose rows are read is damaged. */
  check(reads: readonly Read[]): void {
    if (this.#damaged.size > 0) for (const id of reads.flatMap(ownersIn)) this.#checkId(id)
  }

  #checkId({ table, id }: { readonly table: string; readonly id: string }): void {
    const path = this.#pathOf(table === 'definition' ? { definition: id } : { key: id })
    const damaged = this.#damaged.get(path) ?? [...this.#damaged.values()].find(({ runs }) => runs.has(id))
    if (damaged) throw damageOf(damaged.path, damaged.line)
  }

  /** Applies changes in memory. They are stored when `settle` resolves. If this throws, nothing has changed. */
  apply(changes: readonly Change[]): readonly boolean[] {
    const group = newGroup()
    try {
      const stored = changes.map((change) => this.#apply(group, change))
      for (const [file, lines] of group.lines) this.#group.lines.set(file, [...(this.#group.lines.get(file) ?? []), ...lines])
      this.#group.effects.push(...group.effects)
      this.#group.mustSync ||= group.mustSync
      return stored
    } catch (error) {
      this.#takeBack(group)
      throw error
    }
  }

  #takeBack({ effects, lines }: Group): void {
    undoAll(this.space, effects)
    for (const file of lines.keys()) if (file.log.lines === 0 && !this.#group.lines.has(file)) this.#files.delete(file.log.path)
  }

  #apply(group: Group, change: Change): boolean {
    // The runs of a damaged session may use any definition.
    if (this.#damaged.size > 0 && change.writes.some((write) => 'drop' in write && write.drop === 'definition')) return false
    const effects = applyTo(this.space, change)
    if (!effects) return false
    group.effects.push(...effects)
    const ofFiles = Map.groupBy(effects, (effect) => this.#fileOf(ownerOfRow(effect)))
    for (const [file, own] of ofFiles) {
      const lines = group.lines.get(file) ?? []
      group.lines.set(file, lines)
      lines.push(this.#print(file, own))
      if (!change.provisional) file.log.check()
    }
    group.mustSync ||= !change.provisional
    return true
  }

  #print(file: OwnedFile, effects: readonly Effect[]): string {
    const isGone = effects.some(({ table, after }) => !after && mainTables.includes(table)) && this.#isGone(file)
    // A deletion is written as one word with what remains, whatever the number of rows.
    const rows = isGone ? this.#remainsOf(file.owner) : effects.map(changeOf)
    const record: LineRecord = { format, ...file.owner, ...(isGone && { deleted: true }), rows }
    const text = JSON.stringify(record)
    const { maxRowBytes } = this.#options
    // A character takes at most three bytes.
    if (text.length * 3 > maxRowBytes) for (const effect of effects) checkSize(file.owner, effect, maxRowBytes)
    return text
  }

  #fileOf(owner: Owner): OwnedFile {
    const path = this.#pathOf(owner)
    const file = this.#files.get(path) ?? { owner, log: new LogFile({ path, fsync: this.#options.fsync, bytes: 0, lines: 0 }) }
    this.#files.set(path, file)
    return file
  }

  #pathOf(owner: Owner): string {
    return 'key' in owner ? join(this.#options.folder, fileNameOf(owner.key)) : join(this.#definitions, fileNameOf(owner.definition))
  }

  /** Makes the next `settle` empty the journal, and with `tidy` look for files to rewrite. */
  want(work: 'checkpoint' | 'tidy'): void {
    this.#wanted = work
  }

  /** Resolves when all applied changes are stored. If they cannot be, takes them back and rejects. */
  async settle(): Promise<void> {
    const group = this.#group
    this.#group = newGroup()
    if (group.lines.size > 0) await this.#store(group)
    for (const [file, lines] of group.lines) {
      file.log.add(lines)
      // A file that cannot be written gets its lines later. The journal keeps them until then.
      attempt(() => file.log.flush())
      this.#dirty.add(file)
      if (this.#isGone(file)) this.#wanted ??= 'checkpoint'
    }
    if (this.#wanted === undefined && this.#journal.bytes <= this.#journalLimit) return
    const isDone = await attemptAsync(() => this.#checkpoint())
    this.#journalLimit = mostJournalBytes + (isDone ? 0 : this.#journal.bytes)
    this.#wanted = undefined
  }

  async #store(group: Group): Promise<void> {
    const takeBackLine = this.#journal.mark()
    try {
      this.#journal.add([printParts([...group.lines].map(([file, records]) => ({ line: file.log.lines + 1, records })))])
      this.#journal.flush()
      // At most one group waits for the next one.
      const mustSync = group.mustSync || this.#isBehind
      if (mustSync) await this.#journal.sync()
      this.#isBehind = !mustSync
    } catch (error) {
      takeBackLine()
      this.#takeBack(group)
      throw error
    }
  }

  /** Syncs all files and empties the journal. Rewrites files afterwards, so that the journal never has lines of a rewritten file. */
  async #checkpoint(): Promise<void> {
    const mustLook = this.#wanted === 'tidy'
    const written: OwnedFile[] = []
    const behind: OwnedFile[] = []
    for (const file of this.#dirty) (attempt(() => file.log.flush()) ? written : behind).push(file)
    for (let start = 0; start < written.length; start += mostSyncsAtOnce) {
      await Promise.all(written.slice(start, start + mostSyncsAtOnce).map(({ log }) => log.sync()))
    }
    const parts = behind.flatMap(({ log: { lines, waiting } }) =>
      waiting.length > 0 ? { line: lines - waiting.length + 1, records: waiting } : [],
    )
    this.#journal.replace(parts.length > 0 ? [printParts(parts)] : [])
    this.#isBehind = false
    for (const file of written) if (this.#tidy(file, mustLook)) this.#dirty.delete(file)
  }

  /** Rewrites a file that is mostly out of date, or whose session is gone. Returns false if that failed. */
  #tidy(file: OwnedFile, mustLook = false): boolean {
    const { log } = file
    const records = (): readonly string[] => this.#recordsOf(file)
    const mustForget = this.#isGone(file) && (log.lines > 1 || records().length === 0)
    if (!log.tidy(records, { mustForget, mustLook })) return false
    if (log.lines === 0) this.#files.delete(log.path)
    return true
  }

  #isGone({ owner }: OwnedFile): boolean {
    const read: Read = 'key' in owner ? { get: 'session', ids: [[owner.key]] } : { get: 'definition', ids: [[owner.definition]] }
    return readFrom(this.space, read).length === 0
  }

  /** Returns records that are equivalent to the file; none if nothing is left. */
  #recordsOf({ owner }: OwnedFile): readonly string[] {
    const rows = this.#remainsOf(owner)
    const lines: string[] = []
    for (let start = 0; start < rows.length; start += rowsPerLine) {
      const record: LineRecord = { format, ...owner, rows: rows.slice(start, start + rowsPerLine) }
      lines.push(JSON.stringify(record))
    }
    return lines
  }

  #remainsOf(owner: Owner): readonly RowChange[] {
    return this.#rowsOf(owner).map(([table, , row]) => ({ insert: table, row }))
  }

  #rowsOf(owner: Owner): readonly (readonly [table: string, id: Id, row: Row])[] {
    const read = (table: TableName, found: Read) =>
      readFrom(this.space, found).map((row) => [table, tables[table].id.map((column) => row[column] as string | number), row] as const)
    const get = (table: TableName, id: string) => read(table, { get: table, ids: [[id]] })
    if ('definition' in owner) return get('definition', owner.definition)
    const { key } = owner
    const others = ofSessions.flatMap(([table, index]) => read(table, { scan: table, index, equal: [key], limit: Infinity }))
    return [...get('session', key), ...get('tombstone', key), ...others]
  }
}

function newGroup(): Group {
  return { lines: new Map(), effects: [], mustSync: false }
}

function ownerOf({ key, definition = '' }: LineRecord): Owner {
  return key === undefined ? { definition } : { key }
}

function ownerOfRow({ table, before, after = before }: Effect): Owner {
  return table === 'definition'
    ? { definition: after?.['hash'] as string }
    : { key: (after?.['session'] ?? after?.['key'] ?? '') as string }
}

function runsIn({ rows }: LineRecord): readonly string[] {
  return rows.flatMap((each) => ('insert' in each && each.insert === 'run' ? (each.row['id'] as string) : []))
}

/** Returns the ids of sessions, runs and definitions whose rows are read, with the table. */
function ownersIn(read: Read): readonly { readonly table: string; readonly id: string }[] {
  if ('get' in read) return read.ids.map(([id]) => ({ table: read.get, id: String(id) }))
  if ('walk' in read) return [{ table: read.walk, id: String(read.from[0]) }]
  const { indexes }: Table = tables[read.scan as TableName]
  const isOwned = read.equal.length > 0 && ownerColumns.includes(indexes[read.index]?.[0])
  return isOwned ? [{ table: read.scan, id: String(read.equal[0]) }] : []
}

function printParts(parts: readonly { readonly line: number; readonly records: readonly string[] }[]): string {
  const texts = parts.map(({ line, records }) => `{"line":${line},"records":[${records.join(',')}]}`)
  return `{"format":${format},"parts":[${texts.join(',')}]}`
}

function checkSize(owner: Owner, { table, after }: Effect, maxRowBytes: number): void {
  if (Buffer.byteLength(JSON.stringify(after?.body ?? null)) <= maxRowBytes) return
  const whose = 'key' in owner ? `the session ${owner.key}` : 'a definition'
  throw new SessionError('entry-too-large', `A row in ${table} of ${whose} is longer than ${maxRowBytes} bytes`)
}
