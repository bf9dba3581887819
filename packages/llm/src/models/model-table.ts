import { definedOnly } from '../json.ts'
import { LlmError } from '../model-error.ts'
import { checkPrice } from '../usage/price.ts'
import { knownModels } from './known-models.ts'
import type { ModelInfo } from './model-info.ts'

/** What is known about models: what the user says, then what this package knows. */
export interface ModelTable {
  /** `ref` is the user's name of the model, `knownAs` the one in the built-in table. */
  infoOf(ref: string, knownAs: string): ModelInfo
}

/** A model, or several of one name's beginning: `provider:model`, which may end in `*`. */
interface Row extends ModelInfo {
  readonly match: string
}

/** Throws `LlmError` for a row that names no model or has an impossible price. */
export function modelTable(given: Readonly<Record<string, ModelInfo>>): ModelTable {
  const rows = Object.entries(given).map(([match, info]): Row => {
    if (!match.includes(':')) throw new LlmError('CONFIG', `models["${match}"]: write provider:model`)
    if (info.price) checkPrice(info.price, `models["${match}"].price`)
    return { ...info, match }
  })
  return { infoOf: (ref, knownAs) => ({ ...knownInfo(knownAs), ...merged(rows, ref) }) }
}

/** What this package knows about a model by its provider's options key and its id. */
export function knownInfo(name: string): ModelInfo {
  return merged(knownModels, name)
}

/** The exact row over the longest pattern, field by field. */
function merged(rows: readonly Row[], name: string): ModelInfo {
  const exact = rows.find(({ match }) => match === name)
  const patterns = rows.filter(({ match }) => match.endsWith('*') && name.startsWith(match.slice(0, -1)))
  const longest = patterns.sort((a, b) => b.match.length - a.match.length)[0]
  return { ...factsOf(longest), ...factsOf(exact) }
}

function factsOf({ contextWindow, maxOutputTokens, input, price }: Partial<Row> = {}): ModelInfo {
  return definedOnly({ contextWindow, maxOutputTokens, input, price })
}
