import type { AssistantMessage } from '@bowline/llm'
import type { PendingOutcome, RunRow } from '../contract/journal.ts'
import type { ApprovalRequest, PendingToolCall } from '../events/tool-events.ts'
import type { CallReceipt, EndReason, OutcomeStatus } from '../events/turn-events.ts'
import { isSettled, pendingApprovals, pendingToolCalls } from './call.ts'
import type { Call } from './call.ts'
import type { StopSwitch } from './stop-switch.ts'

/** The outcome of a segment of a turn. */
export interface TurnOutcome extends PendingOutcome {
  readonly pendingToolCalls?: readonly PendingToolCall[]
  readonly pendingApprovals?: readonly ApprovalRequest[]
  /** A new input replaces the turn: the run continues with that input. */
  readonly isReplaced?: true
}

/** Work of a plug-in after a turn, besides its hooks. */
export interface AfterTurn {
  /** Stored in the row of the run: another process does the work later. */
  readonly row?: Pick<RunRow, 'compactionDue'>
  /** Done by this run. */
  readonly work?: () => Promise<unknown>
}

/** Returns the outcome of a run that is being stopped, as its cause says. */
export function aborted({ ending }: StopSwitch, calls: readonly Call[]): TurnOutcome {
  const { status, reason, error } = ending
  const receipt = calls.filter(isSettled).map(({ row }): CallReceipt => {
    const { toolCallId, toolName } = row
    return { toolCallId, toolName, status: row.state as OutcomeStatus }
  })
  return { status, reason, ...(error && { error }), ...(status === 'aborted' && { receipt }) }
}

export function limited(reason: EndReason): TurnOutcome {
  return { status: 'limit', reason }
}

/**
 * Returns the outcome of a suspended turn. `needs-recovery` wins over pending calls, and these win over approvals. Without both, a
 * subagent is at work elsewhere.
 */
export function suspended(calls: readonly Call[]): TurnOutcome {
  const pending = pendingToolCalls(calls)
  const approvals = pendingApprovals(calls)
  const lists = { pendingToolCalls: pending, pendingApprovals: approvals }
  if (pending.some((call) => call.unknown)) return { status: 'needs-recovery', reason: 'unknown-outcome', ...lists }
  const asked = approvals.length > 0 ? 'awaiting-approval' : 'awaiting-subagent'
  return { status: pending.length > 0 ? 'awaiting-tools' : asked, reason: 'pending', ...lists }
}

/** Returns the outcome of a turn that this answer ends: an error, or an answer without calls. */
export function answeredOutcome({ stopReason, error }: AssistantMessage): TurnOutcome {
  if (stopReason === 'error') return { status: 'error', reason: 'model-error', ...(error && { error }) }
  return { status: 'completed', reason: stopReason === 'length' ? 'length' : 'stop' }
}

/** Returns whether the turn ends because the model stops. In that case a waiting input makes it continue. */
export function modelWouldStop({ reason, isLast }: TurnOutcome): boolean {
  return (reason === 'stop' || reason === 'length') && !isLast
}
