import { mayTakeInputs, takeInputs } from '../plugins/steering/windows.ts'
import type { Call } from './call.ts'
import type { Turn } from './turn.ts'

/** Begins the next step: its boundary, its hooks, its window. */
export function beginStep(turn: Turn): Promise<void> | undefined {
  const { info, name } = turn.model
  turn.step++
  turn.attempt = 1
  turn.retry = undefined
  turn.stepState = 'begun'
  turn.log.record({
    ...{ type: 'step-start', step: turn.step, contextTokens: turn.contextTokens(), model: name },
    ...(info.contextWindow !== undefined && { contextWindow: info.contextWindow }),
  })
  turn.log.writeRun('running')
  return turn.isDriven || turn.hooks.has('onStepStart') || mayTakeInputs(turn) ? showStep(turn) : undefined
}

async function showStep(turn: Turn): Promise<void> {
  if (turn.isDriven) await turn.boundary()
  if (turn.hooks.has('onStepStart')) {
    await turn.log.commit()
    await turn.hooks.onStepStart({ step: turn.step })
  }
  if (mayTakeInputs(turn)) await takeInputs(turn, 'step-start')
}

/** Drafts the next message of the model. */
export function beginMessage(turn: Turn): void {
  turn.messageId = turn.ids.next('msg')
  turn.steered = false
  const { step, messageId, attempt, model } = turn
  turn.log.record({ type: 'message-start', step, messageId, attempt, model: model.name })
  turn.log.writeRun('running')
}

/** Drafts the end of the present step. */
export function endStep(turn: Turn, calls: readonly Call[], continues: boolean): void {
  turn.log.record({ type: 'step-end', step: turn.step, toolCalls: calls.length, continues })
  turn.earlierCalls += calls.length
  turn.stepState = 'ended'
}
