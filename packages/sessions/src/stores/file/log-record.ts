import { SessionError } from '../../errors.ts'
import type { Delivery } from '../../contract/batch.ts'
import type { Tombstone, Change, Work } from '../memory/space.ts'
import { Table } from '../memory/held-session.ts'

export const newestFormat = 1

/** Content of one line of a session file: the changes of one step. */
export interface LogRecord {
  readonly format: typeof newestFormat
  readonly key: string
  readonly rows?: readonly Row[]
  /** The session was deleted, and this remains of it. */
  readonly deleted?: Tombstone | null
  /** Deliveries to apply to other sessions. */
  readonly outbox?: readonly Delivery[]
  /** Ids of deliveries of this session that are finished. */
  readonly sent?: readonly string[]
  /** Ids of deliveries that were applied to this session. */
  readonly received?: readonly string[]
}

/** Changed fields of a row, and the names of removed ones. Null: the row was removed. */
export type Row = readonly [table: string, key: string | number, fields: Fields | null, gone?: readonly string[]]
export type Fields = Readonly<Record<string, unknown>>

/** Table with a single row: the session itself. */
export const sessionTable = 'session'

/** Returns the record of a step, or undefined if the step changed nothing. */
export function recordOf(work: Work): LogRecord | undefined {
  const { space, key, held, outbox, received } = work
  const isDeleted = held !== undefined && space.sessions.get(key) !== held
  const rows = isDeleted ? [] : changedRows(work)
  if (rows.length === 0 && !isDeleted) return undefined
  return {
    format: newestFormat,
    key,
    ...(rows.length > 0 && { rows }),
    ...(isDeleted && { deleted: space.tombstones.get(key) ?? null }),
    ...(outbox.length > 0 && { outbox }),
    ...(received !== undefined && { received: [received] }),
  }
}

function changedRows({ changes, recordBefore, held }: Work): Row[] {
  const session = held ? rowOf(sessionTable, '', recordBefore, held.record) : undefined
  return [session, ...changes.map(changedRow)].filter((row) => row !== undefined)
}

function changedRow({ map, key, before, after }: Change): Row | undefined {
  if (!(map instanceof Table)) return undefined
  return rowOf(map.name, key as string | number, before as Fields | undefined, after as Fields | undefined)
}

/** Returns undefined if nothing has changed. Compares fields by identity: an untouched field is still the same value. */
export function rowOf(table: string, key: string | number, before: object | undefined, after: object | undefined): Row | undefined {
  if (!after) return [table, key, null]
  const [old, now] = [(before ?? {}) as Fields, after as Fields]
  const changed = Object.entries(now).filter(([name, value]) => value !== undefined && value !== old[name])
  const gone = Object.keys(old).filter((name) => old[name] !== undefined && now[name] === undefined)
  if (changed.length === 0 && gone.length === 0) return undefined
  const fields = Object.fromEntries(changed)
  return gone.length > 0 ? [table, key, fields, gone] : [table, key, fields]
}

/** Counts the parts of a record that later records may make obsolete. */
export function rowsOf({ rows = [], deleted, outbox = [], sent = [], received = [] }: LogRecord): number {
  return rows.length + (deleted ? 1 : 0) + outbox.length + sent.length + received.length
}

/** Returns the row after a change. */
export function changeRow(before: Fields | undefined, [, , fields, gone = []]: Row): Fields | undefined {
  if (!fields) return undefined
  const after = { ...before, ...fields }
  return gone.length > 0 ? Object.fromEntries(Object.entries(after).filter(([name]) => !gone.includes(name))) : after
}

/** Throws `entry-too-large`. Does not check the rows of a received delivery: the sender checked them. */
export function checkSizes({ key, rows = [], outbox = [], received }: LogRecord, maxRecordBytes: number): void {
  const check = (what: string, value: unknown): void => {
    if (Buffer.byteLength(JSON.stringify(value)) <= maxRecordBytes) return
    throw new SessionError('entry-too-large', `${what} of the session ${key} is longer than ${maxRecordBytes} bytes`)
  }
  if (!received) for (const row of rows) check(`A row in ${row[0].split(' ')[0] ?? ''}`, row)
  for (const delivery of outbox) check('A delivery', delivery)
}
