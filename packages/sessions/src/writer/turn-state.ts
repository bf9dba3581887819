import type { DurableEvent, ResumeCause, RunRow } from '@bowline/agent-loop'
import type { RunPatch } from '../contract/batch.ts'
import type { Claim } from '../contract/session-store.ts'
import type { RunRest, TurnState } from '../contract/records.ts'

/** Returns the progress of the step that an event implies. */
export function stepStateOf(event: DurableEvent): Pick<TurnState, 'stepState'> {
  switch (event.type) {
    case 'step-start':
      return { stepState: 'begun' }
    case 'message-end':
      return { stepState: 'answered' }
    case 'step-end':
      return { stepState: 'ended' }
    default:
      return {}
  }
}

/** Returns the state of the turn from a row of the run. Undefined if the turn has ended. */
export function turnStateOf(run: RunRow, before: TurnState): TurnState | undefined {
  const { runId: _runId, state, status: _status, reason: _reason, turn: _turn, step: _step, usage: _usage, ...rest } = run
  const {
    compactionDue: _due,
    followed: _followed,
    pendingToolCalls: _calls,
    pendingApprovals: _approvals,
    error: _error,
    ...turnState
  } = rest
  if (state === 'ended') return undefined
  const { stepState, overlays } = before
  return { ...turnState, ...(stepState ? { stepState } : {}), ...(overlays ? { overlays } : {}) }
}

/**
 * Returns the patch that brings a run to rest, waiting or ended. While its owner has more to store, the run keeps the session. A run
 * that goes on may list calls that can be answered meanwhile.
 */
export function restPatchOf(run: RunRow): RunPatch {
  const { state, status, reason, error, cost, followed, pendingToolCalls = [], pendingApprovals = [] } = run
  if (state === 'running' || status === undefined) return run.pendingToolCalls ? { pendingToolCalls } : {}
  const lists = { pendingToolCalls, pendingApprovals, ...(cost && { cost }) }
  const rest = { status, ...(reason !== undefined && { reason }), ...(error !== undefined && { error }) } as unknown as RunRest
  return followed ? { ...lists, rest } : { ...lists, ...patchOf(rest) }
}

export function patchOf({ status, reason, error }: RunRest): RunPatch {
  return { status, reason: reason ?? null, error: error ?? null }
}

/** Returns why a run that started earlier continues. */
export function resumeCause({ previous, run }: Claim): ResumeCause {
  if (previous === 'running') return 'takeover'
  if (run.reason === 'yielded') return 'yield'
  return run.reason === 'unknown-outcome' ? 'recovery' : 'answers'
}
