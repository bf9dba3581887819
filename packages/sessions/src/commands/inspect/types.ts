import type { ToolEffect } from '@bowline/agent-loop'
import type { InboxKind, ToolCallRecord } from '../../contract/records.ts'
import type { BranchRecord } from '../../contract/session-store.ts'
import type { ScheduleInfo } from '../schedules/types.ts'
import type { RunInfo, SessionInfo } from '../types.ts'

/** Stored facts of one session, read without its agents. Times are epoch milliseconds. */
export interface Inspection {
  /** Time of the reading, by the clock of this process. */
  readonly at: number
  readonly session: SessionInfo
  readonly committed: Committed
  readonly open: OpenWork
}

/** Counts of the stored parts of a session, with its branches and its newest ended runs. */
export interface Committed {
  /** Number of commits. */
  readonly version: number
  readonly turns: number
  /** Numbers of the oldest kept event and of the newest one; `last` is 0 before the first event. */
  readonly events: { readonly first: number; readonly last: number }
  /** Ends of the paths of the conversation, with the number of entries on each. At most 100. */
  readonly branches: readonly BranchRecord[]
  /** Number of runs accepted so far, deleted ones included, and the newest ended runs (at most 10). */
  readonly runs: { readonly accepted: number; readonly ended: readonly RunInfo[] }
}

/** Unfinished work of a session: open runs, inbox, deadlines and schedules. */
export interface OpenWork {
  /** The run that holds the session or is next, then the queued runs. */
  readonly runs: readonly InspectedRun[]
  readonly inbox: readonly InspectedInput[]
  /** Times at which runs that wait for an answer are woken. */
  readonly deadlines: readonly { readonly runId: string; readonly dueAt: number }[]
  readonly schedules: readonly ScheduleInfo[]
}

/** An open run, with its calls and the open runs of its subagents. */
export interface InspectedRun extends RunInfo {
  /** Number of claims: the fencing token. */
  readonly epoch: number
  /** Absent before the turn starts. */
  readonly turn?: number
  readonly step: number
  /** Process that executes the run, or died while it did. */
  readonly holder?: RunHolder
  /** Time before which no process continues the run. */
  readonly notBefore?: number
  /** Calls of the current step, and open calls of earlier steps. */
  readonly calls: readonly InspectedCall[]
  /** Number of calls of earlier steps that are left out because they are settled. */
  readonly settledBefore: number
  readonly children: readonly InspectedRun[]
  /** The next event of the run, in a sentence. */
  readonly next: string
}

/** The process that holds the lease of a run. Times are epoch milliseconds. */
export interface RunHolder {
  readonly owner: string
  /** End of the lease. A living process renews it every few seconds. */
  readonly leaseUntil: number
  /** True if the lease has ended: the process has died, is frozen, or cannot reach the store. */
  readonly isOver: boolean
}

/** A tool call of an open run, with the action of a process that continues the run. */
export interface InspectedCall extends Pick<
  ToolCallRecord,
  'toolCallId' | 'name' | 'step' | 'state' | 'status' | 'attempt' | 'idempotencyKey' | 'startedAt' | 'deadlineAt'
> {
  readonly effect: ToolEffect
  readonly approvalId?: string
  /** Session of the subagent to which the call delegated, if its run is open. */
  readonly childSession?: string
  readonly resume: CallResume
  /** The same as `resume`, in a sentence. */
  readonly next: string
}

/**
 * Action on a tool call when a process continues its run. `asks-tool`: the effect may have happened, and the tool's code
 * decides. `ends`: the run is being stopped.
 */
export type CallResume =
  | 'nothing'
  | 'starts'
  | 'runs-again'
  | 'asks-tool'
  | 'takes-answer'
  | 'waits-for-approval'
  | 'waits-for-result'
  | 'waits-for-recovery'
  | 'waits-for-subagent'
  | 'ends'

/** A row of the inbox: an answer, a decision or an input that no run has taken. */
export interface InspectedInput {
  readonly id: string
  readonly kind: InboxKind
  readonly at: number
  /** Run that the row is for. Absent: the next one. */
  readonly runId?: string
}
