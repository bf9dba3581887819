import { messageOf } from '../base/agent-error.ts'
import type { ChildReport } from '../contract/tool.ts'
import type { ToolResult } from '../events/types.ts'
import { addWarnings } from '../plugins/guardrails/add-warnings.ts'
import type { GuardrailVerdict } from '../plugins/guardrails/decisions.ts'
import { closeChild } from '../plugins/subagents/close-child.ts'
import { tellApprovals } from '../plugins/subagents/tell-approvals.ts'
import { cancelledOutcome, errorOutcome, unknownOutcome, valueOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import { capOutput } from '../tools/output.ts'
import { describeCall, isSettled, writeRows } from './call.ts'
import type { Call } from './call.ts'
import type { Execution } from './execute.ts'
import { recordChild } from './record-child.ts'
import type { Turn } from './turn.ts'

const submittedOutputCharacters = 50_000

/**
 * The one exit of every outcome: hooks and guardrails see it, its event is drafted, and it stands in the call's row. The
 * end of a subagent is drafted with it, so that neither is stored without the other.
 */
export async function finalize(turn: Turn, call: Call, given: Outcome, end?: ChildReport): Promise<void> {
  call.running = false
  call.below = undefined
  const isAlone = !turn.hooks.has('onToolResult') && !turn.guardrails.has('afterCall')
  const patched = isAlone ? given : await patchedByHooks(turn, call, given)
  const { status, output, executed } = patched
  const asked = turn.guardrails.afterCall(describeCall(call), { status, output, executed: executed !== 'no' })
  const outcome = reviewed(turn, call, patched, asked instanceof Promise ? await asked : asked)
  if (turn.hooks.has('onToolSettled')) await tellSettled(turn, call, outcome)
  if (end) recordChild(turn, call, end)
  settle(turn, call, outcome)
}

/** Drafts the outcome as it stands. */
function settle(turn: Turn, call: Call, outcome: Outcome): void {
  const at = turn.clock.now()
  const { executed, terminate } = outcome
  const durationMs = executed === 'no' ? 0 : Math.max(0, at - (call.row.startedAt ?? at))
  const message = resultOf(turn, call, outcome)
  const { toolCallId } = call.row
  resolveApproval(turn, call)
  turn.log.record({
    ...{ type: 'tool-execution-end', step: turn.step, toolCallId, executed, message, durationMs },
    ...(terminate && { terminate }),
  })
  call.row = { ...call.row, state: outcome.status, outcome: message, ...(terminate && { terminate }) }
  // Whatever is stored next, an event and its row belong together.
  writeRows(turn, [call])
}

/** A question that nobody has answered when the call ends is not open any more. */
function resolveApproval(turn: Turn, call: Call): void {
  const { approval, toolCallId } = call.row
  if (approval?.state !== 'requested') return
  turn.log.record({ type: 'approval-resolved', step: turn.step, toolCallId, approvalId: approval.approvalId, decision: 'cancelled' })
  call.row = { ...call.row, approval: { ...approval, state: 'denied' } }
}

/** What stands drafted must not wait for code of others: it is stored before. */
async function patchedByHooks(turn: Turn, call: Call, given: Outcome): Promise<Outcome> {
  await turn.log.commit()
  if (!turn.hooks.has('onToolResult')) return given
  const { stopReason } = turn.transcript.latestAnswer ?? {}
  const neverResult = stopReason !== 'stop' && stopReason !== 'tool-calls'
  const { terminate, ...rest } = await turn.hooks.onToolResult(describeCall(call), given, { neverResult })
  return { ...rest, ...(terminate && { terminate }) }
}

/** What stands drafted must not wait for it either; the outcome itself is stored with what it writes. */
async function tellSettled(turn: Turn, call: Call, { status }: Outcome): Promise<void> {
  await turn.log.commit()
  await turn.hooks.onToolSettled({ call: describeCall(call), status })
}

/** What hooks and guardrails leave of an outcome. */
function reviewed(turn: Turn, { row }: Call, patched: Outcome, { action, reason, warnings: after }: GuardrailVerdict): Outcome {
  if (action === 'halt') turn.halt(reason ?? 'a guardrail halted the turn')
  const warnings = row.warnings ? [...row.warnings, ...after] : after
  return warnings.length === 0 ? patched : { ...patched, output: addWarnings(patched.output, warnings) }
}

/** The message of an outcome, as it is stored. */
function resultOf(turn: Turn, call: Call, outcome: Outcome): ToolResult {
  const { toolCallId, toolName, index } = call.row
  const { status, details } = outcome
  return {
    ...{ role: 'tool-result', id: turn.ids.next('msg'), toolCallId, toolName, at: turn.clock.now(), status, index },
    output: cappedOutput(call, outcome),
    ...(details !== undefined && { details }),
  }
}

function cappedOutput(call: Call, outcome: Outcome): Outcome['output'] {
  return capOutput(outcome.output, call.tool?.maxOutputCharacters ?? submittedOutputCharacters)
}

/** What an execution comes to. Without an outcome the call stays `started`, or goes back to `pending` when it never ran. */
export async function conclude(turn: Turn, call: Call, execution: Execution): Promise<void> {
  call.running = false
  if (execution.kind === 'suspended') {
    call.below = execution.below
    return tellApprovals(turn, call)
  }
  // It is closed with the other open calls, or left as they are.
  if (execution.kind === 'not-run' && call.row.childKey !== undefined) return
  const known = outcomeOf(turn, call, execution)
  const outcome = known instanceof Promise ? await known : known
  if (outcome) await finalize(turn, call, outcome, execution.kind === 'returned' ? execution.end : undefined)
  else if (execution.kind === 'not-run') call.row = { ...call.row, state: 'pending' }
}

type Ended = Exclude<Execution, { kind: 'suspended' }>

function outcomeOf(turn: Turn, call: Call, execution: Ended): Outcome | undefined | Promise<Outcome> {
  const once = call.row.effect === 'once'
  if (execution.timedOut) {
    const text = `timed out after ${(call.row.deadlineAt ?? 0) - (call.row.startedAt ?? 0)} ms`
    return execution.kind === 'unsettled' && once ? unknownAsAsked(turn, call, text) : errorOutcome(text, 'here')
  }
  switch (execution.kind) {
    case 'settled':
      return execution.outcome
    case 'returned':
      return valueOutcome(call.tool, { toolCallId: call.row.toolCallId, input: call.input }, execution.value, 'here')
    case 'threw':
      return errorOutcome(messageOf(execution.error), 'here')
    case 'not-run':
      return turn.stop.stopped ? cancelledOutcome('the run was stopped', 'no') : undefined
    case 'unsettled':
      return turn.stop.stopped ? stoppedOutcome(call) : undefined
    default: {
      const unknown: never = execution
      return unknown
    }
  }
}

/** Of a run that is being stopped: what does not run here ends at once. */
export async function cancelOpenCalls(turn: Turn, calls: readonly Call[]): Promise<void> {
  const open = calls.filter((call) => !isSettled(call) && !call.running)
  const closed = await Promise.all(open.map((call) => closeChild(turn, call)))
  for (const [place, call] of open.entries()) {
    const { outcome = call.row.state === 'started' ? stoppedOutcome(call) : cancelledOutcome('the run was stopped', 'no'), end } = closed[place] ?? {}
    await finalize(turn, call, outcome, end)
  }
}

/** Of a started call that did not settle before the run was stopped. */
export function stoppedOutcome(call: Call): Outcome {
  const reason = 'the run was stopped before the tool had ended'
  return call.row.effect === 'once' ? unknownOutcome(reason, 'here') : cancelledOutcome(reason, 'here')
}

/** With `stop` there is no outcome: the run must wait for somebody who knows. A run that is being stopped cannot wait. */
export function unknownAsAsked(turn: Turn, call: Call, reason: string): Outcome | undefined {
  const policy = call.tool?.onUnknownOutcome ?? turn.run.onUnknownOutcome
  return policy === 'tell-model' || turn.stop.stopped ? unknownOutcome(reason, 'here') : undefined
}
