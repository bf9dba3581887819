import type { AgentErrorData } from '../events/types.ts'
import type { AgentResult, SubmissionReceipt } from '../agent/options.ts'
import type { Ending } from '../loop/ending.ts'
import type { Turn } from '../loop/turn.ts'
import { textOf } from '../transcript/client-calls.ts'

type ResultEnding = Pick<AgentResult, 'status' | 'reason' | 'error'> & Pick<Ending, 'pendingToolCalls'>

/** Of a run that had a turn. */
export function resultOf(turn: Turn, ending: ResultEnding, receipt?: SubmissionReceipt): AgentResult {
  const { status, reason, error, pendingToolCalls = [] } = ending
  const messages = turn.newMessages
  return Object.freeze({
    ...{ runId: turn.runId, status, reason, messages, text: textOf(messages.findLast((entry) => entry.role === 'assistant')) },
    ...{ pendingToolCalls, usage: turn.usage, steps: turn.step },
    ...(error && { error }),
    ...(receipt && { submission: receipt }),
  })
}

/** Of a run that stored nothing. */
export function emptyResult(runId: string, ending: Pick<AgentResult, 'status' | 'reason' | 'error'>): AgentResult {
  return Object.freeze({ runId, messages: [], text: '', pendingToolCalls: [], usage: {}, steps: 0, ...ending })
}

export function refused(error: AgentErrorData): Pick<AgentResult, 'status' | 'reason'> & { error: AgentErrorData } {
  return { status: 'error', reason: 'refused', error }
}

export function journalError(error: AgentErrorData): Pick<AgentResult, 'status' | 'reason'> & { error: AgentErrorData } {
  return { status: 'error', reason: 'journal-error', error }
}
