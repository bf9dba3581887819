import { sql } from 'kysely'
import type { Read, SessionQuery } from '../../contract/session-store.ts'
import type { Page } from '../../contract/paging.ts'
import type { SessionRecord, Status } from '../../contract/records.ts'
import { bodyText, parseStored } from '../../json.ts'
import { pageLimit, pageOf, parseSessionPosition, printSessionPosition } from '../../contract/paging.ts'
import { readableRecord, readOfSession } from '../rules.ts'
import type { Numbers } from '../rules.ts'
import type { SqlDialect } from './dialect.ts'
import { all, ask, statement, together } from './statement.ts'
import type { Call, RowOf, Steps } from './statement.ts'
import type { Database, SessionRow, SessionStateTable } from './tables.ts'
import { atMost, numberValue, textValue } from './values.ts'

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

/** Fields of the record with a column in `session` or `session_state`. */
const columnFields: ReadonlySet<string> = new Set<keyof SessionRecord>([
  ...(['key', 'id', 'agent', 'owner', 'metadata', 'createdAt', 'parent', 'status', 'version', 'activeAt', 'expiresAt', 'expiredAt'] as const),
])

/** Returns the columns that every commit writes. */
export function sessionState(record: SessionRecord): SessionState {
  const { status = null, version, activeAt, expiresAt = null, expiredAt = null } = record
  return { status, version, active_at: activeAt, expires_at: expiresAt, expired_at: expiredAt, body: bodyText(record, columnFields) }
}

/** Columns by name: a column that a later version adds must not change the result of a prepared statement. */
const columns = [
  ...(['session.row', 'session.namespace', 'session.key', 'session.id', 'session.agent', 'session.owner', 'session.metadata'] as const),
  ...(['session.parent', 'session.created_at', 'session_state.status', 'session_state.version', 'session_state.active_at'] as const),
  ...(['session_state.expires_at', 'session_state.expired_at', 'session_state.next_entry', 'session_state.body'] as const),
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
  const tombstone = version === null || nextSeq === null || nextRun === null || deletedAt === null ? {} : { tombstone: { version, nextSeq, nextRun, deletedAt } }
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

/** Reads rows one by one: for a list, the server may scan the whole table while it has no statistics. */
export function askSessionRows(now: number | null, rows: readonly number[]): readonly Call<SessionRow & { readonly now: number }>[] {
  return rows.map((row) => ask(byRow, { row, now }))
}

function selectSessions(db: Database) {
  return db.selectFrom('session').innerJoin('session_state', 'session_state.session', 'session.row').select(columns)
}

export function* readSession(view: StoreView, key: string): Steps<Read<SessionRecord>> {
  const { places } = yield* together({ places: askPlaces(view, [key]) })
  const { session, tombstone, now } = onlyPlace(places)
  if (session) return readOfSession(sessionRecord(session), now)
  return tombstone ? { status: 'deleted', at: tombstone.deletedAt } : { status: 'missing' }
}

interface ListSlots {
  readonly namespace: string
  readonly agent: string | null
  /** 1: any status; `statuses` is ignored. */
  readonly anyStatus: number
  readonly statuses: readonly Status[]
  /** 1: only sessions that never had a run. */
  readonly noRuns: number
  /** 0 or 1. Null: both. */
  readonly expired: number | null
  readonly parent: string | null
  /** 1: only sessions without a parent. */
  readonly noChildren: number
  readonly activeSince: number
  readonly now: number | null
  readonly prefix: string
  readonly prefixLength: number
  readonly activeAt: number
  readonly key: string
  readonly limit: number
}

const list = statement((db, slots: ListSlots, dialect) =>
  selectSessions(db)
    .select(dialect.time(slots.now).as('now'))
    .where('session.namespace', '=', slots.namespace)
    .where('session.agent', '=', (where) => where.fn.coalesce(textValue(slots.agent), 'session.agent'))
    .where((where) => where.or([where(numberValue(slots.anyStatus), '=', sql.lit(1)), dialect.isOneOf(where.ref('session_state.status').$notNull(), slots.statuses, 'text')]))
    .where((where) => where.or([where(numberValue(slots.noRuns), '=', sql.lit(0)), where('session_state.status', 'is', null)]))
    .where((where) => where.or([where(numberValue(slots.expired), 'is', null), where(hasExpired(dialect, slots.now), '=', numberValue(slots.expired))]))
    .where((where) => where.or([where(textValue(slots.parent), 'is', null), where('session.parent', '=', slots.parent)]))
    .where((where) => where.or([where(numberValue(slots.noChildren), '=', sql.lit(0)), where('session.parent', 'is', null)]))
    .where('session_state.active_at', '>=', slots.activeSince)
    // Not LIKE: it ignores case and treats some characters of keys as wildcards.
    .where(sql<string>`substr(${sql.ref('session.key')}, 1, cast(${slots.prefixLength} as integer))`, '=', slots.prefix)
    .where((where) =>
      where.or([
        where('session_state.active_at', '<', slots.activeAt),
        where.and([where('session_state.active_at', '=', slots.activeAt), where('session.key', '>', slots.key)]),
      ]),
    )
    .orderBy('session_state.active_at', 'desc')
    .orderBy('session.key')
    .limit(atMost(slots.limit)),
)

/** Selects 1 for an expired session, whether its expiry was recorded or not. */
function hasExpired({ time }: SqlDialect, now: number | null) {
  return sql<number>`case when ${sql.ref('session_state.expired_at')} is not null or ${sql.ref('session_state.expires_at')} <= ${time(now)} then 1 else 0 end`
}

const beforeAll = { activeAt: Number.MAX_SAFE_INTEGER, key: '' }

export function* listSessions({ namespace, now }: StoreView, query: SessionQuery): Steps<Page<SessionRecord>> {
  const { agent = null, status, expired, keyPrefix: prefix = '', activeSince = 0, page } = query
  const words = { anyStatus: status ? 0 : 1, statuses: status ?? [], noRuns: status === null ? 1 : 0, expired: expired === undefined ? null : Number(expired) }
  const parent = query.parent ?? null
  const noChildren = query.parent === null ? 1 : 0
  const limit = pageLimit(query.limit)
  const position = page === undefined ? beforeAll : parseSessionPosition(page)
  const slots = { namespace, agent, ...words, parent, noChildren, activeSince, now, prefix, prefixLength: [...prefix].length, ...position, limit: limit + 1 }
  const rows = yield* all(list, slots)
  return pageOf(rows.map((row) => readableRecord(sessionRecord(row), row.now)), limit, printSessionPosition)
}
