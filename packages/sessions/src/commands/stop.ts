import type { EndReason } from '@bowline/agent-loop'
import { newsOfChild } from '../writer/child-deliveries.ts'
import { untoldBy, untoldEvents, type SettledRow } from '../writer/reminders.ts'
import { newEvent } from '../writer/new-event.ts'
import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import type { CommitResult, Expect, RunPatch, Write } from '../contract/batch.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord, SessionRecord, StoredEvent, StopRequest } from '../contract/records.ts'
import { publishOwn } from './queued-run.ts'
import type { SessionContext } from './context.ts'
import { withdrawSteering } from './orphaned-inputs.ts'
import { readRun, unknownRun } from './rest-watch.ts'
import { restWithin } from './wait-for-rest.ts'
import type { StopOptions, StopReceipt } from './types.ts'
import { openRuns } from './views.ts'
import { asLogged, firstInLine, isTerminal, isWaiting, statusOfRun } from '../contract/run-status.ts'

const defaultWaitMs = 10_000
export const nothingToStop: StopReceipt = { runId: null, state: 'nothing-to-stop', calls: [], children: [] }

/**
 * Stops the named run, or the run whose turn is open or next, else what follows the last turn. With scope `all`, stops the queued
 * runs too.
 */
export async function stopSession(context: SessionContext, session: SessionRecord, options: StopOptions): Promise<StopReceipt> {
  const open = await openRuns(context.store, session.key)
  const target =
    options.runId === undefined
      ? (firstInLine(open.filter((run) => !hasEndedByItself(run))) ?? firstInLine(open))
      : await ownRun(context, session, options.runId)
  if (options.scope === 'all') {
    for (const run of open) if (run.id !== target?.id) await requestStop(context, run, options.reason)
    await withdrawSteering(context, session.key)
  }
  if (!target) return nothingToStop
  const { waitMs = defaultWaitMs } = options
  if (!hasEndedByItself(target)) {
    await requestStop(context, target, options.reason)
    await treeAtRest(context, target, context.clock.now() + waitMs)
    return receiptOf(context, target.id)
  }
  if (!isTerminal(target.status)) await requestStop(context, target, options.reason)
  const { status } = await restWithin(context, target, waitMs)
  return { ...(await receiptOf(context, target.id)), state: isTerminal(status) ? 'settled' : 'pending' }
}

/** Returns true if the turn has ended without a stop. Its background work goes on, and only what follows the turn can be stopped. */
function hasEndedByItself(run: RunRecord): boolean {
  const { status } = asLogged(run)
  return isTerminal(status) && status !== 'aborted'
}

/** Resolves when the run and all runs below it have ended, or at `untilMs`. */
async function treeAtRest(context: SessionContext, run: RunRecord, untilMs: number): Promise<void> {
  const { store, clock } = context
  if (clock.now() >= untilMs) return
  if (!isTerminal(run.status)) await restWithin(context, run, untilMs - clock.now())
  for (const below of await runsBelow(store, run.id)) await treeAtRest(context, below, untilMs)
}

/** Returns a run of the session or of a subagent below it. Throws for any other run. */
async function ownRun({ store }: SessionContext, session: SessionRecord, runId: string): Promise<RunRecord> {
  const run = await readRun(store, runId)
  for (let above = run; above.session !== session.key; above = await readRun(store, above.parent.runId))
    if (!above.parent) throw unknownRun(runId)
  return run
}

/** Stores the stop of the run and of all runs below it, then aborts runs of this process. A run that never started ends at once. */
export async function requestStop(context: SessionContext, target: RunRecord, reason: string | undefined): Promise<void> {
  const request: StopRequest = { at: context.clock.now(), ...(reason === undefined ? {} : { reason }) }
  return retryOnConflict(
    async (tried) => {
      const run = tried === 0 ? target : await readRun(context.store, target.id)
      if (isTerminal(run.status)) return run.status === 'aborted' ? stopBelow(context, run.id, reason) : undefined
      // A stopped run that now waits must still be executed once more.
      if ((!run.stop || isWaiting(run.status)) && !(await storeStop(context, run, run.stop ?? request))) return tryAgain
      // The stop of a child is stored before its parent is aborted.
      if (!hasEndedByItself(run)) await stopBelow(context, run.id, reason)
      if (run.status === 'running') context.abort(run.id, run.stop ?? request)
      context.wake(run.session)
      return undefined
    },
    (tries) => `The run ${target.id} changed ${tries} times while it was stopped.`,
  )
}

/** Stops the runs below. An ended run may have left some running. */
export async function stopBelow(context: SessionContext, runId: string, reason: string | undefined): Promise<void> {
  for (const run of await runsBelow(context.store, runId)) {
    if (isTerminal(run.status)) await stopBelow(context, run.id, reason)
    else await requestStop(context, run, reason)
  }
}

/** Stops the subagents that the run waits for: without the run, no client would see their questions. */
export async function stopAwaited(context: SessionContext, runId: string): Promise<void> {
  for (const child of await childrenOf(context.store, runId)) {
    if (!isTerminal(child.status) && child.parent?.taskId === undefined)
      await requestStop(context, child, 'the run that waits for it has ended')
  }
}

/** Writes of a commit that stops a run in its present state. */
export interface Stopping {
  readonly expect: readonly Expect[]
  readonly writes: readonly Write[]
  /** Events that end a run which never started. */
  readonly events: readonly Omit<StoredEvent, 'seq'>[]
}

/** `untold`: notifications of background tasks that are removed with a notification run which never started. */
export function stoppingOf(run: RunRecord, stop: StopRequest, untold: readonly SettledRow[] = []): Stopping {
  // A compaction has no turn to end: the process that claims it ends it.
  const neverBegan = run.status === 'queued' && run.turn === undefined && run.kind !== 'compaction'
  const base = { at: stop.at, runId: run.id, turn: 0 } as const
  const end = { ...base, type: 'turn-end', status: 'aborted', reason: 'abort', usage: {}, steps: 0, overlaysExpired: 0 } as const
  const patch: RunPatch = neverBegan
    ? { status: 'aborted', reason: 'abort' satisfies EndReason, stop }
    : // A waiting run is executed once more, to settle its calls and end its turn.
      { stop, ...(isWaiting(run.status) ? { status: 'queued' } : {}) }
  const expect: readonly Expect[] = [{ that: 'run', runId: run.id, status: [run.status] }]
  const written: Write = { op: 'run.patch', runId: run.id, patch }
  if (!neverBegan) return { expect, writes: [written], events: [] }
  const events = [...untoldEvents(untold, base), end]
  const taken: readonly Write[] = untold.length > 0 ? [{ op: 'inbox.take', ids: untold.map(({ id }) => id) }] : []
  return { expect, writes: [written, ...taken, { op: 'event.append', events: events.map(newEvent) }], events }
}

/** Returns false if the run, or another run that keeps the session open, changed in between. */
async function storeStop(context: SessionContext, run: RunRecord, stop: StopRequest): Promise<boolean> {
  const stopping = stoppingOf(run, stop, await untoldBy(context.store, run))
  if (stopping.events.length === 0) return (await commitStop(context, run, stop.at, stopping)).ok
  const settled = { type: 'settled', at: stop.at, runId: run.id, turn: 0 } as const
  const alone = await commitStop(context, run, stop.at, {
    expect: [...stopping.expect, { that: 'none-queued', except: run.id }],
    writes: [...stopping.writes, { op: 'event.append', events: [newEvent(settled)] }],
    events: [...stopping.events, settled],
  })
  if (alone.ok || alone.reason !== 'runs-queued') return alone.ok
  // The end of another run will report that the session has settled.
  return (await commitStop(context, run, stop.at, { ...stopping, expect: [...stopping.expect, { that: 'some-queued', except: run.id }] }))
    .ok
}

async function commitStop(
  context: SessionContext,
  run: RunRecord,
  at: number,
  { expect, writes, events }: Stopping,
): Promise<CommitResult> {
  const id = context.ids.next('batch')
  const deliver = events.length > 0 ? newsOfChild(run, { status: 'aborted', at, batchId: id }) : []
  const result = await context.store.commit({ id, key: run.session, expect, writes, deliver })
  if (result.ok) publishOwn(context, run.session, result, events)
  return result
}

/** Returns the receipt from the stored state of the run and of all runs below it. */
export async function receiptOf(context: Pick<SessionContext, 'store'>, runId: string): Promise<StopReceipt> {
  const { store } = context
  const [run, calls, below] = await Promise.all([readRun(store, runId), store.readCalls(runId), runsBelow(store, runId)])
  const children = await Promise.all(below.map(({ id }) => receiptOf(context, id)))
  const hasEnded = isTerminal(run.status) && children.every(({ state }) => state === 'settled')
  return {
    runId,
    state: hasEnded ? 'settled' : 'pending',
    status: statusOfRun(asLogged(run)),
    calls: calls
      .filter(({ about }) => about === undefined)
      .map(({ toolCallId, name, status: outcome }) => ({ toolCallId, toolName: name, status: outcome ?? 'running' })),
    children,
  }
}

/** Returns the children of the run and further runs of their sessions, such as notification runs. */
async function runsBelow(store: SessionStore, runId: string): Promise<readonly RunRecord[]> {
  const children = await childrenOf(store, runId)
  const keys = [...new Set(children.map(({ session }) => session))]
  const further = await Promise.all(keys.map(async (key) => (await store.listRuns(key, { limit: 1000 })).items))
  return [...children, ...further.flat().filter(({ origin }) => origin?.runId === runId)]
}

async function childrenOf(store: SessionStore, runId: string): Promise<readonly RunRecord[]> {
  return (await store.listChildren({ parent: { runId }, limit: 1000 })).items
}
