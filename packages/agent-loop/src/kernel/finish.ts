import { messageOf } from '../base/agent-error.ts'
import type { MaybePromise } from '../base/promises.ts'
import type { ChildReport } from '../contract/tool.ts'
import type { ToolResult } from '../events/tool-events.ts'
import { cancelledOutcome, errorOutcome, unknownOutcome, valueOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import { capOutput } from '../tools/output.ts'
import { describeCall, isSettled, writeRows } from './call.ts'
import type { Call } from './call.ts'
import type { Execution } from './execute.ts'
import { consult } from './plugin.ts'
import type { EndedCall } from './subjects.ts'
import type { Turn } from './turn.ts'

const submittedOutputCharacters = 50_000

/**
 * Every outcome passes through here: plug-ins see it, its event is drafted, and it is put into the call's row. `end` is the end of
 * a subagent, drafted with it, so that neither is stored without the other.
 */
export function finish(turn: Turn, call: Call, outcome: Outcome, end?: ChildReport): MaybePromise<void> {
  call.running = false
  call.below = undefined
  if (call === turn.question) return closeQuestion(turn, call, outcome)
  const ended: EndedCall = { call, outcome }
  const asked = consult(turn, 'outcome', ended)
  if (asked instanceof Promise) return asked.then(() => tellAndDraft(turn, ended, end))
  return tellAndDraft(turn, ended, end)
}

function tellAndDraft(turn: Turn, { call, outcome }: EndedCall, end: ChildReport | undefined): MaybePromise<void> {
  if (turn.plugins.onCallSettled.asks.length === 0) return draft(turn, call, outcome, end)
  const told = consult(turn, 'onCallSettled', { call: describeCall(call), status: outcome.status })
  return told instanceof Promise ? told.then(() => draft(turn, call, outcome, end)) : draft(turn, call, outcome, end)
}

/** Closes a question. Log and transcript have no call for it: only the row keeps its outcome. */
function closeQuestion(turn: Turn, call: Call, outcome: Outcome): void {
  for (const tell of turn.plugins.settling.asks) tell(turn, call)
  call.row = { ...call.row, state: outcome.status, outcome: resultOf(turn, call, outcome, turn.clock.now()) }
  writeRows(turn, [call])
}

/** Drafts the outcome in its final form. */
function draft(turn: Turn, call: Call, outcome: Outcome, end: ChildReport | undefined): void {
  if (end) for (const take of turn.plugins.report.asks) take(turn, { call, report: end })
  const at = turn.clock.now()
  const { executed, terminate } = outcome
  const durationMs = executed === 'no' ? 0 : Math.max(0, at - (call.row.startedAt ?? at))
  const message = resultOf(turn, call, outcome, at)
  for (const tell of turn.plugins.settling.asks) tell(turn, call)
  turn.log.record({
    type: 'tool-execution-end',
    step: turn.step,
    toolCallId: call.row.toolCallId,
    executed,
    message,
    durationMs,
    ...(terminate && { terminate }),
  })
  call.row = { ...call.row, state: outcome.status, outcome: message, ...(terminate && { terminate }) }
  // An event and its row must be in the same commit.
  writeRows(turn, [call])
}

/** Returns the message of an outcome, as it is stored. */
function resultOf(turn: Turn, { row, tool }: Call, { status, output, details }: Outcome, at: number): ToolResult {
  const { toolCallId, toolName, index } = row
  return {
    role: 'tool-result',
    id: turn.ids.next('msg'),
    toolCallId,
    toolName,
    at,
    status,
    index,
    output: capOutput(output, tool?.maxOutputCharacters ?? submittedOutputCharacters),
    ...(details !== undefined && { details }),
  }
}

/**
 * Handles the end of a call's execution. Without an outcome the call stays `started`, or goes back to `pending` if it never ran.
 */
export function conclude(turn: Turn, call: Call, execution: Execution): MaybePromise<void> {
  call.running = false
  if (execution.kind === 'suspended') {
    call.below = execution.below
    return turn.plugins.delegation?.suspend(turn, call)
  }
  // If the run is stopped, the subagent is closed with the other open calls. If the run yields, the subagent stays as it is.
  if (execution.kind === 'not-run' && call.row.childKey !== undefined) return undefined
  const known = outcomeOf(turn, call, execution)
  return known instanceof Promise ? known.then((outcome) => take(turn, call, outcome, execution)) : take(turn, call, known, execution)
}

function take(turn: Turn, call: Call, outcome: Outcome | undefined, execution: Execution): MaybePromise<void> {
  if (outcome) return finish(turn, call, outcome, execution.kind === 'returned' ? execution.end : undefined)
  if (execution.kind === 'not-run') call.row = { ...call.row, state: 'pending' }
  return undefined
}

function outcomeOf(turn: Turn, call: Call, execution: Exclude<Execution, { kind: 'suspended' }>): MaybePromise<Outcome | undefined> {
  if (execution.timedOut) {
    const text = `timed out after ${(call.row.deadlineAt ?? 0) - (call.row.startedAt ?? 0)} ms`
    if (execution.kind !== 'unsettled') return errorOutcome(text, 'here')
    if (call.row.effect === 'once') return unknownAsAsked(turn, call, text)
    return errorOutcome(execution.hasReturned ? `the tool has run, but toModelOutput returned no answer: ${text}` : text, 'here')
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

/** Ends the open calls of a run that is being stopped. Calls that do not run here end at once. */
export async function cancelOpenCalls(turn: Turn, calls: readonly Call[]): Promise<void> {
  const open = calls.filter((call) => !isSettled(call) && !call.running)
  const closed = await Promise.all(open.map((call) => turn.plugins.delegation?.close(turn, call) ?? Promise.resolve(undefined)))
  for (const [place, call] of open.entries()) {
    const { outcome = call.row.state === 'started' ? stoppedOutcome(call) : cancelledOutcome('the run was stopped', 'no'), end } =
      closed[place] ?? {}
    await finish(turn, call, outcome, end)
  }
}

/** Returns the outcome of a started call that did not settle before the run was stopped. */
export function stoppedOutcome(call: Call): Outcome {
  const reason = 'the run was stopped before the tool had ended'
  return call.row.effect === 'once' ? unknownOutcome(reason, 'here') : cancelledOutcome(reason, 'here')
}

/**
 * Returns the outcome of a call that may or may not have taken effect. With the policy `stop` there is none: the run waits for an
 * answer from outside. A run that is being stopped cannot wait.
 */
export function unknownAsAsked(turn: Turn, call: Call, reason: string): Outcome | undefined {
  const policy = call.tool?.onUnknownOutcome ?? turn.run.onUnknownOutcome
  return policy === 'tell-model' || turn.stop.stopped ? unknownOutcome(reason, 'here') : undefined
}
