import { sql } from 'kysely'
import type { DueReport } from '../../contract/session-store.ts'
import type { InboxKind, TimerRecord } from '../../contract/records.ts'
import { parseStored } from '../../json.ts'
import { claimableAt, inputKindsThatStart } from '../rules.ts'
import { runState, selectRuns } from './runs.ts'
import { all, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'

interface DueSlots {
  readonly namespace: string
  readonly now: number
  readonly limit: number
}

const timersDue = statement((db, { namespace, now, limit }: DueSlots) =>
  db
    .selectFrom('timer')
    .innerJoin('session', 'session.row', 'timer.session')
    .select(['timer.id', 'timer.kind', 'timer.due_at', 'timer.body', 'session.key'])
    .where('timer.namespace', '=', namespace)
    .where('timer.due_at', '<=', now)
    .orderBy('timer.due_at')
    .orderBy('timer.id')
    .limit(limit),
)

const firstTimer = statement((db, { namespace }: DueSlots) =>
  db
    .selectFrom('timer')
    .select('timer.due_at as at')
    .where('timer.namespace', '=', namespace)
    .orderBy('timer.due_at')
    .limit(1),
)

const livesOver = statement((db, { namespace, now, limit }: DueSlots) =>
  db
    .selectFrom('session_state')
    .innerJoin('session', 'session.row', 'session_state.session')
    .select('session.key')
    .where('session_state.namespace', '=', namespace)
    .where('session_state.expires_at', '<=', now)
    .orderBy('session_state.expires_at')
    .orderBy('session.key')
    .limit(limit),
)

const firstEnd = statement((db, { namespace }: DueSlots) =>
  db
    .selectFrom('session_state')
    .select('session_state.expires_at as at')
    .where('session_state.namespace', '=', namespace)
    .where('session_state.expires_at', 'is not', null)
    .orderBy('session_state.expires_at')
    .limit(1),
)

/** Begins at the few rows of the inbox, whatever the number of sessions: the order of cross joins is kept. */
const unread = statement((db, { namespace, limit, kinds }: DueSlots & { readonly kinds: string }, { listed }) =>
  db
    .selectFrom('inbox')
    .crossJoin('session')
    .crossJoin('session_state')
    .select('session.key')
    .distinct()
    .where('inbox.kind', 'in', listed<InboxKind>(kinds))
    .whereRef('session.row', '=', 'inbox.session')
    .whereRef('session_state.session', '=', 'inbox.session')
    .where('session.namespace', '=', namespace)
    .where('session_state.expired_at', 'is', null)
    .where((where) =>
      where.not(where.exists(where.selectFrom('run').select('run.row').whereRef('run.session', '=', 'inbox.session').where('run.ended_at', 'is', null))),
    )
    .orderBy('session.key')
    .limit(limit),
)

/** Queued until a time, and next in their session. */
const nextStart = statement((db, { namespace, now }: DueSlots) =>
  db
    .selectFrom('run')
    .select('run.not_before as at')
    .where('run.namespace', '=', namespace)
    .where('run.status', '=', sql.lit('queued'))
    .where('run.not_before', '>', now)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('run as other')
            .select('other.row')
            .whereRef('other.session', '=', 'run.session')
            .whereRef('other.row', '<>', 'run.row')
            .where('other.ended_at', 'is', null)
            .where((other) => other.or([other('other.place', '<', other.ref('run.place')), other('other.status', '<>', sql.lit('queued'))])),
        ),
      ),
    )
    .orderBy('run.not_before')
    .limit(1),
)

/** Taken up anew by its owner after it was lost: the others can be claimed as soon as they are lost. */
const lostBefore = statement((db, { namespace }: DueSlots) =>
  selectRuns(db)
    .where('run.namespace', '=', namespace)
    .where('run.status', '=', sql.lit('running'))
    .where(sql<number>`json_extract(${sql.ref('run_state.body')}, '$.attempts')`, '>', 0),
)

/** What time alone brings about: now, and when next. */
export function* dueNow(namespace: string, now: number, limit: number): Steps<DueReport> {
  const slots = { namespace, now, limit }
  return { ...(limit > 0 ? yield* listsOfDue(slots) : { timers: [], expired: [], unread: [] }), nextAt: yield* nextTime(slots) }
}

function* listsOfDue(slots: DueSlots): Steps<Omit<DueReport, 'nextAt'>> {
  const timers = yield* all(timersDue, slots)
  const expired = yield* all(livesOver, slots)
  const waiting = yield* all(unread, { ...slots, kinds: JSON.stringify(inputKindsThatStart) })
  return {
    timers: timers.map(({ id, kind, due_at: dueAt, body, key }): TimerRecord => ({ id, session: key, kind, dueAt, body: parseStored(body, `The timer ${id}`) })),
    expired: expired.map(({ key }) => key),
    unread: waiting.map(({ key }) => key),
  }
}

function* nextTime(slots: DueSlots): Steps<number | null> {
  const rows = [yield* first(firstTimer, slots), yield* first(firstEnd, slots), yield* first(nextStart, slots)]
  const delays = (yield* all(lostBefore, slots)).map((row) => claimableAt(runState(row, ''), slots.now)).filter((at) => at > slots.now)
  const times = [...rows.flatMap((row) => row?.at ?? []), ...delays]
  return times.length > 0 ? Math.max(slots.now, Math.min(...times)) : null
}
