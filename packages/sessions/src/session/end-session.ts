import { SessionError } from '../errors.ts'
import { lastEvents, lastWrites, lookAtLostRun, newsOfLostRun, type LostRun } from '../journal/close-run.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { Batch, Write } from '../store/contract.ts'
import type { InboxKind, RunRecord, SessionRecord } from '../store/records.ts'
import type { SessionContext } from './context.ts'
import { nothingToStop, receiptOf } from './stop.ts'
import type { StopReceipt } from './types.ts'
import { firstInLine, openRuns, openStatuses } from './views.ts'

const maxTries = 20
const everyKind: readonly InboxKind[] = ['answer', 'decision', 'steer', 'overlay', 'child-settled', 'child-changed']

/** `kill` ends what is open; `expire` leaves the session readable besides, `delete` nothing but its numbers. */
export type SessionEnd = 'kill' | 'expire' | 'delete'

/**
 * Ends all that is open in a session and in the sessions below it, without the consent of whoever executes it: these
 * cannot write any more.
 */
export async function endSession(context: SessionContext, key: string, how: SessionEnd): Promise<StopReceipt> {
  // Before those below it: it starts nothing more then, and the ends of these do not wake it.
  const receipt = await endRuns(context, key, how)
  const children: StopReceipt[] = []
  for (const child of await sessionsBelow(context, key, how)) children.push(await endSession(context, child, how === 'delete' ? 'delete' : 'kill'))
  return { ...receipt, children }
}

async function endRuns(context: SessionContext, key: string, how: SessionEnd): Promise<StopReceipt> {
  for (let tries = 0; tries < maxTries; tries++) {
    const read = await context.store.readSession(key)
    if (!('value' in read)) return nothingToStop
    const open = await openRuns(context.store, key)
    const lost = await Promise.all(open.toSorted(begunLast).map((run) => lookAt(context, run, read.value)))
    const result = await commitOnce(context.store, await batchOf(context, read.value, lost, how))
    if (!result.ok && result.reason === 'conflict') continue
    if (!result.ok && result.reason !== 'deleted' && result.reason !== 'missing') {
      throw new SessionError('conflict', `The store refused to end the session ${key}: ${result.reason}.`)
    }
    for (const run of open) context.fence(run.id)
    context.live.announce(key)
    const first = firstInLine(open)
    if (!first) return nothingToStop
    // Of a deleted session nothing can be read any more.
    if (how === 'delete') return { ...nothingToStop, runId: first.id, state: 'settled' }
    return receiptOf(context, first.id)
  }
  throw new SessionError('conflict', `The session ${key} changed ${maxTries} times while it was ended.`)
}

/** Keys of the sessions whose runs end with those of this one. */
async function sessionsBelow({ store }: SessionContext, key: string, how: SessionEnd): Promise<readonly string[]> {
  const keys = new Set<string>()
  let page: string | undefined
  do {
    const next = page === undefined ? {} : { page }
    const found =
      how === 'delete'
        ? await store.listSessions({ parent: key, limit: 1000, ...next })
        : await store.listChildren({ parent: { session: key }, status: openStatuses, limit: 1000, ...next })
    for (const item of found.items) keys.add('session' in item ? item.session : item.key)
    page = found.next
  } while (page !== undefined)
  return [...keys]
}

function lookAt(context: SessionContext, run: RunRecord, { leaf }: SessionRecord): Promise<LostRun> {
  const end = { status: 'aborted', reason: 'abort' } as const
  return lookAtLostRun(context, run, { leaf, answers: [], end, at: context.clock.now() })
}

/** The one that has begun ends the transcript, and the log. */
function begunLast(a: RunRecord, b: RunRecord): number {
  return Number(a.turn !== undefined) - Number(b.turn !== undefined) || a.place - b.place
}

async function batchOf(context: SessionContext, session: SessionRecord, lost: readonly LostRun[], how: SessionEnd): Promise<Batch> {
  const { store, ids, clock } = context
  const { key, id, version, parent } = session
  const batchId = ids.next('batch')
  const rows = await store.readInbox(key, everyKind)
  const at = clock.now()
  const ends: readonly Write[] = [
    ...lost.flatMap((each, place) => lastWrites(each, lastEvents(each, place === lost.length - 1))),
    ...(rows.length > 0 ? [{ op: 'inbox.take', ids: rows.map((row) => row.id) } as const] : []),
    ...(how === 'expire' ? expiry(key, at) : []),
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

function expiry(sessionKey: string, at: number): readonly Write[] {
  return [
    { op: 'event.append', events: [{ event: { type: 'session-end', at, sessionKey, reason: 'expired' } }] },
    { op: 'session.expire' },
  ]
}
