import type { Read } from '../../contract/session-store.ts'
import type { SessionRecord } from '../../contract/records.ts'
import { bodyText, parseStored } from '../../json.ts'
import { readOfSession } from '../../core/rules.ts'
import type { Numbers } from '../../core/rules.ts'
import { sectionOf } from '../../core/session-lists.ts'
import { ask, statement, together } from './statement.ts'
import type { Call, RowOf, Steps } from './statement.ts'
import type { Database, SessionRow, SessionStateTable, SessionTable } from './tables.ts'

/** Returns the record of a row. Fields without a column are in `body`. */
export function sessionRecord(row: SessionRow): SessionRecord {
  const where = `The session ${row.key}`
  return {
    key: row.key,
    id: row.id,
    agent: row.agent,
    ...(row.owner === null ? {} : { owner: row.owner }),
    ...(row.parent === null ? {} : { parent: row.parent }),
    metadata: parseStored(row.metadata, where),
    createdAt: row.created_at,
    ...(row.status === null ? {} : { status: row.status }),
    version: row.version,
    activeAt: row.active_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.expired_at === null ? {} : { expiredAt: row.expired_at }),
    ...parseStored<object>(row.body, where),
  } as SessionRecord
}

export type SessionState = Omit<SessionStateTable, 'session' | 'namespace' | 'next_entry' | 'batch_id' | 'batch'>
export type ListedColumns = Pick<SessionTable, 'section' | 'status' | 'active_at'>

/** Fields of the record with a column in `session` or `session_state`. */
const columnFields: ReadonlySet<string> = new Set<keyof SessionRecord>([
  ...([
    'key',
    'id',
    'agent',
    'owner',
    'metadata',
    'createdAt',
    'parent',
    'status',
    'version',
    'activeAt',
    'expiresAt',
    'expiredAt',
  ] as const),
])

/** Returns the columns that every commit writes. */
export function sessionState(record: SessionRecord): SessionState {
  const { version, expiresAt = null, expiredAt = null } = record
  return { version, expires_at: expiresAt, expired_at: expiredAt, body: bodyText(record, columnFields) }
}

/** Returns the columns that a commit writes if they have changed. */
export function listedColumns(record: SessionRecord): ListedColumns {
  return { section: sectionOf(record), status: record.status ?? null, active_at: record.activeAt }
}

/** Columns by name: a column that a later version adds must not change the result of a prepared statement. */
const columns = [
  ...(['session.row', 'session.namespace', 'session.key', 'session.id', 'session.agent', 'session.owner', 'session.metadata'] as const),
  ...(['session.parent', 'session.created_at', 'session.tenant', 'session.section', 'session.status', 'session.active_at'] as const),
  ...([
    'session_state.version',
    'session_state.expires_at',
    'session_state.expired_at',
    'session_state.next_entry',
    'session_state.body',
  ] as const),
  ...(['session_state.batch_id', 'session_state.batch'] as const),
]

const tombstoneColumns = ['tombstone.version as last_version', 'tombstone.next_seq', 'tombstone.next_run', 'tombstone.deleted_at'] as const

interface PlacesSlots {
  readonly namespace: string
  readonly keys: readonly string[]
  readonly now: number | null
}

/** Selects one row per key, whether it has a session or not. */
const byKeys = statement((db, { namespace, keys, now }: PlacesSlots, dialect) =>
  db
    .selectFrom(dialect.rowsOf(keys).as('wanted'))
    .leftJoin('session', (join) => join.onRef('session.key', '=', 'wanted.value').on('session.namespace', '=', namespace))
    .leftJoin('session_state', 'session_state.session', 'session.row')
    .leftJoin('tombstone', (join) => join.onRef('tombstone.key', '=', 'wanted.value').on('tombstone.namespace', '=', namespace))
    .select(['wanted.value as wanted', ...columns, ...tombstoneColumns])
    .select(dialect.time(now).as('now')),
)

/** Content of a key. */
export interface Place {
  readonly session?: SessionRow
  /** Remains of an earlier session. */
  readonly tombstone?: Numbers & { readonly deletedAt: number }
  /** Present time, by the clock of the store. */
  readonly now: number
}

/** Namespace to read, and the time. Null: the server's time. */
export interface StoreView {
  readonly namespace: string
  readonly now: number | null
}

export function askPlaces({ namespace, now }: StoreView, keys: readonly string[]): Call<PlaceRow> {
  return ask(byKeys, { namespace, keys, now })
}

export type PlaceRow = RowOf<typeof byKeys>

export function placesOf(rows: readonly PlaceRow[]): ReadonlyMap<string, Place> {
  return new Map(rows.map((row) => [row.wanted, placeOf(row)]))
}

function placeOf(row: PlaceRow): Place {
  const { now, last_version: version, next_seq: nextSeq, next_run: nextRun, deleted_at: deletedAt } = row
  const tombstone =
    version === null || nextSeq === null || nextRun === null || deletedAt === null
      ? {}
      : { tombstone: { version, nextSeq, nextRun, deletedAt } }
  // If the row exists, only its nullable columns are null.
  return { now, ...tombstone, ...(row.row === null ? {} : { session: row as SessionRow }) }
}

export function onlyPlace(rows: readonly PlaceRow[]): Place {
  const [row] = rows
  if (!row) throw new TypeError('The database gave no row for a key.')
  return placeOf(row)
}

const byRow = statement((db, slots: { readonly row: number; readonly now: number | null }, dialect) =>
  selectSessions(db).select(dialect.time(slots.now).as('now')).where('session.row', '=', slots.row),
)

export const updateStatus = statement((db, slots: Pick<SessionRow, 'row' | 'status'>) =>
  db.updateTable('session').set({ status: slots.status }).where('row', '=', slots.row),
)

/** Reads rows one by one: for a list, the server may scan the whole table while it has no statistics. */
export function askSessionRows(now: number | null, rows: readonly number[]): readonly Call<SessionRow & { readonly now: number }>[] {
  return rows.map((row) => ask(byRow, { row, now }))
}

export function selectSessions(db: Database) {
  return db.selectFrom('session').innerJoin('session_state', 'session_state.session', 'session.row').select(columns)
}

export function* readSession(view: StoreView, key: string): Steps<Read<SessionRecord>> {
  const { places } = yield* together({ places: askPlaces(view, [key]) })
  const { session, tombstone, now } = onlyPlace(places)
  if (session) return readOfSession(sessionRecord(session), now)
  return tombstone ? { status: 'deleted', at: tombstone.deletedAt } : { status: 'missing' }
}
