import { sql } from 'kysely'
import type { DueReport } from '../../contract/session-store.ts'
import type { InboxKind } from '../../contract/records.ts'
import { claimableAt, inputKindsThatStart } from '../../core/rules.ts'
import { headsOf } from './notices.ts'
import { runState, selectRuns } from './runs.ts'
import type { StoreView } from './sessions.ts'
import { ask, statement, together } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database } from './tables.ts'
import { timerRecord } from './timers.ts'
import { atMost } from './values.ts'

interface DueSlots {
  readonly namespace: string
  readonly now: number | null
  readonly limit: number
}

const timersDue = statement((db, { namespace, now, limit }: DueSlots, { time }) =>
  db
    .selectFrom('timer')
    .select(['timer.id', 'timer.kind', 'timer.due_at', 'timer.body', 'timer.key'])
    .where('timer.namespace', '=', namespace)
    .where('timer.due_at', '<=', time(now))
    .orderBy('timer.due_at')
    .orderBy('timer.id')
    .limit(atMost(limit)),
)

const firstTimer = statement((db, { namespace }: DueSlots) =>
  db
    .selectFrom('timer')
    .select('timer.due_at as at')
    .where('timer.namespace', '=', namespace)
    .where('timer.due_at', 'is not', null)
    .orderBy('timer.due_at')
    .limit(sql.lit(1)),
)

/** Sessions that have expired and are not marked. */
export const livesOver = statement((db, { namespace, now, limit }: DueSlots, { time }) =>
  db
    .selectFrom('session_state')
    .innerJoin('session', 'session.row', 'session_state.session')
    .select('session.key')
    .where('session_state.namespace', '=', namespace)
    .where('session_state.expires_at', '<=', time(now))
    .orderBy('session_state.expires_at')
    .orderBy('session.key')
    .limit(atMost(limit)),
)

const firstEnd = statement((db, { namespace }: DueSlots) =>
  db
    .selectFrom('session_state')
    .select('session_state.expires_at as at')
    .where('session_state.namespace', '=', namespace)
    .where('session_state.expires_at', 'is not', null)
    .orderBy('session_state.expires_at')
    .limit(sql.lit(1)),
)

/** Starts from the few inbox rows, whatever the number of sessions: the order of cross joins is kept. */
const unread = statement((db, { namespace, limit, kinds }: DueSlots & { readonly kinds: readonly InboxKind[] }, { isOneOf }) =>
  db
    .selectFrom('inbox')
    .crossJoin('session')
    .crossJoin('session_state')
    .select('session.key')
    .distinct()
    .where((where) => isOneOf(where.ref('inbox.kind'), kinds, 'text'))
    .whereRef('session.row', '=', 'inbox.session')
    .whereRef('session_state.session', '=', 'inbox.session')
    .where('session.namespace', '=', namespace)
    .where('session_state.expired_at', 'is', null)
    .where((where) =>
      where.not(
        where.exists(
          where.selectFrom('run').select('run.row').whereRef('run.session', '=', 'inbox.session').where('run.ended_at', 'is', null),
        ),
      ),
    )
    .orderBy('session.key')
    .limit(atMost(limit)),
)

/** Selects queued runs that are the first of their session. */
function selectFirstInLine(db: Database, { namespace }: Pick<DueSlots, 'namespace'>) {
  return db
    .selectFrom('run')
    .where('run.namespace', '=', namespace)
    .where('run.status', '=', sql.lit('queued'))
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('run as other')
            .select('other.row')
            .whereRef('other.session', '=', 'run.session')
            .whereRef('other.row', '<>', 'run.row')
            .where('other.ended_at', 'is', null)
            .where((other) =>
              other.or([other('other.place', '<', other.ref('run.place')), other('other.status', '<>', sql.lit('queued'))]),
            ),
        ),
      ),
    )
}

/** Time of the next delayed run that is first in its session. */
const nextStart = statement((db, slots: DueSlots, { time }) =>
  selectFirstInLine(db, slots)
    .select('run.not_before as at')
    .where('run.not_before', '>', time(slots.now))
    .orderBy('run.not_before')
    .limit(sql.lit(1)),
)

const queuedSessions = statement((db, slots: DueSlots, { time }) =>
  selectFirstInLine(db, slots)
    .innerJoin('session', 'session.row', 'run.session')
    .innerJoin('session_state', 'session_state.session', 'run.session')
    .select('session.key')
    .where((where) => where.or([where('run.not_before', 'is', null), where('run.not_before', '<=', time(slots.now))]))
    .where('session_state.expired_at', 'is', null)
    .where((where) => where.or([where('session_state.expires_at', 'is', null), where('session_state.expires_at', '>', time(slots.now))]))
    .orderBy('run.created_at')
    .orderBy('run.row')
    .limit(atMost(slots.limit)),
)

/** Runs whose lease has ended. */
const lostRuns = statement((db, { namespace, now }: DueSlots, { time }) =>
  selectRuns(db)
    .innerJoin('session', 'session.row', 'run.session')
    .select('session.key as session_key')
    .where('run.namespace', '=', namespace)
    .where('run.status', '=', sql.lit('running'))
    .where('run_state.lease_until', '<=', time(now)),
)

/** Runs that were lost before and claimed again: only these have a backoff. Others can be claimed as soon as they are lost. */
const lostBefore = statement((db, { namespace }: DueSlots) =>
  selectRuns(db)
    .where('run.namespace', '=', namespace)
    .where('run.status', '=', sql.lit('running'))
    .where('run_state.attempts', '>', sql.lit(0)),
)

const firstNotice = headsOf({})

const currentTime = statement((db, { now }: DueSlots, { time }) => db.selectNoFrom(time(now).as('now')))

/** Returns the work that is due by time alone, when more becomes due, and the time of the store. */
export function* dueNow({ namespace, now }: StoreView, limit: number, withRuns: boolean): Steps<DueReport & { readonly now: number }> {
  const slots = { namespace, now, limit }
  const isWanted = limit > 0
  const rows = yield* together({
    timers: isWanted ? ask(timersDue, slots) : undefined,
    expired: isWanted ? ask(livesOver, slots) : undefined,
    unread: isWanted ? ask(unread, { ...slots, kinds: inputKindsThatStart }) : undefined,
    next: [ask(firstTimer, slots), ask(firstEnd, slots), ask(nextStart, slots)],
    lost: ask(lostBefore, slots),
    queued: withRuns ? ask(queuedSessions, slots) : undefined,
    over: withRuns ? ask(lostRuns, slots) : undefined,
    notice: ask(firstNotice, { ...slots, receiver: '', hooks: [], except: [], limit: 1 }),
    time: ask(currentTime, slots),
  })
  const at = rows.time[0]?.now ?? 0
  const delays = rows.lost.map((row) => claimableAt(runState(row, ''), at)).filter((each) => each > at)
  const over = rows.over.filter((row) => claimableAt(runState(row, ''), at) <= at).map((row) => row.session_key)
  const times = [...rows.next.flatMap((row) => row.at ?? []), ...delays]
  return {
    timers: rows.timers.map(timerRecord),
    expired: rows.expired.map(({ key }) => key),
    unread: rows.unread.map(({ key }) => key),
    ...(withRuns && { runs: [...over, ...rows.queued.map(({ key }) => key)].slice(0, limit) }),
    nextAt: times.length > 0 ? Math.max(at, Math.min(...times)) : null,
    ...(rows.notice[0] && { noticesAt: rows.notice[0].at }),
    now: at,
  }
}
