import { LlmError } from '../model-error.ts'
import { checkRuntimeParams, type RuntimeParams } from '../params/runtime-params.ts'
import type { AnyLanguageModel } from './language-model.ts'

type CreateModel = (modelId: string) => AnyLanguageModel

/** A provider of the AI SDK, or a function that makes a model of its name. */
export type ProviderLike = CreateModel | { languageModel(modelId: string): AnyLanguageModel }

export interface ProviderSettings {
  readonly provider: ProviderLike
  /** The lowest layer of the runtime params of each call. */
  readonly defaults?: RuntimeParams
  /** The key under which the provider's client reads its options. Default: its models' `provider` up to the first dot. */
  readonly optionsKey?: string
  /** Sent with each call; those of a request win. */
  readonly headers?: Readonly<Record<string, string>>
}

export type ProviderEntry = ProviderLike | ProviderSettings

export interface RegisteredProvider extends Omit<ProviderSettings, 'provider'> {
  readonly name: string
  create(modelId: string): AnyLanguageModel
}

/** Throws `LlmError` for an entry that is no provider or has params that cannot be sent. */
export function registerProvider(name: string, entry: ProviderEntry): RegisteredProvider {
  if (name === '' || name.includes(':'))
    throw new LlmError('CONFIG', `"${name}" cannot name a provider: names are not empty and have no ":"`)
  const options: ProviderSettings = hasOptions(entry) ? entry : { provider: entry }
  const { provider, defaults, optionsKey, headers } = options
  if (defaults) checkRuntimeParams(defaults, `providers.${name}.defaults`)
  if (defaults?.model !== undefined)
    throw new LlmError('CONFIG', `providers.${name}.defaults.model: a provider cannot choose the model`)
  return {
    name,
    create: creatorOf(name, provider),
    ...(defaults && { defaults }),
    ...(optionsKey !== undefined && { optionsKey }),
    ...(headers && { headers }),
  }
}

function hasOptions(entry: ProviderEntry): entry is ProviderSettings {
  return typeof entry === 'object' && entry !== null && 'provider' in entry && !('languageModel' in entry)
}

function creatorOf(name: string, provider: ProviderLike): CreateModel {
  if (provider && 'languageModel' in provider && typeof provider.languageModel === 'function')
    return (modelId) => provider.languageModel(modelId)
  if (typeof provider === 'function') return provider
  throw new LlmError('CONFIG', `providers.${name} must be a provider with languageModel(id) or a function`)
}
