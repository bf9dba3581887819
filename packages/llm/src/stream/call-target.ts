import { check } from '../check.ts'
import { LlmError } from '../model-error.ts'
import type { ModelRequest } from '../model-request.ts'
import { checkLanguageModel, openerOf, type AnyLanguageModel } from '../models/language-model.ts'
import type { ModelInfo } from '../model-info.ts'
import { checkedRef, quoted, type ModelRef } from '../models/model-ref.ts'
import { knownInfo } from '../models/model-table.ts'
import { callOf, isResolvedModel, optionsKeyOf, type ModelCall, type ResolvedModel } from '../models/resolved-model.ts'
import type { RuntimeParams } from '../params/runtime-params.ts'

/** The model of one call, with its facts. */
export interface CallTarget extends ModelCall {
  readonly info: ModelInfo
  readonly defaults: RuntimeParams
}

/** Resolves the model of a call. Throws `LlmError` if it cannot be called, or if it is a name and there is no registry. */
export function callTarget({ model, models, runtimeParams }: Pick<ModelRequest, 'model' | 'models' | 'runtimeParams'>): CallTarget {
  const wanted = runtimeParams?.model ?? model
  check.checkMethods('models', models, ['resolve', 'info'])
  if (isResolvedModel(wanted)) return resolvedTarget(wanted)
  if (!isRef(wanted)) return directTarget(wanted)
  const place = runtimeParams?.model === undefined ? 'model' : 'runtimeParams.model'
  checkedRef(place, wanted)
  if (models) return resolvedTarget(models.resolve(wanted))
  const name = typeof wanted === 'string' ? wanted : `${wanted.provider}:${wanted.model}`
  const remedy = 'pass models, a registry that knows it, or a model object'
  throw new LlmError('invalid-config', `${place} ${quoted(name)} is only a name: ${remedy}`)
}

function isRef(wanted: ModelRequest['model']): wanted is ModelRef {
  if (typeof wanted !== 'object' || wanted === null) return typeof wanted === 'string'
  return !('specificationVersion' in wanted) && 'model' in wanted && 'provider' in wanted
}

function resolvedTarget(model: ResolvedModel): CallTarget {
  const { info, defaults } = model
  return { ...callOf(model), info, defaults }
}

const directTargets = new WeakMap<AnyLanguageModel, CallTarget>()

/** Created once per model object, because the AI SDK warns for each adapter of an old model. */
function directTarget(model: AnyLanguageModel): CallTarget {
  const known = typeof model === 'object' ? directTargets.get(model) : undefined
  if (known) return known
  checkLanguageModel(model, 'model')
  const { provider, modelId } = model
  const optionsKey = optionsKeyOf(provider)
  const info = knownInfo(`${optionsKey}:${modelId}`)
  const target = { provider, modelId, optionsKey, headers: {}, info, defaults: {}, open: openerOf(model) }
  directTargets.set(model, target)
  return target
}
