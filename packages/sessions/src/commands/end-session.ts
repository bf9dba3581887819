import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import type { Batch, Write } from '../contract/batch.ts'
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

/** Kinds of rows that a kill removes. It keeps notifications of background tasks, since the session continues. */
const killedKinds = waitingKinds.filter((kind) => kind !== 'child-settled')

/** Way to end a session. `kill` ends open work; `expire` also makes the session read-only; `delete` removes all but its numbers. */
export type SessionEnd = 'kill' | 'expire' | 'delete'

export interface EndOptions {
  /** Ends only this incarnation of the session. */
  readonly incarnation?: string
  readonly reason?: string | undefined
}

/**
 * Ends everything open in a session and in the sessions below it, without the consent of the executing processes: these can no
 * longer write.
 */
export async function endSession(context: SessionContext, key: string, how: SessionEnd, options: EndOptions = {}): Promise<StopReceipt> {
  const { store } = context
  const children: StopReceipt[] = []
  let first: RunRecord | undefined
  return retryOnConflict(
    async () => {
      const read = await store.readSession(key)
      const isThere = 'value' in read && (options.incarnation ?? read.value.id) === read.value.id
      if (!isThere || (how === 'expire' && (await isMarked(context, read.value)))) return withChildren(nothingToStop, children)
      const open = await openRuns(store, key)
      first ??= firstInLine(open)
      const below = await endBelow(context, key, open, how, options.reason)
      children.push(...below)
      // The ended children have notified this session: read it again. A child started later changes its version, so the commit
      // conflicts.
      if (below.length > 0) return tryAgain
      const batch = await batchOf(context, read.value, await lostRuns(context, read.value, open, options.reason), how)
      if (batch.writes.length > 0) {
        const result = await store.commit(batch)
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
      // A deleted session cannot be read.
      return how === 'delete'
        ? withChildren({ ...nothingToStop, runId: first.id, state: 'settled' }, children)
        : withChildren(await receiptOf(context, first.id), children)
    },
    (tries) => `The session ${key} changed ${tries} times while it was ended.`,
  )
}

/** Adds the receipts of runs that ended below, including children of other runs than the first. */
function withChildren(receipt: StopReceipt, below: readonly StopReceipt[]): StopReceipt {
  const known = new Set(receipt.children.flatMap(runsOf))
  return { ...receipt, children: [...receipt.children, ...below.filter(({ runId }) => !known.has(runId))] }
}

function runsOf({ runId, children }: StopReceipt): readonly (string | null)[] {
  return [runId, ...children.flatMap(runsOf)]
}

/** True if the expiry is already recorded: then its event is the last one of the log. */
async function isMarked({ store }: SessionContext, { key, nextSeq }: SessionRecord): Promise<boolean> {
  const { events } = await store.readEvents(key, nextSeq - 2, 1)
  return events.at(-1)?.type === 'session-end'
}

/** Ends the sessions below. Returns the receipts of the runs that were open there. */
async function endBelow(
  context: SessionContext,
  key: string,
  open: readonly RunRecord[],
  how: SessionEnd,
  reason: string | undefined,
): Promise<readonly StopReceipt[]> {
  const receipts: StopReceipt[] = []
  const keys = await sessionsBelow(context, key)
  // Stops the runs first: a run that could continue would restart what ends below it.
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

function lostRuns(
  context: SessionContext,
  { leaf }: SessionRecord,
  open: readonly RunRecord[],
  reason: string | undefined,
): Promise<readonly LostRun[]> {
  const at = context.clock.now()
  const stop = { at, ...(reason === undefined ? {} : { reason }) }
  const end = { status: 'aborted', reason: 'abort', stop } as const
  return Promise.all(open.toSorted(begunLast).map((run) => lookAtLostRun(context, run, { leaf, answers: [], end, at })))
}

/** Sorts runs so that the one that has started is last: it ends the transcript and the log. */
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

/**
 * Pauses the schedules if the session continues, so that they do not restart its work before they are resumed. Otherwise removes
 * them.
 */
async function endOfSchedules(store: SessionStore, session: SessionRecord, how: SessionEnd): Promise<readonly Write[]> {
  // A child session has no schedules.
  const schedules = session.parent === undefined ? await schedulesIn(store, session.key) : []
  if (schedules.length === 0) return []
  return how === 'kill'
    ? [{ op: 'timer.put', timers: schedules.map(pausedSchedule) }]
    : [{ op: 'timer.drop', ids: schedules.map(({ id }) => id) }]
}

/** True if the session continues. A child session ends with its parent. */
function goesOn({ parent }: SessionRecord, how: SessionEnd): boolean {
  return how === 'kill' && parent === undefined
}

function expiry(sessionKey: string, at: number): readonly Write[] {
  return [{ op: 'event.append', events: [{ event: { type: 'session-end', at, sessionKey, reason: 'expired' } }] }, { op: 'session.expire' }]
}

/** Returns the sessions that expired before `atMs`, as needed to delete them. */
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
