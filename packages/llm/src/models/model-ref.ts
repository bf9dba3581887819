import { check, fieldsOf } from '../check.ts'
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

/** Throws `LlmError` for a value that is neither a name nor `{ provider, model }`. */
export function checkedRef(path: string, ref: ModelRef): ModelRef {
  if (typeof ref === 'string') {
    check.checkName(path, ref)
    return ref
  }
  const { provider, model } = fieldsOf(path, ref, ['provider', 'model'])
  check.checkName(`${path}.provider`, provider)
  check.checkName(`${path}.model`, model)
  return ref
}

/** What a reference names. Throws `LlmError` for one that names nothing. */
export function parseRef(ref: ModelRef, { aliases, defaultProvider }: RefNames): ModelName {
  if (typeof ref !== 'string') return { provider: ref.provider, model: ref.model }
  return aliases.get(ref) ?? parseName(ref, defaultProvider)
}

/** Reads `provider:model`, or a model of the default provider. `place` begins the error: the option that has the text. */
export function parseName(text: string, defaultProvider: string | undefined, place = ''): ModelName {
  const colon = text.indexOf(':')
  if (colon !== -1) return checkedName({ provider: text.slice(0, colon), model: text.slice(colon + 1) }, place)
  if (defaultProvider === undefined)
    throw new LlmError('invalid-config', `${place}${quoted(text)} is no alias and there is no default provider; write provider:model`)
  return checkedName({ provider: defaultProvider, model: text }, place)
}

const longestQuote = 200

/** A name for a message: names may come from outside and have any length. */
export function quoted(name: string): string {
  return `"${name.length > longestQuote ? `${name.slice(0, longestQuote)}…` : name}"`
}

function checkedName(name: ModelName, place: string): ModelName {
  if (name.model === '')
    throw new LlmError('invalid-config', `${place}${quoted(`${name.provider}:${name.model}`)} names no model; write provider:model`)
  return name
}
