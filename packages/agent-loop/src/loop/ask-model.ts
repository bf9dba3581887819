import { compactForCall } from './compaction-phase.ts'
import { beginStep, endStep } from './begin-step.ts'
import { callModel } from './call-model.ts'
import { aborted, limited } from './ending.ts'
import { reserveCall } from './limits.ts'
import { endRetry } from './record-retry.ts'
import type { Next } from './run-turn.ts'
import { planStep } from './step-plan.ts'
import type { Turn } from './turn.ts'

/** The next answer: a step begins, unless one has begun already, and its model is called. */
export async function askModel(turn: Turn): Promise<Next> {
  if (turn.stop.leaving) return leave(turn)
  if (turn.stop.stopped && turn.stepState === 'ended') return { phase: 'end', ending: aborted(turn, []) }
  const plan = await planStep(turn)
  if (turn.stepState === 'ended') {
    await compactForCall(turn, plan.maxOutputTokens)
    if (turn.stop.leaving) return leave(turn)
    if (turn.stop.stopped) return { phase: 'end', ending: aborted(turn, []) }
    plan.reservation = reserveCall(turn, plan.maxOutputTokens)
    if (!plan.reservation.ok) return { phase: 'end', ending: limited(plan.reservation.reason) }
    await beginStep(turn)
  }
  if (!turn.stop.stopped) return callModel(turn, plan)
  await endRetry(turn, false)
  endStep(turn, [], false)
  return { phase: 'end', ending: aborted(turn, []) }
}

/** Stores what is there, and nothing that would end the step. */
async function leave(turn: Turn): Promise<Next> {
  await turn.commit()
  return { phase: 'left' }
}
