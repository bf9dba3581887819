import { reserveCall } from '../plugins/budget/limits.ts'
import type { ModelAnswer } from './answer.ts'
import { beginMessage } from './begin-step.ts'
import { countedAnswer } from './counted-answer.ts'
import { aborted, limited } from './ending.ts'
import { followAttempt } from './follow-attempt.ts'
import { giveUp, leave } from './give-up.ts'
import { nextMacrotask } from './macrotask.ts'
import { requestAnswer } from './request-answer.ts'
import type { Next } from './run-turn.ts'
import type { StepPlan } from './step-plan.ts'
import type { Turn } from './turn.ts'
import { waitUntil } from './wait-until.ts'

/**
 * Calls the model until it has answered, or must not be called again. Every attempt is begun, and withdrawn or ended,
 * in the log; nothing is drafted when the run is to be left while the model still spoke: whoever goes on calls again.
 */
export async function callModel(turn: Turn, plan: StepPlan): Promise<Next> {
  for (;;) {
    const isReady = turn.notBefore === undefined && !turn.stop.requested && plan.reservation?.ok
    const given = isReady ? undefined : ((await waitForRetry(turn)) ?? (await reserve(turn, plan)))
    if (given) return given
    beginMessage(turn)
    await turn.log.commit()
    const answer = countedAnswer(turn, await requestAnswer(turn, plan))
    // Behind the answer, where nobody waits for the first delta.
    await nextMacrotask()
    const followed = followCall(turn, plan, answer)
    const next = followed instanceof Promise ? await followed : followed
    if (next) return next
  }
}

/** Undefined: the next attempt. */
function followCall(turn: Turn, plan: StepPlan, answer: ModelAnswer): Next | undefined | Promise<Next | undefined> {
  if (plan.reservation?.ok) plan.reservation.settle(answer.message)
  plan.reservation = undefined
  const { stopReason } = answer.message
  if (turn.stop.leaving && (stopReason === 'aborted' || stopReason === 'error')) return { phase: 'left' }
  return followAttempt(turn, plan, answer)
}

/** The rest of the wait that was announced. Nothing is called for a run that is being stopped. */
async function waitForRetry(turn: Turn): Promise<Next | undefined> {
  if (turn.notBefore !== undefined) await waitUntil(turn.clock, turn.notBefore, turn.stop.signal)
  if (turn.stop.leaving) return leave(turn)
  turn.notBefore = undefined
  return turn.stop.stopped ? giveUp(turn, aborted(turn, [])) : undefined
}

/** Of the first call of a step the reservation is made before the step begins. */
async function reserve(turn: Turn, plan: StepPlan): Promise<Next | undefined> {
  plan.reservation ??= reserveCall(turn, plan.maxTokens)
  return plan.reservation.ok ? undefined : giveUp(turn, limited(plan.reservation.reason))
}
