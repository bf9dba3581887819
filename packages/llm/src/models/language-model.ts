import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import type { LanguageModelMiddleware } from 'ai'
import { LlmError } from '../model-error.ts'

/** A model object of any AI SDK provider. */
export type AnyLanguageModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2

const supportedVersions: readonly unknown[] = ['v4', 'v3', 'v2']

/** Throws `LlmError` for anything that this package cannot call. */
export function checkLanguageModel(model: unknown): asserts model is AnyLanguageModel {
  const { specificationVersion, provider, modelId } = (model ?? {}) as Partial<Record<string, unknown>>
  if (supportedVersions.includes(specificationVersion)) return
  const name = `${String(provider)}/${String(modelId)}`
  throw new LlmError(
    'CONFIG',
    `the model ${name} has specification version "${String(specificationVersion)}"; supported: "v4", "v3", "v2"`,
  )
}

/** The model as it is called: itself when it is of the current version, else through the AI SDK's own adapter. */
export function callableModel(
  model: AnyLanguageModel,
  middleware: readonly LanguageModelMiddleware[] = [],
): LanguageModelV4 | Promise<LanguageModelV4> {
  if (model.specificationVersion === 'v4' && middleware.length === 0) return model
  return import('ai').then(({ wrapLanguageModel }) => wrapLanguageModel({ model, middleware: [...middleware] }))
}
