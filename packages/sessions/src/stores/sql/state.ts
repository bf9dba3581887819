import { sql } from 'kysely'
import type { ExpressionBuilder, Selectable } from 'kysely'
import type { JSONValue } from '@bowline/llm'
import type { CasResult, StateQuery, StateRead, Versioned } from '../../contract/state-store.ts'
import { behindPrefix } from '../../contract/check-state.ts'
import type { Page } from '../../contract/paging.ts'
import { parseStored } from '../../json.ts'
import { compareIds, pageLimit, pageOf } from '../../contract/paging.ts'
import type { SqlDialect } from './dialect.ts'
import { all, columnsOf, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database, StateTable, Tables } from './tables.ts'

type Row = Selectable<StateTable>
export type StatePlace = Pick<Row, 'namespace' | 'space' | 'id'>

interface Now {
  readonly now: number | null
}

/** Null: no expiry. */
interface Life extends Now {
  readonly ttlMs: number | null
}

/** Words separated by spaces. Null: the record cannot be searched. */
interface Indexed {
  readonly group: string | null
  readonly words: string | null
}

export type NewState = StatePlace & Life & Indexed & { readonly value: string }

const columns = ['namespace', 'space', 'id', 'version', 'value', 'used_at', 'expires_at'] as const

const find = statement((db, slots: StatePlace & Now, { time }) =>
  db.selectFrom('state').select(columns).select(time(slots.now).as('now')).where(at(slots)),
)

/** Creates a record, or replaces a deleted or expired one under its next version. */
const create = statement((db, slots: NewState, { time, indexedWords }) =>
  db
    .insertInto('state')
    .values({
      ...columnsOf(slots, ['namespace', 'space', 'id', 'value']),
      ...lifeOf(slots, time),
      ...indexOf(slots, indexedWords),
      version: 1,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['namespace', 'space', 'id'])
        .doUpdateSet({ value: slots.value, ...lifeOf(slots, time), ...indexOf(slots, indexedWords), version: sql`state.version + 1` })
        .where(sql<boolean>`(state.value is null or state.expires_at <= ${time(slots.now)})`),
    )
    .returning('version'),
)

const replace = statement((db, slots: NewState & { readonly expected: number }, { time, indexedWords }) =>
  db
    .updateTable('state')
    .set({ value: slots.value, ...lifeOf(slots, time), ...indexOf(slots, indexedWords), version: sql`version + 1` })
    .where(at(slots))
    .where('version', '=', slots.expected)
    .where(isLive(slots, time))
    .returning('version'),
)

const prolong = statement((db, slots: StatePlace & Life, { time }) =>
  db.updateTable('state').set(lifeOf(slots, time)).where(at(slots)).where(isLive(slots, time)).returning('version'),
)

const remove = statement((db, slots: StatePlace & Now, { time }) =>
  empty(db).where(at(slots)).where(isLive(slots, time)).returning('version'),
)

const removeVersion = statement((db, slots: StatePlace & Now & { readonly expected: number }, { time }) =>
  empty(db).where(at(slots)).where('version', '=', slots.expected).where(isLive(slots, time)).returning('version'),
)

interface ListSlots extends Now {
  readonly namespace: string
  readonly space: string
  /** First id that the page may contain. `behind` is the last id of the page before, which is left out. */
  readonly from: string
  readonly behind: string
  readonly limit: number
}

const list = statement((db, slots: ListSlots, { time }) => selectLive(db, slots, time))

const listUpTo = statement((db, slots: ListSlots & { readonly end: string }, { time }) =>
  selectLive(db, slots, time).where('id', '<', slots.end),
)

interface GroupSlots extends Now {
  readonly namespace: string
  readonly space: string
  readonly group: string
}

const newestOfGroup = statement((db, slots: GroupSlots & { readonly limit: number }, { time }) => selectGroup(db, slots, time))

/** `query` has the syntax of the database. */
const findInGroup = statement((db, slots: GroupSlots & { readonly query: string; readonly limit: number }, { time, matches }) =>
  selectGroup(db, slots, time).where(matches(slots.query)),
)

const countGroup = statement((db, slots: GroupSlots, { time }) =>
  db
    .selectFrom('state')
    .select((expression) => expression.fn.countAll<number>().as('records'))
    .where((where) => where.and({ namespace: slots.namespace, space: slots.space, search_group: slots.group }))
    .where(isLive(slots, time)),
)

const sweep = statement((db, slots: Now & { readonly namespace: string; readonly limit: number }, { time }) => {
  const over = db
    .selectFrom('state')
    .select(['namespace', 'space', 'id'])
    .where('namespace', '=', slots.namespace)
    .where('value', 'is not', null)
    .where('expires_at', '<=', time(slots.now))
    .orderBy('expires_at')
    .limit(atMost(slots.limit))
  return (
    empty(db)
      .where((where) => sql<boolean>`${where.refTuple('namespace', 'space', 'id')} in ${over}`)
      // Checks again: the record may have been renewed in between.
      .where('value', 'is not', null)
      .where('expires_at', '<=', time(slots.now))
      .returning('id')
  )
})

export function* readState(place: StatePlace & Now): Steps<StateRead> {
  const row = yield* first(find, place)
  if (row === undefined || row.value === null) return { status: 'missing' }
  if (row.expires_at !== null && row.expires_at <= row.now) return { status: 'expired', at: row.expires_at }
  return { status: 'found', value: versioned(row, row.value) }
}

export function* createState(row: NewState): Steps<CasResult> {
  return yield* answer(yield* first(create, row), row)
}

export function* replaceState(row: NewState & { readonly expected: number }): Steps<CasResult> {
  return yield* answer(yield* first(replace, row), row)
}

export function* touchState(row: StatePlace & Life): Steps<boolean> {
  return (yield* first(prolong, row)) !== undefined
}

export function* deleteState(place: StatePlace & Now, expected: number | undefined): Steps<CasResult> {
  const deleted = expected === undefined ? yield* first(remove, place) : yield* first(removeVersion, { ...place, expected })
  return yield* answer(deleted, place)
}

export function* listStates(
  space: Now & Pick<Row, 'namespace' | 'space'>,
  query: StateQuery,
): Steps<Page<Versioned & { readonly id: string }>> {
  const { prefix = '', page = '' } = query
  const limit = pageLimit(query.limit)
  const slots = { ...space, from: compareIds(page, prefix) < 0 ? prefix : page, behind: page, limit: limit + 1 }
  const end = behindPrefix(prefix)
  const rows = end === undefined ? yield* all(list, slots) : yield* all(listUpTo, { ...slots, end })
  const items = rows.map((row) => ({ id: row.id, ...versioned(row, row.value ?? '') }))
  return pageOf(items, limit, (last) => last.id)
}

/** Returns the records that match the query, or all of the group. Newest first. */
export function* findStates(
  slots: GroupSlots & { readonly limit: number },
  query: string | undefined,
): Steps<readonly (Versioned & { readonly id: string })[]> {
  const rows = query === undefined ? yield* all(newestOfGroup, slots) : yield* all(findInGroup, { ...slots, query })
  return rows.map((row) => ({ id: row.id, ...versioned(row, row.value ?? '') }))
}

export function* countStates(slots: GroupSlots): Steps<number> {
  return Number((yield* first(countGroup, slots))?.records ?? 0)
}

export function* sweepStates(slots: Now & { readonly namespace: string; readonly limit: number }): Steps<number> {
  return (yield* all(sweep, slots)).length
}

/** Returns the result of a write. If nothing was written, reads the record to find out why. */
function* answer(written: { readonly version: number } | undefined, { namespace, space, id, now }: StatePlace & Now): Steps<CasResult> {
  if (written) return { ok: true, version: written.version }
  const read = yield* readState({ namespace, space, id, now })
  return read.status === 'found' ? { ok: false, reason: 'conflict', current: read.value } : { ok: false, reason: 'missing' }
}

function versioned(row: Pick<Row, (typeof columns)[number]>, value: string): Versioned {
  const read = parseStored<JSONValue>(value, `The state record ${row.space} ${row.id}`)
  return { version: row.version, value: read, usedAt: row.used_at, expiresAt: row.expires_at ?? 'never' }
}

type StateExpression = ExpressionBuilder<Tables, 'state'>

function at({ namespace, space, id }: StatePlace) {
  return (where: StateExpression) => where.and({ namespace, space, id })
}

function isLive({ now }: Now, time: SqlDialect['time']) {
  return (where: StateExpression) =>
    where.and([where('value', 'is not', null), where.or([where('expires_at', 'is', null), where('expires_at', '>', time(now))])])
}

function lifeOf({ now, ttlMs }: Life, time: SqlDialect['time']) {
  return { used_at: time(now), expires_at: sql<number | null>`${time(now)} + ${numberValue(ttlMs)}` }
}

function indexOf({ group, words }: Indexed, indexedWords: SqlDialect['indexedWords']) {
  return { search_group: group, words: indexedWords(words) }
}

/** Keeps the version only. */
function empty(db: Database) {
  return db.updateTable('state').set({ value: null, expires_at: null, search_group: null, words: null })
}

/** Uses one lower bound, so that a later page costs as much as the first. */
function selectLive(db: Database, slots: ListSlots, time: SqlDialect['time']) {
  return db
    .selectFrom('state')
    .select(columns)
    .where('namespace', '=', slots.namespace)
    .where('space', '=', slots.space)
    .where(isLive(slots, time))
    .where('id', '>=', slots.from)
    .where('id', '<>', slots.behind)
    .orderBy('id')
    .limit(atMost(slots.limit))
}

function selectGroup(db: Database, slots: GroupSlots & { readonly limit: number }, time: SqlDialect['time']) {
  return db
    .selectFrom('state')
    .select(columns)
    .where((where) => where.and({ namespace: slots.namespace, space: slots.space, search_group: slots.group }))
    .where(isLive(slots, time))
    .orderBy('used_at', 'desc')
    .limit(atMost(slots.limit))
}

/** Casts a value: a database cannot infer the type of a bare parameter. */
function numberValue<T extends number | null>(value: T) {
  return sql<T>`cast(${value} as bigint)`
}

/** Limit of a list. Cast, since SQLite would recompile the statement for each bare number. */
function atMost(limit: number) {
  return numberValue(limit)
}
