import type { SubmittedResult } from '@bowline/agent-loop'
import type { PendingToolCall } from '@bowline/agent-loop/events'
import type { JSONValue } from '@bowline/llm'
import type { Answer } from '../agent.ts'

type ToolAnswer = Exclude<Answer, { readonly decision: unknown }>

export interface Decision {
  readonly input?: JSONValue
  readonly reason?: string
}

/** Where calls wait for answers, at any depth below a session. */
export interface AnswerTarget {
  readonly pendingToolCalls: readonly PendingToolCall[]
  decide(approvalId: string, decision: 'approve' | 'deny', details: Decision): Promise<{ readonly repeated: boolean }>
  /** All of one subagent. */
  submit(results: readonly SubmittedResult[]): Promise<{ readonly accepted: readonly string[] }>
}

/** Hands answers to their calls. True when one of them was new: what was answered before stays as it was. */
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

/** A submission holds results for one subagent only. */
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

/** Ids come from models and may have a slash of their own: those of calls that wait are compared whole. */
function placeOf(waiting: readonly PendingToolCall[], id: string): { readonly path: readonly string[]; readonly toolCallId: string } {
  const found = waiting.find(({ path, toolCallId }) => [...path, toolCallId].join('/') === id)
  if (found) return { path: found.path, toolCallId: found.toolCallId }
  const parts = id.split('/')
  return { path: parts.slice(0, -1), toolCallId: parts.at(-1) ?? id }
}
