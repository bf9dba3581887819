import type { ExecuteComplete } from '@bowline/client'
import { isSuspended, lookForOutput } from '@bowline/agent-loop'
import type { SubmissionReceipt, TurnStatus } from '@bowline/agent-loop'
import type { JSONValue } from '@bowline/llm'
import type { LoggedEvent, RunInfo, Runtime } from '@bowline/sessions'
import { firstEvent } from '../session-log.ts'

type TurnEnd = Extract<LoggedEvent, { type: 'turn-end' }>

export interface Completion {
  /** Must be called with every event of the run. */
  see(event: LoggedEvent): void
  /** Returns the last frame of the stream. Returns undefined if the log has more events of the run after this cursor. */
  frame(cursor: string | undefined): Promise<ExecuteComplete | undefined>
}

/** Follows a run to its newest `turn-end` and returns its outcome. */
export function followCompletion(
  runtime: Runtime,
  run: { readonly sessionId: string; readonly runId: string; readonly submission?: SubmissionReceipt },
): Completion {
  let turnEnd: TurnEnd | undefined
  let output: JSONValue | undefined
  return {
    see(event) {
      if (event.type === 'turn-start') turnEnd = undefined
      if (event.type === 'turn-end') turnEnd = event
      if (event.type === 'message-start') output = undefined
      if (event.type === 'message-end' || event.type === 'tool-execution-end') output = lookForOutput([event.message]).output ?? output
    },
    async frame(cursor) {
      // The end of a turn holds the whole outcome.
      const info = turnEnd && !isSuspended(turnEnd.status) ? null : await runtime.run(run.runId)
      // A waiting run may have resumed between its last event and this read.
      if (info && (isMoving(info) || (await hasMore(runtime, info, cursor)))) return undefined
      const status = turnEnd?.status ?? restingStatus(info)
      const reason = turnEnd?.reason ?? info?.reason
      const error = turnEnd?.error ?? info?.error
      const cost = turnEnd ? turnEnd.cost : info?.cost
      return {
        type: 'execute-complete',
        ...run,
        status,
        ...(reason !== undefined && { reason }),
        ...(status === 'completed' && output !== undefined && { output }),
        ...(isSuspended(status) && { pendingToolCalls: info?.pendingToolCalls ?? [], pendingApprovals: info?.pendingApprovals ?? [] }),
        ...(isSuspended(status) && info?.heldRuns && { heldRuns: info.heldRuns }),
        usage: turnEnd?.usage ?? info?.usage ?? {},
        ...(cost && { cost }),
        ...(error !== undefined && { error }),
      }
    },
  }
}

/** Returns the status of a run that did not resume after the client's request. */
function restingStatus(info: RunInfo | null): TurnStatus {
  if (!info?.outcome) throw new Error('The events of the run ended before the run did.')
  return info.outcome
}

/**
 * Returns true if the run continues without the client. A run that waits without a question waits for its subagents, unless one of
 * them is held.
 */
export function isMoving({ status, endedAt, pendingToolCalls, pendingApprovals, heldRuns }: RunInfo): boolean {
  if (heldRuns !== undefined || status === 'needs-recovery' || endedAt !== undefined) return false
  return status === 'running' || pendingToolCalls.length + pendingApprovals.length === 0
}

async function hasMore(runtime: Runtime, { session, runId }: RunInfo, cursor: string | undefined): Promise<boolean> {
  if (cursor === undefined) return false
  return (await firstEvent(runtime.reader(session).events({ runId, cursor, live: false }))) !== undefined
}
