import { hashJson } from '@bowline/agent-loop'
import { originIn } from '../contract/origin.ts'
import { announceable } from '../writer/reminders.ts'
import { inputKinds, consumedInput } from '../writer/journal-inbox.ts'
import { attemptUpTo, tryAgain } from '../contract/retry-on-conflict.ts'
import type { CommitResult, Expect, NewRun, Write } from '../contract/batch.ts'
import type { Claim, SessionStore } from '../contract/session-store.ts'
import type { InboxRecord, RunRecord } from '../contract/records.ts'
import { claimableAt } from '../core/rules.ts'
import { insertion, publishRunQueued } from './queued-run.ts'
import type { SessionContext } from './context.ts'
import { openRuns } from './views.ts'
import { firstInLine, isTerminal } from '../contract/run-status.ts'

type OrphanContext = Pick<SessionContext, 'store' | 'live' | 'clock' | 'ids'>
type Steering = Extract<InboxRecord, { readonly kind: 'steer' }>

/** A run for inputs in the inbox, with the writes that move them. */
interface OrphanRun {
  readonly run: NewRun
  readonly writes: readonly Write[]
}

/**
 * Turns rows in the inbox of an idle session into a run: input that came too late for its run, or notifications of ended children.
 * Does nothing if a run is about to be claimed: that run handles them.
 */
export async function startOrphanedInputs(context: OrphanContext & Pick<SessionContext, 'wake'>, key: string): Promise<void> {
  // If the session keeps changing, the end of a run or the sweep tries again.
  await attemptUpTo(async () => {
    const session = await context.store.readSession(key)
    const rows = session.status === 'found' ? await context.store.readInbox(key, inputKinds) : []
    if (session.status !== 'found' || !rows.some((row) => row.kind !== 'overlay')) return undefined
    const open = await openRuns(context.store, key)
    if (!canBegin(firstInLine(open), context.clock.now())) return undefined
    const next = (await orphanedSteering(context, key, rows)) ?? (open.length === 0 ? await notification(context, key) : undefined)
    if (!next) return undefined
    const { id, version } = session.value
    const result = await storeOrphanRun(context, key, next, [{ that: 'session', id, version, alive: true }])
    if (result.ok) return context.wake(key)
    return result.reason === 'conflict' ? tryAgain : undefined
  })
}

/** True if no run is being executed or can be claimed now. */
function canBegin(first: RunRecord | undefined, now: number): boolean {
  return first === undefined || (first.status === 'queued' && claimableAt(first, now) > now)
}

/**
 * Turns input that came too late for an earlier run into a run before the claimed one. Returns true if it did: the claimed run is
 * then back in the queue.
 */
export async function letOrphanedInputsPass(context: OrphanContext, { run, session: { key }, inbox }: Claim): Promise<boolean> {
  const next = await orphanedSteering(context, key, inbox)
  if (!next) return false
  const back: Write = { op: 'run.patch', runId: run.id, patch: { status: 'queued' } }
  const result = await storeOrphanRun(context, key, { ...next, writes: [...next.writes, back] }, [
    { that: 'fence', runId: run.id, epoch: run.epoch },
  ])
  return result.ok
}

async function storeOrphanRun(
  context: OrphanContext,
  key: string,
  { run, writes }: OrphanRun,
  expect: readonly Expect[],
): Promise<CommitResult> {
  const result = await context.store.commit({ id: context.ids.next('batch'), key, expect, writes: [...writes, ...insertion(run)] })
  if (result.ok) publishRunQueued(context, key, result, run)
  return result
}

/** Returns a run for the first input. The run takes the others too. */
async function orphanedSteering(
  { store, ids, clock }: OrphanContext,
  key: string,
  rows: readonly InboxRecord[],
): Promise<OrphanRun | undefined> {
  const steering = rows.filter((row) => row.kind === 'steer')
  const [first, ...others] = await orphansAmong(store, steering)
  if (!first) return undefined
  const { input, inputId, runId } = first.body
  const id = ids.next('run')
  const moved = others.map((row): Steering => ({ ...row, body: { ...row.body, runId: id } }))
  return {
    run: {
      id,
      kind: 'user',
      lane: 'follow-up',
      inputId,
      inputHash: hashJson(input),
      input,
      at: clock.now(),
      ...(await originIn(store, key, runId)),
    },
    writes: [{ op: 'inbox.take', ids: [first.id] }, ...(moved.length > 0 ? [{ op: 'inbox.patch', rows: moved } as const] : [])],
  }
}

/** Returns the rows whose run has ended. */
async function orphansAmong(store: SessionStore, rows: readonly Steering[]): Promise<readonly Steering[]> {
  const ended = new Set<string>()
  for (const runId of new Set(rows.map((row) => row.body.runId))) {
    const read = await store.readRun(runId)
    if (read.status === 'missing' || isTerminal(read.value.status)) ended.add(runId)
  }
  return rows.filter((row) => ended.has(row.body.runId))
}

async function notification({ store, ids, clock }: OrphanContext, key: string): Promise<OrphanRun | undefined> {
  const [first] = await announceable(store, key)
  if (!first) return undefined
  const origin = await originIn(store, key, first.body.group)
  return {
    run: { id: ids.next('run'), kind: 'notification', inputHash: hashJson(null), input: null, at: clock.now(), ...origin },
    writes: [],
  }
}

/** Removes steered input whose run is stopped together with everything that waits, so that it does not become a run. */
export async function withdrawSteering({ store, ids }: OrphanContext, key: string): Promise<void> {
  const taken = (await store.readInbox(key, ['steer'])).flatMap((row) => (row.kind === 'steer' ? consumedInput(row, row.body.runId) : []))
  if (taken.length === 0) return
  await store.commit({
    id: ids.next('batch'),
    key,
    expect: [],
    writes: [
      { op: 'inbox.take', ids: taken.flatMap(({ take }) => take) },
      { op: 'inbox.patch', rows: taken.flatMap(({ patch }) => patch) },
    ],
  })
}
