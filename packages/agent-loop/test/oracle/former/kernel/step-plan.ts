import { mergeRuntimeParams } from '@bowline/llm'
import type { RuntimeParams } from '@bowline/llm'
import { checkKeys, checkList, checkRuntimeParams, checkText, checkToolChoice, refuseConfig } from '../base/check-options.ts'
import type { PrepareStep, StepPatch } from '../contract/options.ts'
import { checkPrices } from '../plugins/budget/limits.ts'
import type { CallReservation } from '../plugins/budget/limits.ts'
import { wrongShape } from '../transcript/message-shape.ts'
import { askOwner } from './ask-owner.ts'
import { modelTarget } from './model-target.ts'
import type { ModelTarget } from './model-target.ts'
import { stepContext } from './step-context.ts'
import type { Turn } from './turn.ts'

/** How one step is to be made: which models may answer it, and what holds for it alone. */
export interface StepPlan {
  readonly patch: StepPatch
  /** The first takes the step, the others when it fails for good. */
  readonly models: readonly [ModelTarget, ...ModelTarget[]]
  /** Those of the agent, the run and the step. */
  readonly params: RuntimeParams
  /** Of the answer, as it was asked for. */
  readonly maxTokens: number | undefined
  /** Of the call that comes next. */
  reservation?: CallReservation | undefined
}

export function planStep(turn: Turn): StepPlan | Promise<StepPlan> {
  const { prepareStep } = turn.agent
  return prepareStep ? askPatch(turn, prepareStep).then((patched) => planOf(turn, patched)) : planOf(turn, unpatched)
}

function planOf(turn: Turn, { patch, model }: Patched): StepPlan {
  const { agent, models, runtimeParams } = turn.run
  const [first, ...others] = models
  const own = model ?? first
  const all = [own, ...others] as const
  const place = turn.stepState === 'ended' ? 0 : (turn.retry?.model ?? 0)
  turn.useModel(all[place] ?? own)
  turn.activeTools = patch.activeTools && new Set(patch.activeTools)
  const params = mergeRuntimeParams(agent.runtimeParams, runtimeParams, patch.runtimeParams)
  return { patch, models: all, params, maxTokens: params.maxTokens }
}

interface Patched {
  readonly patch: StepPatch
  readonly model?: ModelTarget | undefined
}

const unpatched: Patched = { patch: {} }

/** Its mistakes are those of the agent's owner, and end the turn. */
async function askPatch(turn: Turn, prepareStep: PrepareStep): Promise<Patched> {
  await turn.log.commit()
  const asked = await askOwner(turn, 'prepareStep', async () => {
    const patch = checkedPatch((await prepareStep(stepContext(turn))) ?? {})
    const named = patch.model ?? patch.runtimeParams?.model
    if (named === undefined) return { patch }
    const model = modelTarget(named, turn.agent.models, {})
    checkPrices(turn.run.limits, turn.budgets, [model])
    return { patch, model }
  })
  return asked ?? unpatched
}

const patchKeys: readonly (keyof StepPatch)[] = ['model', 'runtimeParams', 'toolChoice', 'activeTools', 'instructions', 'messages']

function checkedPatch(patch: StepPatch): StepPatch {
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
