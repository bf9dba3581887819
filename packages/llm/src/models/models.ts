import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { LanguageModelMiddleware } from 'ai'
import { isFields } from '../arguments.ts'
import { check, checkItems, checkValues, fieldsOf } from '../check.ts'
import { LlmError } from '../model-error.ts'
import { checkLanguageModel, openerOf, type AnyLanguageModel } from './language-model.ts'
import type { ModelInfo } from '../model-info.ts'
import { checkedRef, parseName, parseRef, quoted, type ModelName, type ModelRef, type RefNames } from './model-ref.ts'
import { modelTable, type ModelTable } from './model-table.ts'
import { registerProvider, type ProviderEntry, type RegisteredProvider } from './providers.ts'
import { RecentlyUsed } from './recently-used.ts'
import { callOf, optionsKeyOf, resolvedModel, type ResolvedModel } from './resolved-model.ts'

/** Providers of a registry, meaning of references, facts about models, and middleware. */
export interface ModelsOptions {
  /** Providers by the name that references use. */
  readonly providers: Readonly<Record<string, ProviderEntry>>
  /** `provider` or `provider:model`. The provider applies to names without one; the model is used if there is no reference. */
  readonly default?: string
  /** Short names for `provider:model`, or for a model of the default provider. */
  readonly aliases?: Readonly<Record<string, string>>
  /** Facts by `provider:model`, which may end in `*`. They override the built-in facts field by field. */
  readonly models?: Readonly<Record<string, ModelInfo>>
  /**
   * Middleware around every model; the first in the list is the outermost. Messages record the model's own names, even if a
   * middleware changes them, because signatures in a message belong to that model.
   */
  readonly middleware?: LanguageModelMiddleware | readonly LanguageModelMiddleware[]
}

/**
 * A registry of models by name. Throws `LlmError` `invalid-config` for a reference that names no model. A model is created once per
 * name; the 1,000 most recently used are kept.
 */
export interface Models {
  /** Resolves a reference; without one, returns the default model. */
  resolve(ref?: ModelRef): ResolvedModel
  /**
   * Returns the callable model, for use with the AI SDK; the same object each time. It includes the middleware, but not the
   * provider's `defaults` and `headers`, which `streamMessage` adds.
   */
  languageModel(ref?: ModelRef): Promise<LanguageModelV4>
  info(ref: ModelRef): ModelInfo
  /** Returns the names of the providers. */
  providers(): string[]
}

const optionKeys = Object.keys({ providers: true, default: true, aliases: true, models: true, middleware: true } satisfies Record<
  keyof ModelsOptions,
  true
>)
const keptModels = 1_000

/**
 * Creates a registry of models, without creating models or opening connections. Throws `LlmError` `invalid-config` if a default, an
 * alias, a price or a provider can never work.
 */
export function createModels(options: ModelsOptions): Models {
  checkModelsOptions(options)
  const providers = new Map(Object.entries(options.providers).map(([name, entry]) => [name, registerProvider(name, entry)]))
  const table = modelTable(options.models ?? {})
  const middleware = options.middleware === undefined ? [] : [options.middleware].flat()
  const { names, defaultModel } = checkedNames(options, providers)
  const resolved = new RecentlyUsed<ResolvedModel>(keptModels)

  const resolve = (ref?: ModelRef): ResolvedModel => {
    const name = ref === undefined ? defaultModel : parseRef(checkedRef('ref', ref), names)
    if (!name) throw new LlmError('invalid-config', 'there is no default model; set default to provider:model or name a model')
    const provider = registered(name.provider, providers)
    const full = `${name.provider}:${name.model}`
    return resolved.get(full, () => resolveModel(full, name.model, { provider, table, middleware }))
  }

  return {
    resolve,
    languageModel: async (ref) => callOf(resolve(ref)).open(),
    info: (ref) => resolve(checkedRef('ref', ref)).info,
    providers: () => [...providers.keys()],
  }
}

function checkModelsOptions(options: ModelsOptions): void {
  const { providers, default: defaultRef, aliases, models, middleware } = fieldsOf('createModels.options', options, optionKeys)
  check.checkRequired('providers', providers, 'an object', isFields)
  check.checkText('default', defaultRef)
  checkValues('aliases', aliases, check.optionalName)
  check.checkObject('models', models)
  if (middleware === undefined) return
  if (Array.isArray(middleware)) return checkItems('middleware', middleware, checkMiddleware)
  checkMiddleware('middleware', middleware)
}

function checkMiddleware(path: string, middleware: unknown): void {
  check.checkRequired(path, middleware, 'a middleware of the AI SDK or a list of them', isFields)
  const { transformParams, wrapStream, wrapGenerate } = middleware as Partial<Record<string, unknown>>
  check.checkFunction(`${path}.transformParams`, transformParams)
  check.checkFunction(`${path}.wrapStream`, wrapStream)
  check.checkFunction(`${path}.wrapGenerate`, wrapGenerate)
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
    throw new LlmError('invalid-config', `the model ${quoted(ref)} cannot be created: ${String(error)}`, { cause: error })
  }
  checkLanguageModel(model, `the model ${quoted(ref)}`)
  return model
}

/** Returns the provider of this name. `place`, the path of the option, starts the error message. */
function registered(name: string, providers: ReadonlyMap<string, RegisteredProvider>, place = ''): RegisteredProvider {
  const provider = providers.get(name)
  if (provider) return provider
  throw new LlmError(
    'invalid-config',
    `${place}the provider ${quoted(name)} is not registered; registered are: ${[...providers.keys()].join(', ') || 'none'}`,
  )
}

/** Checks the default and the aliases at creation, because a wrong name would otherwise fail only at its first use. */
function checkedNames(
  { default: defaultRef, aliases = {} }: ModelsOptions,
  providers: ReadonlyMap<string, RegisteredProvider>,
): { names: RefNames; defaultModel: ModelName | undefined } {
  const defaultModel = defaultRef?.includes(':') ? parseName(defaultRef, undefined, 'default: ') : undefined
  const defaultProvider = defaultModel?.provider ?? defaultRef
  if (defaultProvider !== undefined) registered(defaultProvider, providers, 'default: ')
  const given = new Map(Object.entries(aliases).filter(([, target]) => target !== undefined))
  const known = new Map(
    [...given].map(([alias, target]) => {
      if (alias.includes(':')) throw new LlmError('invalid-config', `aliases: the alias "${alias}" must not contain ":"`)
      if (given.has(target))
        throw new LlmError('invalid-config', `aliases: the alias "${alias}" points to the alias "${target}"; name the model itself`)
      const name = parseName(target, defaultProvider, `aliases.${alias}: `)
      registered(name.provider, providers, `aliases.${alias}: `)
      return [alias, name]
    }),
  )
  return { names: { aliases: known, defaultProvider }, defaultModel }
}
