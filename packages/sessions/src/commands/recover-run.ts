import { SessionError } from '../errors.ts'
import { asLogged } from '../contract/run-status.ts'
import type { SessionContext } from './context.ts'
import { readRun, unknownRun } from './rest-watch.ts'
import { isBelow } from './route.ts'
import { requestStop } from './stop.ts'

/** Continues or stops a run, of the session or below it, that waits because the definition of its agent has changed. */
export async function recoverRun(context: SessionContext, key: string, runId: string, decision: 'continue' | 'stop'): Promise<void> {
  const run = asLogged(await readRun(context.store, runId))
  if (!isBelow(run.session, key)) throw unknownRun(runId)
  if (decision === 'stop') return requestStop(context, run, 'the definition of the agent has changed')
  // Already decided.
  if (run.status !== 'needs-recovery') return
  if (run.reason !== 'definition-changed')
    throw new SessionError('invalid-input', 'The run needs the outcome of a tool call. Use resolveTool.')
  const result = await context.store.commit({
    id: context.ids.next('batch'),
    key: run.session,
    expect: [{ that: 'run', runId, status: ['needs-recovery'] }],
    writes: [{ op: 'run.patch', runId, patch: { status: 'queued', definition: null, error: null } }],
  })
  if (result.ok) context.wake(run.session)
  else if (result.reason !== 'conflict') throw new SessionError('conflict', `The store refused the decision: ${result.reason}.`)
}
