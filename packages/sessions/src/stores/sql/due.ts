import { sql } from 'kysely'
import type { DueReport } from '../../store/contract.ts'
import type { InboxKind, TimerRecord } from '../../store/records.ts'
import { parseStored } from '../json.ts'
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

const nextTimer = statement((db, { namespace, now }: DueSlots) =>
  db
    .selectFrom('timer')
    .select('timer.due_at as at')
    .where('timer.namespace', '=', namespace)
    .where('timer.due_at', '>', now)
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
    .where('session_state.status', '<>', sql.lit('expired'))
    .orderBy('session_state.expires_at')
    .orderBy('session.key')
    .limit(limit),
)

const nextEnd = statement((db, { namespace, now }: DueSlots) =>
  db
    .selectFrom('session_state')
    .select('session_state.expires_at as at')
    .where('session_state.namespace', '=', namespace)
    .where('session_state.expires_at', '>', now)
    .where('session_state.status', '<>', sql.lit('expired'))
    .orderBy('session_state.expires_at')
    .limit(1),
)

const unread = statement((db, { namespace, limit, kinds }: DueSlots & { readonly kinds: string }, { listed }) =>
  db
    .selectFrom('inbox')
    .innerJoin('session', 'session.row', 'inbox.session')
    .innerJoin('session_state', 'session_state.session', 'inbox.session')
    .select('session.key')
    .distinct()
    .where('inbox.kind', 'in', listed<InboxKind>(kinds))
    .where('session.namespace', '=', namespace)
    .where('session_state.status', '<>', sql.lit('expired'))
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

const running = statement((db, { namespace }: DueSlots) =>
  selectRuns(db).where('run.namespace', '=', namespace).where('run.ended_at', 'is', null).where('run.status', '=', sql.lit('running')),
)

/** What time alone brings about: now, and when next. */
export function* dueNow(namespace: string, now: number, limit: number): Steps<DueReport> {
  const slots = { namespace, now, limit }
  const timers = yield* all(timersDue, slots)
  const over = yield* all(livesOver, slots)
  const waiting = yield* all(unread, { ...slots, kinds: JSON.stringify(inputKindsThatStart) })
  const times = [yield* first(nextTimer, slots), yield* first(nextEnd, slots), yield* first(nextStart, slots)].flatMap((row) => row?.at ?? [])
  for (const row of yield* all(running, slots)) times.push(claimableAt(runState(row, '')))
  const later = times.filter((time) => time > now)
  return {
    timers: timers.map(({ id, kind, due_at: dueAt, body, key }): TimerRecord => ({ id, session: key, kind, dueAt, body: parseStored(body, `The timer ${id}`) })),
    expired: over.map(({ key }) => key),
    unread: waiting.map(({ key }) => key),
    nextAt: timers.length > 0 || over.length > 0 ? now : later.length > 0 ? Math.min(...later) : null,
  }
}
