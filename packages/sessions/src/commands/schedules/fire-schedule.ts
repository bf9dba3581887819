import type { AgentInput } from '@bowline/agent-loop'
import type { Expect, Write } from '../../contract/batch.ts'
import type { TimerRecord } from '../../contract/records.ts'
import { asLogged, isTerminal } from '../../contract/run-status.ts'
import type { SessionStore } from '../../contract/session-store.ts'
import type { SessionContext } from '../context.ts'
import { newRun } from '../new-run.ts'
import { insertion, publishRunQueued } from '../queued-run.ts'
import { openRuns } from '../views.ts'
import { scheduleOf, scheduleTimer, timesOf, type ScheduleRecord } from './schedule-record.ts'

/** A time counts as missed if it is handled later than this, in ms. */
const onTimeMs = 60_000
/** Wait in ms before a full queue is tried again. */
const queueFullMs = 30_000
const maxQueuedRuns = 1000

type Firing = 'fired' | 'dropped' | 'kept'
type FiringContext = Pick<SessionContext, 'store' | 'clock' | 'ids' | 'live' | 'wake'>

/**
 * Sends the due input and moves the schedule to its next time in one commit, so that only one of several processes sends it.
 * `dropped`: there was nothing to send. `kept`: the schedule changed meanwhile.
 */
export async function fireSchedule(context: FiringContext, timer: TimerRecord): Promise<Firing> {
  const schedule = scheduleOf(timer)
  const { nextAt: dueAt, onMissed } = schedule
  const now = Math.max(context.clock.now(), dueAt)
  const passed = onMissed === 'all' ? dueAt : now
  const isMissed = now - dueAt > onTimeMs
  const sent = onMissed === 'skip' && isMissed ? undefined : await send(context, timer, schedule, passed)
  return sent ?? put(context, timer, await nextTimer(timer, schedule, passed))
}

/** Returns undefined if no input is to be sent this time. With `version`, the session is known to be free if it has that version. */
async function send(
  context: FiringContext,
  timer: TimerRecord,
  schedule: ScheduleRecord,
  passed: number,
  version?: number,
): Promise<Firing | undefined> {
  const { store, ids, clock } = context
  const { session: key } = timer
  const { id, sessionId, nextAt: dueAt, input, runtimeParams, onBusy } = schedule
  const run = newRun(context, input as unknown as AgentInput, { id: inputIdOf(id, dueAt), ...(runtimeParams && { runtimeParams }) })
  const isFree: Expect =
    onBusy === 'skip' && version === undefined ? { that: 'idle', exceptCompaction: true } : { that: 'queue-below', max: maxQueuedRuns }
  const result = await store.commit({
    id: ids.next('batch'),
    key,
    expect: [unmoved(timer), { that: 'session', id: sessionId, alive: true, ...(version !== undefined && { version }) }, isFree],
    writes: [...(await nextTimer(timer, { ...schedule, last: { dueAt, runId: run.id } }, passed)), ...insertion(run)],
  })
  if (result.ok) {
    // The id is used by another input.
    if (result.existing) return undefined
    publishRunQueued(context, key, result, run)
    context.wake(key)
    return 'fired'
  }
  switch (result.reason) {
    case 'busy': {
      const free = await freeVersion(store, key)
      return free === undefined ? undefined : send(context, timer, schedule, passed, free)
    }
    case 'id-reused':
      return undefined
    case 'queue-full':
      return put(context, timer, [{ op: 'timer.put', timers: [scheduleTimer(schedule, clock.now() + queueFullMs)] }])
    case 'expired':
      return put(context, timer, [{ op: 'timer.drop', ids: [timer.id] }])
    default:
      return 'kept'
  }
}

/** Returns the version of a session in which no turn is open: only hooks after the last turn run. Otherwise returns undefined. */
async function freeVersion(store: SessionStore, key: string): Promise<number | undefined> {
  const session = await store.readSession(key)
  const open = await openRuns(store, key)
  const isFree = open.every((run) => run.kind === 'compaction' || isTerminal(asLogged(run).status))
  return session.status === 'found' && isFree ? session.value.version : undefined
}

/** Returns the input id of a schedule and time: several senders then send one input. */
function inputIdOf(id: string, dueAt: number): string {
  return `schedule:${id}:${new Date(dueAt).toISOString()}`
}

async function put({ store, ids }: FiringContext, timer: TimerRecord, writes: readonly Write[]): Promise<Firing> {
  const result = await store.commit({ id: ids.next('batch'), key: timer.session, expect: [unmoved(timer)], writes })
  return result.ok ? 'dropped' : 'kept'
}

function unmoved({ id, dueAt }: TimerRecord): Expect {
  return { that: 'timer', id, dueAt }
}

/** Moves the schedule to its next time, or removes it if there is none. */
async function nextTimer(timer: TimerRecord, schedule: ScheduleRecord, passed: number): Promise<readonly Write[]> {
  const nextAt = (await timesOf(schedule.rule, schedule.createdAt))(passed)
  return [
    nextAt === null ? { op: 'timer.drop', ids: [timer.id] } : { op: 'timer.put', timers: [scheduleTimer({ ...schedule, nextAt }, nextAt)] },
  ]
}
