import type { JSONValue } from '@bowline/llm'
import type { ApprovalDecision, SubmissionReceipt, SubmittedResult } from '../agent/options.ts'
import type { AgentErrorCode, AgentErrorData } from '../events/types.ts'
import { canonicalJson, hashJson } from '../hash-json.ts'
import { canonicalDecision, resolveApproval } from '../tools/approve.ts'
import { awaitsApproval, isOverdue, isSettled } from '../tools/call.ts'
import type { Call } from '../tools/call.ts'
import { cappedOutput, finalize } from '../tools/finalize.ts'
import { returnedOutcome, unknownOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import { validate } from '../tools/prepare.ts'
import { routeAnswers } from '../subagents/route-answers.ts'
import type { Turn } from './turn.ts'

/** Answers that were checked as a whole, by the call that they settle. */
export interface Submission {
  readonly outcomes: ReadonlyMap<Call, Outcome>
  readonly decisions: ReadonlyMap<Call, ApprovalDecision>
  /** What is for the subagents of open calls. */
  readonly below: ReadonlyMap<Call, GivenAnswers>
  readonly receipt: SubmissionReceipt
}

export type CheckedSubmission = { readonly ok: true; readonly value: Submission } | { readonly ok: false; readonly error: AgentErrorData }

export interface GivenAnswers {
  readonly results: readonly SubmittedResult[]
  readonly approvals: readonly ApprovalDecision[]
}

type Verdict = 'accepted' | 'repeated' | AgentErrorCode

const messages: Partial<Record<AgentErrorCode, string>> = {
  'unknown-tool-call': 'no call of this id waits for a result',
  'tool-result-conflict': 'the call has another outcome already',
  'unknown-approval': 'no approval of this id was asked for',
  'approval-conflict': 'the approval is about another input, or was decided otherwise',
  'invalid-input': 'the edited input is not valid, or a remote call is settled as unknown',
}

/** Collects what is said about each answer. */
class Verdicts {
  readonly accepted: string[] = []
  readonly repeated: string[] = []
  readonly refused: { id: string; code: AgentErrorCode }[] = []

  add(id: string, verdict: Verdict): void {
    if (verdict === 'accepted') this.accepted.push(id)
    else if (verdict === 'repeated') this.repeated.push(id)
    else this.refused.push({ id, code: verdict })
  }
}

/** Changes nothing. One answer that is refused refuses all. */
export async function checkSubmission(turn: Turn, calls: readonly Call[], answers: GivenAnswers): Promise<CheckedSubmission> {
  const verdicts = new Verdicts()
  const { missing, ...judged } = await judge(turn, calls, answers, verdicts)
  const [first] = verdicts.refused
  if (first) {
    const message = `${first.id}: ${messages[first.code] ?? first.code}`
    return { ok: false, error: { code: first.code, message, refused: verdicts.refused } }
  }
  const { accepted, repeated } = verdicts
  return { ok: true, value: { ...judged, receipt: { accepted: unique(accepted), repeated: unique(repeated), missing } } }
}

type Judged = Omit<Submission, 'receipt'> & { readonly missing: readonly string[] }

/** The answers to the calls of a run, and to those of its subagents. */
async function judge(turn: Turn, calls: readonly Call[], answers: GivenAnswers, verdicts: Verdicts): Promise<Judged> {
  const { own, below: routed } = await routeAnswers(turn, calls, answers)
  const outcomes = await checkResults(turn, calls, own.results, verdicts)
  const decisions = await checkDecisions(turn, calls, own.approvals, verdicts)
  const missing = calls.filter((call) => !outcomes.has(call) && !decisions.has(call)).flatMap(openIdOf)
  const below = new Map<Call, GivenAnswers>()
  for (const { child, call, answers: theirs } of routed) {
    const before = verdicts.accepted.length
    const judged = await judge(child.turn, child.calls, theirs, verdicts)
    missing.push(...judged.missing)
    if (call && verdicts.accepted.length > before) below.set(call, theirs)
  }
  return { outcomes, decisions, below, missing }
}

/** Drafts the answers that were accepted. */
export async function settleSubmission(turn: Turn, { outcomes, decisions, below }: Submission): Promise<void> {
  for (const [call, { results, approvals }] of below) {
    call.answers = { toolResults: results, approvals }
    call.entering = true
  }
  for (const [call, decision] of decisions) await resolveApproval(turn, call, decision)
  for (const [call, outcome] of outcomes) {
    call.row = { ...call.row, answerHash: hashJson(comparable(call, outcome)) }
    await finalize(turn, call, outcome)
  }
}

async function checkResults(
  turn: Turn,
  calls: readonly Call[],
  results: readonly SubmittedResult[],
  verdicts: Verdicts,
): Promise<ReadonlyMap<Call, Outcome>> {
  const outcomes = new Map<Call, Outcome>()
  for (const result of results) {
    const call = calls.find(({ row }) => row.toolCallId === result.toolCallId)
    const outcome = await submittedOutcome(call, result)
    const verdict = await judgeResult(turn, call, result, outcome, call && outcomes.get(call))
    verdicts.add(result.toolCallId, verdict)
    if (verdict === 'accepted' && call) outcomes.set(call, outcome)
  }
  return outcomes
}

async function judgeResult(
  turn: Turn,
  call: Call | undefined,
  result: SubmittedResult,
  outcome: Outcome,
  earlier: Outcome | undefined,
): Promise<Verdict> {
  if (result.path && result.path.length > 0) return 'unknown-tool-call'
  const stored = call?.row.outcome ?? turn.transcript.resultOf(result.toolCallId)
  if (stored) return (await isRepeat(call, stored, outcome)) ? 'repeated' : 'tool-result-conflict'
  if (!call || !waitsForResult(call)) return 'unknown-tool-call'
  if ('unknown' in result && call.row.state === 'remote') return 'invalid-input'
  if (call.row.state === 'remote' && isOverdue(turn, call)) return 'tool-result-conflict'
  return !earlier || isSame(comparable(call, earlier), comparable(call, outcome)) ? 'accepted' : 'tool-result-conflict'
}

async function isRepeat(call: Call | undefined, stored: Pick<Outcome, 'status' | 'output' | 'details'>, outcome: Outcome): Promise<boolean> {
  const given = comparable(call, outcome)
  if (call?.row.answerHash !== undefined) return call.row.answerHash === hashJson(given)
  return isSame(factsOf(stored), given)
}

async function checkDecisions(
  turn: Turn,
  calls: readonly Call[],
  approvals: readonly ApprovalDecision[],
  verdicts: Verdicts,
): Promise<ReadonlyMap<Call, ApprovalDecision>> {
  const decisions = new Map<Call, ApprovalDecision>()
  for (const decision of approvals) {
    const call = calls.find(({ row }) => row.approval?.approvalId === decision.approvalId)
    const verdict = call ? await judgeDecision(turn, call, decision, decisions.get(call)) : 'unknown-approval'
    verdicts.add(decision.approvalId, verdict)
    if (verdict === 'accepted' && call) decisions.set(call, decision)
  }
  return decisions
}

async function judgeDecision(turn: Turn, call: Call, decision: ApprovalDecision, earlier: ApprovalDecision | undefined): Promise<Verdict> {
  const { approval } = call.row
  const text = canonicalDecision(decision)
  if (decision.inputHash !== undefined && decision.inputHash !== approval?.inputHash) return 'approval-conflict'
  if (!awaitsApproval(call)) return approval?.decision === text ? 'repeated' : 'approval-conflict'
  if (isOverdue(turn, call)) return 'approval-conflict'
  if (earlier) return canonicalDecision(earlier) === text ? 'accepted' : 'approval-conflict'
  if (decision.input === undefined) return 'accepted'
  return (await validate(call.tool, decision.input)).ok ? 'accepted' : 'invalid-input'
}

/** Given away, or started under `once` without an outcome. */
function waitsForResult(call: Call): boolean {
  if (isSettled(call) || call.row.childKey !== undefined) return false
  return call.row.state === 'remote' || (call.row.state === 'started' && call.row.effect === 'once')
}

function openIdOf(call: Call): readonly string[] {
  if (awaitsApproval(call)) return call.row.approval ? [call.row.approval.approvalId] : []
  return waitsForResult(call) ? [call.row.toolCallId] : []
}

async function submittedOutcome(call: Call | undefined, result: SubmittedResult): Promise<Outcome> {
  if ('unknown' in result) return unknownOutcome('nobody can say what became of the call', 'here')
  const value = 'error' in result ? { output: result.error, isError: true } : result
  const facts = { toolCallId: result.toolCallId, input: call?.part.input ?? {} }
  return returnedOutcome(call?.tool, facts, value, 'elsewhere')
}

function comparable(call: Call | undefined, outcome: Outcome): JSONValue {
  return factsOf({ ...outcome, output: call ? cappedOutput(call, outcome) : outcome.output })
}

function factsOf({ output, details, status }: Pick<Outcome, 'status' | 'output' | 'details'>): JSONValue {
  return { output, status, ...(details !== undefined && { details }) } as unknown as JSONValue
}

function isSame(a: JSONValue, b: JSONValue): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

function unique(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)]
}
