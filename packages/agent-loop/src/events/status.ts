import type { TurnStatus } from './turn-events.ts'

/** Stored state of a run: queued, running, or how its last segment ended. */
export type RunStatus = 'queued' | 'running' | TurnStatus

/** The state of a session, a run or a subagent in one word, to be shown to people. */
export type Status =
  | 'queued'
  | 'running'
  /** The user must answer an approval or submit the result of a remote tool. */
  | 'waiting-for-user'
  | 'waiting-for-subagent'
  /** A model call has failed and is retried after a delay. */
  | 'waiting-for-retry'
  /** An operator must decide about a call of unknown outcome or a changed definition. */
  | 'needs-recovery'
  | 'completed'
  /** Ended by a stop, a guardrail or a limit: the outcome says which. */
  | 'stopped'
  | 'failed'

const words: Readonly<Record<RunStatus | 'retry', Status>> = {
  queued: 'queued',
  running: 'running',
  'awaiting-tools': 'waiting-for-user',
  'awaiting-approval': 'waiting-for-user',
  'awaiting-subagent': 'waiting-for-subagent',
  retry: 'waiting-for-retry',
  'needs-recovery': 'needs-recovery',
  completed: 'completed',
  aborted: 'stopped',
  halted: 'stopped',
  limit: 'stopped',
  error: 'failed',
}

/** All values of `Status`, from queued to ended. */
export const statuses: readonly Status[] = [...new Set(Object.values(words))]

/**
 * Returns the status that people are shown for the stored state of a run. `retries`: the run waits for its next attempt of a model
 * call.
 */
export function statusOf(run: RunStatus, retries?: boolean): Status {
  return words[retries && (run === 'queued' || run === 'running') ? 'retry' : run]
}

/** Returns whether a run or session with this status has ended. False without a status. */
export function isEnded(status: Status | undefined): boolean {
  return status === 'completed' || status === 'stopped' || status === 'failed'
}

/** Returns whether a turn with this status is suspended, so that it can continue. */
export function isSuspended(outcome: TurnStatus): boolean {
  return !isEnded(words[outcome])
}
