import type { AgentInput } from '../contract/input.ts'
import type { AgentResult, SubmissionReceipt } from '../contract/run.ts'
import type { AgentErrorData } from '../events/types.ts'
import { textOf } from '../transcript/client-calls.ts'
import type { TurnOutcome } from './ending.ts'
import type { Turn } from './turn.ts'

interface Extras {
  readonly receipt?: SubmissionReceipt | undefined
  readonly unusedInputs?: readonly AgentInput[]
  /** What turns of the run before this one have stored. */
  readonly earlier?: AgentResult['messages']
}

/** Of a run that had a turn. */
export function resultOf(turn: Turn, outcome: TurnOutcome, { receipt, unusedInputs = [], earlier = [] }: Extras = {}): AgentResult {
  const { status, reason, error, pendingToolCalls = [], pendingApprovals = [] } = outcome
  const messages = turn.log.newMessages
  const answer = messages.findLast((entry) => entry.role === 'assistant')
  return Object.freeze({
    ...{ runId: turn.runId, status, reason, messages: [...earlier, ...messages], text: answer ? textOf(answer) : turn.reply },
    ...{ pendingToolCalls, pendingApprovals, unusedInputs, usage: turn.usage, steps: turn.step },
    ...(turn.cost && { cost: turn.cost }),
    ...(error && { error }),
    ...(receipt && { submission: receipt }),
  })
}

/** Of a run that stored nothing. */
export function emptyResult(runId: string, outcome: TurnOutcome, unusedInputs: readonly AgentInput[] = []): AgentResult {
  const { status, reason, error } = outcome
  return Object.freeze({
    ...{ runId, status, reason, messages: [], text: '', pendingToolCalls: [], pendingApprovals: [], unusedInputs },
    ...{ usage: {}, steps: 0, ...(error && { error }) },
  })
}

export function refused(error: AgentErrorData): TurnOutcome {
  return { status: 'error', reason: 'refused', error }
}

export function journalError(error: AgentErrorData): TurnOutcome {
  return { status: 'error', reason: 'journal-error', error }
}
