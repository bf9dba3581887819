import { endRetry, tellRetryEnd } from '../plugins/retry/record-retry.ts'
import { endStep } from './begin-step.ts'
import type { Ending } from './ending.ts'
import type { Next } from './run-turn.ts'
import type { Turn } from './turn.ts'

/** The step ends without an answer. `retryEnd` is told once it is stored, and with it that the turn is to end. */
export async function giveUp(turn: Turn, ending: Ending, retryEnd = endRetry(turn, false)): Promise<Next> {
  endStep(turn, [], false)
  // Stored before its end, the step must not be followed by another one.
  turn.log.writeRun('running', { ending })
  await tellRetryEnd(turn, retryEnd)
  if (turn.isDriven) await turn.boundary()
  return { phase: 'end', ending }
}

/** What is there is stored, and nothing that would end the step. */
export async function leave(turn: Turn): Promise<Next> {
  await turn.log.commit()
  return { phase: 'left' }
}
