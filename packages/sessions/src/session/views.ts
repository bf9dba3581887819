import { printCursor } from '../log/cursor.ts'
import type { SessionStore } from '../store/contract.ts'
import {
  holdingStatuses,
  terminalStatuses,
  type InboxRecord,
  type RunRecord,
  type RunStatus,
  type SessionRecord,
} from '../store/records.ts'
import type { RunInfo, SessionInfo } from './types.ts'

const terminal: ReadonlySet<RunStatus> = new Set(terminalStatuses)
const holding: ReadonlySet<RunStatus> = new Set(holdingStatuses)

export const openStatuses: readonly RunStatus[] = ['queued', ...holdingStatuses]

/** Nothing happens to the run by itself: it waits for somebody, or has ended. */
export function isResting(status: RunStatus): boolean {
  return status !== 'queued' && status !== 'running'
}

export function isTerminal(status: RunStatus): boolean {
  return terminal.has(status)
}

/** Somebody outside has to say something before the run can go on. */
export function isWaiting(status: RunStatus): boolean {
  return status === 'awaiting-tools' || status === 'awaiting-approval' || status === 'needs-recovery'
}

export function answerId(runId: string, toolCallId: string): string {
  return `answer:${runId}:${toolCallId}`
}

/** Calls that still wait: those with an answer in the inbox are left out. */
export function unanswered(run: RunRecord, inbox: readonly InboxRecord[]): RunRecord['pendingToolCalls'] {
  const answered = new Set(inbox.map((row) => row.id))
  return run.pendingToolCalls.filter((call) => !answered.has(answerId(run.id, call.toolCallId)))
}

export async function toRunInfo(store: SessionStore, run: RunRecord): Promise<RunInfo> {
  const { id, session, kind, status, reason, attempts, stop, error, usage, createdAt, startedAt, endedAt } = run
  return {
    runId: id,
    session,
    kind,
    status,
    ...(reason === undefined ? {} : { reason }),
    attempts,
    cursor: printCursor(run.firstSeq - 1),
    ...(run.inputId === undefined ? {} : { inputId: run.inputId }),
    pendingToolCalls: isWaiting(status) ? unanswered(run, await store.readInbox(session, ['answer'])) : [],
    stopping: stop !== undefined && !isTerminal(status),
    ...(error === undefined ? {} : { error }),
    usage,
    createdAt,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
  }
}

/** The session as it stands, with the run that holds it or comes next. */
export async function toSessionInfo(store: SessionStore, session: SessionRecord): Promise<SessionInfo> {
  const open = await store.listRuns(session.key, { status: openStatuses, limit: 1000 })
  const first = open.items.find((run) => holding.has(run.status)) ?? open.items[0]
  const { key, agent, status, leaf, version, usage, metadata, createdAt, activeAt } = session
  return {
    key,
    agent,
    status,
    leaf,
    version,
    cursor: printCursor(session.nextSeq - 1),
    ...(first ? { openRun: await toRunInfo(store, first) } : {}),
    queued: open.items.filter((run) => run.status === 'queued').length,
    usage,
    metadata,
    createdAt,
    activeAt,
  }
}
