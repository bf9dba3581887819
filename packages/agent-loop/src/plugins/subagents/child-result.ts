import type { AgentResult, Spending } from '../../contract/run.ts'
import type { ChildReport, ToolReturnValue } from '../../contract/tool.ts'
import type { TurnStatus } from '../../events/turn-events.ts'
import { cutMiddle } from '../../tools/output.ts'

/** How the run of a subagent ended. */
export interface ChildEnd extends Pick<AgentResult, 'status' | 'text' | 'steps' | 'error'> {
  readonly childRunId: string
  readonly spent: Spending
}

const textCharacters = 20_000

const failures: ReadonlySet<TurnStatus> = new Set<TurnStatus>(['error', 'aborted', 'halted'])

/** What the model is told: compact, and never the log of the subagent. */
export function returnedBy({ childRunId, status, text, steps, error }: ChildEnd): ToolReturnValue {
  return {
    output: { result: status, text: cutMiddle(text, textCharacters), steps, ...(error && { error: error.message }) },
    details: { childRunId },
    ...(failures.has(status) && { isError: true }),
  }
}

export function endReport({ childRunId, status, spent, error }: ChildEnd): ChildReport {
  const { usage, cost } = spent
  return { kind: 'end', childRunId, status, usage, ...(cost && { cost }), ...(error && { error }) }
}
