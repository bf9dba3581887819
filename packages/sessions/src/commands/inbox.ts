import { SessionError } from '../errors.ts'
import type { Delivery, Write } from '../contract/batch.ts'
import type { InboxRecord, RunRecord, SessionRecord } from '../contract/records.ts'
import type { SessionContext } from './context.ts'
import { waitForRest } from './wait-for-rest.ts'
import { waitingStatuses } from '../contract/records.ts'
import { isWaiting } from '../contract/run-status.ts'

/**
 * Stores answers in the inbox of the run; the last one queues it, if it waits. A run that goes on takes them before it would wait.
 * Returns false if something changed in between.
 */
export async function storeAnswers(
  context: SessionContext,
  session: SessionRecord,
  run: RunRecord,
  rows: readonly InboxRecord[],
  last: boolean,
  deliver: readonly Delivery[] = [],
): Promise<boolean> {
  const waits = isWaiting(run.status)
  const writes: Write[] = [{ op: 'inbox.put', rows }]
  if (waits && last) writes.push({ op: 'run.patch', runId: run.id, patch: { status: 'queued' } })
  const { id, version } = session
  const result = await context.store.commit({
    id: context.ids.next('batch'),
    key: session.key,
    expect: waits
      ? [
          { that: 'session', id, version, alive: true },
          { that: 'run', runId: run.id, status: waitingStatuses },
        ]
      : [
          { that: 'session', id, alive: true },
          { that: 'run', runId: run.id, status: [run.status], notStopping: true },
        ],
    writes,
    deliver,
  })
  if (result.ok && waits && last) context.wake(session.key)
  if (result.ok) for (const { to } of deliver) context.live.announce(to)
  return result.ok
}

/** Waits until the process that executes the run has released it. Returns false if there was nothing to wait for. */
export async function waitedForRelease(context: SessionContext, run: RunRecord): Promise<boolean> {
  if (run.status !== 'running' && !run.rest) return false
  await waitForRest(context, run.session, run.id)
  return true
}

export async function readSession(context: SessionContext, key: string): Promise<SessionRecord> {
  const read = await context.store.readSession(key)
  if (!('value' in read)) throw new SessionError('session-missing', `There is no session ${key}.`)
  return read.value
}
