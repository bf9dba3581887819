import { isEnded } from '@bowline/agent-loop/events'
import { SessionError } from '../../errors.ts'
import { retryOnConflict, tryAgain } from '../../contract/retry-on-conflict.ts'
import { commitOnce } from '../../contract/commit-once.ts'
import type { NewEvent, Write } from '../../contract/batch.ts'
import { statusOfRun } from '../../contract/records.ts'
import type { SessionRecord, StoredEvent } from '../../contract/records.ts'
import { publishOwn } from '../queued-run.ts'
import type { SessionAccess } from '../access.ts'
import type { SessionContext } from '../context.ts'
import { openStatuses } from '../../contract/run-status.ts'

/** A change of a session without open runs. */
export interface IdleChange {
  readonly writes: readonly Write[]
  /** These events need no reference to be complete. */
  readonly events?: readonly (NewEvent['event'] & Omit<StoredEvent, 'seq'>)[]
}

/**
 * Changes a session in one commit, which tests that no run is open and that the active path has not moved. If the session has moved
 * on meanwhile, computes the change again, at most `tries` times.
 */
export async function changeIdle(
  context: SessionContext,
  access: SessionAccess,
  change: (session: SessionRecord) => Promise<IdleChange>,
  tries?: number,
): Promise<void> {
  return retryOnConflict(async () => {
    const session = await access.writable()
    await checkIdle(context, session)
    const { writes, events = [] } = await change(session)
    const logged: readonly Write[] = events.length > 0 ? [{ op: 'event.append', events: events.map((event) => ({ event })) }] : []
    const result = await commitOnce(context.store, {
      id: context.ids.next('batch'),
      key: session.key,
      expect: [{ that: 'session', id: session.id, alive: true }, { that: 'idle' }, { that: 'leaf', entryId: session.leaf }],
      writes: [...writes, ...logged],
    })
    if (result.ok) return publishOwn(context, session.key, result, events)
    if (result.reason === 'busy') throw await busyError(context, session.key)
    if (result.reason === 'expired') access.checkAlive({ ...session, expiredAt: context.clock.now() })
    return tryAgain
  }, () => `The session ${access.key} changed in the meantime. Read it again.`, tries)
}

/** Throws `busy` before any expensive work. The commit tests it again. */
async function checkIdle(context: SessionContext, { key, status }: SessionRecord): Promise<void> {
  if (status && !isEnded(status)) throw await busyError(context, key)
}

export async function busyError({ store }: Pick<SessionContext, 'store'>, key: string): Promise<SessionError> {
  const [open] = (await store.listRuns(key, { status: openStatuses, limit: 1 })).items
  const status = open ? statusOfRun(open) : 'running'
  const advice = status === 'waiting-for-user' ? 'answer it' : status === 'needs-recovery' ? 'decide with recover or resolveTool' : 'wait until it has ended'
  return new SessionError('busy', `A run of the session ${key} is ${status}: ${advice}, or stop it.`, open ? { runId: open.id } : {})
}
