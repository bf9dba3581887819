import { LlmError } from '../model-error.ts'
import type { ModelRequest } from '../model-request.ts'
import { checkRuntimeParams } from '../params/runtime-params.ts'

/** Throws `LlmError` for a request that can never work. */
export function checkRequest({ model, messages, tools, runtimeParams }: ModelRequest): void {
  checkModel(model)
  if (messages.length === 0) throw new LlmError('USAGE', 'a model request must have at least one message')
  if (runtimeParams) checkRuntimeParams(runtimeParams)
  if (runtimeParams?.model !== undefined) throw new LlmError('CONFIG', 'runtimeParams.model needs a registry of models')
  const names = (tools ?? []).map((tool) => tool.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new LlmError('CONFIG', `two tools have the name "${twice}"`)
}

function checkModel(model: unknown): void {
  if (typeof model === 'string')
    throw new LlmError('CONFIG', `the model "${model}" is a name; pass a model object of a provider`)
  const { specificationVersion, provider, modelId } = (model ?? {}) as Partial<Record<string, unknown>>
  if (specificationVersion === 'v4') return
  const name = `${String(provider)}/${String(modelId)}`
  throw new LlmError(
    'CONFIG',
    `the model ${name} has specification version "${String(specificationVersion)}"; supported: "v4"`,
  )
}
