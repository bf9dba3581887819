import { isEnded, statuses } from '@bowline/agent-loop/events'
import { holdingStatuses, terminalStatuses, waitingStatuses, type RunRecord, type RunStatus, type Status } from './records.ts'

const terminal: ReadonlySet<RunStatus> = new Set(terminalStatuses)
const holding: ReadonlySet<RunStatus> = new Set(holdingStatuses)
const waiting: ReadonlySet<RunStatus> = new Set(waitingStatuses)

export const openStatuses: readonly RunStatus[] = ['queued', ...holdingStatuses]
export const everyStatus: readonly RunStatus[] = [...openStatuses, ...terminalStatuses]
/** Words for people that describe an open run. */
export const openWords: readonly Status[] = statuses.filter((status) => !isEnded(status))

export function isTerminal(status: RunStatus): boolean {
  return terminal.has(status)
}

export function isOpen(status: RunStatus): boolean {
  return !terminal.has(status)
}

export function isHolding(status: RunStatus): boolean {
  return holding.has(status)
}

export function isWaiting(status: RunStatus): boolean {
  return waiting.has(status)
}

/** Returns whether nothing happens to the run by itself: it has ended, or waits for an answer or a decision. */
export function isResting({ status }: Pick<RunRecord, 'status'>): boolean {
  return isTerminal(status) || (isWaiting(status) && status !== 'awaiting-subagent')
}

/** Returns whether the run that started this one in the background is notified of its status. */
export function isSettled({ status }: Pick<RunRecord, 'status'>): boolean {
  return isTerminal(status) || status === 'needs-recovery'
}

/** Returns the run that holds the session, else the one that comes next. */
export function firstInLine(open: readonly RunRecord[]): RunRecord | undefined {
  return open.find((run) => isHolding(run.status)) ?? open.toSorted((a, b) => a.place - b.place)[0]
}

/** Returns the run that has begun its turn and not ended it. Returns undefined for a compaction: inputs wait in the queue until it ends. */
export function activeRun(open: readonly RunRecord[]): RunRecord | undefined {
  const first = firstInLine(open)
  if (!first || first.kind === 'compaction') return undefined
  return isHolding(first.status) || first.turn !== undefined ? first : undefined
}
