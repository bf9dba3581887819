import type { AssistantMessage, ModelError } from '@bowline/llm'
import type { DueEnding } from '../contract/journal.ts'
import type { ApprovalRequest, CallReceipt, EndReason, OutcomeStatus, PendingToolCall, TurnError } from '../events/types.ts'
import { clientCalls } from '../transcript/client-calls.ts'
import { isSettled, pendingApprovals, pendingToolCalls } from './call.ts'
import type { Call } from './call.ts'
import type { Turn } from './turn.ts'

/** How a segment of a turn ends. */
export interface Ending extends DueEnding {
  readonly pendingToolCalls?: readonly PendingToolCall[]
  readonly pendingApprovals?: readonly ApprovalRequest[]
  /** A new input takes the place of the turn: the run goes on behind it. */
  readonly isReplaced?: true
}

/** After a step: how the turn ends, or undefined when the model is to be called again. */
export function endingOf(turn: Turn, answer: AssistantMessage, calls: readonly Call[]): Ending | undefined {
  const { maxSteps, maxToolCalls } = turn.run.limits
  if (answer.stopReason === 'error') return failed(turn, answer.error)
  if (answer.stopReason === 'aborted') return aborted(turn, calls)
  if (calls.length === 0 && !answer.paused && turn.answersAhead.length === 0) return { status: 'completed', reason: answer.stopReason === 'length' ? 'length' : 'stop' }
  if (turn.stop.stopped) return aborted(turn, calls)
  if (calls.some((call) => !isSettled(call))) return suspended(calls)
  if (isTruncated(answer) && isTruncated(answerBefore(turn))) return limited('output-length')
  if (turn.earlierCalls + calls.length > maxToolCalls) return limited('max-tool-calls')
  if (calls.length > 0 && calls.every((call) => call.row.terminate)) return { status: 'completed', reason: 'terminated' }
  return turn.step >= maxSteps ? limited('max-steps') : undefined
}

/** Of a run that is being stopped, as its cause says. */
export function aborted(turn: Turn, calls: readonly Call[]): Ending {
  const { status, reason, error } = turn.stop.ending
  const receipt = calls.filter(isSettled).map(({ row }): CallReceipt => {
    const { toolCallId, toolName } = row
    return { toolCallId, toolName, status: row.state as OutcomeStatus }
  })
  return { status, reason, ...(error && { error }), ...(status === 'aborted' && { receipt }) }
}

export function limited(reason: EndReason): Ending {
  return { status: 'limit', reason }
}

/** Needs-recovery wins over pending calls, these over approvals. With neither a subagent is at work elsewhere. */
export function suspended(calls: readonly Call[]): Ending {
  const pending = pendingToolCalls(calls)
  const approvals = pendingApprovals(calls)
  const lists = { pendingToolCalls: pending, pendingApprovals: approvals }
  if (pending.some((call) => call.unknown)) return { status: 'needs-recovery', reason: 'unknown-outcome', ...lists }
  const asked = approvals.length > 0 ? 'awaiting-approval' : 'awaiting-subagent'
  return { status: pending.length > 0 ? 'awaiting-tools' : asked, reason: 'pending', ...lists }
}

/** With the first model's error; what the others said is in its details. */
export function failed({ retry }: Turn, last: ModelError | undefined): Ending {
  const [first, ...others] = retry?.failures ?? []
  const error: TurnError | undefined = first && last ? { ...first, details: [...others, last] } : last
  return { status: 'error', reason: 'model-error', ...(error && { error }) }
}

/** The model would stop: an input that waits makes it go on. */
export function modelWouldStop({ reason, isLast }: Ending): boolean {
  return (reason === 'stop' || reason === 'length') && !isLast
}

/** One more step can follow an input that came. */
export function mayGoOn({ step, run }: Turn, ending: Ending): boolean {
  return modelWouldStop(ending) && step < run.limits.maxSteps
}

function isTruncated(answer: AssistantMessage | undefined): boolean {
  return answer?.stopReason === 'length' && clientCalls(answer).length > 0
}

function answerBefore(turn: Turn): AssistantMessage | undefined {
  const [, before] = turn.transcript.answersOfTurn()
  return before
}
