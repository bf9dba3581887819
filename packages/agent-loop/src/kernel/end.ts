import type { JSONValue } from '@bowline/llm'
import { deepFreeze } from '../base/json.ts'
import { findOutput, textOf } from '../base/messages.ts'
import type { AgentInput } from '../contract/input.ts'
import type { AgentResult, SubmissionReceipt } from '../contract/run.ts'
import { isSuspended } from '../events/status.ts'
import type { AgentErrorData, Window } from '../events/turn-events.ts'
import type { Committed } from '../journal/turn-log.ts'
import { modelWouldStop } from './ending.ts'
import type { AfterTurn, TurnOutcome } from './ending.ts'
import { consult } from './plugin.ts'
import { drainMore } from './settle.ts'
import type { Next } from './subjects.ts'
import type { Turn } from './turn.ts'

/**
 * Drafts the end of the segment, stores it, and does what comes after it. If an input arrives meanwhile, the end is taken back and
 * the model is asked once more. With `goesOn` false, the end is never taken back.
 */
export async function end(turn: Turn, outcome: TurnOutcome, slot: Window = 'step-end', goesOn = modelWouldStop(outcome)): Promise<Next> {
  const { inbox } = turn.run
  if (goesOn && inbox.hasInputs && (await drainMore(turn, slot))) return { phase: 'ask' }
  inbox.close()
  const mark = turn.log.mark
  const after = afterTurn(turn, outcome)
  draftEnd(turn, outcome, after)
  const endMark = turn.log.mark
  const isLast = !isSuspended(outcome.status) && after.length === 0 && !hasWatchers(turn) && !hasNextTurn(turn, outcome)
  const stored = await storeEnd(turn, goesOn && turn.step < turn.run.limits.maxSteps, isLast)
  if (stored === 'inputs-waiting') {
    turn.log.backTo(mark, endMark)
    inbox.reopen()
    // An input that the journal does not give now stays in its inbox.
    return (await drainMore(turn, slot)) ? { phase: 'ask' } : end(turn, outcome, slot, false)
  }
  inbox.endTurn()
  if (!isLast) await afterEnd(turn, outcome, after)
  // Stores what watchers have drafted about the end.
  await turn.commit()
  return { phase: 'ended', outcome }
}

function afterTurn(turn: Turn, outcome: TurnOutcome): readonly AfterTurn[] {
  return isSuspended(outcome.status) ? [] : turn.plugins.afterTurn.asks.flatMap((ask) => ask(turn, outcome) ?? [])
}

function draftEnd(turn: Turn, outcome: TurnOutcome, after: readonly AfterTurn[]): void {
  const { status, reason, error, receipt, pendingToolCalls = [], pendingApprovals = [] } = outcome
  const { usage, cost, step: steps } = turn
  if (pendingToolCalls.length > 0) turn.log.record({ type: 'awaiting-tools', step: turn.step, pendingToolCalls })
  const waits = isSuspended(status)
  const told = { overlaysExpired: 0 }
  if (!waits) for (const add of turn.plugins.ending.asks) add(turn, told)
  turn.log.record({
    type: 'turn-end',
    status,
    reason,
    usage,
    steps,
    ...told,
    ...(cost && { cost }),
    ...(error && { error }),
    ...(receipt && { receipt }),
  })
  turn.log.record({ type: 'save-point' })
  turn.log.writeRun(waits ? 'suspended' : 'ended', {
    status,
    reason,
    ...(waits && { pendingToolCalls, pendingApprovals }),
    ...(error && { error: { ...error } as unknown as JSONValue }),
    ...after.find(({ row }) => row)?.row,
    ...(isFollowed(turn, outcome, after) && { followed: true }),
  })
}

/** Returns whether this run may store more after the end. */
function isFollowed(turn: Turn, outcome: TurnOutcome, after: readonly AfterTurn[]): boolean {
  return (
    after.some(({ work }) => work !== undefined) || hasWatchers(turn) || hasNextTurn(turn, outcome) || turn.plugins.onEvent.asks.length > 0
  )
}

/** Returns whether the run has another turn to begin. */
function hasNextTurn({ run }: Turn, { status, isReplaced }: TurnOutcome): boolean {
  return isReplaced === true || (status === 'completed' && run.inbox.hasFollowUps)
}

/** Returns whether plug-ins are notified of the end. */
function hasWatchers({ plugins }: Turn): boolean {
  return plugins.close.asks.length + plugins.onTurnEnd.asks.length + plugins.onSavePoint.asks.length + plugins.onSettled.asks.length > 0
}

/** Stores the end. The last commit of the run also says whether the conversation has settled. */
function storeEnd(turn: Turn, expectNoInputs: boolean, isLast: boolean): Promise<Committed> {
  const noInputs = expectNoInputs ? { noInputs: true as const } : {}
  return isLast ? turn.log.commitEnd(noInputs) : turn.log.commit(noInputs)
}

/** Runs the hooks and the work of plug-ins, and stores `settled` if nothing is left to do. */
async function afterEnd(turn: Turn, outcome: TurnOutcome, after: readonly AfterTurn[]): Promise<void> {
  await consult(turn, 'close', outcome)
  if (turn.plugins.onTurnEnd.asks.length > 0) await consult(turn, 'onTurnEnd', deepFreeze({ ...resultOf(turn, outcome) }))
  await consult(turn, 'onSavePoint', turn.number)
  if (isSuspended(outcome.status)) return
  for (const { work } of after) if (work) await work()
  const quiet = !hasNextTurn(turn, outcome) && after.every(({ work }) => work !== undefined)
  const stored = quiet ? await turn.log.commit({ nothingQueued: true }, [{ type: 'settled' }]) : 'runs-queued'
  if (stored === 'stored') await consult(turn, 'onSettled', turn.number)
}

interface Extras {
  readonly receipt?: SubmissionReceipt | undefined
  readonly unusedInputs?: readonly AgentInput[]
  /** Messages that earlier turns of the run have stored. */
  readonly earlier?: AgentResult['messages']
}

/** Returns the result of a run that had a turn. */
export function resultOf(turn: Turn, outcome: TurnOutcome, { receipt, unusedInputs = [], earlier = [] }: Extras = {}): AgentResult {
  const { status, reason, error, pendingToolCalls = [], pendingApprovals = [] } = outcome
  const messages = turn.log.newMessages
  const answer = messages.findLast((entry) => entry.role === 'assistant')
  const output = turn.agent.output && status === 'completed' ? findOutput(turn.transcript.messages.slice(turn.beginsAt)).output : undefined
  const text = output === undefined ? (answer ? textOf(answer) : turn.reply) : JSON.stringify(output)
  return Object.freeze({
    runId: turn.runId,
    status,
    reason,
    messages: [...earlier, ...messages],
    text,
    ...(output !== undefined && { output }),
    pendingToolCalls,
    pendingApprovals,
    unusedInputs,
    usage: turn.usage,
    steps: turn.step,
    ...(turn.cost && { cost: turn.cost }),
    ...(error && { error }),
    ...(receipt && { submission: receipt }),
  })
}

/** Returns the result of a run that stored nothing. */
export function emptyResult(runId: string, outcome: TurnOutcome, unusedInputs: readonly AgentInput[] = []): AgentResult {
  const { status, reason, error } = outcome
  return Object.freeze({
    runId,
    status,
    reason,
    messages: [],
    text: '',
    pendingToolCalls: [],
    pendingApprovals: [],
    unusedInputs,
    usage: {},
    steps: 0,
    ...(error && { error }),
  })
}

export function refused(error: AgentErrorData): TurnOutcome {
  return { status: 'error', reason: 'refused', error }
}

export function journalError(error: AgentErrorData): TurnOutcome {
  return { status: 'error', reason: 'journal-error', error }
}
