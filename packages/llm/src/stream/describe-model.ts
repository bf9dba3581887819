import { check } from '../check.ts'
import type { ModelRequest } from '../model-request.ts'
import type { ModelInfo } from '../model-info.ts'
import { checkRuntimeParams, type RuntimeParams } from '../params/runtime-params.ts'
import { requestKeys } from './check-request.ts'
import { callTarget } from './call-target.ts'

/** The model that a request would call, under the names that its messages would carry, with its facts. */
export interface ModelDescription {
  readonly provider: string
  readonly modelId: string
  readonly info: ModelInfo
  /** Default runtime params of each call; every other layer overrides them. */
  readonly defaults: RuntimeParams
}

/**
 * Returns the model that a request would call and its facts, without calling it. Throws `LlmError` `invalid-config` for a model
 * that cannot be called, as `streamMessage` does.
 */
export function describeModel(request: Pick<ModelRequest, 'model' | 'models' | 'runtimeParams'>): ModelDescription {
  check.checkKeys('describeModel.request', request, requestKeys)
  if (request.runtimeParams !== undefined) checkRuntimeParams(request.runtimeParams)
  const { provider, modelId, info, defaults } = callTarget(request)
  return { provider, modelId, info, defaults }
}
