import type { MaybePromise } from '../base/maybe-promise.ts'
import type { CallRow } from '../contract/journal.ts'
import { tellApprovals } from '../plugins/subagents/tell-approvals.ts'
import { errorOutcome } from '../tools/outcome.ts'
import type { ModelAnswer } from './answer.ts'
import { deniedAsDecided, denyOverdue } from './approve.ts'
import { isOverdue, isSettled, timesOf, writeRows } from './call.ts'
import type { Call } from './call.ts'
import { finalize } from './finalize.ts'
import { givenOutcome, prepare, prepareAgain } from './prepare.ts'
import type { Prepared } from './prepare.ts'
import { recover } from './recover.ts'
import type { Turn } from './turn.ts'

/** In call order, so that what guardrails and hooks see does not depend on how long each takes. */
export async function prepareCalls(turn: Turn, answer: ModelAnswer, calls: readonly Call[]): Promise<void> {
  for (const call of calls) {
    const prepared = prepareCall(turn, answer, call)
    if (prepared) await prepared
  }
}

/** What becomes of a call next, as far as it can be said now. */
export function prepareCall(turn: Turn, answer: ModelAnswer, call: Call): Promise<void> | undefined {
  if (isSettled(call) || turn.stop.requested) return undefined
  if (asksOthers(turn, call)) return turn.log.commit().then(() => judge(turn, answer, call))
  return judge(turn, answer, call)
}

function judge(turn: Turn, answer: ModelAnswer, call: Call): Promise<void> | undefined {
  const verdict = verdictOf(turn, answer, call)
  return verdict instanceof Promise ? verdict.then((known) => follow(turn, call, known)) : follow(turn, call, verdict)
}

function follow(turn: Turn, call: Call, verdict: Prepared | undefined): Promise<void> | undefined {
  // Whoever goes on asks again; of a run that is stopped only an outcome counts.
  if (!verdict || turn.stop.leaving || (turn.stop.stopped && verdict.kind !== 'settled')) return undefined
  return apply(turn, call, verdict)
}

/** Whether code that is not ours stands between the answer and its call: it must not delay what is to be stored. */
function asksOthers({ hooks, guardrails }: Turn, { tool }: Call): boolean {
  return hooks.has('onToolCall') || guardrails.has('beforeCall') || typeof tool?.needsApproval === 'function'
}

/** Undefined: it waits as it did. */
function verdictOf(turn: Turn, answer: ModelAnswer, call: Call): MaybePromise<Prepared | undefined> {
  const { state, approval, toolCallId } = call.row
  const given = answer.results.get(toolCallId)
  if (given) return settledBy(givenOutcome(given))
  if (state === 'remote') return isOverdue(turn, call) ? settledBy(errorOutcome('no result came before its deadline', 'no')) : undefined
  if (state === 'started') return recovered(turn, call)
  if (approval?.state === 'approved') return prepareAgain(turn, call)
  if (approval?.state === 'denied') return settledBy(deniedAsDecided(approval))
  if (approval?.state === 'requested') return denyOverdue(turn, call).then(() => undefined)
  // Hooks see what the model asked for, not what they have made of it before.
  if (call.row.input !== undefined) call.row = withoutInput(call.row)
  return prepare(turn, answer, call)
}

function withoutInput({ input: _changed, ...row }: CallRow): CallRow {
  return row
}

async function recovered(turn: Turn, call: Call): Promise<Prepared | undefined> {
  const prepared = await prepareAgain(turn, call)
  if (call.row.childKey !== undefined) return reentered(turn, call, prepared)
  const recovery = await recover(turn, call)
  if (recovery.kind === 'again') return prepared
  return recovery.kind === 'settled' ? recovery : undefined
}

/** Its subagent goes on, unless it only waits: nothing starts anew. */
function reentered(turn: Turn, call: Call, prepared: Prepared): Prepared | undefined {
  // Of a run that is being stopped it is closed, not settled beside its own end.
  if (turn.stop.requested) return undefined
  if (prepared.kind === 'settled') return prepared
  if (!call.entering) tellApprovals(turn, call)
  return undefined
}

function settledBy(outcome: Extract<Prepared, { kind: 'settled' }>['outcome']): Prepared {
  return { kind: 'settled', outcome }
}

function apply(turn: Turn, call: Call, verdict: Prepared): Promise<void> | undefined {
  switch (verdict.kind) {
    case 'settled':
      return finalize(turn, call, verdict.outcome)
    case 'ready': {
      if (call.row.state !== 'pending') call.row = pendingAgain(call.row)
      return undefined
    }
    case 'remote':
      call.row = { ...call.row, state: 'remote', ...timesOf(turn, call) }
      return undefined
    case 'approval':
      askFor(turn, call, verdict.approval)
      return undefined
    default: {
      const unknown: never = verdict
      return unknown
    }
  }
}

function pendingAgain({ deadlineAt: _before, ...row }: CallRow): CallRow {
  return { ...row, state: 'pending' }
}

function askFor(turn: Turn, call: Call, approval: Extract<Prepared, { kind: 'approval' }>['approval']): void {
  const timeoutMs = call.tool?.approvalTimeoutMs
  const deadline = typeof timeoutMs === 'number' ? { deadlineAt: turn.clock.now() + timeoutMs } : {}
  call.row = { ...call.row, approval, ...deadline }
  const { toolCallId, toolName, deadlineAt } = call.row
  const { approvalId, input, inputHash } = approval
  turn.log.record({
    ...{ type: 'approval-requested', step: turn.step, approvalId, toolCallId, toolName, input, inputHash, path: [] },
    ...(deadlineAt !== undefined && { deadlineAt }),
  })
  // Whatever is stored next, an event and its row belong together.
  writeRows(turn, [call])
}
