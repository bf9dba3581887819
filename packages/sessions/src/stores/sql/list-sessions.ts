import { sql } from 'kysely'
import type { SelectQueryBuilder } from 'kysely'
import { behindPrefix } from '../../contract/check-state.ts'
import { byActivity, pageLimit, pageOf, parseSessionPosition, printSessionPosition } from '../../contract/paging.ts'
import type { Page } from '../../contract/paging.ts'
import type { SessionRecord, Status } from '../../contract/records.ts'
import type { SessionQuery } from '../../contract/session-store.ts'
import { readableRecord } from '../../core/rules.ts'
import { isByPrefix, isListed, mostSorted, partsOf } from '../../core/session-lists.ts'
import type { ListPart } from '../../core/session-lists.ts'
import type { SqlDialect } from './dialect.ts'
import { livesOver } from './due.ts'
import { usualStatus } from './indexes.ts'
import { askPlaces, placesOf, selectSessions, sessionRecord } from './sessions.ts'
import type { StoreView } from './sessions.ts'
import { all, ask, first, statement, statementsFor, together } from './statement.ts'
import type { Call, Steps } from './statement.ts'
import type { SessionRow, Tables } from './tables.ts'
import { atMost, numberValue } from './values.ts'

interface PrefixSlots {
  readonly namespace: string
  readonly prefix: string
  readonly prefixEnd: string
}

const keyBeyond = statement((db, { namespace, prefix, prefixEnd }: PrefixSlots) =>
  db
    .selectFrom('session')
    .select('session.key')
    .where('session.namespace', '=', namespace)
    .where('session.key', '>=', prefix)
    .where('session.key', '<', prefixEnd)
    .orderBy('session.key')
    .limit(sql.lit(1))
    .offset(sql.lit(mostSorted)),
)

interface ListSlots extends PrefixSlots, Required<Omit<ListPart, 'status'>> {
  readonly status: Status
  readonly prefixLength: number
  readonly statuses: readonly Status[]
  readonly expired: number
  readonly activeSince: number
  readonly activeAt: number
  readonly key: string
  readonly now: number | null
  readonly limit: number
}

type ListedRow = SessionRow & { readonly now: number }
type List = SelectQueryBuilder<Tables, 'session' | 'session_state', ListedRow>

/** Conditions of a list. */
const conditions = {
  keys: (list: List, { prefix, prefixEnd }: ListSlots) => list.where('session.key', '>=', prefix).where('session.key', '<', prefixEnd),
  tenant: (list: List, { tenant }: ListSlots) => list.where('session.tenant', '=', tenant),
  parent: (list: List, { parent }: ListSlots) => list.where('session.parent', '=', parent),
  section: (list: List, { section }: ListSlots) => list.where('session.section', '=', section),
  status: (list: List, { status }: ListSlots) =>
    list.where('session.status', '=', status).where('session.status', '<>', sql.lit(usualStatus)),
  agent: (list: List, { agent }: ListSlots) => list.where('session.agent', '=', agent),
  unused: (list: List) => list.where('session.status', 'is', null),
  noParent: (list: List) => list.where('session.parent', 'is', null),
  statuses: (list: List, { statuses }: ListSlots, { isOneOf }: SqlDialect) =>
    list.where((where) => isOneOf(where.ref('session.status').$notNull(), statuses, 'text')),
  expired: (list: List, { now, expired }: ListSlots, dialect: SqlDialect) =>
    list.where(hasExpired(dialect, now), '=', numberValue(expired)),
  activeSince: (list: List, { activeSince }: ListSlots) => list.where('session.active_at', '>=', activeSince),
  // Not LIKE: it ignores case and treats some characters of keys as wildcards.
  prefix: (list: List, { prefix, prefixLength }: ListSlots) =>
    list.where(sql<string>`substr(${sql.ref('session.key')}, 1, cast(${prefixLength} as integer))`, '=', prefix),
  after: (list: List, { activeAt, key }: ListSlots) =>
    list
      .where('session.active_at', '<=', activeAt)
      .where((where) => where.or([where('session.active_at', '<', activeAt), where('session.key', '>', key)])),
}

type Condition = keyof typeof conditions

const listOf = statementsFor((db, slots: ListSlots, dialect, names: readonly Condition[]) => {
  const all: List = selectSessions(db).select(dialect.time(slots.now).as('now')).where('session.namespace', '=', slots.namespace)
  const list = names.reduce((narrowed, name) => conditions[name](narrowed, slots, dialect), all)
  return (names.includes('keys') ? list : list.orderBy('session.active_at', 'desc')).orderBy('session.key').limit(atMost(slots.limit))
})

/** Selects 1 for an expired session, whether its expiry was recorded or not. */
function hasExpired({ time }: SqlDialect, now: number | null) {
  return sql<number>`case when ${sql.ref('session_state.expired_at')} is not null or ${sql.ref('session_state.expires_at')} <= ${time(now)} then 1 else 0 end`
}

type CommonSlots = PrefixSlots & Pick<ListSlots, 'prefixLength' | 'activeAt' | 'key' | 'now' | 'limit'>

const unset = { tenant: '', parent: '', agent: '', status: 'queued', section: 0 } as const

/** Returns the reads whose rows are the first ones of the list. */
function readsOf(query: SessionQuery, isSmall: boolean, slots: CommonSlots): readonly Call<ListedRow>[] {
  const { agent = '', status, parent, expired, activeSince = 0, page } = query
  const filters = { agent, statuses: status ?? [], expired: Number(expired), activeSince }
  // Sessions with the usual status are in no index by status.
  const { status: _status, ...others } = query
  const parts = partsOf(status?.includes(usualStatus) ? others : query)
  return (isSmall ? [{}] : parts).map((part: Partial<ListPart>) => {
    const list = listOf({
      ...Object.fromEntries(Object.keys(part).map((name) => [name, true])),
      keys: isSmall,
      agent: query.agent !== undefined,
      status: typeof part.status === 'string',
      unused: status === null,
      noParent: parent === null && isSmall,
      statuses: Array.isArray(status) && part.status === undefined,
      expired: expired !== undefined,
      activeSince: query.activeSince !== undefined,
      prefix: slots.prefix !== '' && !isSmall,
      after: page !== undefined,
    })
    return ask(list, { ...unset, ...filters, ...slots, ...part })
  })
}

/** Returns the sessions that have expired and are not marked yet: few, because they are marked as soon as a process finds them. */
function* unmarkedSessions(view: StoreView): Steps<readonly ListedRow[]> {
  const over = yield* all(livesOver, { ...view, limit: Number.MAX_SAFE_INTEGER })
  const { places } = yield* together({
    places:
      over.length > 0
        ? askPlaces(
            view,
            over.map(({ key }) => key),
          )
        : undefined,
  })
  return [...placesOf(places).values()].flatMap(({ session, now }) => (session ? [{ ...session, now }] : []))
}

export function* listSessions({ namespace, now }: StoreView, query: SessionQuery): Steps<Page<SessionRecord>> {
  const { keyPrefix: prefix = '', page } = query
  const prefixes = { namespace, prefix, prefixEnd: behindPrefix(prefix) ?? '' }
  const isSmall = isByPrefix(query) && !(yield* first(keyBeyond, prefixes))
  const limit = pageLimit(query.limit)
  const position = page === undefined ? { activeAt: 0, key: '' } : parseSessionPosition(page)
  const sizes = { prefixLength: [...prefix].length, limit: isSmall ? mostSorted : limit + 1 }
  const { rows } = yield* together({ rows: readsOf(query, isSmall, { ...prefixes, ...position, ...sizes, now }) })
  const unmarked = query.expired && !isSmall ? yield* unmarkedSessions({ namespace, now }) : []
  const further = unmarked.filter(
    (row) => isListed(recordOf(row), query) && (page === undefined || byActivity(position, recordOf(row)) < 0),
  )
  const inOrder = [...rows, ...further].map((row) => ({ row, key: row.key, activeAt: row.active_at })).sort(byActivity)
  return pageOf(
    inOrder.slice(0, limit + 1).map(({ row }) => recordOf(row)),
    limit,
    printSessionPosition,
  )
}

function recordOf(row: ListedRow): SessionRecord {
  return readableRecord(sessionRecord(row), row.now)
}
