import { describeModel, LlmError, mergeRuntimeParams } from '@bowline/llm'
import type { AnyLanguageModel, ModelInfo, ModelRef, Models, RuntimeParams } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import { refuseConfig } from '../base/checks.ts'
import type { AgentFingerprint } from '../contract/agent.ts'
import type { AgentModel, ModelFunction } from '../contract/options.ts'
import type { ModelName } from '../events/turn-events.ts'

/** A model that a step can call, and what is known about it. */
export type ModelTarget = { readonly name: ModelName; readonly info: ModelInfo } & (
  | { readonly kind: 'model'; readonly model: AnyLanguageModel | ModelRef }
  | { readonly kind: 'function'; readonly call: ModelFunction }
)

/** Resolves a model. Throws `invalid-config` for a name that no registry resolves. */
export function modelTarget(model: AgentModel, models: Models | undefined, runtimeParams: RuntimeParams, option = 'model'): ModelTarget {
  if (typeof model === 'function') {
    return { kind: 'function', call: model, name: Object.freeze({ provider: 'function', modelId: model.name || 'anonymous' }), info: {} }
  }
  try {
    const chosen = runtimeParams.model ?? model
    const { provider, modelId, info } = describeModel({ model: chosen, ...(models && { models }) })
    return { kind: 'model', model: chosen, name: Object.freeze({ provider, modelId }), info }
  } catch (error) {
    if (!LlmError.isInstance(error)) throw error
    return refuseConfig(`${option}: ${messageOf(error)}`)
  }
}

interface ModelOptions {
  readonly model: AgentModel
  readonly models: Models | undefined
  readonly runtimeParams: RuntimeParams
  readonly fallback: readonly (AnyLanguageModel | ModelRef)[]
}

/**
 * Returns the models of a run: the agent's model, or the one that params or a pin choose, and its fallbacks. Throws
 * `invalid-config`.
 */
export function modelTargets(
  { model, models, runtimeParams: own, fallback }: ModelOptions,
  runtimeParams: RuntimeParams,
  pinned: AgentFingerprint | undefined,
): readonly [ModelTarget, ...ModelTarget[]] {
  const first = modelTarget(model, models, mergeRuntimeParams(own, runtimeParams))
  const others = fallback.map((other, place) => modelTarget(other, models, {}, `fallback[${place}]`))
  return [pinned ? pinnedTarget(first, models, pinned.model) : first, ...others]
}

/** Returns the pinned model: the current one if it has the same name, else the one from the registry. */
function pinnedTarget(today: ModelTarget, models: Models | undefined, { provider, modelId }: ModelName): ModelTarget {
  if (today.name.provider === provider && today.name.modelId === modelId) return today
  if (today.kind === 'function') return refuseConfig(`pinned: the agent now has another model function instead of ${provider}:${modelId}`)
  const registered = models?.providers().find((name) => name === provider || provider.startsWith(`${name}.`)) ?? provider
  return modelTarget({ provider: registered, model: modelId }, models, {}, 'pinned.model')
}
