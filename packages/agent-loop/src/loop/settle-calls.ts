import { approveInPlace, askApproval, takeDecision } from '../tools/approve.ts'
import { isSettled, writeRows } from '../tools/call.ts'
import type { Call } from '../tools/call.ts'
import { execute } from '../tools/execute.ts'
import type { ChildNews, Execution } from '../tools/execute.ts'
import { cancelOpenCalls, conclude, finalize } from '../tools/finalize.ts'
import { deniedOutcome, errorOutcome } from '../tools/outcome.ts'
import { prepare, prepareAgain } from '../tools/prepare.ts'
import type { Prepared } from '../tools/prepare.ts'
import { recover } from '../tools/recover.ts'
import { startable } from '../tools/schedule.ts'
import type { ApprovalDecision } from '../agent/options.ts'
import { childKeyOf } from '../subagents/child-setup.ts'
import { tellApprovals, tellDecision } from '../subagents/tell-approvals.ts'
import type { ModelAnswer } from './answer.ts'
import { Arrivals } from './arrivals.ts'
import { recordChild } from './record-child.ts'
import type { Turn } from './turn.ts'

/** What calls that run say to the loop. */
type Arrival = { readonly call: Call } & (
  | { readonly kind: 'ended'; readonly execution: Execution }
  | ChildNews
  | { readonly kind: 'decided'; readonly decision: ApprovalDecision | undefined }
)

/**
 * Brings the calls of an answer to their outcomes: those that run here to the end, others only as far as this process
 * can. A tool starts when the commit that holds its intent has resolved. The last outcomes are left in the draft, to be
 * stored with what follows them.
 */
export async function settleCalls(turn: Turn, answer: ModelAnswer, calls: readonly Call[]): Promise<void> {
  await prepareCalls(turn, answer, calls)
  const arrivals = new Arrivals<Arrival>()
  for (;;) {
    if (turn.stop.stopped) await cancelOpenCalls(turn, calls)
    const aborted = turn.stop.signal.aborted
    const starting = aborted ? [] : startable(calls, turn.agent.toolConcurrency)
    const asking = aborted ? [] : approveInPlace(turn, calls)
    for (const call of starting) start(turn, call)
    writeRows(turn, calls)
    if (!calls.some((call) => call.running)) break
    await turn.commit()
    for (const call of starting) launch(turn, call, arrivals)
    for (const call of asking) void askApproval(turn, call).then((decision) => arrivals.push({ call, kind: 'decided', decision }))
    for (const arrival of await arrivals.take()) await take(turn, arrival)
  }
  if (!turn.stop.leaving) appendResults(turn, calls)
}

function launch(turn: Turn, call: Call, arrivals: Arrivals<Arrival>): void {
  const tell = (news: ChildNews): void => arrivals.push({ call, ...news })
  void execute(turn, call, tell).then((execution) => arrivals.push({ call, kind: 'ended', execution }))
}

function take(turn: Turn, arrival: Arrival): Promise<void> | void {
  switch (arrival.kind) {
    case 'ended':
      return conclude(turn, arrival.call, arrival.execution)
    case 'reported':
      return recordChild(turn, arrival.call, arrival.report)
    case 'resolved':
      return tellDecision(turn, arrival.call, arrival.event)
    case 'decided':
      return takeDecision(turn, arrival.call, arrival.decision)
    default: {
      const unknown: never = arrival
      return unknown
    }
  }
}

/** In call order, so that what guardrails and hooks see does not depend on how long each takes. */
async function prepareCalls(turn: Turn, answer: ModelAnswer, calls: readonly Call[]): Promise<void> {
  if (asksOthers(turn, calls)) await turn.commit()
  for (const call of calls) {
    if (isSettled(call)) continue
    if (turn.stop.signal.aborted) return
    const verdict = await verdictOf(turn, answer, call)
    // Whoever goes on asks again.
    if (turn.stop.leaving) return
    if (verdict) await apply(turn, call, verdict)
  }
}

/** Whether code that is not ours stands between the answer and its calls: it must not delay what is to be stored. */
function asksOthers({ hooks, guardrails }: Turn, calls: readonly Call[]): boolean {
  if (calls.length === 0) return false
  return hooks.has('onToolCall') || guardrails.has('beforeCall') || calls.some(({ tool }) => typeof tool?.needsApproval === 'function')
}

/** What becomes of a call next. Undefined: it waits as it did. */
async function verdictOf(turn: Turn, answer: ModelAnswer, call: Call): Promise<Prepared | undefined> {
  const { state, approval } = call.row
  if (state === 'remote') return isOverdue(turn, call) ? settledBy(errorOutcome('no result came before its deadline', 'no')) : undefined
  if (state === 'started') return recovered(turn, call)
  if (approval?.state === 'approved') return prepareAgain(call)
  if (approval?.state === 'requested') return isOverdue(turn, call) ? settledBy(deniedOutcome('nobody decided in time')) : undefined
  return prepare(turn, answer, call)
}

async function recovered(turn: Turn, call: Call): Promise<Prepared | undefined> {
  const prepared = await prepareAgain(call)
  if (call.row.childKey !== undefined) return reentered(turn, call, prepared)
  const recovery = await recover(turn, call)
  if (recovery.kind === 'again') return prepared
  return recovery.kind === 'settled' ? recovery : undefined
}

/** Its subagent goes on, unless it only waits: nothing starts anew. */
function reentered(turn: Turn, call: Call, prepared: Prepared): Prepared | undefined {
  if (prepared.kind === 'settled') return prepared
  if (!call.entering) tellApprovals(turn, call)
  return undefined
}

function settledBy(outcome: Extract<Prepared, { kind: 'settled' }>['outcome']): Prepared {
  return { kind: 'settled', outcome }
}

async function apply(turn: Turn, call: Call, verdict: Prepared): Promise<void> {
  switch (verdict.kind) {
    case 'settled':
      return finalize(turn, call, verdict.outcome)
    case 'ready':
      if (call.row.state !== 'pending') call.row = { ...call.row, state: 'pending' }
      return
    case 'remote':
      call.row = { ...call.row, state: 'remote', ...times(turn, call) }
      return
    case 'approval': {
      const timeoutMs = call.tool?.approvalTimeoutMs
      const deadline = typeof timeoutMs === 'number' ? { deadlineAt: turn.clock.now() + timeoutMs } : {}
      call.row = { ...call.row, approval: verdict.approval, ...deadline }
      const { toolCallId, toolName, deadlineAt } = call.row
      const { approvalId, input, inputHash } = verdict.approval
      turn.record({
        ...{ type: 'approval-requested', step: turn.step, approvalId, toolCallId, toolName, input, inputHash, path: [] },
        ...(deadlineAt !== undefined && { deadlineAt }),
      })
      return
    }
    default: {
      const unknown: never = verdict
      return unknown
    }
  }
}

function start(turn: Turn, call: Call): void {
  call.running = true
  if (call.entering) {
    call.entering = false
    call.below = undefined
    return
  }
  const attempt = call.row.attempt + 1
  const below = call.tool?.subagent ? { childKey: childKeyOf(turn, call.row.toolCallId) } : {}
  call.row = { ...call.row, state: 'started', attempt, ...times(turn, call), ...below }
  const { toolCallId, toolName, idempotencyKey, effect, input = call.part.input } = call.row
  const label = call.tool?.label
  turn.record({
    ...{ type: 'tool-execution-start', step: turn.step, toolCallId, toolName, input },
    ...(label !== undefined && { label }),
    ...{ attempt, idempotencyKey, effect },
  })
}

function times(turn: Turn, call: Call): { startedAt: number; deadlineAt?: number } {
  const startedAt = turn.clock.now()
  const timeoutMs = call.tool?.timeoutMs
  return typeof timeoutMs === 'number' ? { startedAt, deadlineAt: startedAt + timeoutMs } : { startedAt }
}

/** Nobody need answer any more. */
export function isOverdue(turn: Turn, { row }: Call): boolean {
  return (row.state === 'remote' || row.state === 'pending') && row.deadlineAt !== undefined && row.deadlineAt <= turn.clock.now()
}

/** Results enter the transcript together, in call order, with the last of them. */
export function appendResults(turn: Turn, calls: readonly Call[]): void {
  const results = calls.flatMap((call) => call.row.outcome ?? [])
  if (results.length < calls.length || calls.length === 0) return
  for (const result of results) turn.append(result)
  if (calls.some(hadEffect)) turn.firm = turn.transcript.messages.length
}

/** It may have changed the world: what led to it must not be withdrawn. */
function hadEffect({ row }: Call): boolean {
  return row.effect !== 'pure' && (row.attempt > 0 || row.startedAt !== undefined)
}
