import type { EndReason } from '@bowline/agent-loop'
import { newsOfChild } from '../children/deliveries.ts'
import { SessionError } from '../errors.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { Expect, RunPatch, SessionStore, Write } from '../store/contract.ts'
import type { RunRecord, RunStatus, SessionRecord, StoredEvent, StopRequest } from '../store/records.ts'
import { publishOwn } from './accept.ts'
import type { SessionContext } from './context.ts'
import { readRun, restWithin, unknownRun } from './rest.ts'
import type { StopOptions, StopReceipt } from './types.ts'
import { firstInLine, isTerminal, isWaiting, openStatuses } from './views.ts'

const defaultWaitMs = 10_000
const maxTries = 20

export const nothingToStop: StopReceipt = { runId: null, state: 'nothing-to-stop', calls: [], children: [] }

/** Stops the named run, or the one that holds the session or comes next; with `all` the queued ones behind it too. */
export async function stopSession(
  context: SessionContext,
  session: SessionRecord,
  options: StopOptions,
): Promise<StopReceipt> {
  const open = (await context.store.listRuns(session.key, { status: openStatuses, limit: 1000 })).items
  const target = options.runId === undefined ? firstInLine(open) : await ownRun(context, session, options.runId)
  if (options.scope === 'all') {
    for (const run of open) if (run.id !== target?.id) await requestStop(context, run, options.reason)
  }
  if (!target || isTerminal(target.status)) return target ? receiptOf(context, target.id) : nothingToStop
  await requestStop(context, target, options.reason)
  await restWithin(context, target, options.waitMs ?? defaultWaitMs)
  return receiptOf(context, target.id)
}

async function ownRun(context: SessionContext, session: SessionRecord, runId: string): Promise<RunRecord> {
  const run = await readRun(context.store, runId)
  if (run.session !== session.key) throw unknownRun(runId)
  return run
}

/** Stores the request, for all runs below too, then aborts what runs here. A run that never began is ended at once. */
export async function requestStop(context: SessionContext, target: RunRecord, reason: string | undefined): Promise<void> {
  const request: StopRequest = { at: context.clock.now(), ...(reason === undefined ? {} : { reason }) }
  for (let tries = 0; tries < maxTries; tries++) {
    const run = tries === 0 ? target : await readRun(context.store, target.id)
    if (isTerminal(run.status)) return
    // A run that came to wait although it is stopped is still to be executed once more.
    if ((!run.stop || isWaiting(run.status)) && !(await storeStop(context, run, run.stop ?? request))) continue
    // The stop of a child is stored before anything of its parent is aborted.
    await stopChildren(context, run, reason)
    if (run.status === 'running') context.abort(run.id, run.stop ?? request)
    context.wake()
    return
  }
  throw new SessionError('conflict', `The run ${target.id} changed ${maxTries} times while it was stopped.`)
}

export async function stopChildren(context: SessionContext, run: RunRecord, reason: string | undefined): Promise<void> {
  for (const child of await childrenOf(context.store, run.id, openStatuses)) await requestStop(context, child, reason)
}

/** What a commit writes to stop a run as it stands. */
export interface Stopping {
  readonly expect: Expect
  readonly writes: readonly Write[]
  /** Of a run that never began: it has ended with that. */
  readonly events: readonly Omit<StoredEvent, 'seq'>[]
}

export function stoppingOf(run: RunRecord, stop: StopRequest): Stopping {
  const neverBegan = run.status === 'queued' && run.turn === undefined
  const end = { type: 'turn-end', at: stop.at, runId: run.id, turn: 0, status: 'aborted', reason: 'abort', usage: {}, steps: 0, overlaysExpired: 0 } as const
  const patch: RunPatch = neverBegan
    ? { status: 'aborted', reason: 'abort' satisfies EndReason, stop }
    : // A waiting run is executed once more, to settle its calls and end its turn.
      { stop, ...(isWaiting(run.status) ? { status: 'queued' } : {}) }
  const expect: Expect = { that: 'run', runId: run.id, status: [run.status] }
  const written: Write = { op: 'run.patch', runId: run.id, patch }
  if (!neverBegan) return { expect, writes: [written], events: [] }
  return { expect, writes: [written, { op: 'event.append', events: [{ event: end }] }], events: [end] }
}

/** False: the run changed in between. */
async function storeStop(context: SessionContext, run: RunRecord, stop: StopRequest): Promise<boolean> {
  const { expect, writes, events } = stoppingOf(run, stop)
  const id = context.ids.next('batch')
  const deliver = events.length > 0 ? newsOfChild(run, { status: 'aborted', at: stop.at, batchId: id }) : []
  const result = await commitOnce(context.store, { id, key: run.session, expect: [expect], writes, deliver })
  if (result.ok) publishOwn(context, run.session, result, events)
  return result.ok
}

/** What the ledger says now, of the run and of all below it. */
export async function receiptOf(context: Pick<SessionContext, 'store'>, runId: string): Promise<StopReceipt> {
  const { store } = context
  const [{ status }, calls, children] = await Promise.all([readRun(store, runId), store.readCalls(runId), childrenOf(store, runId)])
  return {
    runId,
    state: isTerminal(status) ? 'settled' : 'pending',
    status,
    calls: calls.map(({ toolCallId, name, status: outcome }) => ({ toolCallId, toolName: name, status: outcome ?? 'running' })),
    children: await Promise.all(children.map((child) => receiptOf(context, child.id))),
  }
}

async function childrenOf(store: SessionStore, runId: string, status?: readonly RunStatus[]): Promise<readonly RunRecord[]> {
  return (await store.listChildren({ parent: { runId }, limit: 1000, ...(status && { status }) })).items
}
