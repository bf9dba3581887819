import { LlmError } from '../model-error.ts'

/**
 * The name of a model in a registry: `provider:model`, split at the first `:`; an alias; or a model of the default
 * provider. The object form is not split, for model names with a `:` of their own.
 */
export type ModelRef = string | { readonly provider: string; readonly model: string }

/** A reference with nothing left to guess. */
export interface ModelName {
  readonly provider: string
  readonly model: string
}

export interface RefNames {
  readonly aliases: ReadonlyMap<string, ModelName>
  readonly defaultProvider: string | undefined
}

/** What a reference names. Throws `LlmError` for one that names nothing. */
export function parseRef(ref: ModelRef, { aliases, defaultProvider }: RefNames): ModelName {
  if (typeof ref !== 'string') return { provider: ref.provider, model: ref.model }
  return aliases.get(ref) ?? parseName(ref, defaultProvider)
}

/** Reads `provider:model`, or a model of the default provider. */
export function parseName(text: string, defaultProvider: string | undefined): ModelName {
  const colon = text.indexOf(':')
  if (colon !== -1) return { provider: text.slice(0, colon), model: text.slice(colon + 1) }
  if (defaultProvider === undefined)
    throw new LlmError('CONFIG', `"${text}" is no alias and there is no default provider; write provider:model`)
  return { provider: defaultProvider, model: text }
}
