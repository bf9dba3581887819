import type { JSONValue } from '@bowline/llm'
import { deepFreeze } from '../base/json.ts'
import type { AgentResult } from '../contract/run.ts'
import { isSuspended } from '../events/status.ts'
import type { Window } from '../events/types.ts'
import type { Committed } from '../journal/draft.ts'
import { resultOf } from '../run/result.ts'
import { compactAfterTurn, compactionDue } from './compaction-phase.ts'
import { modelWouldStop } from './ending.ts'
import type { Ending } from './ending.ts'
import type { Next } from './run-turn.ts'
import { takeMore } from './settle-step.ts'
import type { Turn } from './turn.ts'

interface EndOptions {
  readonly window?: Window | undefined
  /** False: inputs do not take the end back. */
  readonly goesOn?: boolean
}

/**
 * Drafts the end of the segment, stores it, and does what stands behind it. An input that came meanwhile takes the
 * end back: then the model is asked once more.
 */
export async function endTurn(turn: Turn, ending: Ending, { window, goesOn = modelWouldStop(ending) }: EndOptions = {}): Promise<Next> {
  const { inbox } = turn.run
  if (goesOn && inbox.hasInputs && (await takeMore(turn, window))) return { phase: 'ask' }
  inbox.close()
  const mark = turn.log.mark
  const due = isSuspended(ending.status) ? undefined : compactionDue(turn)
  const followed = isFollowed(turn, ending, due)
  draftEnd(turn, ending, due, followed)
  const end = turn.log.mark
  const isLast = !isSuspended(ending.status) && !due && !hasWatchers(turn) && !hasNextTurn(turn, ending)
  const stored = await storeEnd(turn, goesOn && turn.step < turn.run.limits.maxSteps, isLast)
  if (stored === 'inputs-waiting') {
    turn.log.backTo(mark, end)
    inbox.reopen()
    // What the journal does not give now stays in its inbox.
    return (await takeMore(turn, window)) ? { phase: 'ask' } : endTurn(turn, ending, { window, goesOn: false })
  }
  inbox.endTurn()
  if (!isLast) await afterEnd(turn, ending, due)
  // What those who look on had to say of the end.
  await turn.log.commit()
  return { phase: 'ended', ending }
}

function draftEnd(turn: Turn, ending: Ending, due: ReturnType<typeof compactionDue>, followed: boolean): void {
  const { status, reason, error, receipt, pendingToolCalls = [], pendingApprovals = [] } = ending
  const { usage, cost, step: steps } = turn
  if (pendingToolCalls.length > 0) turn.log.record({ type: 'awaiting-tools', step: turn.step, pendingToolCalls })
  const waits = isSuspended(ending.status)
  turn.log.record({
    ...{ type: 'turn-end', status, reason, usage, steps, overlaysExpired: waits ? 0 : turn.overlays.count },
    ...(cost && { cost }),
    ...(error && { error }),
    ...(receipt && { receipt }),
  })
  turn.log.record({ type: 'save-point' })
  turn.log.writeRun(waits ? 'suspended' : 'ended', {
    ...{ status, reason },
    ...(waits && { pendingToolCalls, pendingApprovals }),
    ...(error && { error: { ...error } as unknown as JSONValue }),
    ...(due && turn.run.journal.schedulesCompaction && { compactionDue: due }),
    ...(followed && { followed }),
  })
}

/** Whether this run stores more behind the end. */
function isFollowed(turn: Turn, ending: Ending, due: ReturnType<typeof compactionDue>): boolean {
  const compactsHere = due !== undefined && !turn.run.journal.schedulesCompaction
  return compactsHere || hasWatchers(turn) || hasNextTurn(turn, ending) || turn.hooks.has('onEvent')
}

/** The run has another turn to begin. */
function hasNextTurn({ run }: Turn, { status, isReplaced }: Ending): boolean {
  return isReplaced === true || (status === 'completed' && run.inbox.hasFollowUps)
}

/** Whether anybody has something to do behind the end. */
function hasWatchers({ hooks, guardrails }: Turn): boolean {
  return hooks.has('onAgentEnd', 'onSavePoint', 'onSettled') || guardrails.has('onTurnEnd')
}

/** The last commit of the run also says whether the conversation has settled. */
function storeEnd(turn: Turn, expectNoInputs: boolean, isLast: boolean): Promise<Committed> {
  const noInputs = expectNoInputs ? { noInputs: true as const } : {}
  return isLast ? turn.log.commitEnd(noInputs) : turn.log.commitIf(noInputs)
}

/** Hooks, a compaction that is due, and the word that nothing is left to do. */
async function afterEnd(turn: Turn, ending: Ending, due: ReturnType<typeof compactionDue>): Promise<void> {
  const { hooks, guardrails, run } = turn
  const result: AgentResult = deepFreeze({ ...resultOf(turn, ending) })
  await guardrails.onTurnEnd(ending.status)
  if (hooks.has('onAgentEnd')) await hooks.onAgentEnd({ result, status: ending.status })
  if (hooks.has('onSavePoint')) await hooks.onSavePoint({ turn: turn.number })
  if (isSuspended(ending.status)) return
  const compactsHere = due && !run.journal.schedulesCompaction
  if (compactsHere) await compactAfterTurn(turn, due)
  const quiet = !hasNextTurn(turn, ending) && (!due || compactsHere)
  const stored = quiet ? await turn.log.commitIf({ nothingQueued: true }, [{ type: 'settled' }]) : 'runs-queued'
  if (stored === 'stored' && hooks.has('onSettled')) await hooks.onSettled({ turn: turn.number })
}
