import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { LanguageModelMiddleware } from 'ai'
import { LlmError } from '../model-error.ts'
import { callableModel, checkLanguageModel, type AnyLanguageModel } from './language-model.ts'
import type { ModelInfo } from './model-info.ts'
import { parseName, parseRef, type ModelName, type ModelRef, type RefNames } from './model-ref.ts'
import { modelTable, type ModelTable } from './model-table.ts'
import { registerProvider, type ProviderEntry, type RegisteredProvider } from './providers.ts'
import { callOf, optionsKeyOf, resolvedModel, type ResolvedModel } from './resolved-model.ts'

export interface ModelsOptions {
  /** By the name that references use. */
  readonly providers: Readonly<Record<string, ProviderEntry>>
  /** `provider` or `provider:model`: where names without a provider belong, and what no reference means. */
  readonly default?: string
  /** Short names for `provider:model`, or for a model of the default provider. */
  readonly aliases?: Readonly<Record<string, string>>
  /** By `provider:model`, which may end in `*`. Wins over what this package knows, field by field. */
  readonly models?: Readonly<Record<string, ModelInfo>>
  /** Around every model; the first sees a call first. */
  readonly middleware?: LanguageModelMiddleware | readonly LanguageModelMiddleware[]
}

/** A registry of models by name. Each method throws `LlmError` `CONFIG` for a reference that names nothing. */
export interface Models {
  /** The default model when there is no reference. */
  resolve(ref?: ModelRef): ResolvedModel
  /** The model as it is called, for use with the AI SDK. The same object each time. */
  languageModel(ref?: ModelRef): Promise<LanguageModelV4>
  info(ref: ModelRef): ModelInfo
  /** The names of the providers. */
  providers(): string[]
}

/** Throws `LlmError` for a default, an alias, a price or a provider that could never work. */
export function createModels(options: ModelsOptions): Models {
  const providers = new Map(
    Object.entries(options.providers).map(([name, entry]) => [name, registerProvider(name, entry)]),
  )
  const table = modelTable(options.models ?? {})
  const middleware = options.middleware === undefined ? [] : [options.middleware].flat()
  const { names, defaultModel } = checkedNames(options, providers)
  const resolved = new Map<string, ResolvedModel>()

  const resolve = (ref?: ModelRef): ResolvedModel => {
    const name = ref === undefined ? defaultModel : parseRef(ref, names)
    if (!name) throw new LlmError('CONFIG', 'there is no default model; set default to provider:model or name a model')
    const key = `${name.provider}:${name.model}`
    const known = resolved.get(key)
    if (known) return known
    const model = resolveModel(name, registered(name, providers), { table, middleware })
    resolved.set(key, model)
    return model
  }

  return {
    resolve,
    languageModel: async (ref) => callOf(resolve(ref)).open(),
    info: (ref) => resolve(ref).info,
    providers: () => [...providers.keys()],
  }
}

interface Knowledge {
  readonly table: ModelTable
  readonly middleware: readonly LanguageModelMiddleware[]
}

function resolveModel(name: ModelName, provider: RegisteredProvider, { table, middleware }: Knowledge): ResolvedModel {
  const ref = `${name.provider}:${name.model}`
  const model = createModel(ref, () => provider.create(name.model))
  const optionsKey = provider.optionsKey ?? optionsKeyOf(model.provider)
  let opened: LanguageModelV4 | Promise<LanguageModelV4> | undefined
  return resolvedModel(
    {
      provider: name.provider,
      modelId: name.model,
      ref,
      info: table.infoOf(ref, `${optionsKey}:${model.modelId}`),
      defaults: provider.defaults ?? {},
    },
    {
      provider: model.provider,
      modelId: model.modelId,
      optionsKey,
      headers: provider.headers ?? {},
      open: () => (opened ??= callableModel(model, middleware)),
    },
  )
}

function createModel(ref: string, create: () => AnyLanguageModel): AnyLanguageModel {
  let model: AnyLanguageModel
  try {
    model = create()
  } catch (error) {
    throw new LlmError('CONFIG', `the model "${ref}" cannot be made: ${String(error)}`, { cause: error })
  }
  checkLanguageModel(model)
  return model
}

function registered(name: ModelName, providers: ReadonlyMap<string, RegisteredProvider>): RegisteredProvider {
  const provider = providers.get(name.provider)
  if (provider) return provider
  throw new LlmError(
    'CONFIG',
    `the provider "${name.provider}" is not registered; there are: ${[...providers.keys()].join(', ') || 'none'}`,
  )
}

/** Default and aliases must point somewhere from the beginning: a name that breaks at its first use is found too late. */
function checkedNames(
  options: ModelsOptions,
  providers: ReadonlyMap<string, RegisteredProvider>,
): { names: RefNames; defaultModel: ModelName | undefined } {
  const { default: defaultRef, aliases: given = {} } = options
  const defaultModel = defaultRef?.includes(':') ? parseName(defaultRef, undefined) : undefined
  const defaultProvider = defaultModel?.provider ?? defaultRef
  if (defaultProvider !== undefined) registered({ provider: defaultProvider, model: '' }, providers)
  const aliases = new Map(
    Object.entries(given).map(([alias, target]) => {
      if (alias.includes(':')) throw new LlmError('CONFIG', `the alias "${alias}" must not have a ":"`)
      if (Object.hasOwn(given, target))
        throw new LlmError('CONFIG', `the alias "${alias}" points to the alias "${target}"; name the model itself`)
      const name = parseName(target, defaultProvider)
      registered(name, providers)
      return [alias, name]
    }),
  )
  return { names: { aliases, defaultProvider }, defaultModel }
}
