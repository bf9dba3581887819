import { sql } from 'kysely'
import type { Read, SessionQuery } from '../../contract/session-store.ts'
import type { Page } from '../../contract/page.ts'
import type { SessionRecord, Status } from '../../contract/records.ts'
import { bodyText, parseStored } from '../../json.ts'
import { pageLimit, pageOf, parseSessionPosition, printSessionPosition } from '../../contract/paging.ts'
import { readableRecord, readOfSession } from '../rules.ts'
import { all, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database, SessionRow, SessionStateTable, TombstoneTable } from './tables.ts'

/** The record of a row: what is no column of its own stands in `body`. */
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

/** Fields of the record that are columns, of `session` or of `session_state`. */
const columnFields: ReadonlySet<string> = new Set<keyof SessionRecord>([
  ...(['key', 'id', 'agent', 'owner', 'metadata', 'createdAt', 'parent', 'status', 'version', 'activeAt', 'expiresAt', 'expiredAt'] as const),
])

/** What every commit writes. */
export function sessionState(record: SessionRecord): SessionState {
  const { status = null, version, activeAt, expiresAt = null, expiredAt = null } = record
  return { status, version, active_at: activeAt, expires_at: expiresAt, expired_at: expiredAt, body: bodyText(record, columnFields) }
}

const findByKey = statement((db, slots: { readonly namespace: string; readonly key: string }) =>
  selectSessions(db).where('session.namespace', '=', slots.namespace).where('session.key', '=', slots.key),
)

const findByRow = statement((db, slots: { readonly row: number }) => selectSessions(db).where('session.row', '=', slots.row))

interface ListSlots {
  readonly namespace: string
  readonly agent: string | null
  /** Null: any. */
  readonly statuses: string | null
  /** 1: sessions that had a run are left out. */
  readonly noRuns: number
  /** Null: any; else 0 or 1. */
  readonly expired: number | null
  readonly parent: string | null
  /** 1: sessions with a parent are left out. */
  readonly noChildren: number
  readonly activeSince: number
  readonly now: number
  readonly prefix: string
  readonly prefixLength: number
  readonly activeAt: number
  readonly key: string
  readonly limit: number
}

const list = statement((db, { namespace, agent, statuses, noRuns, expired, parent, noChildren, activeSince, now, prefix, prefixLength, activeAt, key, limit }: ListSlots, { listed }) =>
  selectSessions(db)
    .where('session.namespace', '=', namespace)
    .where('session.agent', '=', (where) => where.fn.coalesce(sql<string>`${agent}`, 'session.agent'))
    .where((where) => where.or([where(sql`${statuses}`, 'is', null), where('session_state.status', 'in', listed<Status>(statuses ?? ''))]))
    .where((where) => where.or([where(sql`${noRuns}`, '=', 0), where('session_state.status', 'is', null)]))
    .where((where) => where.or([where(sql`${expired}`, 'is', null), where(hasExpired(now), '=', sql<number>`${expired}`)]))
    .where((where) => where.or([where(sql`${parent}`, 'is', null), where('session.parent', '=', parent)]))
    .where((where) => where.or([where(sql`${noChildren}`, '=', 0), where('session.parent', 'is', null)]))
    .where('session_state.active_at', '>=', activeSince)
    // Not LIKE: it is blind to case and gives some characters of keys a meaning.
    .where(sql<string>`substr(${sql.ref('session.key')}, 1, ${prefixLength})`, '=', prefix)
    .where((where) =>
      where.or([
        where('session_state.active_at', '<', activeAt),
        where.and([where('session_state.active_at', '=', activeAt), where('session.key', '>', key)]),
      ]),
    )
    .orderBy('session_state.active_at', 'desc')
    .orderBy('session.key')
    .limit(limit),
)

/** A session whose time is over has expired, whether it is marked or not. */
function hasExpired(now: number) {
  return sql<number>`case when ${sql.ref('session_state.expired_at')} is not null or ${sql.ref('session_state.expires_at')} <= ${now} then 1 else 0 end`
}

function selectSessions(db: Database) {
  return db
    .selectFrom('session')
    .innerJoin('session_state', 'session_state.session', 'session.row')
    .selectAll('session')
    .select(['session_state.status', 'session_state.version', 'session_state.active_at', 'session_state.expires_at', 'session_state.expired_at', 'session_state.next_entry'])
    .select(['session_state.body', 'session_state.batch_id', 'session_state.batch'])
}

export function findSession(namespace: string, key: string): Steps<SessionRow | undefined> {
  return first(findByKey, { namespace, key })
}

export function findSessionByRow(row: number): Steps<SessionRow | undefined> {
  return first(findByRow, { row })
}

const tombstoneOf = statement((db, slots: { readonly namespace: string; readonly key: string }) =>
  db.selectFrom('tombstone').selectAll().where('namespace', '=', slots.namespace).where('key', '=', slots.key),
)

export function findTombstone(namespace: string, key: string): Steps<TombstoneTable | undefined> {
  return first(tombstoneOf, { namespace, key })
}

export function* readSession(namespace: string, key: string, now: number): Steps<Read<SessionRecord>> {
  const row = yield* findSession(namespace, key)
  if (row) return readOfSession(sessionRecord(row), now)
  const tombstone = yield* findTombstone(namespace, key)
  return tombstone ? { status: 'deleted', at: tombstone.deleted_at } : { status: 'missing' }
}

const beforeAll = { activeAt: Number.MAX_SAFE_INTEGER, key: '' }

export function* listSessions(namespace: string, query: SessionQuery, now: number): Steps<Page<SessionRecord>> {
  const { agent = null, status, expired, keyPrefix: prefix = '', activeSince = 0, page } = query
  const words = { statuses: status ? JSON.stringify(status) : null, noRuns: status === null ? 1 : 0, expired: expired === undefined ? null : Number(expired) }
  const parent = query.parent ?? null
  const noChildren = query.parent === null ? 1 : 0
  const limit = pageLimit(query.limit)
  const position = page === undefined ? beforeAll : parseSessionPosition(page)
  const slots = { namespace, agent, ...words, parent, noChildren, activeSince, now, prefix, prefixLength: [...prefix].length, ...position, limit: limit + 1 }
  const rows = yield* all(list, slots)
  return pageOf(rows.map((row) => readableRecord(sessionRecord(row), now)), limit, printSessionPosition)
}
