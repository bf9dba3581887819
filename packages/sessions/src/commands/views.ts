import { isEnded, statuses, statusOf } from '@bowline/agent-loop/events'
import { printCursor } from '../contract/cursor.ts'
import type { SessionStore } from '../contract/session-store.ts'
import {
  holdingStatuses,
  statusOfRun,
  terminalStatuses,
  waitingStatuses,
  type InboxRecord,
  type RunRecord,
  type RunStatus,
  type SessionRecord,
  type Status,
} from '../contract/records.ts'
import { usageOf } from './usage.ts'
import type { HeldRun, Page, RunInfo, RunsQuery, SessionInfo } from './types.ts'

const terminal: ReadonlySet<RunStatus> = new Set(terminalStatuses)
const holding: ReadonlySet<RunStatus> = new Set(holdingStatuses)

export const openStatuses: readonly RunStatus[] = ['queued', ...holdingStatuses]
const everyStatus: readonly RunStatus[] = [...openStatuses, ...terminalStatuses]
/** The words of what is open. */
export const openWords: readonly Status[] = statuses.filter((status) => !isEnded(status))

const waiting: ReadonlySet<RunStatus> = new Set(waitingStatuses)

/** Nothing happens to the run by itself: it waits for somebody, or has ended. */
export function isResting(run: Pick<RunRecord, 'status'>): boolean {
  return isTerminal(run.status) || (isWaiting(run.status) && run.status !== 'awaiting-subagent')
}

/** Whoever has started it in the background is told. */
export function isSettled({ status }: Pick<RunRecord, 'status'>): boolean {
  return isTerminal(status) || status === 'needs-recovery'
}

export function isTerminal(status: RunStatus): boolean {
  return terminal.has(status)
}

export function isWaiting(status: RunStatus): boolean {
  return waiting.has(status)
}

export function answerId(runId: string, toolCallId: string): string {
  return `answer:${runId}:${toolCallId}`
}

export function decisionId(runId: string, approvalId: string): string {
  return `decision:${runId}:${approvalId}`
}

/** What a run waits for. */
export type OpenQuestions = Pick<RunRecord, 'pendingToolCalls' | 'pendingApprovals'>

/** What still waits: calls and approvals that have their word in the inbox are left out. */
export function openQuestions(run: Pick<RunRecord, 'id'> & OpenQuestions, inbox: readonly InboxRecord[]): OpenQuestions {
  const answered = new Set(inbox.map((row) => row.id))
  return {
    pendingToolCalls: run.pendingToolCalls.filter((call) => call.path.length > 0 || !answered.has(answerId(run.id, call.toolCallId))),
    pendingApprovals: run.pendingApprovals.filter((each) => !answered.has(decisionId(run.id, each.approvalId))),
  }
}

export function isAllAnswered({ pendingToolCalls, pendingApprovals }: OpenQuestions): boolean {
  return pendingToolCalls.length === 0 && pendingApprovals.length === 0
}

export function readAnswers(store: SessionStore, key: string): Promise<readonly InboxRecord[]> {
  return store.readInbox(key, ['answer', 'decision'])
}

export async function toRunInfo(store: SessionStore, run: RunRecord): Promise<RunInfo> {
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
    ...(isWaiting(status) ? openQuestions(run, await readAnswers(store, session)) : { pendingToolCalls: [], pendingApprovals: [] }),
    ...(await heldIn(store, run)),
    stopping: stop !== undefined && !isTerminal(status),
    ...(error === undefined ? {} : { error }),
    ...(parent && { parent: parent.runId }),
    ...(parent?.taskId === undefined ? {} : { taskId: parent.taskId }),
    usage,
    ...(cost && { cost }),
    createdAt,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
  }
}

async function heldIn(store: SessionStore, run: RunRecord): Promise<Pick<RunInfo, 'heldRuns'>> {
  const heldRuns = isWaiting(run.status) ? await heldBelow(store, run.id) : []
  return heldRuns.length > 0 ? { heldRuns } : {}
}

/** Returns whether the run has ended, or waits for an answer or for `recover`: its own, or that of a run that it waits for. */
export async function isAtRest(store: SessionStore, run: RunRecord): Promise<boolean> {
  return isResting(run) || (run.status === 'awaiting-subagent' && (await heldBelow(store, run.id)).length > 0)
}

/** A task in the background is not what the run waits for. */
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

/** The run that holds the session, else the one that comes next. */
export function firstInLine(open: readonly RunRecord[]): RunRecord | undefined {
  return open.find((run) => holding.has(run.status)) ?? open.toSorted((a, b) => a.place - b.place)[0]
}

/** The run that has begun its turn and not ended it. Inputs go behind a compaction: it is none of theirs. */
export function activeRun(open: readonly RunRecord[]): RunRecord | undefined {
  const first = firstInLine(open)
  if (!first || first.kind === 'compaction') return undefined
  return holding.has(first.status) || first.turn !== undefined ? first : undefined
}

export async function openRuns(store: SessionStore, key: string): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = []
  let page: string | undefined
  do {
    const found = await store.listRuns(key, { status: openStatuses, limit: 1000, ...(page === undefined ? {} : { page }) })
    runs.push(...found.items)
    page = found.next
  } while (page !== undefined)
  return runs
}

/** One page of the runs of a session. Those that wait for a retry are stored among the others that run or are queued. */
export async function listRuns(store: SessionStore, key: string, { status: words, ...query }: RunsQuery): Promise<Page<RunInfo>> {
  const stored = words && everyStatus.filter((status) => words.includes(statusOf(status)) || words.includes(statusOf(status, true)))
  const { items, ...page } = await store.listRuns(key, { ...query, ...(stored && { status: stored }) })
  const wanted = words ? items.filter((run) => words.includes(statusOfRun(run))) : items
  return { ...page, items: await Promise.all(wanted.map((run) => toRunInfo(store, run))) }
}

/** The session as it stands, with the run that holds it or comes next. */
export async function toSessionInfo(store: SessionStore, session: SessionRecord): Promise<SessionInfo> {
  const open = await openRuns(store, session.key)
  const first = firstInLine(open)
  const spent = usageOf(session)
  const { key, agent, status, outcome, leaf, version, usage, cost, metadata, parent, forkedFrom, createdAt, activeAt, expiresAt, expiredAt } = session
  return {
    key,
    agent,
    ...(status && { status }),
    ...(outcome && { outcome }),
    leaf,
    version,
    cursor: printCursor(session.nextSeq - 1),
    ...(first ? { openRun: await toRunInfo(store, first) } : {}),
    queued: open.filter((run) => run.status === 'queued').length,
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
