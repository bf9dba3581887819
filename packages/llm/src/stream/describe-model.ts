import { check } from '../check.ts'
import type { ModelRequest } from '../model-request.ts'
import type { ModelInfo } from '../model-info.ts'
import { checkRuntimeParams, type RuntimeParams } from '../params/runtime-params.ts'
import { requestKeys } from './check-request.ts'
import { callTarget } from './call-target.ts'

/** The model that a request would call, by the names that its messages will carry, and what is known about it. */
export interface ModelDescription {
  readonly provider: string
  readonly modelId: string
  readonly info: ModelInfo
  /** The lowest layer of the runtime params of each call. */
  readonly defaults: RuntimeParams
}

/**
 * Returns the model that a request would call and its facts, without a call. Throws `LlmError` `invalid-config` for a model that
 * cannot be called, as `streamMessage` does.
 */
export function describeModel(request: Pick<ModelRequest, 'model' | 'models' | 'runtimeParams'>): ModelDescription {
  check.checkKeys('describeModel.request', request, requestKeys)
  if (request.runtimeParams !== undefined) checkRuntimeParams(request.runtimeParams)
  const { provider, modelId, info, defaults } = callTarget(request)
  return { provider, modelId, info, defaults }
}
