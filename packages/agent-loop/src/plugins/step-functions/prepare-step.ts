import { mergeRuntimeParams } from '@bowline/llm'
import { checkKeys, checkList, checkRuntimeParams, checkText, checkToolChoice, refuseConfig } from '../../base/checks.ts'
import { wrongShape } from '../../base/messages.ts'
import type { PrepareStep, StepPatch } from '../../contract/options.ts'
import { modelTarget } from '../../kernel/model-target.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { checkPrices } from '../../kernel/spending.ts'
import type { StepPlan } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { askOwner } from './ask-owner.ts'
import { stepContext } from './step-context.ts'

/** Lets the agent's `prepareStep` change one step. Its mistakes are those of the agent's owner, and end the turn. */
export function prepareStepPlugin(prepareStep: PrepareStep): Plugin {
  return { name: 'prepare-step', foreign: { plan: true }, hooks: { plan: (turn, plan) => patchPlan(turn, prepareStep, plan) } }
}

async function patchPlan(turn: Turn, prepareStep: PrepareStep, plan: StepPlan): Promise<void> {
  const asked = await askOwner(turn, 'prepareStep', async () => {
    const patch = checkedPatch(await prepareStep(stepContext(turn)))
    const named = patch.model ?? patch.runtimeParams?.model
    if (named === undefined) return { patch }
    const model = modelTarget(named, turn.agent.models, {})
    checkPrices(turn.run.limits, turn.budgets, [model])
    return { patch, model }
  })
  if (!asked) return
  const { patch, model } = asked
  const [, ...others] = plan.models
  plan.patch = patch
  if (patch.runtimeParams) plan.params = mergeRuntimeParams(plan.params, patch.runtimeParams)
  if (!model) return
  plan.models = [model, ...others]
  plan.model = model
}

const patchKeys: readonly (keyof StepPatch)[] = ['model', 'runtimeParams', 'toolChoice', 'activeTools', 'instructions', 'messages']

function checkedPatch(patch: StepPatch | undefined): StepPatch {
  if (patch === undefined) return {}
  checkKeys('the patch of prepareStep', patch, patchKeys)
  for (const key of ['activeTools', 'messages'] as const) checkList(key, patch[key])
  checkText('instructions', patch.instructions)
  checkToolChoice('toolChoice', patch.toolChoice)
  checkRuntimeParams(patch.runtimeParams)
  for (const [index, message] of (patch.messages ?? []).entries()) {
    const wrong = wrongShape(message)
    if (wrong !== undefined) refuseConfig(`messages[${index}] ${wrong}`)
  }
  return patch
}
