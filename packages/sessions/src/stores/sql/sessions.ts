import { sql } from 'kysely'
import type { Page, Read, SessionQuery } from '../../store/contract.ts'
import type { SessionRecord } from '../../store/records.ts'
import { parseStored } from '../json.ts'
import { pageLimit, pageOf, parseSessionPosition, printSessionPosition } from '../paging.ts'
import { all, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database, SessionRow, SessionStateTable } from './tables.ts'

/** The record of a row: what is no column of its own stands in `body`. */
export function sessionRecord(row: SessionRow): SessionRecord {
  const where = `The session ${row.key}`
  return {
    key: row.key,
    id: row.id,
    agent: row.agent,
    ...(row.owner === null ? {} : { owner: row.owner }),
    metadata: parseStored(row.metadata, where),
    createdAt: row.created_at,
    status: row.status,
    version: row.version,
    activeAt: row.active_at,
    ...parseStored<object>(row.body, where),
  } as SessionRecord
}

export type SessionState = Omit<SessionStateTable, 'session' | 'next_entry' | 'batch_id' | 'batch'>

/** What stands in columns and not in `body`. */
const inColumns: Partial<Record<keyof SessionRecord, undefined>> = {
  ...{ key: undefined, id: undefined, agent: undefined, owner: undefined, metadata: undefined, createdAt: undefined },
  ...{ status: undefined, version: undefined, activeAt: undefined },
}

/** What every commit writes. */
export function sessionState(record: SessionRecord): SessionState {
  const { status, version, activeAt } = record
  return { status, version, active_at: activeAt, body: JSON.stringify({ ...record, ...inColumns }) }
}

const findByKey = statement((db, slots: { readonly namespace: string; readonly key: string }) =>
  selectSessions(db).where('session.namespace', '=', slots.namespace).where('session.key', '=', slots.key),
)

const findByRow = statement((db, slots: { readonly row: number }) => selectSessions(db).where('session.row', '=', slots.row))

interface ListSlots {
  readonly namespace: string
  readonly agent: string | null
  readonly status: string | null
  readonly prefix: string
  readonly prefixLength: number
  readonly activeAt: number
  readonly key: string
  readonly limit: number
}

const list = statement((db, { namespace, agent, status, prefix, prefixLength, activeAt, key, limit }: ListSlots) =>
  selectSessions(db)
    .where('session.namespace', '=', namespace)
    .where('session.agent', '=', (where) => where.fn.coalesce(sql<string>`${agent}`, 'session.agent'))
    .where('session_state.status', '=', (where) => where.fn.coalesce(sql<SessionRow['status']>`${status}`, 'session_state.status'))
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

function selectSessions(db: Database) {
  return db
    .selectFrom('session')
    .innerJoin('session_state', 'session_state.session', 'session.row')
    .selectAll('session')
    .select(['session_state.status', 'session_state.version', 'session_state.active_at', 'session_state.next_entry'])
    .select(['session_state.body', 'session_state.batch_id', 'session_state.batch'])
}

export function findSession(namespace: string, key: string): Steps<SessionRow | undefined> {
  return first(findByKey, { namespace, key })
}

export function findSessionByRow(row: number): Steps<SessionRow | undefined> {
  return first(findByRow, { row })
}

export function* readSession(namespace: string, key: string): Steps<Read<SessionRecord>> {
  const row = yield* findSession(namespace, key)
  return row ? { status: 'found', value: sessionRecord(row) } : { status: 'missing' }
}

const beforeAll = { activeAt: Number.MAX_SAFE_INTEGER, key: '' }

export function* listSessions(namespace: string, query: SessionQuery): Steps<Page<SessionRecord>> {
  const { agent = null, status = null, keyPrefix: prefix = '', page } = query
  const limit = pageLimit(query.limit)
  const position = page === undefined ? beforeAll : parseSessionPosition(page)
  const slots = { namespace, agent, status, prefix, prefixLength: [...prefix].length, ...position, limit: limit + 1 }
  const rows = yield* all(list, slots)
  return pageOf(rows.map(sessionRecord), limit, printSessionPosition)
}
