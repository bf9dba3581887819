import type { AssistantMessage } from '@bowline/llm'
import type { PendingOutcome, RunRow } from '../contract/journal.ts'
import type { ApprovalRequest, PendingToolCall } from '../events/tool-events.ts'
import type { CallReceipt, EndReason, OutcomeStatus } from '../events/turn-events.ts'
import { isSettled, pendingApprovals, pendingToolCalls } from './call.ts'
import type { Call } from './call.ts'
import type { StopSwitch } from './stop-switch.ts'

/** How a segment of a turn ends. */
export interface TurnOutcome extends PendingOutcome {
  readonly pendingToolCalls?: readonly PendingToolCall[]
  readonly pendingApprovals?: readonly ApprovalRequest[]
  /** A new input takes the place of the turn: the run goes on with it. */
  readonly isReplaced?: true
}

/** What a plug-in does after a turn, besides its hooks. */
export interface AfterTurn {
  /** For the row of the run: another process does it later. */
  readonly row?: Pick<RunRow, 'compactionDue'>
  /** Done by this run. */
  readonly work?: () => Promise<unknown>
}

/** Of a run that is being stopped, as its cause says. */
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

/** Needs-recovery wins over pending calls, these over approvals. With neither a subagent is at work elsewhere. */
export function suspended(calls: readonly Call[]): TurnOutcome {
  const pending = pendingToolCalls(calls)
  const approvals = pendingApprovals(calls)
  const lists = { pendingToolCalls: pending, pendingApprovals: approvals }
  if (pending.some((call) => call.unknown)) return { status: 'needs-recovery', reason: 'unknown-outcome', ...lists }
  const asked = approvals.length > 0 ? 'awaiting-approval' : 'awaiting-subagent'
  return { status: pending.length > 0 ? 'awaiting-tools' : asked, reason: 'pending', ...lists }
}

/** How the model's answer ends the turn: with an error, as an answer without calls, or not at all. */
export function answeredOutcome({ stopReason, error }: AssistantMessage): TurnOutcome {
  if (stopReason === 'error') return { status: 'error', reason: 'model-error', ...(error && { error }) }
  return { status: 'completed', reason: stopReason === 'length' ? 'length' : 'stop' }
}

/** The model would stop: an input that waits makes it go on. */
export function modelWouldStop({ reason, isLast }: TurnOutcome): boolean {
  return (reason === 'stop' || reason === 'length') && !isLast
}
