import { mergeRuntimeParams } from '@bowline/llm'
import type { ModelError } from '@bowline/llm'
import type { PrepareStep, StepPatch } from '../agent/options.ts'
import { askOwner } from './ask-owner.ts'
import type { CallReservation } from './limits.ts'
import { outputLimit } from './limits.ts'
import { modelTarget } from './model-target.ts'
import type { ModelTarget } from './model-target.ts'
import { stepContext } from './step-context.ts'
import type { Turn } from './turn.ts'

/** How one step is to be made: which models may answer it, and what holds for it alone. */
export interface StepPlan {
  readonly patch: StepPatch
  /** The first takes the step, the others when it fails for good. */
  readonly models: readonly [ModelTarget, ...ModelTarget[]]
  /** Of the answer, as far as it can be said before. */
  readonly maxOutputTokens: number
  /** The last error of each model that has given up. */
  readonly failures: ModelError[]
  /** Of the call that comes next. */
  reservation: CallReservation
}

export async function planStep(turn: Turn): Promise<StepPlan> {
  const { agent, models, runtimeParams } = turn.run
  const { patch, model } = agent.prepareStep ? await askPatch(turn, agent.prepareStep) : unpatched
  const [first, ...others] = models
  const own = model ?? first
  const all = [own, ...others] as const
  turn.useModel(all[turn.retry?.model ?? 0] ?? own)
  turn.activeTools = patch.activeTools && new Set(patch.activeTools)
  const { maxTokens } = mergeRuntimeParams(agent.runtimeParams, runtimeParams, patch.runtimeParams)
  const maxOutputTokens = outputLimit(turn.model, maxTokens)
  return { patch, models: all, maxOutputTokens, failures: [], reservation: { ok: false, reason: 'max-total-tokens' } }
}

interface Patched {
  readonly patch: StepPatch
  readonly model?: ModelTarget | undefined
}

const unpatched: Patched = { patch: {} }

async function askPatch(turn: Turn, prepareStep: PrepareStep): Promise<Patched> {
  await turn.commit()
  const asked = await askOwner(turn, 'prepareStep', async () => {
    const patch = (await prepareStep(stepContext(turn))) ?? {}
    return { patch, model: patch.model === undefined ? undefined : modelTarget(patch.model, turn.agent.models, {}) }
  })
  return asked ?? unpatched
}
