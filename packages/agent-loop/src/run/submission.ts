import type { ApprovalDecision, SubmittedResult } from '../contract/input.ts'
import type { SubmissionReceipt } from '../contract/run.ts'
import type { AgentErrorCode, AgentErrorData } from '../events/turn-events.ts'
import type { Call, GivenAnswers } from '../kernel/call.ts'
import { finish } from '../kernel/finish.ts'
import type { Turn } from '../kernel/turn.ts'
import { resolveApproval } from '../plugins/approvals/approvals.ts'
import { judgeDecision, judgeResult, openIdOf } from './judge-answers.ts'
import type { Refusal, Verdict } from './judge-answers.ts'
import { answerHashOf, submittedOutcome } from './submitted-result.ts'

/** Answers that were checked as a whole, by the call that they settle. */
export interface Submission {
  readonly results: ReadonlyMap<Call, SubmittedResult>
  readonly decisions: ReadonlyMap<Call, ApprovalDecision>
  /** What is for the subagents of open calls. */
  readonly below: ReadonlyMap<Call, GivenAnswers>
  readonly receipt: SubmissionReceipt
}

export type CheckedSubmission = { readonly ok: true; readonly value: Submission } | { readonly ok: false; readonly error: AgentErrorData }

const messages: Partial<Record<AgentErrorCode, string>> = {
  'unknown-tool-call': 'no call of this id waits for a result',
  'tool-result-conflict': 'the call has another outcome already',
  'unknown-approval': 'no approval of this id was asked for in this journal',
  'approval-conflict': 'the approval is about another input, or was decided otherwise',
}

/** Collects what is said about each answer. */
class Verdicts {
  readonly accepted: string[] = []
  readonly repeated: string[] = []
  readonly refused: { id: string; code: AgentErrorCode }[] = []
  /** Message of the first refusal. */
  message = ''

  add(id: string, verdict: Verdict): void {
    if (verdict === 'accepted') this.accepted.push(id)
    else if (verdict === 'repeated') this.repeated.push(id)
    else this.#refuse(id, typeof verdict === 'string' ? { code: verdict, message: messages[verdict] ?? verdict } : verdict)
  }

  #refuse(id: string, { code, message }: Refusal): void {
    if (this.refused.length === 0) this.message = `${id}: ${message}`
    this.refused.push({ id, code })
  }
}

/** Changes nothing. One answer that is refused refuses all. */
export async function checkSubmission(turn: Turn, calls: readonly Call[], answers: GivenAnswers): Promise<CheckedSubmission> {
  const verdicts = new Verdicts()
  const { missing, ...judged } = await judge(turn, calls, answers, verdicts)
  const [first] = verdicts.refused
  if (first) {
    return { ok: false, error: { code: first.code, message: verdicts.message, refused: verdicts.refused } }
  }
  const { accepted, repeated } = verdicts
  return { ok: true, value: { ...judged, receipt: { accepted: unique(accepted), repeated: unique(repeated), missing } } }
}

type Judged = Omit<Submission, 'receipt'> & { readonly missing: readonly string[] }

/** The answers to the calls of a run, and to those of its subagents. */
async function judge(turn: Turn, calls: readonly Call[], answers: GivenAnswers, verdicts: Verdicts): Promise<Judged> {
  const { own, below: routed } = (await turn.plugins.delegation?.route(turn, calls, answers)) ?? { own: answers, below: [] }
  const results = await checkResults(turn, calls, own.results, verdicts)
  const decisions = await checkDecisions(turn, calls, own.approvals, verdicts)
  const missing = calls.filter((call) => !results.has(call) && !decisions.has(call)).flatMap((call) => openIdOf(turn, call))
  const below = new Map<Call, GivenAnswers>()
  for (const { turn: child, calls: open, call, answers: theirs } of routed) {
    const before = verdicts.accepted.length
    const judged = await judge(child, open, theirs, verdicts)
    missing.push(...judged.missing)
    if (call && verdicts.accepted.length > before) below.set(call, theirs)
  }
  return { results, decisions, below, missing }
}

/** Drafts the answers that were accepted. */
export async function settleSubmission(turn: Turn, { results, decisions, below }: Submission): Promise<void> {
  for (const [call, answers] of below) turn.plugins.delegation?.give(call, answers)
  for (const [call, decision] of decisions) await resolveApproval(turn, call, decision)
  for (const [call, result] of results) {
    call.row = { ...call.row, answerHash: answerHashOf(result) }
    await finish(turn, call, await submittedOutcome(call, result))
  }
}

async function checkResults(
  turn: Turn,
  calls: readonly Call[],
  given: GivenAnswers['results'],
  verdicts: Verdicts,
): Promise<ReadonlyMap<Call, SubmittedResult>> {
  const results = new Map<Call, SubmittedResult>()
  for (const result of given) {
    const call = calls.find(({ row }) => row.toolCallId === result.toolCallId)
    const verdict = await judgeResult(turn, result, { call, earlier: call && results.get(call) })
    verdicts.add(result.toolCallId, verdict)
    if (verdict === 'accepted' && call) results.set(call, result)
  }
  return results
}

async function checkDecisions(
  turn: Turn,
  calls: readonly Call[],
  given: GivenAnswers['approvals'],
  verdicts: Verdicts,
): Promise<ReadonlyMap<Call, ApprovalDecision>> {
  const decisions = new Map<Call, ApprovalDecision>()
  for (const decision of given) {
    const call = calls.find(({ row }) => row.approval?.approvalId === decision.approvalId)
    const verdict = await judgeDecision(turn, decision, { call, earlier: call && decisions.get(call) })
    verdicts.add(decision.approvalId, verdict)
    if (verdict === 'accepted' && call) decisions.set(call, decision)
  }
  return decisions
}

function unique(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)]
}
