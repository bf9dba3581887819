import type { ModelError } from '@bowline/llm'
import { callsOf } from '../tools/call.ts'
import { clientCalls } from '../transcript/client-calls.ts'
import type { ModelAnswer } from './answer.ts'
import { beginMessage, endStep } from './begin-step.ts'
import { compactAfterOverflow } from './compaction-phase.ts'
import { discardAttempt } from './discard.ts'
import { aborted, failed } from './ending.ts'
import type { TurnError } from '../events/types.ts'
import { judgeAttempt } from './judge-attempt.ts'
import type { RetryVerdict } from './judge-attempt.ts'
import { reserveCall } from './limits.ts'
import { nextMacrotask } from './macrotask.ts'
import { beginRetry, endRetry } from './record-retry.ts'
import { requestAnswer } from './request-answer.ts'
import { messagesOfTurn, messagesToRewind } from './rewind.ts'
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
    const interrupted = await waitForRetry(turn)
    if (interrupted) return interrupted
    beginMessage(turn)
    await turn.commit()
    await nextMacrotask()
    const answer = await requestAnswer(turn, plan)
    if (plan.reservation.ok) plan.reservation.settle(answer.message)
    if (turn.stop.leaving && answer.message.stopReason === 'aborted') return { phase: 'left' }
    const verdict = judgeAttempt(turn, plan, answer.message)
    const next = await follow(turn, plan, answer, verdict)
    if (next) return next
  }
}

function follow(turn: Turn, plan: StepPlan, answer: ModelAnswer, verdict: ReturnType<typeof judgeAttempt>): Promise<Next | undefined> {
  switch (verdict.kind) {
    case 'accept':
      return accept(turn, plan, answer)
    case 'retry':
      return tryAgain(turn, plan, answer, verdict)
    case 'withdraw':
      return withdraw(turn, plan, answer, verdict.error)
    default: {
      const unknown: never = verdict
      return unknown
    }
  }
}

/** The rest of the wait that was announced. */
async function waitForRetry(turn: Turn): Promise<Next | undefined> {
  if (turn.notBefore === undefined) return undefined
  await waitUntil(turn.clock, turn.notBefore, turn.stop.signal)
  if (turn.stop.leaving) return { phase: 'left' }
  turn.notBefore = undefined
  return turn.stop.stopped ? giveUp(turn) : undefined
}

/** The step ends without an answer. */
async function giveUp(turn: Turn, error?: TurnError): Promise<Next> {
  await endRetry(turn, false)
  endStep(turn, [], false)
  return { phase: 'end', ending: error ? failed(error) : aborted(turn, []) }
}

async function accept(turn: Turn, plan: StepPlan, { message, results }: ModelAnswer): Promise<Next> {
  turn.takeAnswer(message)
  const { error } = message
  turn.failure = error && withFailures(plan.failures, error)
  await endRetry(turn, message.stopReason !== 'error', error)
  // What it cost must not be lost when the process dies while the tools run.
  if (clientCalls(message).length > 0 || turn.hooks.has('afterModelCall')) turn.writeRun('running')
  if (turn.hooks.has('afterModelCall')) {
    await turn.commit()
    await turn.hooks.afterModelCall({ message, usage: message.usage })
  }
  return { phase: 'settle', answer: { message, results }, calls: callsOf(turn, clientCalls(message)) }
}

/** The turn ends with the first model's error; what the others said is in its details. */
function withFailures([first, ...others]: readonly ModelError[], last: ModelError): TurnError {
  return first ? { ...first, details: [...others, last] } : last
}

/** Withdraws the attempt and announces the next one. A next phase: there is none. */
async function tryAgain(turn: Turn, plan: StepPlan, answer: ModelAnswer, verdict: RetryVerdict): Promise<Next | undefined> {
  const { error, cause } = verdict
  const { message } = answer
  if (cause === 'overflow') {
    discardAttempt(turn, message, 'overflow')
    await endRetry(turn, false, error)
    const hasRoom = await compactAfterOverflow(turn)
    await beginRetry(turn, verdict)
    if (!hasRoom) return giveUp(turn, error)
    plan.reservation = reserveCall(turn, plan.maxOutputTokens)
    return plan.reservation.ok ? undefined : giveUp(turn, error)
  }
  // What must not be paid for cannot be tried again.
  plan.reservation = reserveCall(turn, plan.maxOutputTokens)
  if (!plan.reservation.ok) return accept(turn, plan, answer)
  discardAttempt(turn, message, 'retry', messagesToRewind(turn))
  if (cause === 'fallback') plan.failures.push(error)
  await endRetry(turn, false, error)
  await beginRetry(turn, verdict)
  return undefined
}

/** The turn leaves nothing behind: its input is withdrawn too. */
async function withdraw(turn: Turn, plan: StepPlan, { message }: ModelAnswer, error: ModelError): Promise<Next> {
  discardAttempt(turn, message, 'failed', messagesOfTurn(turn))
  await endRetry(turn, false, error)
  endStep(turn, [], false)
  return { phase: 'end', ending: failed(withFailures(plan.failures, error)) }
}
