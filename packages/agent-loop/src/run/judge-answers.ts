import { hashJson } from '../base/hash-json.ts'
import type { ApprovalDecision, SubmittedResult } from '../contract/input.ts'
import type { CallRow } from '../contract/journal.ts'
import type { AgentErrorCode } from '../events/turn-events.ts'
import { awaitsApproval, isOverdue } from '../kernel/call.ts'
import type { Call } from '../kernel/call.ts'
import type { Turn } from '../kernel/turn.ts'
import { canonicalDecision, editProblem } from '../plugins/approvals/approvals.ts'
import { validate } from '../tools/tool.ts'
import { answerHashOf, isRepeat, isUnknown } from './submitted-result.ts'

/** What is said about one answer: to be taken, known already, or refused. */
export type Verdict = 'accepted' | 'repeated' | AgentErrorCode | Refusal

/** Says more than its code. */
export interface Refusal {
  readonly code: AgentErrorCode
  readonly message: string
}

/** `call` is the open one of this id; `earlier` what the same submission said before about it. */
export async function judgeResult(
  turn: Turn,
  result: SubmittedResult,
  { call, earlier }: { readonly call: Call | undefined; readonly earlier: SubmittedResult | undefined },
): Promise<Verdict> {
  const { toolCallId, path = [] } = result
  if (path.length > 0) return 'unknown-tool-call'
  const stored = call?.row.outcome ?? turn.transcript.resultOf(toolCallId)
  if (stored) {
    const row = call?.row ?? (await rowOf(turn, toolCallId))
    return (await isRepeat(result, stored, row)) ? 'repeated' : 'tool-result-conflict'
  }
  if (!call || !waitsForResult(call)) return 'unknown-tool-call'
  if (isUnknown(result) && call.row.state === 'remote') return { code: 'invalid-input', message: 'a remote call cannot be settled as unknown' }
  const other = otherCall(turn, result, call)
  if (other !== undefined) return { code: 'invalid-input', message: `${other} is not that of the call that waits` }
  if (isOverdue(call, turn.clock.now())) return 'tool-result-conflict'
  return !earlier || answerHashOf(earlier) === answerHashOf(result) ? 'accepted' : 'tool-result-conflict'
}

/** As `judgeResult`, of a decision. */
export async function judgeDecision(
  turn: Turn,
  decision: ApprovalDecision,
  { call, earlier }: { readonly call: Call | undefined; readonly earlier: ApprovalDecision | undefined },
): Promise<Verdict> {
  const { approval } = call?.row ?? (await rowOf(turn, decision.approvalId)) ?? {}
  if (!approval) return 'unknown-approval'
  const text = canonicalDecision(decision)
  if (decision.inputHash !== undefined && decision.inputHash !== approval.inputHash) return 'approval-conflict'
  if (!call || !awaitsApproval(call)) return approval.decision === text ? 'repeated' : 'approval-conflict'
  if (isOverdue(call, turn.clock.now())) return 'approval-conflict'
  if (earlier) return canonicalDecision(earlier) === text ? 'accepted' : 'approval-conflict'
  if (decision.input === undefined) return 'accepted'
  const validated = validate(call.tool, decision.input)
  // A schema that hangs must not hold a run that is stopped meanwhile.
  const checked = await (turn.stop.requested ? validated : turn.stop.until(validated).catch(() => undefined))
  if (checked?.ok) return 'accepted'
  return { code: 'invalid-input', message: editProblem(checked?.issues) }
}

/** The first field of a pending call that another call has said of itself. */
function otherCall(turn: Turn, result: SubmittedResult, { row, part }: Call): string | undefined {
  if (isUnknown(result)) return undefined
  const { toolName, input, agent } = result
  if (toolName !== undefined && toolName !== row.toolName) return 'toolName'
  const inputs = [row.inputHash, hashJson(row.input ?? part.input)]
  if (input !== undefined && !inputs.includes(hashJson(input))) return 'input'
  return agent !== undefined && hashJson([...agent]) !== hashJson([...turn.run.path]) ? 'agent' : undefined
}

/** Ids that still need an answer. What is out of time is settled by the next run. */
export function openIdOf(turn: Turn, call: Call): readonly string[] {
  if (isOverdue(call, turn.clock.now())) return []
  const { approval } = call.row
  if (approval?.state === 'requested') return [approval.approvalId]
  return waitsForResult(call) ? [call.row.toolCallId] : []
}

/** Given away, or started under `once` without an outcome. */
function waitsForResult(call: Call): boolean {
  if (call.row.childKey !== undefined) return false
  return call.row.state === 'remote' || (call.row.state === 'started' && call.row.effect === 'once')
}

/** Of a call of an earlier step, as far as the journal keeps it. */
async function rowOf(turn: Turn, id: string): Promise<CallRow | undefined> {
  return turn.run.journal.findAnswered?.(id)
}
