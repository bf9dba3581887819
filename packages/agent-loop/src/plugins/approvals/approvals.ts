import { resolveSchema } from '@bowline/llm'
import type { SchemaIssue } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { yesOrNo } from '../../base/fields.ts'
import { canonicalJson, hashJson, hashText } from '../../base/hash-json.ts'
import type { MaybePromise } from '../../base/promises.ts'
import type { Tool } from '../../contract/agent.ts'
import type { ApprovalDecision } from '../../contract/input.ts'
import type { CallApproval } from '../../contract/journal.ts'
import { approvalRequest, awaitsApproval, isOverdue, writeRows } from '../../kernel/call.ts'
import type { Call, Prepared, SideWork } from '../../kernel/call.ts'
import { questionContext } from '../../kernel/execute.ts'
import { finish } from '../../kernel/finish.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { prepareAgain } from '../../kernel/settle.ts'
import type { Turn } from '../../kernel/turn.ts'
import { deniedOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { validate } from '../../tools/tool.ts'
import { decisionFrom } from '../../transcript/input.ts'

/** Ids of the tool calls for which `onApproval` was asked. */
const askedOf = turnState(() => new Set<string>())

/** Holds calls back until they are approved: in place by `onApproval`, or by an answer from outside. */
export const approvalsPlugin: Plugin = {
  name: 'approvals',
  foreign: { beforeCall: ({ tool }) => typeof tool?.needsApproval === 'function' },
  hooks: {
    reenter: (turn, { call }) => reenter(turn, call),
    beforeCall: (turn, call) => (call.tool?.needsApproval ? askWhether(turn, call, call.tool.needsApproval) : undefined),
    beside: (turn, calls) => (turn.run.onApproval ? askInPlace(turn, calls) : undefined),
    settling: cancelQuestion,
    decide: (turn, question) => (turn.run.onApproval ? decideInPlace(turn, question) : undefined),
  },
}

function reenter(turn: Turn, call: Call): MaybePromise<Prepared | 'waits' | undefined> {
  const { state, approval } = call.row
  if (state !== 'pending' || !approval) return undefined
  switch (approval.state) {
    case 'approved':
      return runApproved(turn, call, approval)
    case 'denied':
      return { kind: 'settled', outcome: deniedAsDecided(approval) }
    case 'requested':
      return denyOverdue(turn, call).then(() => 'waits' as const)
    default:
      return approval.state satisfies never
  }
}

function askWhether(turn: Turn, call: Call, needs: NonNullable<Tool['needsApproval']>): MaybePromise<Prepared | undefined> {
  if (typeof needs === 'boolean') return needs ? questionAbout(turn, call) : undefined
  return isNeeded(turn, call, needs).then((needed) => (needed ? questionAbout(turn, call) : undefined))
}

async function isNeeded(turn: Turn, call: Call, needs: Exclude<Tool['needsApproval'], boolean | undefined>): Promise<boolean> {
  try {
    return yesOrNo('needsApproval', await turn.stop.until(needs(call.input, questionContext(turn, call)))) ?? false
  } catch (error) {
    if (turn.stop.requested) return true
    // A tool that cannot say whether it needs an approval needs one.
    turn.log.record({
      type: 'error',
      source: 'tool',
      name: call.row.toolName,
      hook: 'needsApproval',
      message: messageOf(error),
      fatal: false,
    })
    return true
  }
}

function questionAbout(turn: Turn, call: Call): MaybePromise<Prepared> {
  const { tool } = call
  return tool?.recheck ? definitionHash(tool).then((definition) => question(turn, call, { definition })) : question(turn, call, {})
}

function question(turn: Turn, call: Call, { definition, replaces }: Pick<CallApproval, 'definition' | 'replaces'>): Prepared {
  const input = call.row.input ?? call.part.input
  const asked = { approvalId: turn.ids.next('approval'), state: 'requested' as const, input, inputHash: hashJson(input) }
  return {
    kind: 'approval',
    approval: { ...asked, ...(definition !== undefined && { definition }), ...(replaces !== undefined && { replaces }) },
  }
}

/** Prepares an approved call. If its tool has changed since, a new approval is requested. */
function runApproved(turn: Turn, call: Call, approval: CallApproval): MaybePromise<Prepared> {
  const { tool } = call
  const prepared = prepareAgain(turn, call)
  if (!tool || (!tool.recheck && approval.definition === undefined)) return prepared
  return recheck(turn, call, tool, { approval, prepared: Promise.resolve(prepared) })
}

async function recheck(
  turn: Turn,
  call: Call,
  tool: Tool,
  known: { readonly approval: CallApproval; readonly prepared: Promise<Prepared> },
): Promise<Prepared> {
  const { approvalId, definition } = known.approval
  const prepared = await known.prepared
  if (prepared.kind === 'settled') return prepared
  const today = await definitionHash(tool)
  if (definition === today) return prepared
  // The decision must be stored under its own id before another approval replaces it.
  await turn.commit()
  return question(turn, call, { definition: today, replaces: approvalId })
}

/** Hashes the parts of a tool that a person who approves a call may have relied on. */
async function definitionHash({ description, inputSchema, effect, needsApproval = false }: Tool): Promise<string> {
  const { jsonSchema } = await resolveSchema(inputSchema)
  return hashText(
    JSON.stringify([description, jsonSchema, effect, typeof needsApproval === 'function' ? needsApproval.toString() : needsApproval]),
  )
}

/** Returns the calls whose approval can be asked for in this process, and marks them as running. */
function askInPlace(turn: Turn, calls: readonly Call[]): readonly SideWork[] {
  const asked = askedOf(turn)
  return calls.flatMap((call): readonly SideWork[] => {
    if (!awaitsApproval(call) || asked.has(call.row.toolCallId)) return []
    asked.add(call.row.toolCallId)
    call.running = true
    return [{ call, start: () => askApproval(turn, call).then((decision) => () => takeDecision(turn, call, decision)) }]
  })
}

/** Asks once about a question that is no call. Returns true if there is a decision. */
async function decideInPlace(turn: Turn, question: Call): Promise<true | undefined> {
  const asked = askedOf(turn)
  if (asked.has(question.row.toolCallId)) return undefined
  asked.add(question.row.toolCallId)
  await turn.commit()
  await takeDecision(turn, question, await askApproval(turn, question))
  return awaitsApproval(question) ? undefined : true
}

/** Asks in place. Must not reject; undefined leaves the question open. */
async function askApproval(turn: Turn, call: Call): Promise<ApprovalDecision | undefined> {
  const request = approvalRequest(call)
  const { onApproval } = turn.run
  if (!request || !onApproval) return undefined
  try {
    const decision = await turn.stop.until(onApproval(request))
    return decision === undefined ? undefined : decisionFrom('onApproval()', decision)
  } catch (error) {
    if (!turn.stop.requested) tellProblem(turn, call, messageOf(error))
    return undefined
  }
}

function tellProblem(turn: Turn, call: Call, message: string): void {
  turn.log.record({ type: 'error', source: 'tool', name: call.row.toolName, hook: 'onApproval', message, fatal: false })
}

/** Applies a decision. An invalid decision, or one that comes too late, leaves the question open. */
async function takeDecision(turn: Turn, call: Call, decision: ApprovalDecision | undefined): Promise<void> {
  call.running = false
  if (!decision || isOverdue(call, turn.clock.now())) return
  const objection = await objectionTo(turn, call, decision)
  if (turn.stop.requested) return
  if (objection === undefined) return resolveApproval(turn, call, decision)
  tellProblem(turn, call, objection)
}

async function objectionTo(turn: Turn, call: Call, { approvalId, inputHash, input }: ApprovalDecision): Promise<string | undefined> {
  const { approval } = call.row
  if (approval?.approvalId !== approvalId) return `the decision is about ${approvalId}`
  if (inputHash !== undefined && inputHash !== approval.inputHash) return 'the decision is about another input'
  if (input === undefined) return undefined
  const checked = await turn.stop.until(validate(call.tool, input)).catch(() => undefined)
  return checked?.ok ? undefined : editProblem(checked?.issues)
}

/** Returns a text that names each place of an edited input that its tool's schema refuses. */
export function editProblem(issues: readonly SchemaIssue[] = []): string {
  const places = issues.map(({ path, message }) => `${path === '' ? 'input' : `input.${path}`}: ${message}`)
  return ['the edited input is not valid', ...places].join('; ')
}

/** Drafts a decision that was checked. An approved call is prepared later, with the approved input; a denied one ends. */
export async function resolveApproval(turn: Turn, call: Call, decision: ApprovalDecision): Promise<void> {
  const { approval, toolCallId, deadlineAt: _over, ...row } = call.row
  if (!approval) return
  const { approvalId, reason, by, input } = decision
  turn.log.record({
    type: 'approval-resolved',
    step: turn.step,
    toolCallId,
    approvalId,
    decision: decision.decision,
    ...(reason !== undefined && { reason }),
    ...(input !== undefined && { editedInput: input }),
    ...(by !== undefined && { by }),
  })
  const decided = { ...approval, state: decision.decision === 'approve' ? ('approved' as const) : ('denied' as const) }
  const known = { ...decided, decision: canonicalDecision(decision) }
  call.row = { ...row, toolCallId, approval: known, ...(input !== undefined && { input }) }
  writeRows(turn, [call])
  if (decision.decision === 'deny') await finish(turn, call, deniedAsDecided(known))
}

/** Returns the outcome of a denial, also if its process died after it. */
function deniedAsDecided({ decision }: CallApproval): Outcome {
  const { reason = 'the call was denied' } = (decision === undefined ? {} : JSON.parse(decision)) as Pick<ApprovalDecision, 'reason'>
  return deniedOutcome(reason)
}

/** Denies a question that was not answered in time. */
async function denyOverdue(turn: Turn, call: Call): Promise<void> {
  const { approval } = call.row
  if (!approval || !isOverdue(call, turn.clock.now())) return
  await resolveApproval(turn, call, { approvalId: approval.approvalId, decision: 'deny', reason: 'there was no decision in time' })
}

/** Closes a question that has no answer when its call ends. */
function cancelQuestion(turn: Turn, call: Call): void {
  const { approval, toolCallId } = call.row
  if (approval?.state !== 'requested') return
  turn.log.record({ type: 'approval-resolved', step: turn.step, toolCallId, approvalId: approval.approvalId, decision: 'cancelled' })
  call.row = { ...call.row, approval: { ...approval, state: 'denied' } }
}

/** Returns decision, reason and edited input as text. Equal texts are the same decision. */
export function canonicalDecision({ decision, reason, input }: ApprovalDecision): string {
  return canonicalJson({ decision, ...(reason !== undefined && { reason }), ...(input !== undefined && { input }) })
}
