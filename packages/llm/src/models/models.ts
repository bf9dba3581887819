import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { LanguageModelMiddleware } from 'ai'
import { LlmError } from '../model-error.ts'
import { checkLanguageModel, openerOf, type AnyLanguageModel } from './language-model.ts'
import type { ModelInfo } from './model-info.ts'
import { parseName, parseRef, quoted, type ModelName, type ModelRef, type RefNames } from './model-ref.ts'
import { modelTable, type ModelTable } from './model-table.ts'
import { registerProvider, type ProviderEntry, type RegisteredProvider } from './providers.ts'
import { RecentlyUsed } from './recently-used.ts'
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
  /**
   * Around every model; the first sees a call first. Messages record the model's own names, also where a middleware
   * gives it others: they say whose signatures a message carries.
   */
  readonly middleware?: LanguageModelMiddleware | readonly LanguageModelMiddleware[]
}

/**
 * A registry of models by name. A reference that names nothing is an `LlmError` `CONFIG`. A model is created once per
 * name; of more than 1,000 names, which may come from outside, those used last are kept.
 */
export interface Models {
  /** The default model when there is no reference. */
  resolve(ref?: ModelRef): ResolvedModel
  /**
   * The model as it is called, for use with the AI SDK: with the middleware, without the provider's `defaults` and
   * `headers`, which `streamMessage` adds. The same object each time.
   */
  languageModel(ref?: ModelRef): Promise<LanguageModelV4>
  info(ref: ModelRef): ModelInfo
  /** The names of the providers. */
  providers(): string[]
}

const keptModels = 1_000

/** Throws `LlmError` for a default, an alias, a price or a provider that could never work. */
export function createModels(options: ModelsOptions): Models {
  const providers = new Map(
    Object.entries(options.providers).map(([name, entry]) => [name, registerProvider(name, entry)]),
  )
  const table = modelTable(options.models ?? {})
  const middleware = options.middleware === undefined ? [] : [options.middleware].flat()
  const { names, defaultModel } = checkedNames(options, providers)
  const resolved = new RecentlyUsed<ResolvedModel>(keptModels)

  const resolve = (ref?: ModelRef): ResolvedModel => {
    const name = ref === undefined ? defaultModel : parseRef(ref, names)
    if (!name) throw new LlmError('CONFIG', 'there is no default model; set default to provider:model or name a model')
    const provider = registered(name.provider, providers)
    const full = `${name.provider}:${name.model}`
    return resolved.get(full, () => resolveModel(full, name.model, { provider, table, middleware }))
  }

  return {
    resolve,
    languageModel: async (ref) => callOf(resolve(ref)).open(),
    info: (ref) => resolve(ref).info,
    providers: () => [...providers.keys()],
  }
}

interface Knowledge {
  readonly provider: RegisteredProvider
  readonly table: ModelTable
  readonly middleware: readonly LanguageModelMiddleware[]
}

function resolveModel(ref: string, modelId: string, { provider, table, middleware }: Knowledge): ResolvedModel {
  const model = createModel(ref, () => provider.create(modelId))
  const { name, defaults, headers, optionsKey = optionsKeyOf(model.provider) } = provider
  const info = table.infoOf(ref, `${optionsKey}:${model.modelId}`)
  return resolvedModel(
    { provider: name, modelId, ref, info, defaults },
    { provider: model.provider, modelId: model.modelId, optionsKey, headers, open: openerOf(model, middleware) },
  )
}

function createModel(ref: string, create: () => AnyLanguageModel): AnyLanguageModel {
  let model: AnyLanguageModel
  try {
    model = create()
  } catch (error) {
    throw new LlmError('CONFIG', `the model ${quoted(ref)} cannot be made: ${String(error)}`, { cause: error })
  }
  checkLanguageModel(model)
  return model
}

function registered(name: string, providers: ReadonlyMap<string, RegisteredProvider>): RegisteredProvider {
  const provider = providers.get(name)
  if (provider) return provider
  throw new LlmError(
    'CONFIG',
    `the provider ${quoted(name)} is not registered; there are: ${[...providers.keys()].join(', ') || 'none'}`,
  )
}

/** Default and aliases must point somewhere from the start: a name that breaks at its first use is found too late. */
function checkedNames(
  { default: defaultRef, aliases: given = {} }: ModelsOptions,
  providers: ReadonlyMap<string, RegisteredProvider>,
): { names: RefNames; defaultModel: ModelName | undefined } {
  const defaultModel = defaultRef?.includes(':') ? parseName(defaultRef, undefined) : undefined
  const defaultProvider = defaultModel?.provider ?? defaultRef
  if (defaultProvider !== undefined) registered(defaultProvider, providers)
  const aliases = new Map(
    Object.entries(given).map(([alias, target]) => {
      if (alias.includes(':')) throw new LlmError('CONFIG', `the alias "${alias}" must not have a ":"`)
      if (Object.hasOwn(given, target))
        throw new LlmError('CONFIG', `the alias "${alias}" points to the alias "${target}"; name the model itself`)
      const name = parseName(target, defaultProvider)
      registered(name.provider, providers)
      return [alias, name]
    }),
  )
  return { names: { aliases, defaultProvider }, defaultModel }
}
