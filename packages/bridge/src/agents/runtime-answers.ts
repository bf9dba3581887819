import type { SubmittedResult } from '@bowline/agent-loop'
import type { RunInfo, Session } from '@bowline/sessions'
import type { Answer, PromptResult } from '../agent.ts'
import { pendingInputs } from '../requests/run-result.ts'

type ToolAnswer = Exclude<Answer, { readonly decision: unknown }>

/**
 * Hands answers to the calls that wait for them, at any depth below the run. True when one of them was new: what was
 * answered before stays as it was.
 */
export async function giveAnswers(session: Session, run: RunInfo, answers: readonly Answer[], by: string): Promise<boolean> {
  let fresh = false
  for (const answer of answers) {
    if (!('decision' in answer)) continue
    const { id, decision, input, reason } = answer
    const options = { by, ...(input !== undefined && { input }), ...(reason !== undefined && { reason }) }
    const { repeated } = await session[decision](id, options)
    fresh ||= !repeated
  }
  for (const results of submissions(run, answers)) {
    const { accepted } = await session.submitToolResults(results, { unknownOutcomes: false })
    fresh ||= accepted.length > 0
  }
  return fresh
}

/** Of a run that has questions left. */
export function waitingResult(run: RunInfo, text: string): PromptResult | undefined {
  const pending = pendingInputs(run)
  if (pending.length === 0) return undefined
  const { usage, cost } = run
  return { text, stopReason: 'needs_input', pending, ...(Object.keys(usage).length > 0 && { usage }), ...(cost && { cost }) }
}

/** A submission holds results for one subagent only. */
function submissions(run: RunInfo, answers: readonly Answer[]): readonly (readonly SubmittedResult[])[] {
  const byPath = new Map<string, SubmittedResult[]>()
  for (const answer of answers) {
    if ('decision' in answer) continue
    const result = submittedResult(run, answer)
    const path = JSON.stringify(result.path)
    byPath.set(path, [...(byPath.get(path) ?? []), result])
  }
  return [...byPath.values()]
}

function submittedResult(run: RunInfo, answer: ToolAnswer): SubmittedResult {
  const place = placeOf(run, answer.id)
  return 'error' in answer ? { ...place, error: answer.error } : { ...place, output: answer.output }
}

/** Ids come from models and may have a slash of their own: those of calls that wait are compared whole. */
function placeOf(run: RunInfo, id: string): { readonly path: readonly string[]; readonly toolCallId: string } {
  const waiting = run.pendingToolCalls.find(({ path, toolCallId }) => [...path, toolCallId].join('/') === id)
  if (waiting) return { path: waiting.path, toolCallId: waiting.toolCallId }
  const parts = id.split('/')
  return { path: parts.slice(0, -1), toolCallId: parts.at(-1) ?? id }
}
