import type { AssistantMessage, ModelError } from '@bowline/llm'
import type { CallReceipt, EndReason, OutcomeStatus, PendingToolCall, TurnStatus } from '../events/types.ts'
import { isSettled, pendingToolCalls } from '../tools/call.ts'
import type { Call } from '../tools/call.ts'
import { clientCalls } from '../transcript/client-calls.ts'
import type { Turn } from './turn.ts'

/** How a segment of a turn ends. */
export interface Ending {
  readonly status: TurnStatus
  readonly reason: EndReason
  readonly error?: ModelError
  readonly receipt?: readonly CallReceipt[]
  readonly pendingToolCalls?: readonly PendingToolCall[]
}

/** After a step: how the turn ends, or undefined when the model is to be called again. */
export function endingOf(turn: Turn, answer: AssistantMessage, calls: readonly Call[]): Ending | undefined {
  const { maxSteps, maxToolCalls } = turn.agent.limits
  if (answer.stopReason === 'error') return failed(answer)
  if (answer.stopReason === 'aborted') return stopped(calls)
  if (calls.length === 0 && !answer.paused) return { status: 'completed', reason: answer.stopReason === 'length' ? 'length' : 'stop' }
  if (turn.stop.stopped) return stopped(calls)
  if (calls.some((call) => !isSettled(call))) return suspended(calls)
  if (isTruncated(answer) && isTruncated(answerBefore(turn))) return { status: 'limit', reason: 'output-length' }
  if (turn.earlierCalls + calls.length > maxToolCalls) return { status: 'limit', reason: 'max-tool-calls' }
  if (calls.length > 0 && calls.every((call) => call.row.terminate)) return { status: 'completed', reason: 'terminated' }
  if (turn.step >= maxSteps) return { status: 'limit', reason: 'max-steps' }
  return undefined
}

export function stopped(calls: readonly Call[]): Ending {
  const receipt = calls.map(({ row }) => {
    const { toolCallId, toolName } = row
    return { toolCallId, toolName, status: row.state as OutcomeStatus }
  })
  return { status: 'aborted', reason: 'abort', receipt }
}

/** Needs-recovery wins over pending calls. */
export function suspended(calls: readonly Call[]): Ending {
  const pending = pendingToolCalls(calls)
  return pending.some((call) => call.unknown)
    ? { status: 'needs-recovery', reason: 'unknown-outcome', pendingToolCalls: pending }
    : { status: 'awaiting-tools', reason: 'pending', pendingToolCalls: pending }
}

function failed({ error }: AssistantMessage): Ending {
  return { status: 'error', reason: 'model-error', ...(error && { error }) }
}

function isTruncated(answer: AssistantMessage | undefined): boolean {
  return answer?.stopReason === 'length' && clientCalls(answer).length > 0
}

function answerBefore(turn: Turn): AssistantMessage | undefined {
  const [, before] = turn.transcript.answersOfTurn()
  return before
}

/** Drafts the end of the segment and stores it. Nothing is settled while other runs are queued behind this one. */
export async function endTurn(turn: Turn, ending: Ending): Promise<void> {
  const { status, reason, error, receipt, pendingToolCalls: pending } = ending
  if (pending) turn.record({ type: 'awaiting-tools', step: turn.step, pendingToolCalls: pending })
  const { usage, step: steps } = turn
  turn.record({
    ...{ type: 'turn-end', status, reason, usage, steps },
    ...(error && { error }),
    ...(receipt && { receipt }),
  })
  turn.record({ type: 'save-point' })
  if (pending) {
    turn.writeRun('suspended', { status, reason, pendingToolCalls: pending })
    await turn.commit()
    return
  }
  turn.writeRun('ended', { status, reason, ...(error && { error: { ...error } }) })
  await turn.commitEnd()
}
