import type { SubmittedResult } from '@bowline/agent-loop'
import type { PendingToolCall } from '@bowline/agent-loop/events'
import type { JSONValue } from '@bowline/llm'
import type { Answer } from '../agent.ts'

type ToolAnswer = Exclude<Answer, { readonly decision: unknown }>

export interface Decision {
  readonly input?: JSONValue
  readonly reason?: string
}

/** A run whose calls wait for answers, in the session itself or in subagents at any depth. */
export interface AnswerTarget {
  readonly pendingToolCalls: readonly PendingToolCall[]
  decide(approvalId: string, decision: 'approve' | 'deny', details: Decision): Promise<{ readonly repeated: boolean }>
  /** Submits results of one agent. All must have the same path. */
  submit(results: readonly SubmittedResult[]): Promise<{ readonly accepted: readonly string[] }>
}

/** Passes answers to the calls that wait for them. Returns true if at least one answer was new. Earlier answers are not replaced. */
export async function giveAnswers(target: AnswerTarget, answers: readonly Answer[]): Promise<boolean> {
  let fresh = false
  for (const answer of answers) {
    if (!('decision' in answer)) continue
    const { id, decision, input, reason } = answer
    const details = { ...(input !== undefined && { input }), ...(reason !== undefined && { reason }) }
    const { repeated } = await target.decide(id, decision, details)
    fresh ||= !repeated
  }
  for (const results of submissions(target.pendingToolCalls, answers)) {
    const { accepted } = await target.submit(results)
    fresh ||= accepted.length > 0
  }
  return fresh
}

/** Groups results by agent: one submission holds results for one agent only. */
function submissions(waiting: readonly PendingToolCall[], answers: readonly Answer[]): readonly (readonly SubmittedResult[])[] {
  const byPath = new Map<string, SubmittedResult[]>()
  for (const answer of answers) {
    if ('decision' in answer) continue
    const result = submittedResult(waiting, answer)
    const path = JSON.stringify(result.path)
    byPath.set(path, [...(byPath.get(path) ?? []), result])
  }
  return [...byPath.values()]
}

function submittedResult(waiting: readonly PendingToolCall[], answer: ToolAnswer): SubmittedResult {
  const place = placeOf(waiting, answer.id)
  return 'error' in answer ? { ...place, error: answer.error } : { ...place, output: answer.output }
}

/** Ids come from models and may contain a slash. So compare the whole id with the pending calls before splitting it. */
function placeOf(waiting: readonly PendingToolCall[], id: string): { readonly path: readonly string[]; readonly toolCallId: string } {
  const found = waiting.find(({ path, toolCallId }) => [...path, toolCallId].join('/') === id)
  if (found) return { path: found.path, toolCallId: found.toolCallId }
  const parts = id.split('/')
  return { path: parts.slice(0, -1), toolCallId: parts.at(-1) ?? id }
}
