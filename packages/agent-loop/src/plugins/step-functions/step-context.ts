import type { StepContext } from '../../contract/options.ts'
import { budgetLeft } from '../../kernel/spending.ts'
import type { Turn } from '../../kernel/turn.ts'

/** What functions of the agent know before a step and after it. */
export function stepContext(turn: Turn): StepContext {
  const { transcript, usage, cost, run } = turn
  const { latestAnswer } = transcript
  return Object.freeze({
    ...{ runId: turn.runId, turn: turn.number, step: turn.stepState === 'ended' ? turn.step + 1 : turn.step, usage, budgetLeft: budgetLeft(turn) },
    get messages() {
      return [...transcript.messages]
    },
    ...(latestAnswer && { lastAnswer: latestAnswer }),
    lastOutcomes: transcript.latestResults,
    ...(cost && { cost }),
    ...(run.context !== undefined && { context: run.context }),
  })
}
