import { reserveCall } from '../plugins/budget/limits.ts'
import { beginStep } from './begin-step.ts'
import { callModel } from './call-model.ts'
import { compactForCall, needsRoom } from './compaction-phase.ts'
import { aborted, limited } from './ending.ts'
import { leave } from './give-up.ts'
import type { Next } from './run-turn.ts'
import { planStep } from './step-plan.ts'
import type { StepPlan } from './step-plan.ts'
import type { Turn } from './turn.ts'

/** The next answer: a step begins, unless one has begun already, and its model is called. */
export async function askModel(turn: Turn): Promise<Next> {
  const stopped = stopBefore(turn)
  if (stopped) return stopped
  const planned = planStep(turn)
  const plan = planned instanceof Promise ? await planned : planned
  try {
    return (turn.stepState === 'ended' && (await openStep(turn, plan))) || (await callModel(turn, plan))
  } finally {
    // What was set aside for a call that was never made must not be lost to others.
    if (plan.reservation?.ok) plan.reservation.settle({ usage: {} })
  }
}

/** Whether nothing may begin any more. */
function stopBefore(turn: Turn): Next | Promise<Next> | undefined {
  if (turn.stop.leaving) return leave(turn)
  return turn.stop.stopped && turn.stepState === 'ended' ? { phase: 'end', ending: aborted(turn, []) } : undefined
}

/** Undefined: the step has begun. */
async function openStep(turn: Turn, plan: StepPlan): Promise<Next | undefined> {
  if (!turn.stop.requested && needsRoom(turn, plan.maxTokens)) await compactForCall(turn)
  const stopped = stopBefore(turn)
  if (stopped) return stopped
  plan.reservation = reserveCall(turn, plan.maxTokens)
  if (!plan.reservation.ok) return { phase: 'end', ending: limited(plan.reservation.reason) }
  const shown = beginStep(turn)
  if (shown) await shown
  return undefined
}
