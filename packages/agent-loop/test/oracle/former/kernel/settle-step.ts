import type { AssistantMessage } from '@bowline/llm'
import { yesOrNo } from '../base/yes-or-no.ts'
import { isSuspended } from '../events/status.ts'
import type { Window } from '../events/types.ts'
import { mayTakeInputs, takeInputs } from '../plugins/steering/windows.ts'
import { textOf } from '../transcript/client-calls.ts'
import type { ModelAnswer } from './answer.ts'
import { askOwner } from './ask-owner.ts'
import { endStep } from './begin-step.ts'
import { describeCall } from './call.ts'
import type { Call } from './call.ts'
import { aborted, endingOf, modelWouldStop } from './ending.ts'
import type { Ending } from './ending.ts'
import { leave } from './give-up.ts'
import type { Next } from './run-turn.ts'
import { settleCalls } from './settle-calls.ts'
import { stepContext } from './step-context.ts'
import type { Turn } from './turn.ts'

/** Brings the calls of an answer to their outcomes and ends the step, unless it waits for answers from outside. */
export async function settleStep(turn: Turn, answer: ModelAnswer, calls: readonly Call[]): Promise<Next> {
  const { message } = answer
  await settleCalls(turn, answer, calls)
  if (turn.stop.leaving) return leave(turn)
  const found = endingOf(turn, message, calls)
  const ending = turn.agent.stopWhen.length > 0 ? await askStopConditions(turn, found, calls) : found
  if (turn.stop.leaving) return leave(turn)
  if (ending && isSuspended(ending.status)) return { phase: 'end', ending }
  endStep(turn, calls, !ending)
  // Stored before its end, the step must not be followed by another one.
  if (ending) turn.log.writeRun('running', { ending })
  if (turn.isDriven) await turn.boundary()
  await tellStepEnd(turn, message, calls)
  return afterStep(turn, ending, calls)
}

export async function tellStepEnd(turn: Turn, answer: AssistantMessage | undefined, calls: readonly Call[]): Promise<void> {
  if (!turn.hooks.has('onStepEnd')) return
  await turn.log.commit()
  await turn.hooks.onStepEnd({ step: turn.step, toolCalls: calls.map(describeCall), text: textOf(answer) })
}

/** The step-end window. At a final answer an input makes one more step, if one more is allowed. */
function afterStep(turn: Turn, ending: Ending | undefined, calls: readonly Call[]): Next | Promise<Next> {
  if (turn.stop.leaving) return leave(turn)
  if (!ending && turn.stop.stopped) return { phase: 'end', ending: aborted(turn, calls) }
  if (!ending) return mayTakeInputs(turn) ? takeInputs(turn, 'step-end').then(() => askNext) : askNext
  const end: Next = { phase: 'end', ending }
  return modelWouldStop(ending) && mayTakeInputs(turn) ? takeMore(turn).then((goesOn) => (goesOn ? askNext : end)) : end
}

const askNext: Next = { phase: 'ask' }

/** Whether inputs came that one more step can show the model. */
export async function takeMore(turn: Turn, window: Window = 'step-end'): Promise<boolean> {
  if (turn.step >= turn.run.limits.maxSteps || turn.stop.requested) return false
  const hasTaken = await takeInputs(turn, window)
  // The turn is not to end any more.
  if (hasTaken) turn.log.writeRun('running')
  return hasTaken
}

/** Asked once, when one more step could follow. A final answer stays one. */
async function askStopConditions(turn: Turn, ending: Ending | undefined, calls: readonly Call[]): Promise<Ending | undefined> {
  const { stopWhen } = turn.agent
  if (stopWhen.length === 0 || (ending && !modelWouldStop(ending))) return ending
  await turn.log.commit()
  const isMet = await isAnyMet(turn, stopWhen)
  if (turn.stop.stopped) return aborted(turn, calls)
  if (!isMet) return ending
  return ending ? { ...ending, isLast: true } : { status: 'completed', reason: 'stop-when' }
}

async function isAnyMet(turn: Turn, conditions: Turn['agent']['stopWhen']): Promise<boolean> {
  const state = stepContext(turn)
  for (const condition of conditions) {
    if (turn.stop.requested) return false
    if (await askOwner(turn, 'stopWhen', async () => yesOrNo('stopWhen', await condition(state)))) return true
  }
  return false
}
