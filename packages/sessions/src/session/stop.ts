import type { EndReason } from '@bowline/agent-loop'
import { SessionError } from '../errors.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { Expect, RunPatch, Write } from '../store/contract.ts'
import type { RunRecord, SessionRecord, StopRequest } from '../store/records.ts'
import { publishOwn } from './accept.ts'
import type { SessionContext } from './context.ts'
import { readRun, unknownRun, waitForRest } from './rest.ts'
import type { StopOptions, StopReceipt } from './types.ts'
import { isTerminal, isWaiting, openStatuses } from './views.ts'

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
  const target = options.runId === undefined ? firstOpen(open) : await ownRun(context, session, options.runId)
  if (options.scope === 'all') {
    for (const run of open) if (run.id !== target?.id) await requestStop(context, run, options.reason)
  }
  if (!target || isTerminal(target.status)) return target ? receiptOf(context, target) : nothingToStop
  await requestStop(context, target, options.reason)
  return receiptOf(context, await settledWithin(context, target, options.waitMs ?? defaultWaitMs))
}

/** The run that holds the session was accepted before every queued one. */
function firstOpen(open: readonly RunRecord[]): RunRecord | undefined {
  return open[0]
}

async function ownRun(context: SessionContext, session: SessionRecord, runId: string): Promise<RunRecord> {
  const run = await readRun(context.store, runId)
  if (run.session !== session.key) throw unknownRun(runId)
  return run
}

/** Stores the request, then aborts what runs here. A run that never began is ended at once. */
async function requestStop(context: SessionContext, target: RunRecord, reason: string | undefined): Promise<void> {
  const request: StopRequest = { at: context.clock.now(), ...(reason === undefined ? {} : { reason }) }
  for (let tries = 0; tries < maxTries; tries++) {
    const run = tries === 0 ? target : await readRun(context.store, target.id)
    if (isTerminal(run.status)) return
    // A run that came to wait although it is stopped is still to be executed once more.
    if ((!run.stop || isWaiting(run.status)) && !(await storeStop(context, run, run.stop ?? request))) continue
    if (run.status === 'running') context.abort(run.id, run.stop ?? request)
    context.wake()
    return
  }
  throw new SessionError('conflict', `The run ${target.id} changed ${maxTries} times while it was stopped.`)
}

/** False: the run changed in between. */
async function storeStop(context: SessionContext, run: RunRecord, stop: StopRequest): Promise<boolean> {
  const neverBegan = run.status === 'queued' && run.turn === undefined
  const end = { type: 'turn-end', at: stop.at, runId: run.id, turn: 0, status: 'aborted', reason: 'abort', usage: {}, steps: 0, overlaysExpired: 0 } as const
  const patch: RunPatch = neverBegan
    ? { status: 'aborted', reason: 'abort' satisfies EndReason, stop }
    : // A waiting run is executed once more, to settle its calls and end its turn.
      { stop, ...(isWaiting(run.status) ? { status: 'queued' } : {}) }
  const expect: Expect[] = [{ that: 'run', runId: run.id, status: [run.status] }]
  const writes: Write[] = [{ op: 'run.patch', runId: run.id, patch }]
  if (neverBegan) writes.push({ op: 'event.append', events: [{ event: end }] })
  const result = await commitOnce(context.store, { id: context.ids.next('batch'), key: run.session, expect, writes })
  if (!result.ok) return false
  if (neverBegan) publishOwn(context, run.session, result, [end])
  return true
}

async function settledWithin(context: SessionContext, run: RunRecord, waitMs: number): Promise<RunRecord> {
  if (waitMs <= 0) return readRun(context.store, run.id)
  const waiting = new AbortController()
  const cancelTimer = context.clock.setTimer(context.clock.now() + waitMs, () => waiting.abort())
  try {
    return await waitForRest(context, run.session, run.id, waiting.signal)
  } finally {
    cancelTimer()
  }
}

/** What the ledger says now. */
async function receiptOf(context: SessionContext, run: RunRecord): Promise<StopReceipt> {
  const calls = await context.store.readCalls(run.id)
  return {
    runId: run.id,
    state: isTerminal(run.status) ? 'settled' : 'pending',
    status: run.status,
    calls: calls.map(({ toolCallId, name, status }) => ({ toolCallId, toolName: name, status: status ?? 'running' })),
    children: [],
  }
}
