import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import type { Batch, Write } from '../contract/batch.ts'
import { commitOnce } from '../contract/commit-once.ts'
import { waitingKinds } from '../contract/records.ts'
import type { RunRecord, SessionRecord } from '../contract/records.ts'
import { firstInLine } from '../contract/run-status.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { SessionError } from '../errors.ts'
import { lastEvents, lastWrites, lookAtLostRun, newsOfLostRun, type LostRun } from '../writer/close-run.ts'
import type { SessionContext } from './context.ts'
import { startOrphanedInputs } from './orphaned-inputs.ts'
import { pausedSchedule } from './schedules/schedule-record.ts'
import { schedulesIn } from './schedules/schedules.ts'
import { removeStates } from './session-state.ts'
import { nothingToStop, receiptOf, requestStop } from './stop.ts'
import type { StopReceipt } from './types.ts'
import { openRuns } from './views.ts'

/** Kinds of rows that a kill takes. The session goes on, and its model still hears of background tasks that ended before. */
const killedKinds = waitingKinds.filter((kind) => kind !== 'child-settled')

/** `kill` ends what is open; `expire` leaves the session readable besides, `delete` nothing but its numbers. */
export type SessionEnd = 'kill' | 'expire' | 'delete'

export interface EndOptions {
  /** Of this session, and no other one under the key. */
  readonly incarnation?: string
  readonly reason?: string | undefined
}

/**
 * Ends all that is open in a session and in the sessions below it, without the consent of whoever executes it: these
 * cannot write any more.
 */
export async function endSession(context: SessionContext, key: string, how: SessionEnd, options: EndOptions = {}): Promise<StopReceipt> {
  const { store } = context
  const children: StopReceipt[] = []
  let first: RunRecord | undefined
  return retryOnConflict(async () => {
    const read = await store.readSession(key)
    const isThere = 'value' in read && (options.incarnation ?? read.value.id) === read.value.id
    if (!isThere || (how === 'expire' && (await isMarked(context, read.value)))) return withChildren(nothingToStop, children)
    const open = await openRuns(store, key)
    first ??= firstInLine(open)
    const below = await endBelow(context, key, open, how, options.reason)
    children.push(...below)
    // What ended was told to this session. A child that is started from now on changes its version too.
    if (below.length > 0) return tryAgain
    const batch = await batchOf(context, read.value, await lostRuns(context, read.value, open, options.reason), how)
    if (batch.writes.length > 0) {
      const result = await commitOnce(store, batch)
      if (!result.ok && result.reason === 'conflict') return tryAgain
      if (!result.ok && result.reason !== 'deleted' && result.reason !== 'missing') {
        throw new SessionError('conflict', `The store refused to end the session ${key}: ${result.reason}.`)
      }
    }
    for (const run of open) context.fence(run.id)
    if (how !== 'kill') context.forget(read.value.id)
    if (how === 'delete') await removeStates(context, key)
    context.live.announce(key)
    if (goesOn(read.value, how)) await startOrphanedInputs(context, key)
    if (!first) return withChildren(nothingToStop, children)
    // Of a deleted session nothing can be read any more.
    return how === 'delete'
      ? withChildren({ ...nothingToStop, runId: first.id, state: 'settled' }, children)
      : withChildren(await receiptOf(context, first.id), children)
  }, (tries) => `The session ${key} changed ${tries} times while it was ended.`)
}

/** The runs that were ended below, also those that others than the first run had started. */
function withChildren(receipt: StopReceipt, below: readonly StopReceipt[]): StopReceipt {
  const known = new Set(receipt.children.flatMap(runsOf))
  return { ...receipt, children: [...receipt.children, ...below.filter(({ runId }) => !known.has(runId))] }
}

function runsOf({ runId, children }: StopReceipt): readonly (string | null)[] {
  return [runId, ...children.flatMap(runsOf)]
}

/** Somebody else has said that its life is over: that is the last thing in its log. */
async function isMarked({ store }: SessionContext, { key, nextSeq }: SessionRecord): Promise<boolean> {
  const { events } = await store.readEvents(key, nextSeq - 2, 1)
  return events.at(-1)?.type === 'session-end'
}

/** The receipts of what was open below. */
async function endBelow(
  context: SessionContext,
  key: string,
  open: readonly RunRecord[],
  how: SessionEnd,
  reason: string | undefined,
): Promise<readonly StopReceipt[]> {
  const receipts: StopReceipt[] = []
  const keys = await sessionsBelow(context, key)
  // A run that could go on would begin anew what has ended below it.
  if (keys.length > 0) for (const run of open) if (run.turn !== undefined) await requestStop(context, run, reason)
  for (const child of keys) {
    receipts.push(await endSession(context, child, how === 'delete' ? 'delete' : 'kill', { reason }))
  }
  return receipts.flatMap((receipt) => (receipt.runId === null ? receipt.children : [receipt]))
}

async function sessionsBelow({ store }: SessionContext, key: string): Promise<readonly string[]> {
  const keys: string[] = []
  let page: string | undefined
  do {
    const found = await store.listSessions({ parent: key, limit: 1000, ...(page === undefined ? {} : { page }) })
    keys.push(...found.items.map((session) => session.key))
    page = found.next
  } while (page !== undefined)
  return keys
}

function lostRuns(context: SessionContext, { leaf }: SessionRecord, open: readonly RunRecord[], reason: string | undefined): Promise<readonly LostRun[]> {
  const at = context.clock.now()
  const stop = { at, ...(reason === undefined ? {} : { reason }) }
  const end = { status: 'aborted', reason: 'abort', stop } as const
  return Promise.all(open.toSorted(begunLast).map((run) => lookAtLostRun(context, run, { leaf, answers: [], end, at })))
}

/** The one that has begun ends the transcript, and the log. */
function begunLast(a: RunRecord, b: RunRecord): number {
  return Number(a.turn !== undefined) - Number(b.turn !== undefined) || a.place - b.place
}

async function batchOf(context: SessionContext, session: SessionRecord, lost: readonly LostRun[], how: SessionEnd): Promise<Batch> {
  const { store, ids, clock } = context
  const { key, id, version, parent } = session
  const batchId = ids.next('batch')
  const rows = await store.readInbox(key, goesOn(session, how) ? killedKinds : waitingKinds)
  const at = clock.now()
  const ends: readonly Write[] = [
    ...lost.flatMap((each, place) => lastWrites(each, lastEvents(each, place === lost.length - 1))),
    ...(rows.length > 0 ? [{ op: 'inbox.take', ids: rows.map((row) => row.id) } as const] : []),
    ...(how === 'expire' ? expiry(key, at) : []),
    ...(how === 'delete' ? [] : await endOfSchedules(store, session, how)),
  ]
  const deletion: Write = { op: 'session.delete', at, ...(parent === undefined ? {} : { leavesNothing: true }) }
  return {
    id: batchId,
    key,
    expect: [{ that: 'session', id, version }],
    writes: how === 'delete' ? [deletion] : ends,
    deliver: (await Promise.all(lost.map((each) => newsOfLostRun(store, each, batchId)))).flat(),
  }
}

/** Those of a session that goes on wait until somebody resumes them: it would be at work again at their next time. */
async function endOfSchedules(store: SessionStore, session: SessionRecord, how: SessionEnd): Promise<readonly Write[]> {
  // A child session has none.
  const schedules = session.parent === undefined ? await schedulesIn(store, session.key) : []
  if (schedules.length === 0) return []
  return how === 'kill' ? [{ op: 'timer.put', timers: schedules.map(pausedSchedule) }] : [{ op: 'timer.drop', ids: schedules.map(({ id }) => id) }]
}

/** A child session ends with its parent. */
function goesOn({ parent }: SessionRecord, how: SessionEnd): boolean {
  return how === 'kill' && parent === undefined
}

function expiry(sessionKey: string, at: number): readonly Write[] {
  return [
    { op: 'event.append', events: [{ event: { type: 'session-end', at, sessionKey, reason: 'expired' } }] },
    { op: 'session.expire' },
  ]
}

/** Sessions whose time was over before then, as they are to be named when they are deleted. */
export async function expiredBefore(store: SessionStore, atMs: number): Promise<readonly Pick<SessionRecord, 'key' | 'id'>[]> {
  const over: Pick<SessionRecord, 'key' | 'id'>[] = []
  let page: string | undefined
  do {
    const sessions = await store.listSessions({ expired: true, limit: 1000, ...(page === undefined ? {} : { page }) })
    for (const { key, id, expiredAt = Infinity } of sessions.items) if (expiredAt < atMs) over.push({ key, id })
    page = sessions.next
  } while (page !== undefined)
  return over
}
