import { yesOrNo } from '../../base/fields.ts'
import type { StopCondition } from '../../contract/options.ts'
import { aborted, modelWouldStop } from '../../kernel/ending.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { EndedStep } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { askOwner } from './ask-owner.ts'
import { stepContext } from './step-context.ts'

/** Asks the agent's conditions once after each step that another one could follow. A final answer stays one. */
export function stopWhenPlugin(conditions: readonly StopCondition[]): Plugin {
  return {
    name: 'stop-when',
    foreign: { afterStep: ({ outcome }) => mayGoOn(outcome) },
    hooks: { afterStep: (turn, step) => (mayGoOn(step.outcome) ? askConditions(turn, conditions, step) : undefined) },
  }
}

function mayGoOn(outcome: EndedStep['outcome']): boolean {
  return !outcome || modelWouldStop(outcome)
}

async function askConditions(turn: Turn, conditions: readonly StopCondition[], step: EndedStep): Promise<void> {
  const isMet = await isAnyMet(turn, conditions)
  if (turn.stop.stopped) step.outcome = aborted(turn.stop, step.calls)
  else if (isMet) step.outcome = step.outcome ? { ...step.outcome, isLast: true } : { status: 'completed', reason: 'stop-when' }
}

async function isAnyMet(turn: Turn, conditions: readonly StopCondition[]): Promise<boolean> {
  const state = stepContext(turn)
  for (const condition of conditions) {
    if (turn.stop.requested) return false
    if (await askOwner(turn, 'stopWhen', async () => yesOrNo('stopWhen', await condition(state)))) return true
  }
  return false
}
