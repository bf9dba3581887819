import type { JSONValue } from '@bowline/llm'
import { hashJson } from '../base/hash-json.ts'
import type { Tool } from '../contract/agent.ts'
import type { ApprovalDecision, SubmittedResult } from '../contract/input.ts'
import type { CallRow } from '../contract/journal.ts'
import type { SubmissionReceipt } from '../contract/run.ts'
import type { ToolResult } from '../events/tool-events.ts'
import type { AgentErrorCode, AgentErrorData } from '../events/turn-events.ts'
import { awaitsApproval, isOverdue } from '../kernel/call.ts'
import type { Call, GivenAnswers } from '../kernel/call.ts'
import { finish } from '../kernel/finish.ts'
import type { Turn } from '../kernel/turn.ts'
import { canonicalDecision, editProblem, resolveApproval } from '../plugins/approvals/approvals.ts'
import { unknownOutcome, valueOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import { validate } from '../tools/tool.ts'

/** Answers that were checked as a whole, by the call that they settle. */
export interface Submission {
  readonly results: ReadonlyMap<Call, SubmittedResult>
  readonly decisions: ReadonlyMap<Call, ApprovalDecision>
  /** Answers for the subagents of open calls. */
  readonly below: ReadonlyMap<Call, GivenAnswers>
  readonly receipt: SubmissionReceipt
}

export type CheckedSubmission = { readonly ok: true; readonly value: Submission } | { readonly ok: false; readonly error: AgentErrorData }

const messages: Partial<Record<AgentErrorCode, string>> = {
  'unknown-tool-call': 'no call with this id is waiting for a result; take the id from pendingToolCalls',
  'tool-result-conflict': 'the call already has another outcome, which stays',
  'unknown-approval': 'this journal has no approval with this id; take the id from pendingApprovals',
  'approval-conflict': 'the approval was already decided differently, or is about another input',
}

/** Collects the verdicts on the answers. */
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

/** Checks all answers. Changes nothing. If one answer is refused, all are. */
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

/** Judges the answers to the calls of a run and of its subagents. */
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

/** Returns the outcome of a call whose result came from outside. */
function submittedOutcome(call: Call, result: SubmittedResult): Promise<Outcome> | Outcome {
  return outcomeOf(result, call.tool, call.part.input)
}

/** Hashes output, details and the error flag. Equal hashes are the same answer. */
function answerHashOf(result: SubmittedResult): string {
  if (isUnknown(result)) return hashJson({ unknown: true })
  const { output, isError = false, details } = returnedFrom(result)
  return hashJson({ output: output as JSONValue, isError, ...(details !== undefined && { details }) })
}

/**
 * Returns whether the answer is the stored one, however hooks have changed it. Without a stored hash, the stored result is
 * compared.
 */
async function isRepeat(result: SubmittedResult, stored: ToolResult, row: CallRow | undefined): Promise<boolean> {
  if (row?.answerHash !== undefined) return row.answerHash === answerHashOf(result)
  return hashJson(factsOf(stored)) === hashJson(factsOf(await outcomeOf(result, undefined, {})))
}

function outcomeOf(result: SubmittedResult, tool: Tool | undefined, input: JSONValue): Promise<Outcome> | Outcome {
  if (isUnknown(result)) return unknownOutcome('the outcome of the call is unknown', 'here')
  const { output, details, isError } = returnedFrom(result)
  const value = { output, ...(details !== undefined && { details }), ...(isError !== undefined && { isError }) }
  return valueOutcome(tool, { toolCallId: result.toolCallId, input }, value, 'elsewhere')
}

type Returned = Extract<SubmittedResult, { readonly output: unknown }>

function returnedFrom(result: Exclude<SubmittedResult, UnknownResult>): Omit<Returned, 'toolCallId'> {
  return 'error' in result ? { output: result.error, isError: true } : result
}

type UnknownResult = Exclude<SubmittedResult, { readonly output: unknown } | { readonly error: string }>

/**
 * Returns whether the answer itself is `unknown`. A pending call that is sent back with its answer has `unknown` as its own field.
 */
function isUnknown(result: SubmittedResult): result is UnknownResult {
  return !('output' in result) && !('error' in result)
}

function factsOf({ output, details, status }: Pick<Outcome, 'status' | 'output' | 'details'>): JSONValue {
  return { output, status, ...(details !== undefined && { details }) } as unknown as JSONValue
}

/** Verdict on one answer: it is accepted, a repeat, or refused. */
export type Verdict = 'accepted' | 'repeated' | AgentErrorCode | Refusal

/** A refusal with a message of its own. */
export interface Refusal {
  readonly code: AgentErrorCode
  readonly message: string
}

/** `call` is the open call of this id; `earlier` is an answer to it in the same submission. */
async function judgeResult(
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
  if (isUnknown(result) && call.row.state === 'remote')
    return { code: 'invalid-input', message: 'a remote call cannot be settled as unknown; give its output or error' }
  const other = otherCall(turn, result, call)
  if (other !== undefined) return { code: 'invalid-input', message: `${other} differs from that of the pending call` }
  if (isOverdue(call, turn.clock.now())) return 'tool-result-conflict'
  return !earlier || answerHashOf(earlier) === answerHashOf(result) ? 'accepted' : 'tool-result-conflict'
}

/** As `judgeResult`, but for a decision. */
async function judgeDecision(
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

/** Returns the first field of the answer that belongs to another pending call. */
function otherCall(turn: Turn, result: SubmittedResult, { row, part }: Call): string | undefined {
  if (isUnknown(result)) return undefined
  const { toolName, input, agent } = result
  if (toolName !== undefined && toolName !== row.toolName) return 'toolName'
  const inputs = [row.inputHash, hashJson(row.input ?? part.input)]
  if (input !== undefined && !inputs.includes(hashJson(input))) return 'input'
  return agent !== undefined && hashJson([...agent]) !== hashJson([...turn.run.path]) ? 'agent' : undefined
}

/** Returns the ids that still need an answer. The next run settles what is out of time. */
function openIdOf(turn: Turn, call: Call): readonly string[] {
  if (isOverdue(call, turn.clock.now())) return []
  const { approval } = call.row
  if (approval?.state === 'requested') return [approval.approvalId]
  return waitsForResult(call) ? [call.row.toolCallId] : []
}

/** Returns whether a call waits for a result: it was given away, or was started under `once` and has no outcome. */
function waitsForResult(call: Call): boolean {
  if (call.row.childKey !== undefined) return false
  return call.row.state === 'remote' || (call.row.state === 'started' && call.row.effect === 'once')
}

/** Returns the row of a call of an earlier step, as far as the journal keeps it. */
async function rowOf(turn: Turn, id: string): Promise<CallRow | undefined> {
  return turn.run.journal.findAnswered?.(id)
}
