import type { ExecuteComplete } from '@bowline/client'
import type { SubmissionReceipt, TurnStatus } from '@bowline/agent-loop'
import type { LoggedEvent, RunInfo, Runtime } from '@bowline/sessions'

type TurnEnd = Extract<LoggedEvent, { type: 'turn-end' }>

export interface Completion {
  /** To be called with every event of the run. */
  see(event: LoggedEvent): void
  /** The last frame of the stream. Rejects when the run has neither ended nor waits. */
  frame(): Promise<ExecuteComplete>
}

/** Follows a run to its newest `turn-end` and says how it ended. */
export function followCompletion(
  runtime: Runtime,
  run: { readonly sessionId: string; readonly runId: string; readonly submission?: SubmissionReceipt },
): Completion {
  let turnEnd: TurnEnd | undefined
  return {
    see(event) {
      if (event.type === 'turn-start') turnEnd = undefined
      if (event.type === 'turn-end') turnEnd = event
    },
    async frame() {
      const info = await runtime.run(run.runId)
      const status = turnEnd?.status ?? restingStatus(info)
      const reason = turnEnd?.reason ?? info?.reason
      const error = turnEnd?.error ?? info?.error
      const cost = turnEnd ? turnEnd.cost : info?.cost
      return {
        type: 'execute-complete',
        ...run,
        status,
        ...(reason !== undefined && { reason }),
        ...(isWaiting(status) && { pendingToolCalls: info?.pendingToolCalls ?? [], pendingApprovals: info?.pendingApprovals ?? [] }),
        usage: turnEnd?.usage ?? info?.usage ?? {},
        ...(cost && { cost }),
        ...(error !== undefined && { error }),
      }
    },
  }
}

function isWaiting(status: TurnStatus): boolean {
  return status === 'awaiting-tools' || status === 'awaiting-approval' || status === 'needs-recovery'
}

/** Of a run that was not moved by what the client sent: it waits as before, or ended before. */
function restingStatus(info: RunInfo | null): TurnStatus {
  if (!info || info.status === 'queued' || info.status === 'running') {
    throw new Error('The events of the run ended before the run did.')
  }
  return info.status
}
