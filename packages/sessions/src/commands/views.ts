import { isEnded, statusOf, type Status } from '@bowline/agent-loop/events'
import { addCost, addUsage, type Cost, type Usage } from '@bowline/llm'
import { openQuestions, readAnswers } from '../contract/answers.ts'
import { printCursor } from '../contract/cursor.ts'
import { readAll } from '../contract/paging.ts'
import { waitingStatuses, type RunRecord, type SessionRecord, type TerminalStatus } from '../contract/records.ts'
import { asLogged, everyStatus, firstInLine, isResting, isTerminal, isWaiting, openStatuses, statusOfRun } from '../contract/run-status.ts'
import type { SessionQuery, SessionStore } from '../contract/session-store.ts'
import { isPartialCopy } from './tree/partial-copy.ts'
import type { HeldRun, Page, RunInfo, RunsQuery, SessionInfo, Spent, UsageReport } from './types.ts'

/** Returns the facts of a run as its log tells them. */
export async function toRunInfo(store: SessionStore, stored: RunRecord): Promise<RunInfo> {
  const run = asLogged(stored)
  const { id, session, kind, status, reason, attempts, stop, error, usage, cost, parent, createdAt, startedAt, endedAt } = run
  return {
    runId: id,
    session,
    kind,
    status: statusOfRun(run),
    ...(status !== 'queued' && status !== 'running' && { outcome: status }),
    ...(reason === undefined ? {} : { reason }),
    attempts,
    cursor: printCursor(run.firstSeq - 1),
    ...(run.inputId === undefined ? {} : { inputId: run.inputId }),
    ...(asks(run) ? openQuestions(run, await readAnswers(store, session)) : { pendingToolCalls: [], pendingApprovals: [] }),
    ...(await heldIn(store, run)),
    stopping: stop !== undefined && !isTerminal(stored.status),
    ...(error === undefined ? {} : { error }),
    ...(parent && { parent: parent.runId }),
    ...(parent?.taskId === undefined ? {} : { taskId: parent.taskId }),
    usage,
    ...(cost && { cost }),
    createdAt,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(stored.rest && { holdsSession: true }),
  }
}

/** Returns whether the run waits, or lists calls that can be answered while it goes on. */
function asks({ status, pendingToolCalls }: RunRecord): boolean {
  return isWaiting(status) || (status === 'running' && pendingToolCalls.length > 0)
}

async function heldIn(store: SessionStore, run: RunRecord): Promise<Pick<RunInfo, 'heldRuns'>> {
  const heldRuns = isWaiting(run.status) ? await heldBelow(store, run.id) : []
  return heldRuns.length > 0 ? { heldRuns } : {}
}

/** Returns true if the run has ended or waits for an answer or for `recover`, its own or that of a run that it waits for. */
export async function isAtRest(store: SessionStore, run: RunRecord): Promise<boolean> {
  return isResting(run) || (run.status === 'awaiting-subagent' && (await heldBelow(store, run.id)).length > 0)
}

/** Returns the held runs that the run waits for. It does not wait for background tasks. */
async function heldBelow(store: SessionStore, runId: string): Promise<readonly HeldRun[]> {
  const held: HeldRun[] = []
  const { items } = await store.listChildren({ parent: { runId }, status: waitingStatuses, limit: 1000 })
  for (const { id, parent, reason, error } of items) {
    if (!parent || parent.taskId !== undefined) continue
    if (reason === 'definition-changed' && error) held.push({ runId: id, agent: parent.path, message: error.message })
    held.push(...(await heldBelow(store, id)))
  }
  return held
}

export function openRuns(store: SessionStore, key: string): Promise<readonly RunRecord[]> {
  return readAll((page) => store.listRuns(key, { status: openStatuses, ...page }))
}

/** Returns the run that holds the session of a queued run, or else is the next one. Undefined: none is ahead of it. */
export async function runAhead(store: SessionStore, { id, session, status }: RunRecord): Promise<RunRecord | undefined> {
  const first = status === 'queued' ? firstInLine(await openRuns(store, session)) : undefined
  return first?.id === id ? undefined : first
}

/**
 * Returns a page of the runs of a session. Filters again after reading: a run that waits for a retry, or has ended and still stores
 * records, has no stored status of its own.
 */
export function listRuns(store: SessionStore, key: string, { status: words, ...query }: RunsQuery): Promise<Page<RunInfo>> {
  const stored =
    words &&
    everyStatus.filter((status) => status === 'running' || words.includes(statusOf(status)) || words.includes(statusOf(status, true)))
  return filledPage(query.page, async (page) => {
    const { items, ...more } = await store.listRuns(key, { ...query, ...page, ...(stored && { status: stored }) })
    const wanted = words ? items.filter((run) => words.includes(statusOfRun(asLogged(run)))) : items
    return { ...more, items: await Promise.all(wanted.map((run) => toRunInfo(store, run))) }
  })
}

/**
 * Returns a page of sessions. Filters again after reading: while hooks run after a turn, the stored status is `running`, not that of
 * the log.
 */
export function listSessions(store: SessionStore, { status: words, ...query }: SessionQuery): Promise<Page<SessionInfo>> {
  const status = words && [...new Set<Status>([...words, 'running'])]
  return filledPage(query.page, async (page) => {
    const { items, ...more } = await store.listSessions({ ...query, ...page, ...(status !== undefined && { status }) })
    const whole = items.filter((record) => !isPartialCopy(record))
    const found = await Promise.all(whole.map((record) => toSessionInfo(store, record)))
    return { ...more, items: words ? found.filter((info) => info.status && words.includes(info.status)) : found }
  })
}

/** Returns the first page that is not empty, or the last one. */
async function filledPage<T>(from: string | undefined, read: (page: { readonly page?: string }) => Promise<Page<T>>): Promise<Page<T>> {
  for (let at = from; ;) {
    const page = await read(at === undefined ? {} : { page: at })
    if (page.items.length > 0 || page.next === undefined) return page
    at = page.next
  }
}

/** True if the status of the session is that of an open run, not of its last outcome. */
function hasOpenRun({ status }: SessionRecord): boolean {
  return status !== undefined && !isEnded(status)
}

/** Returns how the turn of an open run has ended, if it has. */
function endOf(run: RunRecord): TerminalStatus | undefined {
  const { status } = asLogged(run)
  return isTerminal(status) ? status : undefined
}

/** Returns the facts of a session, with the run whose turn is open or next. */
export async function toSessionInfo(store: SessionStore, session: SessionRecord): Promise<SessionInfo> {
  const open = hasOpenRun(session) ? await openRuns(store, session.key) : []
  // The end of a compaction is no outcome.
  const ended = open.find((run) => endOf(run) && run.kind !== 'compaction')
  const first = firstInLine(open.filter((run) => !endOf(run))) ?? ended
  const openRun = first && (await toRunInfo(store, first))
  const outcome = ended ? endOf(ended) : session.outcome
  const idle = open.length === 0 ? session.status : outcome && statusOf(outcome)
  const status = openRun?.status ?? idle
  const spent = usageOf(session)
  const { key, agent, leaf, version, usage, cost, metadata, parent, forkedFrom, createdAt, activeAt, expiresAt, expiredAt } = session
  return {
    key,
    agent,
    ...(status && { status }),
    ...(outcome && { outcome }),
    leaf,
    version,
    cursor: printCursor(session.nextSeq - 1),
    ...(openRun && { openRun }),
    queued: open.filter((run) => asLogged(run).status === 'queued').length,
    usage,
    ...(cost ? { cost } : {}),
    children: spent.children,
    total: spent.total,
    metadata,
    ...(parent === undefined ? {} : { parent }),
    ...(forkedFrom ? { forkedFrom } : {}),
    createdAt,
    activeAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(expiredAt === undefined ? {} : { expiredAt }),
  }
}

export function usageOf({ usage, cost, childUsage, childCost }: SessionRecord): UsageReport {
  const sameCurrency = !cost || !childCost || cost.currency === childCost.currency
  return {
    own: spent(usage, cost),
    children: spent(childUsage, childCost),
    total: spent(addUsage(usage, childUsage), sameCurrency ? addCost(cost, childCost) : undefined),
  }
}

function spent(usage: Usage, cost: Cost | undefined): Spent {
  return { usage, ...(cost && { cost }) }
}
