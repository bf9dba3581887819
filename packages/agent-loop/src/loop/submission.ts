import { canonicalJson } from '../hash-json.ts'
import type { AgentErrorCode, AgentErrorData, OutcomeStatus, ToolResult } from '../events/types.ts'
import type { JSONValue, ToolOutput } from '@bowline/llm'
import type { SubmissionReceipt, SubmittedResult } from '../agent/options.ts'
import { isSettled } from '../tools/call.ts'
import type { Call } from '../tools/call.ts'
import { cappedOutput } from '../tools/finalize.ts'
import { returnedOutcome, unknownOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import type { Turn } from './turn.ts'

/** Answers that were checked as a whole, by the call that they settle. */
export interface Submission {
  readonly outcomes: ReadonlyMap<Call, Outcome>
  readonly receipt: SubmissionReceipt
}

export type CheckedSubmission = { readonly ok: true; readonly value: Submission } | { readonly ok: false; readonly error: AgentErrorData }

type Verdict = 'accepted' | 'repeated' | AgentErrorCode

const messages: Partial<Record<AgentErrorCode, string>> = {
  'unknown-tool-call': 'no call of this id waits for a result',
  'tool-result-conflict': 'the call has another outcome already',
  'invalid-input': 'only a call of which nobody can say whether it happened can be settled as unknown',
}

/** Changes nothing. One answer that is refused refuses all. */
export function checkSubmission(turn: Turn, calls: readonly Call[], results: readonly SubmittedResult[]): CheckedSubmission {
  const outcomes = new Map<Call, Outcome>()
  const accepted: string[] = []
  const repeated: string[] = []
  const refused: { id: string; code: AgentErrorCode }[] = []
  for (const result of results) {
    const id = result.toolCallId
    const call = calls.find(({ row }) => row.toolCallId === id)
    const outcome = submittedOutcome(call, result)
    const verdict = judge(turn, call, result, outcome, call && outcomes.get(call))
    if (verdict === 'repeated') repeated.push(id)
    else if (verdict !== 'accepted') refused.push({ id, code: verdict })
    else if (call && !outcomes.has(call)) {
      outcomes.set(call, outcome)
      accepted.push(id)
    }
  }
  const [first] = refused
  if (first) return { ok: false, error: { code: first.code, message: `${first.id}: ${messages[first.code] ?? first.code}`, refused } }
  const missing = calls.filter((call) => !outcomes.has(call) && waitsForAnswer(call)).map(({ row }) => row.toolCallId)
  return { ok: true, value: { outcomes, receipt: { accepted, repeated, missing } } }
}

function judge(turn: Turn, call: Call | undefined, result: SubmittedResult, outcome: Outcome, earlier?: Outcome): Verdict {
  if (result.path && result.path.length > 0) return 'unknown-tool-call'
  const stored = call?.row.outcome ?? storedResult(turn, result.toolCallId)
  if (stored) return sameText(storedText(stored), outcomeText(call, outcome)) ? 'repeated' : 'tool-result-conflict'
  if (!call || !waitsForAnswer(call)) return 'unknown-tool-call'
  if ('unknown' in result && call.row.state === 'remote') return 'invalid-input'
  if (call.row.state === 'remote' && isOverdue(turn, call)) return 'tool-result-conflict'
  return !earlier || sameText(outcomeText(call, earlier), outcomeText(call, outcome)) ? 'accepted' : 'tool-result-conflict'
}

/** Given away, or started under `once` without an outcome. */
function waitsForAnswer(call: Call): boolean {
  if (isSettled(call)) return false
  return call.row.state === 'remote' || (call.row.state === 'started' && call.row.effect === 'once')
}

export function isOverdue(turn: Turn, call: Call): boolean {
  return call.row.deadlineAt !== undefined && call.row.deadlineAt <= turn.clock.now()
}

function submittedOutcome(call: Call | undefined, result: SubmittedResult): Outcome {
  if ('unknown' in result) return unknownOutcome('nobody can say what became of the call', 'here')
  const value = 'error' in result ? { output: result.error, isError: true } : result
  const facts = { toolCallId: result.toolCallId, input: call?.part.input ?? {} }
  return returnedOutcome(call?.tool, facts, value, 'elsewhere')
}

function storedResult(turn: Turn, toolCallId: string): ToolResult | undefined {
  const found = turn.transcript.messages.findLast((entry) => entry.role === 'tool-result' && entry.toolCallId === toolCallId)
  return found?.role === 'tool-result' ? found : undefined
}

interface Comparable {
  readonly output: ToolOutput
  readonly details?: JSONValue
  readonly status: OutcomeStatus
}

function storedText({ output, details, status }: ToolResult): string {
  return textOf({ output, status, ...(details !== undefined && { details }) })
}

function outcomeText(call: Call | undefined, outcome: Outcome): string {
  const { status, details } = outcome
  const output = call ? cappedOutput(call, outcome) : outcome.output
  return textOf({ output, status, ...(details !== undefined && { details }) })
}

function textOf(comparable: Comparable): string {
  return canonicalJson(comparable as unknown as JSONValue)
}

function sameText(a: string, b: string): boolean {
  return a === b
}
