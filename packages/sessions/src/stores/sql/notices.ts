import { sql } from 'kysely'
import type { SqlBool } from 'kysely'
import { hooksOf } from '../../contract/draft-notices.ts'
import { noticeId, noticeNumber, parseNoticePosition, printNoticePosition, receiverOf } from '../../contract/notices.ts'
import type { NoticeClaimRequest, NoticeClaims, NoticeDraft, NoticeOutcome, NoticeQuery, NoticeRecord } from '../../contract/notices.ts'
import type { Page } from '../../contract/paging.ts'
import { pageLimit, pageOf } from '../../contract/paging.ts'
import type { SessionRecord } from '../../contract/records.ts'
import type { Found, PruneRules } from '../../contract/session-store.ts'
import { parseStored } from '../../json.ts'
import type { StoreView } from './sessions.ts'
import { all, ask, columnsOf, execute, first, statement, statementsFor, together } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database, NoticeTable } from './tables.ts'
import { atMost, numberValue, textValue } from './values.ts'
import { recordText, sessionOf, write } from './work.ts'
import type { Work } from './work.ts'

type NewNotice = Pick<NoticeTable, 'namespace' | 'session' | 'n' | 'hook' | 'receiver' | 'type' | 'at' | 'body'>

/** Inserts a notice, due at once. If an earlier one of its hook is pending, it becomes due when that one is settled. */
const insertNotice = statement((db, slots: NewNotice) =>
  db
    .insertInto('notice')
    .columns(['namespace', 'session', 'n', 'hook', 'receiver', 'type', 'at', 'body', 'state', 'attempts', 'queued_at', 'due_at'])
    .expression(
      db.selectNoFrom([
        textValue(slots.namespace).as('namespace'),
        numberValue(slots.session).as('session'),
        numberValue(slots.n).as('n'),
        textValue(slots.hook).as('hook'),
        textValue(slots.receiver).as('receiver'),
        textValue(slots.type).as('type'),
        numberValue(slots.at).as('at'),
        textValue(slots.body).as('body'),
        textValue<NoticeTable['state']>('pending').as('state'),
        numberValue(0).as('attempts'),
        numberValue(slots.at).as('queued_at'),
        sql<number | null>`case when exists ${pendingOf(db, slots)} then null else ${numberValue(slots.at)} end`.as('due_at'),
      ]),
    ),
)

/** Selects the pending notices of one session and hook. */
function pendingOf(db: Database, { session, hook }: Pick<NoticeTable, 'session' | 'hook'>) {
  return db
    .selectFrom('notice as other')
    .select('other.n')
    .where('other.session', '=', session)
    .where('other.hook', '=', hook)
    .where('other.settled_at', 'is', null)
}

/** Adds the notices of a change to a session, one for each subscribed hook. */
export function putNotices(work: Work, draftsOf: (session: SessionRecord) => readonly NoticeDraft[]): void {
  const session = sessionOf(work)
  if (work.notify.length === 0 && !session.record.settings.notify) return
  const hooks = hooksOf(session.record, work.notify)
  const { namespace } = work.context
  for (const { type, body } of hooks.length > 0 ? draftsOf(session.record) : []) {
    for (const { name: hook } of hooks.filter(({ events }) => events.includes(type))) {
      const n = (session.record.notices ?? 0) + 1
      session.record = { ...session.record, notices: n }
      work.noticesPut += 1
      const receiver = receiverOf(hook, session.record.settings.notify)
      write(work, insertNotice, {
        namespace,
        session: session.row,
        n,
        hook,
        receiver,
        type,
        at: work.now,
        body: recordText(work.context, body, 'A notice'),
      })
    }
  }
}

const columns = [
  'notice.session as row',
  'notice.n',
  'notice.hook',
  'notice.type',
  'notice.at',
  'notice.body',
  'notice.state',
  'notice.attempts',
  'notice.queued_at',
  'notice.due_at',
  'notice.settled_at',
  'notice.error',
] as const

function selectNotices(db: Database) {
  return db
    .selectFrom('notice')
    .innerJoin('session', 'session.row', 'notice.session')
    .select([...columns, 'session.key', 'session.id'])
}

interface NoticeRow extends Omit<NoticeTable, 'namespace' | 'session' | 'receiver'> {
  readonly row: number
  readonly key: string
  readonly id: string
}

function noticeRecord({
  id: sessionId,
  key,
  n,
  hook,
  type,
  at,
  body,
  state,
  attempts,
  queued_at: queuedAt,
  ...row
}: NoticeRow): NoticeRecord {
  const id = noticeId(sessionId, n)
  return {
    id,
    session: key,
    n,
    hook,
    type,
    at,
    body: parseStored(body, `The notice ${id}`),
    state,
    attempts,
    queuedAt,
    ...(row.due_at === null ? {} : { dueAt: row.due_at }),
    ...(row.settled_at === null ? {} : { settledAt: row.settled_at }),
    ...(row.error === null ? {} : { error: row.error }),
  }
}

/** Selects the notices that do not wait for an earlier one. */
function dueIn(db: Pick<Database, 'selectFrom'>, namespace: string) {
  return db.selectFrom('notice').where('notice.namespace', '=', namespace).where('notice.due_at', 'is not', null)
}

interface HeadSlots {
  readonly namespace: string
  readonly now: number | null
  readonly hooks: readonly string[]
  readonly receiver: string
  readonly except: readonly string[]
  readonly limit: number
}

/**
 * Finds the first due notice of each receiver, or of one, the earliest first. Seeks from a receiver to the next, so that it does
 * not pass over the notices
 * that wait for it.
 */
export const headsOf = statementsFor(
  (db, { namespace, now, hooks, receiver, except, limit }: HeadSlots, { isOneOf, time }, names: readonly ('receiver' | 'hooks')[]) => {
    const isOne = names.includes('receiver')
    return db
      .withRecursive('line', (line) =>
        dueIn(line, namespace)
          .$if(isOne, (only) => only.where('notice.receiver', '=', receiver))
          .select(({ fn }) => fn.min<string | null>('notice.receiver').as('receiver'))
          .unionAll(
            line
              .selectFrom('line')
              .select(
                dueIn(db, namespace)
                  .where('notice.receiver', '>', sql.ref<string>('line.receiver'))
                  .select(({ fn }) => fn.min('notice.receiver').as('next'))
                  .as('receiver'),
              )
              .where('line.receiver', 'is not', null)
              .$if(isOne, (none) => none.where(sql<SqlBool>`1 = 0`)),
          ),
      )
      .with('head', (head) => {
        const firstOf = dueIn(db, namespace)
          .where('notice.receiver', '=', sql.ref<string>('line.receiver'))
          .orderBy('notice.due_at')
          .limit(sql.lit(1))
        return head
          .selectFrom('line')
          .select(['line.receiver', firstOf.select('notice.hook').as('hook'), firstOf.select('notice.due_at').as('at')])
          .where('line.receiver', 'is not', null)
      })
      .selectFrom('head')
      .select((head) => [head.ref('head.receiver').$notNull().as('receiver'), head.ref('head.at').$notNull().as('at'), time(now).as('now')])
      .$if(names.includes('hooks'), (wanted) =>
        wanted
          .where(isOneOf(sql.ref<string>('head.hook'), hooks, 'text'))
          .where(sql<SqlBool>`not ${isOneOf(sql.ref<string>('head.receiver'), except, 'text')}`),
      )
      .orderBy('head.at')
      .limit(atMost(limit))
  },
)

interface DueSlots {
  readonly namespace: string
  readonly now: number | null
  readonly receiver: string
  readonly max: number
}

/** Concurrent claims get different notices. */
const dueNotices = statement((db, { namespace, now, receiver, max }: DueSlots, { lock, time }) =>
  lock(
    selectNotices(db)
      .select(time(now).as('now'))
      .where('notice.namespace', '=', namespace)
      .where('notice.receiver', '=', receiver)
      .where('notice.due_at', '<=', time(now))
      .orderBy('notice.due_at')
      .limit(atMost(max)),
    'notice',
    'skip',
  ),
)

const leaseNotice = statement((db, slots: { readonly row: number; readonly n: number; readonly dueAt: number }) =>
  db
    .updateTable('notice')
    .set({ due_at: slots.dueAt, attempts: sql`attempts + 1` })
    .where('session', '=', slots.row)
    .where('n', '=', slots.n),
)

/** Claims due notices. Returns the time of the store too. */
export function* claimNotices(
  { max, leaseMs, hooks, receiver, except = [] }: NoticeClaimRequest,
  { namespace, now }: StoreView,
): Steps<NoticeClaims & { readonly now: number }> {
  const heads = headsOf({ receiver: receiver !== undefined, hooks: true })
  const slots = { namespace, now, hooks, receiver: receiver ?? '', except }
  // The first `max` notices are among those of the first `max` receivers.
  const found = yield* all(heads, { ...slots, limit: Math.max(1, max) })
  const due = found.filter(({ at, now: present }) => max > 0 && at <= present)
  const { rows } = yield* together({ rows: due.map((head) => ask(dueNotices, { namespace, now, receiver: head.receiver, max })) })
  const notices: NoticeRecord[] = []
  for (const row of rows.toSorted((a, b) => (a.due_at ?? 0) - (b.due_at ?? 0)).slice(0, max)) {
    const dueAt = row.now + leaseMs
    yield* execute(leaseNotice, { row: row.row, n: row.n, dueAt })
    notices.push({ ...noticeRecord(row), attempts: row.attempts + 1, dueAt })
  }
  const next = notices.length > 0 ? yield* first(heads, { ...slots, limit: 1 }) : found[0]
  return { notices, nextAt: next?.at ?? null, now: next?.now ?? 0 }
}

interface PlaceSlots {
  readonly namespace: string
  readonly key: string
}

/** Locks the session: settling a notice makes the next one due, and a commit may add one that waits. The two must not overlap. */
const keepSession = statement((db, { namespace, key }: PlaceSlots, { lock }) =>
  lock(
    db
      .selectFrom('session_state')
      .innerJoin('session', 'session.row', 'session_state.session')
      .select('session_state.session')
      .where('session.namespace', '=', namespace)
      .where('session.key', '=', key),
    'session_state',
  ),
)

const noticeOf = statement((db, { namespace, key, n, now }: PlaceSlots & { readonly n: number; readonly now: number | null }, { time }) =>
  selectNotices(db)
    .select(time(now).as('now'))
    .where('session.namespace', '=', namespace)
    .where('session.key', '=', key)
    .where('notice.n', '=', n),
)

type Changed = Pick<NoticeTable, 'state' | 'queued_at' | 'due_at' | 'settled_at' | 'error'> & { readonly row: number; readonly n: number }

const changeNotice = statement((db, slots: Changed) =>
  db
    .updateTable('notice')
    .set(columnsOf(slots, ['state', 'queued_at', 'due_at', 'settled_at', 'error']))
    .where('session', '=', slots.row)
    .where('n', '=', slots.n),
)

const callNext = statement((db, slots: { readonly session: number; readonly hook: string; readonly now: number | null }, { time }) =>
  db
    .updateTable('notice')
    .set({ due_at: time(slots.now) })
    .where('session', '=', slots.session)
    .where('n', '=', pendingOf(db, slots).orderBy('other.n').limit(sql.lit(1)))
    .where((where) => where.not(where.exists(pendingOf(db, slots).where('other.due_at', 'is not', null)))),
)

function* keptNotice(key: string, id: string, { namespace, now }: StoreView) {
  const { rows } = yield* together({
    kept: ask(keepSession, { namespace, key }),
    rows: ask(noticeOf, { namespace, key, n: noticeNumber(id), now }),
  })
  const [row] = rows
  return row && noticeId(row.id, row.n) === id ? row : undefined
}

export function* settleNotice(
  { session, id, attempts }: Pick<NoticeRecord, 'session' | 'id' | 'attempts'>,
  outcome: NoticeOutcome,
  view: StoreView,
): Steps<boolean> {
  const row = yield* keptNotice(session, id, view)
  if (row?.state !== 'pending' || row.attempts !== attempts) return false
  const error = ('error' in outcome ? outcome.error : undefined) ?? null
  const { row: place, n, hook, queued_at, now } = row
  if (outcome.state === 'pending') {
    yield* execute(changeNotice, { row: place, n, state: 'pending', queued_at, due_at: now + outcome.dueInMs, settled_at: null, error })
    return true
  }
  yield* execute(changeNotice, { row: place, n, state: outcome.state, queued_at, due_at: null, settled_at: now, error })
  yield* execute(callNext, { session: place, hook, now: view.now })
  return true
}

export function* resendNotice(key: string, id: string, view: StoreView): Steps<Found<NoticeRecord>> {
  const row = yield* keptNotice(key, id, view)
  if (!row) return { status: 'missing' }
  if (row.state === 'pending') return { status: 'found', value: noticeRecord(row) }
  const changed = { state: 'pending', queued_at: row.now, due_at: row.now, settled_at: null, error: null } as const
  yield* execute(changeNotice, { row: row.row, n: row.n, ...changed })
  return { status: 'found', value: noticeRecord({ ...row, ...changed }) }
}

interface ListSlots {
  readonly namespace: string
  readonly key: string
  readonly state: NoticeTable['state']
  readonly hook: string
  readonly at: number
  readonly sessionId: string
  readonly n: number
  readonly limit: number
}

/** Only notices of the same time are sorted: the index has those of a session in its place. */
const listOf = statementsFor(
  (
    db,
    { namespace, key, state, hook, at, sessionId, n, limit }: ListSlots,
    _dialect,
    names: readonly ('key' | 'state' | 'hook' | 'after')[],
  ) => {
    const has = (name: (typeof names)[number]): boolean => names.includes(name)
    return selectNotices(db)
      .where('notice.namespace', '=', namespace)
      .$if(has('key'), (list) => list.where('session.namespace', '=', namespace).where('session.key', '=', key))
      .$if(has('state'), (list) => list.where('notice.state', '=', state))
      .$if(has('hook'), (list) => list.where('notice.hook', '=', hook))
      .$if(has('after'), (list) =>
        list
          .where('notice.at', '<=', at)
          .where((where) =>
            where.or([
              where('notice.at', '<', at),
              where('session.id', '<', sessionId),
              where.and([where('session.id', '=', sessionId), where('notice.n', '<', n)]),
            ]),
          ),
      )
      .orderBy('notice.at', 'desc')
      .orderBy('session.id', 'desc')
      .orderBy('notice.n', 'desc')
      .limit(atMost(limit))
  },
)

export function* listNotices(namespace: string, { key, state, hook, page, ...query }: NoticeQuery): Steps<Page<NoticeRecord>> {
  const limit = pageLimit(query.limit)
  const position = page === undefined ? { at: 0, sessionId: '', n: 0 } : parseNoticePosition(page)
  const list = listOf({ key: key !== undefined, state: state !== undefined, hook: hook !== undefined, after: page !== undefined })
  const rows = yield* all(list, { namespace, key: key ?? '', state: state ?? 'pending', hook: hook ?? '', ...position, limit: limit + 1 })
  return pageOf(rows.map(noticeRecord), limit, printNoticePosition)
}

interface PruneSlots {
  readonly namespace: string
  readonly before: number
  readonly limit: number
}

const settledLongAgo = statement((db, { namespace, before, limit }: PruneSlots) =>
  db
    .selectFrom('notice')
    .select('notice.session')
    .distinct()
    .where('notice.namespace', '=', namespace)
    .where('notice.settled_at', '<', before)
    .orderBy('notice.session')
    .limit(atMost(limit)),
)

const queuedLongAgo = statement((db, { namespace, before, limit }: PruneSlots) =>
  db
    .selectFrom('notice')
    .innerJoin('session', 'session.row', 'notice.session')
    .select(['session.key', 'notice.session', 'notice.n', 'notice.hook'])
    .where('notice.namespace', '=', namespace)
    .where('notice.due_at', 'is not', null)
    .where('notice.queued_at', '<', before)
    .limit(atMost(limit)),
)

const forgetSettled = statement(
  (db, { sessions, before }: { readonly sessions: readonly number[]; readonly before: number }, { isOneOf }) =>
    db
      .deleteFrom('notice')
      .where((where) => isOneOf(where.ref('session'), sessions, 'number'))
      .where('settled_at', '<', before),
)

const forgetQueued = statement((db, slots: { readonly session: number; readonly hook: string; readonly before: number }) =>
  db
    .deleteFrom('notice')
    .where('session', '=', slots.session)
    .where('hook', '=', slots.hook)
    .where('settled_at', 'is', null)
    .where('queued_at', '<', slots.before),
)

/** Removes old notices from at most `limit` sessions. Returns true if there may be more. */
export function* pruneNotices(
  { runsEndedBefore, noticesQueuedBefore }: PruneRules,
  limit: number,
  { namespace, now }: StoreView,
): Steps<boolean> {
  const settled = yield* all(settledLongAgo, { namespace, before: runsEndedBefore, limit: limit + 1 })
  const sessions = settled.slice(0, limit).map(({ session }) => session)
  if (sessions.length > 0) yield* execute(forgetSettled, { sessions, before: runsEndedBefore })
  if (noticesQueuedBefore === undefined) return settled.length > limit
  const queued = yield* all(queuedLongAgo, { namespace, before: noticesQueuedBefore, limit: limit + 1 })
  for (const { key, session, hook } of queued.slice(0, limit)) {
    yield* all(keepSession, { namespace, key })
    yield* execute(forgetQueued, { session, hook, before: noticesQueuedBefore })
    yield* execute(callNext, { session, hook, now })
  }
  return settled.length > limit || queued.length > limit
}
