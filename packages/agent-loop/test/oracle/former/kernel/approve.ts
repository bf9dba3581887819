import type { SchemaIssue } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import { canonicalJson } from '../base/hash-json.ts'
import type { ApprovalDecision } from '../contract/input.ts'
import type { CallApproval } from '../contract/journal.ts'
import { deniedOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import { decisionFrom } from '../transcript/input.ts'
import { approvalRequest, awaitsApproval, isOverdue, writeRows } from './call.ts'
import type { Call } from './call.ts'
import { finalize } from './finalize.ts'
import { validate } from './prepare.ts'
import type { Turn } from './turn.ts'

/** The calls whose approval somebody in this process can be asked for, taken in hand. */
export function approveInPlace(turn: Turn, calls: readonly Call[]): readonly Call[] {
  if (!turn.run.onApproval) return []
  const asking = calls.filter((call) => awaitsApproval(call) && !turn.askedInPlace.has(call.row.toolCallId))
  for (const call of asking) {
    turn.askedInPlace.add(call.row.toolCallId)
    call.running = true
  }
  return asking
}

/** Asks in place. It must not reject; undefined leaves the question open. */
export async function askApproval(turn: Turn, call: Call): Promise<ApprovalDecision | undefined> {
  const request = approvalRequest(call)
  const { onApproval } = turn.run
  if (!request || !onApproval) return undefined
  try {
    const decision = await turn.stop.until(onApproval(request))
    return decision === undefined ? undefined : decisionFrom('onApproval()', decision)
  } catch (error) {
    if (!turn.stop.requested) {
      const { toolName } = call.row
      turn.log.record({ type: 'error', source: 'tool', name: toolName, hook: 'onApproval', message: messageOf(error), fatal: false })
    }
    return undefined
  }
}

/** What somebody in this process has decided. What is no valid decision, or comes too late, leaves the question open. */
export async function takeDecision(turn: Turn, call: Call, decision: ApprovalDecision | undefined): Promise<void> {
  call.running = false
  if (!decision || isOverdue(turn, call)) return
  const objection = await objectionTo(turn, call, decision)
  if (turn.stop.requested) return
  if (objection === undefined) return resolveApproval(turn, call, decision)
  turn.log.record({ type: 'error', source: 'tool', name: call.row.toolName, hook: 'onApproval', message: objection, fatal: false })
}

async function objectionTo(turn: Turn, call: Call, { approvalId, inputHash, input }: ApprovalDecision): Promise<string | undefined> {
  const { approval } = call.row
  if (approval?.approvalId !== approvalId) return `the decision is about ${approvalId}`
  if (inputHash !== undefined && inputHash !== approval.inputHash) return 'the decision is about another input'
  if (input === undefined) return undefined
  const checked = await turn.stop.until(validate(call.tool, input)).catch(() => undefined)
  return checked?.ok ? undefined : editProblem(checked?.issues)
}

/** Names each place of an edited input that its tool's schema refuses. */
export function editProblem(issues: readonly SchemaIssue[] = []): string {
  const places = issues.map(({ path, message }) => `${path === '' ? 'input' : `input.${path}`}: ${message}`)
  return ['the edited input is not valid', ...places].join('; ')
}

/** Drafts a decision that was checked: an approved call is to be prepared with the input that was approved, a denied one ends. */
export async function resolveApproval(turn: Turn, call: Call, decision: ApprovalDecision): Promise<void> {
  const { approval, toolCallId, deadlineAt: _over, ...row } = call.row
  if (!approval) return
  const { approvalId, reason, by, input } = decision
  turn.log.record({
    ...{ type: 'approval-resolved', step: turn.step, toolCallId, approvalId, decision: decision.decision },
    ...(reason !== undefined && { reason }),
    ...(input !== undefined && { editedInput: input }),
    ...(by !== undefined && { by }),
  })
  const decided = { ...approval, state: decision.decision === 'approve' ? ('approved' as const) : ('denied' as const) }
  const known = { ...decided, decision: canonicalDecision(decision) }
  call.row = { ...row, toolCallId, approval: known, ...(input !== undefined && { input }) }
  writeRows(turn, [call])
  if (decision.decision === 'deny') await finalize(turn, call, deniedAsDecided(known))
}

/** What comes of a denial, also when its process died behind it. */
export function deniedAsDecided({ decision }: CallApproval): Outcome {
  const { reason = 'the call was denied' } = (decision === undefined ? {} : JSON.parse(decision)) as Pick<ApprovalDecision, 'reason'>
  return deniedOutcome(reason)
}

/** Nobody has decided in time: that counts as a denial. */
export async function denyOverdue(turn: Turn, call: Call): Promise<void> {
  const { approval } = call.row
  if (!approval || !isOverdue(turn, call)) return
  await resolveApproval(turn, call, { approvalId: approval.approvalId, decision: 'deny', reason: 'nobody decided in time' })
}

/** Equal texts are the same decision: decision, reason and edited input. */
export function canonicalDecision({ decision, reason, input }: ApprovalDecision): string {
  return canonicalJson({ decision, ...(reason !== undefined && { reason }), ...(input !== undefined && { input }) })
}
