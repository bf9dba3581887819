import type { ModelError } from '@bowline/llm'
import { endStep } from './begin-step.ts'
import type { Ending } from './ending.ts'
import { endRetry, tellRetryEnd } from './record-retry.ts'
import type { Next } from './run-turn.ts'
import type { Turn } from './turn.ts'

/** The step ends without an answer. */
export async function giveUp(turn: Turn, ending: Ending, error?: ModelError): Promise<Next> {
  await tellRetryEnd(turn, endRetry(turn, false, error))
  endStep(turn, [], false)
  return { phase: 'end', ending }
}

/** What is there is stored, and nothing that would end the step. */
export async function leave(turn: Turn): Promise<Next> {
  await turn.commit()
  return { phase: 'left' }
}
