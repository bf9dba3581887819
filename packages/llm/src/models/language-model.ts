import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import type { LanguageModelMiddleware } from 'ai'
import { describeValue } from '../arguments.ts'
import { refuseSetting } from '../check.ts'
import { LlmError } from '../model-error.ts'

/** A model object of any AI SDK provider. */
export type AnyLanguageModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2

const supportedVersions: readonly unknown[] = ['v4', 'v3', 'v2']

/** Throws `LlmError` for a model that this package cannot call. */
export function checkLanguageModel(model: unknown, path: string): asserts model is AnyLanguageModel {
  const { specificationVersion, provider, modelId, doStream } = (model ?? {}) as Partial<Record<string, unknown>>
  if (specificationVersion === undefined && provider === undefined) refuseSetting(path, 'a language model of the AI SDK', model)
  const name = `the model ${textOf(provider)}/${textOf(modelId)}`
  if (!supportedVersions.includes(specificationVersion))
    throw new LlmError('invalid-config', `${name} has specification version "${String(specificationVersion)}"; supported: "v4", "v3", "v2"`)
  // Providers, and models for other purposes than language, carry the same version.
  if (typeof provider !== 'string' || typeof modelId !== 'string' || typeof doStream !== 'function')
    throw new LlmError('invalid-config', `${name} is not a language model: it must have provider, modelId and doStream`)
}

function textOf(name: unknown): string {
  return typeof name === 'string' ? name : describeValue(name)
}

/** Returns the callable model; the same object each time. */
export type OpenModel = () => LanguageModelV4 | Promise<LanguageModelV4>

/** Returns a current model without middleware unchanged; wraps any other with the AI SDK's own adapter. */
export function openerOf(model: AnyLanguageModel, middleware: readonly LanguageModelMiddleware[] = []): OpenModel {
  if (model.specificationVersion === 'v4' && middleware.length === 0) return () => model
  let opening: Promise<LanguageModelV4> | undefined
  return () =>
    (opening ??= adapted(model, middleware).catch((error: unknown) => {
      // Clears the failure, because the next call may succeed.
      opening = undefined
      throw error
    }))
}

async function adapted(model: AnyLanguageModel, middleware: readonly LanguageModelMiddleware[]): Promise<LanguageModelV4> {
  const { wrapLanguageModel } = await import('ai').catch((cause: unknown) => {
    const purpose = middleware.length > 0 ? 'middleware' : `a model of version "${model.specificationVersion}"`
    throw new LlmError('invalid-config', `${purpose} needs the package "ai", which cannot be loaded; run: npm install ai`, { cause })
  })
  return wrapLanguageModel({ model, middleware: [...middleware] })
}
