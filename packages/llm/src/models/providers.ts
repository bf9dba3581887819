import { check, checkValues, refuseSetting } from '../check.ts'
import { isRecord } from '../arguments.ts'
import { LlmError } from '../model-error.ts'
import { checkRuntimeParams, mergedParams, type RuntimeParams } from '../params/runtime-params.ts'
import type { AnyLanguageModel } from './language-model.ts'

type CreateModel = (modelId: string) => AnyLanguageModel

/** A provider of the AI SDK, or a function that makes a model of its name. */
export type ProviderLike = CreateModel | { languageModel(modelId: string): AnyLanguageModel }

/** A provider with settings that hold for all of its models. */
export interface ProviderSettings {
  readonly provider: ProviderLike
  /** The lowest layer of the runtime params of each call. */
  readonly defaults?: RuntimeParams
  /** The key under which the client reads its options. Default: its models' `provider` up to the first dot. */
  readonly optionsKey?: string
  /** Sent with each call; those of a request win. */
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

/** Throws `LlmError` for an entry that is no provider or has params that cannot be sent. */
export function registerProvider(name: string, entry: ProviderEntry): RegisteredProvider {
  if (name === '' || name.includes(':'))
    throw new LlmError('invalid-config', `providers: "${name}" cannot name a provider: names are not empty and have no ":"`)
  const options: ProviderSettings = hasOptions(entry) ? entry : { provider: entry }
  if (hasOptions(entry)) check.checkKeys(`providers.${name}`, entry, ['provider', 'defaults', 'optionsKey', 'headers'])
  const { provider, defaults, optionsKey, headers } = options
  const create = creatorOf(provider)
  if (!create)
    refuseSetting(hasOptions(entry) ? `providers.${name}.provider` : `providers.${name}`, 'a provider with languageModel(id), or a function', provider)
  if (defaults !== undefined) checkRuntimeParams(defaults, `providers.${name}.defaults`)
  if (optionsKey !== undefined) check.checkName(`providers.${name}.optionsKey`, optionsKey)
  checkValues(`providers.${name}.headers`, headers, check.checkText)
  if (defaults?.model !== undefined)
    throw new LlmError('invalid-config', `providers.${name}.defaults.model: a provider cannot choose the model`)
  // Copies: what was checked must not change.
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

/** The providers of the AI SDK are functions with methods: theirs say more than the call itself. */
function creatorOf(provider: ProviderLike): CreateModel | undefined {
  const { languageModel } = (provider ?? {}) as Partial<Exclude<ProviderLike, CreateModel>>
  if (typeof languageModel === 'function') return (modelId) => languageModel.call(provider, modelId)
  return typeof provider === 'function' ? provider : undefined
}
