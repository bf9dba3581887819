import { mergeRuntimeParams, runtimeParamsSchema } from '@bowline/llm'
import type { JSONObject, Models, RuntimeParams } from '@bowline/llm'
import type { AgentProvider } from '../agent.ts'
import { namesOf } from '../missing-agent.ts'
import { invalidInput, issuesWith } from '../input/issues.ts'
import { BridgeError } from '../errors.ts'

/** A provider that callers choose by its id. */
export interface ProviderChoice extends AgentProvider {
  /** Model names without the provider. The first is the default. */
  readonly models: readonly string[]
  /** Default parameters; the `runtimeParams` of session and prompt override them. */
  readonly defaults?: RuntimeParams
  /** Whether models that are not in `models` are allowed. Default false. */
  readonly allowOtherModels?: boolean
}

export interface ProviderTable {
  /** Returns the provider that this session metadata selects. Throws `CONFIG` if it does not exist. */
  find(metadata: JSONObject): ProviderChoice
  /** Returns the model named by the params, else the provider's first model. Throws `CONFIG` for a model that is not offered. */
  modelOf(provider: ProviderChoice, params: RuntimeParams): string
}

export interface ProviderTableOptions {
  readonly id: string
  readonly models: Models
  readonly providers: readonly ProviderChoice[]
  readonly defaultProviderId: string
  readonly defaults?: RuntimeParams
}

/** Throws `CONFIG` for providers that can never work. */
export function providerTable({ id, models, providers, defaultProviderId, defaults }: ProviderTableOptions): ProviderTable {
  const fault = (text: string): BridgeError => new BridgeError('CONFIG', `Agent ${id}: ${text}`, { details: { agentId: id } })
  const table = new Map<string, ProviderChoice>()
  const known = models.providers()
  for (const provider of providers) {
    if (table.has(provider.id)) throw fault(`two providers have the id ${provider.id}`)
    if (!known.includes(provider.id)) throw fault(`the registry of models has no provider ${provider.id}`)
    if (provider.models.length === 0) throw fault(`the provider ${provider.id} has no models`)
    table.set(provider.id, provider)
  }
  if (table.size === 0) throw fault('providers must have at least one provider')
  if (!table.has(defaultProviderId)) throw fault(`defaultProviderId must be the id of a provider; received ${defaultProviderId}`)

  const checked: ProviderTable = {
    find({ provider: wanted = defaultProviderId }) {
      const found = typeof wanted === 'string' ? table.get(wanted) : undefined
      if (found) return found
      throw fault(`metadata.provider ${JSON.stringify(wanted)} is not one of ${namesOf([...table.keys()])}`)
    },
    modelOf(provider, { model = provider.models.at(0) }) {
      if (model !== undefined && (provider.allowOtherModels || provider.models.includes(model))) return model
      throw fault(`the provider ${provider.id} does not offer the model ${JSON.stringify(model)}; it offers ${namesOf(provider.models)}`)
    },
  }
  const base = checkedParams(defaults, 'defaults', 'CONFIG')
  for (const [place, provider] of providers.entries()) {
    const own = checkedParams(provider.defaults, `providers[${place}].defaults`, 'CONFIG')
    checked.modelOf(provider, mergeRuntimeParams(base, own))
  }
  return checked
}

/** Checks `runtimeParams` from a caller or a configuration. Throws a `BridgeError` that lists the issues. */
export function checkedParams(value: unknown, place: string, code: 'CONFIG' | 'PROTOCOL'): RuntimeParams {
  const issues = issuesWith(runtimeParamsSchema, value ?? {})
  if (issues.length > 0) throw invalidInput(issues, place, code)
  return mergeRuntimeParams(value as RuntimeParams | undefined)
}
