import type { AgentEvent, DurableEvent } from './agent-event.ts'
import { isDurable } from './kinds.ts'

/** Events of a log that one commit stored, all or none. */
export interface LogCommit {
  readonly firstSeq: number
  /** Number of the last given event; the last commit of a list may have more events. */
  readonly lastSeq: number
  /** Epoch milliseconds, of its last event. */
  readonly at: number
  /** The id of the runtime that wrote it. Absent for the end of a deleted session. */
  readonly owner?: string
  /** The run under whose claim it was written. Absent for writes that a client asked for, such as an input. */
  readonly runId?: string
  /** Fencing token of that claim, from 1: it rises when a run is taken over or resumed. */
  readonly epoch?: number
}

/**
 * Returns the commits of a log in order, each with the process that wrote it. `before` holds the commits of earlier events, which
 * the first of these events may continue. Leaves out deltas, repeated events, the rest of a commit whose first event is missing,
 * and events of a log without commit marks. It never throws: a value that is not a list has no commits.
 */
export function commitsOf(events: Iterable<AgentEvent>, before: readonly LogCommit[] = []): readonly LogCommit[] {
  const commits = Array.isArray(before) ? [...(before as readonly LogCommit[])] : []
  for (const event of isIterable(events) ? events : []) {
    if (!isDurable(event) || event.seq === undefined) continue
    const { seq } = event
    const last = commits.at(-1)
    if (last && seq <= last.lastSeq) continue
    if (event.commit) commits.push(begun(event, seq))
    else if (last?.lastSeq === seq - 1) commits[commits.length - 1] = { ...last, lastSeq: seq, at: event.at }
  }
  return commits
}

function begun(event: DurableEvent, seq: number): LogCommit {
  const { epoch, runId = 'runId' in event ? event.runId : undefined, ...rest } = event.commit ?? {}
  return {
    firstSeq: seq,
    lastSeq: seq,
    at: event.at,
    ...rest,
    ...(epoch !== undefined && { epoch, ...(runId !== undefined && { runId }) }),
  }
}

function isIterable(value: unknown): value is Iterable<AgentEvent> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}
