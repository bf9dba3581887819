import { SessionError } from '../../errors.ts'
import type { Delivery } from '../../contract/batch.ts'
import type { Tombstone, Change, Work } from '../memory/space.ts'
import { Table } from '../memory/held-session.ts'

export const newestFormat = 1

/** What a line of the file of a session says: what became of its rows in one step. */
export interface LogRecord {
  readonly format: typeof newestFormat
  readonly key: string
  readonly rows?: readonly Row[]
  /** The session is gone, and this is left of it. */
  readonly deleted?: Tombstone | null
  /** Deliveries that wait until they are applied to other sessions. */
  readonly outbox?: readonly Delivery[]
  /** Ids of deliveries of this session that are done. */
  readonly sent?: readonly string[]
  /** Ids of deliveries that were applied to this session. */
  readonly received?: readonly string[]
}

/** The fields of a row that have changed, and the names of those that are gone. Null: the row is gone. */
export type Row = readonly [table: string, key: string | number, fields: Fields | null, gone?: readonly string[]]
export type Fields = Readonly<Record<string, unknown>>

/** The table of the one row that is the session itself. */
export const sessionTable = 'session'

/** What a step did; undefined when it changed nothing. */
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

/** Undefined when nothing has changed. Fields are compared by identity: what was not touched is still the same value. */
export function rowOf(table: string, key: string | number, before: object | undefined, after: object | undefined): Row | undefined {
  if (!after) return [table, key, null]
  const [old, now] = [(before ?? {}) as Fields, after as Fields]
  const changed = Object.entries(now).filter(([name, value]) => value !== undefined && value !== old[name])
  const gone = Object.keys(old).filter((name) => old[name] !== undefined && now[name] === undefined)
  if (changed.length === 0 && gone.length === 0) return undefined
  const fields = Object.fromEntries(changed)
  return gone.length > 0 ? [table, key, fields, gone] : [table, key, fields]
}

/** How much a record holds that later ones may take back. */
export function rowsOf({ rows = [], deleted, outbox = [], sent = [], received = [] }: LogRecord): number {
  return rows.length + (deleted ? 1 : 0) + outbox.length + sent.length + received.length
}

/** The row after a change. */
export function changeRow(before: Fields | undefined, [, , fields, gone = []]: Row): Fields | undefined {
  if (!fields) return undefined
  const after = { ...before, ...fields }
  return gone.length > 0 ? Object.fromEntries(Object.entries(after).filter(([name]) => !gone.includes(name))) : after
}

/** What a delivery brings was weighed in the step that sent it. */
export function checkSizes({ key, rows = [], outbox = [], received }: LogRecord, maxRecordBytes: number): void {
  const check = (what: string, value: unknown): void => {
    if (Buffer.byteLength(JSON.stringify(value)) <= maxRecordBytes) return
    throw new SessionError('entry-too-large', `${what} of the session ${key} is longer than ${maxRecordBytes} bytes`)
  }
  if (!received) for (const row of rows) check(`A row in ${row[0].split(' ')[0] ?? ''}`, row)
  for (const delivery of outbox) check('A delivery', delivery)
}
