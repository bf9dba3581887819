import { check, fieldsOf } from '../check.ts'
import { LlmError } from '../model-error.ts'

/**
 * Name of a model in a registry: `provider:model`, split at the first `:`; an alias; or a model of the default provider. Use the
 * object form for model names that contain `:`.
 */
export type ModelRef = string | { readonly provider: string; readonly model: string }

/** A resolved reference. */
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

/** Resolves a reference. Throws `LlmError` if it names no model. */
export function parseRef(ref: ModelRef, { aliases, defaultProvider }: RefNames): ModelName {
  if (typeof ref !== 'string') return { provider: ref.provider, model: ref.model }
  return aliases.get(ref) ?? parseName(ref, defaultProvider)
}

/** Parses `provider:model`, or a model of the default provider. `place`, the path of the option, starts the error message. */
export function parseName(text: string, defaultProvider: string | undefined, place = ''): ModelName {
  const colon = text.indexOf(':')
  if (colon !== -1) return checkedName({ provider: text.slice(0, colon), model: text.slice(colon + 1) }, place)
  if (defaultProvider === undefined)
    throw new LlmError('invalid-config', `${place}${quoted(text)} is not an alias and there is no default provider; write provider:model`)
  return checkedName({ provider: defaultProvider, model: text }, place)
}

const longestQuote = 200

/** Quotes a name for a message. Cuts it, because it may come from outside. */
export function quoted(name: string): string {
  return `"${name.length > longestQuote ? `${name.slice(0, longestQuote)}…` : name}"`
}

function checkedName(name: ModelName, place: string): ModelName {
  if (name.model === '')
    throw new LlmError('invalid-config', `${place}${quoted(`${name.provider}:${name.model}`)} does not name a model; write provider:model`)
  return name
}
