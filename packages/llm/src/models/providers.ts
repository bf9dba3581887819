import { check, checkValues, refuseSetting } from '../check.ts'
import { isRecord } from '../arguments.ts'
import { LlmError } from '../model-error.ts'
import { checkRuntimeParams, mergedParams, type RuntimeParams } from '../params/runtime-params.ts'
import type { AnyLanguageModel } from './language-model.ts'

type CreateModel = (modelId: string) => AnyLanguageModel

/** A provider of the AI SDK, or a function that creates a model by its id. */
export type ProviderLike = CreateModel | { languageModel(modelId: string): AnyLanguageModel }

/** A provider with settings for all of its models. */
export interface ProviderSettings {
  readonly provider: ProviderLike
  /** Default runtime params of each call; every other layer overrides them. */
  readonly defaults?: RuntimeParams
  /** Key under which the client reads its options. Default: `provider` of its models up to the first dot. */
  readonly optionsKey?: string
  /** Headers of each call; headers of a request override them. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A provider in `createModels({ providers })`: the provider alone, or with settings for all of its models. */
export type ProviderEntry = ProviderLike | ProviderSettings

export interface RegisteredProvider {
  readonly name: string
  readonly defaults: RuntimeParams
  readonly headers: Readonly<Record<string, string>>
  readonly optionsKey?: string
  readonly create: CreateModel
}

/** Throws `LlmError` for an entry that is not a provider or has invalid params. */
export function registerProvider(name: string, entry: ProviderEntry): RegisteredProvider {
  if (name === '' || name.includes(':'))
    throw new LlmError('invalid-config', `providers: "${name}" is not a valid name: it must not be empty and must not contain ":"`)
  const options: ProviderSettings = hasOptions(entry) ? entry : { provider: entry }
  if (hasOptions(entry)) check.checkKeys(`providers.${name}`, entry, ['provider', 'defaults', 'optionsKey', 'headers'])
  const { provider, defaults, optionsKey, headers } = options
  const create = creatorOf(provider)
  if (!create)
    refuseSetting(
      hasOptions(entry) ? `providers.${name}.provider` : `providers.${name}`,
      'a provider with languageModel(id), or a function',
      provider,
    )
  if (defaults !== undefined) checkRuntimeParams(defaults, `providers.${name}.defaults`)
  if (optionsKey !== undefined) check.checkName(`providers.${name}.optionsKey`, optionsKey)
  checkValues(`providers.${name}.headers`, headers, check.checkText)
  if (defaults?.model !== undefined)
    throw new LlmError('invalid-config', `providers.${name}.defaults.model is not allowed; choose the model in the call`)
  // Copies the settings, so that they cannot change after the check.
  return {
    name,
    create,
    defaults: structuredClone(mergedParams(defaults)),
    headers: { ...headers },
    ...(optionsKey !== undefined && { optionsKey }),
  }
}

function hasOptions(entry: ProviderEntry): entry is ProviderSettings {
  return isRecord(entry) && 'provider' in entry && !('languageModel' in entry) && !('specificationVersion' in entry)
}

/** AI SDK providers are functions with methods. The method is more specific than calling the provider itself. */
function creatorOf(provider: ProviderLike): CreateModel | undefined {
  const { languageModel } = (provider ?? {}) as Partial<Exclude<ProviderLike, CreateModel>>
  if (typeof languageModel === 'function') return (modelId) => languageModel.call(provider, modelId)
  return typeof provider === 'function' ? provider : undefined
}
