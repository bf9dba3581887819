import type { StepContext } from '../contract/options.ts'
import { budgetLeft } from '../plugins/budget/limits.ts'
import type { Turn } from './turn.ts'

/** What stands before a step and behind it. */
export function stepContext(turn: Turn, step = turn.stepState === 'ended' ? turn.step + 1 : turn.step): StepContext {
  const { transcript, usage, cost, run } = turn
  const { latestAnswer } = transcript
  return Object.freeze({
    ...{ runId: turn.runId, turn: turn.number, step, usage, budgetLeft: budgetLeft(turn) },
    get messages() {
      return [...transcript.messages]
    },
    ...(latestAnswer && { lastAnswer: latestAnswer }),
    lastOutcomes: transcript.latestResults,
    ...(cost && { cost }),
    ...(run.context !== undefined && { context: run.context }),
  })
}
