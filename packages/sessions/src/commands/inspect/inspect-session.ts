import { inputChecks, longestMs } from '../../arguments.ts'
import { readAll } from '../../contract/paging.ts'
import { terminalStatuses, waitingKinds, type InboxRecord, type RunRecord, type SessionRecord } from '../../contract/records.ts'
import { asLogged, firstInLine, openStatuses } from '../../contract/run-status.ts'
import type { SessionStore } from '../../contract/session-store.ts'
import { checkAnyKey } from '../../keys.ts'
import { schedulesIn } from '../schedules/schedules.ts'
import { toScheduleInfo } from '../schedules/schedule-record.ts'
import { openRuns, toRunInfo, toSessionInfo } from '../views.ts'
import { inspectCall } from './call-resume.ts'
import { nextOfRun } from './next-of-run.ts'
import type { Committed, InspectedInput, InspectedRun, Inspection, OpenWork, RunHolder } from './types.ts'

const mostEnded = 10

const checkStore = inputChecks.methods('readSession', 'listRuns', 'readCalls', 'readInbox', 'listTimers')
const checkTime = inputChecks.whole(0, longestMs)

/**
 * Returns the stored facts of a session from an open store, or null if there is none. Only reads, and needs no runtime. If the
 * session changes meanwhile, parts may be from different moments. `now` is in epoch milliseconds (default: the system clock).
 * Throws `invalid-input` and `invalid-key`.
 */
export async function inspectSession(store: SessionStore, key: string, now: number = Date.now()): Promise<Inspection | null> {
  inputChecks.checkRequired('store', store, 'a session store', (value) => value !== undefined)
  checkStore('store', store)
  checkAnyKey(key)
  checkTime('now', now)
  const read = await store.readSession(key)
  if (!('value' in read)) return null
  const [session, committed, open] = await Promise.all([
    toSessionInfo(store, read.value),
    committedOf(store, read.value),
    openWork(store, key, now),
  ])
  return { at: now, session, committed, open }
}

async function committedOf(store: SessionStore, { key, version, turns, firstSeq, nextSeq, nextRun }: SessionRecord): Promise<Committed> {
  const [branches, ended] = await Promise.all([
    store.listBranches(key),
    store.listRuns(key, { status: terminalStatuses, newestFirst: true, limit: mostEnded }),
  ])
  return {
    version,
    turns,
    events: { first: firstSeq, last: nextSeq - 1 },
    branches: branches.items,
    runs: { accepted: nextRun - 1, ended: await Promise.all(ended.items.map((run) => toRunInfo(store, run))) },
  }
}

async function openWork(store: SessionStore, key: string, now: number): Promise<OpenWork> {
  const [runs, inbox, deadlines, schedules] = await Promise.all([
    openRuns(store, key),
    store.readInbox(key, waitingKinds),
    readAll((page) => store.listTimers({ kind: 'deadline', key, ...page })),
    schedulesIn(store, key),
  ])
  const first = firstInLine(runs)
  const line = [...(first ? [first] : []), ...runs.filter((run) => run !== first).toSorted((a, b) => a.place - b.place)]
  return {
    runs: await Promise.all(line.map((run, place) => inspectRun(store, run, { inbox, now, before: place > 0 ? first : undefined }))),
    inbox: inbox.map(inspectInput),
    deadlines: deadlines.flatMap(({ dueAt, body: { runId } }) => (dueAt === null || typeof runId !== 'string' ? [] : { runId, dueAt })),
    schedules: schedules.map(toScheduleInfo),
  }
}

interface RunSituation {
  readonly inbox: readonly InboxRecord[]
  readonly now: number
  /** Run that it waits for. */
  readonly before: RunRecord | undefined
}

async function inspectRun(store: SessionStore, run: RunRecord, { inbox, now, before }: RunSituation): Promise<InspectedRun> {
  const { id, epoch, turn, step } = run
  const [info, ledger, below] = await Promise.all([
    toRunInfo(store, run),
    store.readCalls(id),
    readAll((page) => store.listChildren({ parent: { runId: id }, status: openStatuses, ...page })),
  ])
  const shown = ledger.filter((call) => call.state !== 'settled' || call.step === step)
  const holder = holderOf(run, now)
  const notBefore = run.notBefore ?? run.turnState?.notBefore
  return {
    ...info,
    epoch,
    ...(turn !== undefined && { turn }),
    step,
    ...(holder && { holder }),
    ...(notBefore !== undefined && notBefore > now && { notBefore }),
    calls: shown.map((call) => inspectCall(call, { run: asLogged(run), inbox, children: below, now })),
    settledBefore: ledger.length - shown.length,
    children: await Promise.all(
      below.map(async (child) =>
        inspectRun(store, child, { inbox: await store.readInbox(child.session, waitingKinds), now, before: undefined }),
      ),
    ),
    next: nextOfRun(run, info, { holder, notBefore, before, isShared: store.capabilities.processes === 'many', now }),
  }
}

function holderOf({ status, owner, leaseUntil }: RunRecord, now: number): RunHolder | undefined {
  if (status !== 'running' || owner === undefined || leaseUntil === undefined) return undefined
  return { owner, leaseUntil, isOver: leaseUntil <= now }
}

function inspectInput(row: InboxRecord): InspectedInput {
  const { id, kind, at } = row
  const runId = row.kind === 'steer' ? row.body.runId : /^(?:answer|decision|child):([^:]+):/.exec(id)?.[1]
  return { id, kind, at, ...(runId !== undefined && { runId }) }
}
