import type { ExecuteComplete, HeldRun } from '@bowline/client'
import type { ErrorKind, ModelError } from '@bowline/llm'
import type { UiChunk } from './ui-chunk.ts'

/** Outcome of a segment of a turn. */
export type Ending = Pick<ExecuteComplete, 'status' | 'reason' | 'error' | 'heldRuns' | 'pendingToolCalls' | 'pendingApprovals'>

type FinishReason = Extract<UiChunk, { type: 'finish' }>['finishReason']

/** Returns the last chunk of a stream. */
export function endingChunk(ending: Ending): UiChunk {
  switch (ending.status) {
    case 'completed':
    case 'limit':
      return { type: 'finish', finishReason: finishReasonOf(ending) }
    case 'awaiting-tools':
    case 'awaiting-approval':
    case 'awaiting-subagent':
      return isOnlyHeld(ending) ? { type: 'error', errorText: undecided } : { type: 'finish', finishReason: 'tool-calls' }
    case 'aborted':
      return { type: 'abort' }
    case 'error':
    case 'halted':
    case 'needs-recovery':
      return { type: 'error', errorText: errorTextOf(ending) }
    default: {
      const unknown: never = ending.status
      return unknown
    }
  }
}

/** Returns true if the turn only waits for a decision that no page can make. */
function isOnlyHeld({ heldRuns, pendingToolCalls = [], pendingApprovals = [] }: Ending): boolean {
  return heldRuns !== undefined && pendingToolCalls.length + pendingApprovals.length === 0
}

/** Returns a chunk that names the held run of a subagent, for a client that may recover it. */
export function heldRunChunk({ runId, agent, message }: HeldRun): UiChunk {
  return { type: 'data-held-run', id: runId, data: { runId, agent, message } }
}

/** Returns true if the turn failed. The details are sent in addition to the text for people. */
export function isFailure({ status }: Ending): boolean {
  return status === 'error' || status === 'halted' || status === 'needs-recovery'
}

function finishReasonOf({ status, reason }: Ending): FinishReason {
  if (reason === 'length' || reason === 'output-length') return 'length'
  return status === 'completed' ? 'stop' : 'other'
}

const undecided = 'A helper of this assistant was changed while it worked. An operator must decide how to continue.'
const later = 'Try again in a moment.'
const modelTexts: Readonly<Partial<Record<ErrorKind, string>>> = {
  network: `The model could not be reached. ${later}`,
  timeout: `The model took too long. ${later}`,
  'rate-limit': `The model takes no more requests right now. ${later}`,
  overloaded: `The model is busy. ${later}`,
  'server-error': `The model failed. ${later}`,
  'stream-broken': `The answer broke off. ${later}`,
  'empty-response': `The model gave no answer. ${later}`,
  'content-blocked': 'The provider of the model refused to answer this.',
  'context-overflow': 'The conversation has become too long for the model.',
  'payload-too-large': 'What was sent is too large for the model.',
}

function errorTextOf({ status, error }: Ending): string {
  if (status === 'halted') return 'The answer was stopped by a rule of this assistant.'
  if (status === 'needs-recovery') return 'It is unknown whether the last action was carried out. An operator must decide how to continue.'
  return (error && isModelError(error) && modelTexts[error.kind]) || 'The answer could not be finished.'
}

function isModelError(error: object): error is ModelError {
  return 'kind' in error
}
