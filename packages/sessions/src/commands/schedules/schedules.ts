import { inputChecks } from '../../arguments.ts'
import type { Batch, Write } from '../../contract/batch.ts'
import type { SessionRecord, TimerRecord } from '../../contract/records.ts'
import { retryOnConflict, tryAgain } from '../../contract/retry-on-conflict.ts'
import type { SessionStore } from '../../contract/session-store.ts'
import { SessionError } from '../../errors.ts'
import { openSession } from '../accept.ts'
import type { SessionAccess } from '../access.ts'
import type { SessionContext } from '../context.ts'
import {
  firstTime,
  givenSchedule,
  invalid,
  scheduleOf,
  scheduleTimer,
  scheduleTimerId,
  timesOf,
  toScheduleInfo,
  type ScheduleRecord,
} from './schedule-record.ts'
import type { ScheduleInfo, ScheduleOptions, SessionSchedules } from './types.ts'

const mostSchedules = 100

/** Creates a schedule, and the session if there is none. Checks everything before it writes. */
export async function createSchedule(context: SessionContext, access: SessionAccess, options: ScheduleOptions): Promise<ScheduleInfo> {
  const given = givenSchedule(options)
  const id = options.id ?? context.ids.next('schedule')
  const { key } = access
  return retryOnConflict(
    async () => {
      const found = await access.find()
      const existing = found ? await schedulesIn(context.store, key) : []
      const same = existing.find((timer) => scheduleOf(timer).id === id)
      if (same && scheduleOf(same).hash === given.hash) return toScheduleInfo(same)
      if (same)
        throw new SessionError('id-reused', `The session ${key} has another schedule under this id. Delete it first, or choose another id.`)
      const createdAt = context.clock.now()
      const nextAt = await firstTime(given.rule, createdAt)
      if (existing.length >= mostSchedules)
        throw invalid('', `The limit of ${mostSchedules} schedules of a session is reached. Delete one first.`)
      const session = access.checkAlive(found ?? (await openSession(context, access)))
      const schedule: ScheduleRecord = { ...given, id, sessionId: session.id, createdAt, nextAt }
      const timer = scheduleTimer(schedule, nextAt)
      if (!(await change(context, session, [{ op: 'timer.put', timers: [timer] }]))) return tryAgain
      context.lookAhead()
      return toScheduleInfo({ ...timer, session: key })
    },
    (tries) => `The session ${key} changed ${tries} times while a schedule was made.`,
  )
}

export function sessionSchedules(context: SessionContext, access: SessionAccess): SessionSchedules {
  const { key } = access
  /** Applies a change to the stored schedule. Writes nothing if `next` returns it unchanged. */
  const changed = (id: string, next: (schedule: ScheduleRecord) => ScheduleRecord | Promise<ScheduleRecord>): Promise<ScheduleInfo> => {
    inputChecks.checkName('id', id)
    return retryOnConflict(
      async () => {
        const session = await access.writable()
        const timer = (await schedulesIn(context.store, key)).find((each) => scheduleOf(each).id === id)
        if (!timer) throw new SessionError('unknown-schedule', `The session ${key} has no schedule with this id: ${JSON.stringify(id)}.`)
        const schedule = await next(scheduleOf(timer))
        if (schedule === scheduleOf(timer)) return toScheduleInfo(timer)
        const put = scheduleTimer(schedule, schedule.paused ? null : schedule.nextAt)
        if (!(await change(context, session, [{ op: 'timer.put', timers: [put] }], timer))) return tryAgain
        context.lookAhead()
        return toScheduleInfo({ ...put, session: key })
      },
      (tries) => `The schedule changed ${tries} times while it was paused or resumed.`,
    )
  }
  return {
    async list() {
      await access.required()
      return (await schedulesIn(context.store, key)).map(toScheduleInfo)
    },
    pause: (id) => changed(id, (schedule) => (schedule.paused ? schedule : { ...schedule, paused: true })),
    resume: (id) =>
      changed(id, async (schedule) => {
        const { paused, ...rest } = schedule
        if (!paused) return schedule
        const { rule, createdAt, nextAt } = schedule
        // If a time has passed meanwhile, it is late: `onMissed` decides about it.
        return { ...rest, nextAt: (await timesOf(rule, createdAt))(Math.max(context.clock.now(), nextAt - 1)) ?? nextAt }
      }),
    async delete(id) {
      inputChecks.checkName('id', id)
      return retryOnConflict(
        async () => {
          const session = await access.writable()
          const timer = (await schedulesIn(context.store, key)).find((each) => scheduleOf(each).id === id)
          if (!timer) return false
          return (await change(context, session, [{ op: 'timer.drop', ids: [scheduleTimerId(id)] }], timer)) || tryAgain
        },
        (tries) => `The schedule changed ${tries} times while it was deleted.`,
      )
    },
  }
}

/** Returns the schedules of a session, at most 100. */
export async function schedulesIn(store: SessionStore, key: string): Promise<readonly TimerRecord[]> {
  return (await store.listTimers({ kind: 'schedule', key, limit: mostSchedules + 1 })).items
}

/** Returns false if the session or this schedule was changed in the meantime. */
async function change(
  { store, ids }: SessionContext,
  { key, id, version }: SessionRecord,
  writes: readonly Write[],
  timer?: TimerRecord,
): Promise<boolean> {
  const unchanged = timer ? [{ that: 'timer', id: timer.id, dueAt: timer.dueAt } as const] : []
  // A new schedule depends on the version: the schedules are counted, and its id must be free.
  const batch: Batch = {
    id: ids.next('batch'),
    key,
    expect: [{ that: 'session', id, alive: true, ...(timer ? {} : { version }) }, ...unchanged],
    writes,
  }
  const result = await store.commit(batch)
  if (result.ok || result.reason === 'conflict') return result.ok
  throw new SessionError(
    result.reason === 'deleted' ? 'session-deleted' : result.reason === 'expired' ? 'session-expired' : 'conflict',
    `The store refused the schedule: ${result.reason}.`,
  )
}
