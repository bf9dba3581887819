import { isEnded, statuses, statusOf } from '@bowline/agent-loop/events'
import {
  holdingStatuses,
  terminalStatuses,
  waitingStatuses,
  type RunRecord,
  type RunStatus,
  type Status,
  type TerminalStatus,
} from './records.ts'

const terminal: ReadonlySet<RunStatus> = new Set(terminalStatuses)
const holding: ReadonlySet<RunStatus> = new Set(holdingStatuses)
const waiting: ReadonlySet<RunStatus> = new Set(waitingStatuses)

export const openStatuses: readonly RunStatus[] = ['queued', ...holdingStatuses]
export const everyStatus: readonly RunStatus[] = [...openStatuses, ...terminalStatuses]
/** Public words for the statuses of an open run. */
export const openWords: readonly Status[] = statuses.filter((status) => !isEnded(status))

/** Returns the public word for the status of a stored run. */
export function statusOfRun({ status, openMessageId, turnState }: Pick<RunRecord, 'status' | 'openMessageId' | 'turnState'>): Status {
  return statusOf(status, openMessageId === undefined && turnState?.retry?.open === true)
}

/**
 * Returns the run with the status that its log tells. From the end or the suspension of a turn on, that is the status of the
 * `turn-end`, also while the run still stores records after it.
 */
export function asLogged<R extends Pick<RunRecord, 'status' | 'reason' | 'error' | 'rest'>>(run: R): R {
  if (!run.rest) return run
  const { reason: _reason, error: _error, ...others } = run
  return { ...others, ...run.rest } as R
}

export function isTerminal(status: RunStatus): status is TerminalStatus {
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

/** Returns true if the run cannot progress by itself: it has ended, or waits for an answer or a decision. */
export function isResting({ status }: Pick<RunRecord, 'status'>): boolean {
  return isTerminal(status) || (isWaiting(status) && status !== 'awaiting-subagent')
}

/** Returns true if the parent of a background run is notified of this status. */
export function isSettled({ status }: Pick<RunRecord, 'status'>): boolean {
  return isTerminal(status) || status === 'needs-recovery'
}

/** Returns the run that holds the session, else the next one in the queue. */
export function firstInLine<R extends Pick<RunRecord, 'status' | 'place'>>(open: Iterable<R>): R | undefined {
  let first: R | undefined
  for (const run of open) {
    if (isHolding(run.status)) return run
    if (!first || run.place < first.place) first = run
  }
  return first
}

/** Returns the run whose turn has begun and not ended. Returns undefined for a compaction: inputs wait in the queue until it ends. */
export function activeRun(open: readonly RunRecord[]): RunRecord | undefined {
  const first = firstInLine(open)
  if (!first || first.kind === 'compaction') return undefined
  return isHolding(first.status) || first.turn !== undefined ? first : undefined
}
