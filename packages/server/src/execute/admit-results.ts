import type { ToolResultInput } from '@bowline/client'
import type { SubmissionReceipt } from '@bowline/agent-loop'
import type { LoggedEvent, RunHandle, RunInfo } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'
import type { OwnedSession } from '../routes/owned-session.ts'
import { checkOutput } from './check-parts.ts'

export interface AdmittedResults {
  readonly run: RunHandle
  readonly receipt: SubmissionReceipt
}

/** Stores tool results, all or none. Calls whose outcome is unknown are decided by `resolve`, which needs more rights. */
export async function admitResults({ session }: OwnedSession, results: readonly ToolResultInput[]): Promise<AdmittedResults> {
  for (const result of results) if ('output' in result) checkOutput(result.output)
  const refused = results.filter((result) => 'unknown' in result).map((result) => ({ id: result.toolCallId, code: 'unknown-tool-call' }))
  if (refused.length > 0) {
    throw new ProblemError('unknown-tool-call', 'An unknown outcome cannot be submitted. Resolve the call instead.', { refused })
  }
  const { accepted, repeated, missing, run } = await session.submitToolResults(results, { unknownOutcomes: false })
  return { run, receipt: { accepted, repeated, missing } }
}

/** Returns the position before the newest segment of the run, where its stream begins. */
export async function startOfSegment({ session, info }: OwnedSession, run: RunInfo): Promise<string> {
  let before = run.cursor
  let start: string | undefined
  for await (const event of session.events({ cursor: run.cursor, live: false })) {
    if (isStartOf(event, run.runId)) start = before
    before = event.cursor
  }
  return start ?? info.cursor
}

function isStartOf(event: LoggedEvent, runId: string): boolean {
  return event.type === 'turn-start' && event.runId === runId
}
