import type { JSONValue } from '@bowline/llm'
import type { AgentResult } from '../agent/options.ts'
import type { RunEventFields } from './turn.ts'
import { deepFreeze } from '../json.ts'
import { resultOf } from '../run/result.ts'
import { compactAfterTurn, compactionDue } from './compaction-phase.ts'
import { isWaiting, modelWouldStop } from './ending.ts'
import type { Ending } from './ending.ts'
import type { Next } from './run-turn.ts'
import { takeMore } from './settle-step.ts'
import type { Turn } from './turn.ts'

const settled: RunEventFields = { type: 'settled' }

/**
 * Drafts the end of the segment, stores it, and does what stands behind it. An input that came meanwhile takes the
 * end back: then the model is asked once more.
 */
export async function endTurn(turn: Turn, ending: Ending): Promise<Next> {
  const { inbox } = turn.run
  const goesOn = modelWouldStop(ending)
  if (goesOn && inbox.hasInputs && (await takeMore(turn))) return { phase: 'ask' }
  inbox.close()
  const mark = turn.mark
  const due = isWaiting(ending) ? undefined : compactionDue(turn)
  draftEnd(turn, ending, due)
  const isLast = !isWaiting(ending) && !due && !hasWatchers(turn) && !(ending.status === 'completed' && inbox.hasFollowUps)
  const stored = await storeEnd(turn, goesOn && turn.step < turn.run.limits.maxSteps, isLast)
  if (stored === 'inputs-waiting') {
    turn.backTo(mark)
    inbox.reopen()
    return (await takeMore(turn)) ? { phase: 'ask' } : endTurn(turn, ending)
  }
  inbox.endTurn()
  if (isLast) return { phase: 'ended', ending }
  await afterEnd(turn, ending, due)
  return { phase: 'ended', ending }
}

function draftEnd(turn: Turn, ending: Ending, due: ReturnType<typeof compactionDue>): void {
  const { status, reason, error, receipt, pendingToolCalls = [], pendingApprovals = [] } = ending
  const { usage, cost, step: steps } = turn
  if (pendingToolCalls.length > 0) turn.record({ type: 'awaiting-tools', step: turn.step, pendingToolCalls })
  const waits = isWaiting(ending)
  turn.record({
    ...{ type: 'turn-end', status, reason, usage, steps, overlaysExpired: waits ? 0 : turn.overlays.count },
    ...(cost && { cost }),
    ...(error && { error }),
    ...(receipt && { receipt }),
  })
  turn.record({ type: 'save-point' })
  turn.writeRun(waits ? 'suspended' : 'ended', {
    ...{ status, reason },
    ...(waits && { pendingToolCalls, pendingApprovals }),
    ...(error && { error: { ...error } as unknown as JSONValue }),
    ...(due && turn.run.journal.schedulesCompaction && { compactionDue: due }),
  })
}

/** Whether anybody has something to do behind the end. */
function hasWatchers({ hooks, guardrails }: Turn): boolean {
  return hooks.has('onAgentEnd', 'onSavePoint', 'onSettled') || guardrails.has('onTurnEnd')
}

/** Settled, unless other runs are queued behind this one. */
async function storeEnd(turn: Turn, expectNoInputs: boolean, isLast: boolean): Promise<'stored' | 'inputs-waiting'> {
  const noInputs = expectNoInputs ? { noInputs: true as const } : {}
  const stored = isLast ? await turn.commitIf({ ...noInputs, nothingQueued: true }, [settled]) : 'runs-queued'
  if (stored !== 'runs-queued') return stored
  return (await turn.commitIf(noInputs, [])) === 'inputs-waiting' ? 'inputs-waiting' : 'stored'
}

/** Hooks, a compaction that is due, and the word that nothing is left to do. */
async function afterEnd(turn: Turn, ending: Ending, due: ReturnType<typeof compactionDue>): Promise<void> {
  const { hooks, guardrails, run } = turn
  const result: AgentResult = deepFreeze({ ...resultOf(turn, ending) })
  await guardrails.onTurnEnd(ending.status)
  if (hooks.has('onAgentEnd')) await hooks.onAgentEnd({ result, status: ending.status })
  if (hooks.has('onSavePoint')) await hooks.onSavePoint({ turn: turn.number })
  if (isWaiting(ending)) return turn.commit()
  const compactsHere = due && !run.journal.schedulesCompaction
  if (compactsHere) await compactAfterTurn(turn, due)
  const quiet = !(ending.status === 'completed' && run.inbox.hasFollowUps) && (!due || compactsHere)
  const stored = quiet ? await turn.commitIf({ nothingQueued: true }, [settled]) : 'runs-queued'
  if (stored !== 'stored') return turn.commit()
  if (hooks.has('onSettled')) await hooks.onSettled({ turn: turn.number })
  return turn.commit()
}
