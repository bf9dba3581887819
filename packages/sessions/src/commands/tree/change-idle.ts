import { isEnded } from '@bowline/agent-loop/events'
import { SessionError } from '../../errors.ts'
import { retryOnConflict, tryAgain } from '../../contract/retry-on-conflict.ts'
import type { NewEvent, Write } from '../../contract/batch.ts'
import type { SessionRecord, StoredEvent } from '../../contract/records.ts'
import { publishOwn } from '../queued-run.ts'
import type { SessionAccess } from '../access.ts'
import type { SessionContext } from '../context.ts'
import { asLogged, isTerminal, openStatuses, statusOfRun } from '../../contract/run-status.ts'
import { isFreeBy, longestRecordsMs } from '../wait-for-rest.ts'

/** A change of a session without open runs. */
export interface IdleChange {
  readonly writes: readonly Write[]
  /** These events need no reference to be complete. */
  readonly events?: readonly (NewEvent['event'] & Omit<StoredEvent, 'seq'>)[]
}

/**
 * Changes a session in one commit, which tests that no run is open and that the active path has not moved. Waits for a run that only
 * stores records after the end of its turn. If the session has moved on meanwhile, computes the change again, at most `tries` times.
 */
export async function changeIdle(
  context: SessionContext,
  access: SessionAccess,
  change: (session: SessionRecord) => Promise<IdleChange>,
  tries?: number,
): Promise<void> {
  const untilMs = context.clock.now() + longestRecordsMs(context.leaseMs)
  return retryOnConflict(
    async () => {
      const session = await idleSession(context, access, untilMs)
      const { writes, events = [] } = await change(session)
      const logged: readonly Write[] = events.length > 0 ? [{ op: 'event.append', events: events.map((event) => ({ event })) }] : []
      const result = await context.store.commit({
        id: context.ids.next('batch'),
        key: session.key,
        expect: [{ that: 'session', id: session.id, alive: true }, { that: 'idle' }, { that: 'leaf', entryId: session.leaf }],
        writes: [...writes, ...logged],
      })
      if (result.ok) return publishOwn(context, session.key, result, events)
      if (result.reason === 'busy') await waitUntilIdle(context, session.key, untilMs)
      if (result.reason === 'expired') access.checkAlive({ ...session, expiredAt: context.clock.now() })
      return tryAgain
    },
    () => `The session ${access.key} changed in the meantime. Read it again.`,
    tries,
  )
}

/** Waits before any expensive work. The commit tests it again. */
async function idleSession(context: SessionContext, access: SessionAccess, untilMs: number): Promise<SessionRecord> {
  const session = await access.writable()
  if (!session.status || isEnded(session.status)) return session
  await waitUntilIdle(context, session.key, untilMs)
  return access.writable()
}

/** Throws `busy` if a run is open. Waits for one that only stores records after the end of its turn. */
async function waitUntilIdle(context: SessionContext, key: string, untilMs: number): Promise<void> {
  if (!(await isFreeBy(context, key, untilMs))) throw await busyError(context, key)
}

export async function busyError({ store }: Pick<SessionContext, 'store'>, key: string): Promise<SessionError> {
  const open = (await store.listRuns(key, { status: openStatuses, limit: 2 })).items.map(asLogged)
  const run = open.find(({ status }) => !isTerminal(status)) ?? open[0]
  const status = run ? statusOfRun(run) : 'running'
  const found = run ? { runId: run.id } : {}
  if (isEnded(status))
    return new SessionError(
      'busy',
      `The hooks after the last turn of the session ${key} still run: wait until they are over, or stop them.`,
      found,
    )
  const advice =
    status === 'waiting-for-user'
      ? 'answer it'
      : status === 'needs-recovery'
        ? 'decide with recover or resolveTool'
        : 'wait until it has ended'
  return new SessionError('busy', `A run of the session ${key} is ${status}: ${advice}, or stop it.`, found)
}
