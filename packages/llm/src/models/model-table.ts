import { check, fieldsOf } from '../check.ts'
import { definedOnly } from '../json.ts'
import { LlmError } from '../model-error.ts'
import { checkModelInput } from '../prompt/check-options.ts'
import { checkPrice } from '../usage/price.ts'
import { knownModels } from './known-models.ts'
import type { ModelInfo } from '../model-info.ts'

/** Facts about models, from the user and from this package. The user's facts win. */
export interface ModelTable {
  /** Returns facts about a model. `ref` is its name in the registry, `knownAs` its name in the built-in table. */
  infoOf(ref: string, knownAs: string): ModelInfo
}

/** A model, or all models whose names start alike: `provider:model`, which may end in `*`. */
interface Row extends ModelInfo {
  readonly match: string
}

/** Throws `LlmError` for a row that cannot match any model or has an invalid price. */
export function modelTable(given: Readonly<Record<string, ModelInfo>>): ModelTable {
  const rows = Object.entries(given)
    .filter(([, info]) => info !== undefined)
    .map(([match, info]): Row => {
      checkRow(`models["${match}"]`, match, info)
      return { ...info, match }
    })
  return { infoOf: (ref, knownAs) => layered([...rowsOf(knownModels, knownAs), ...rowsOf(rows, ref)]) }
}

function checkRow(path: string, match: string, info: ModelInfo): void {
  if (!match.includes(':')) throw new LlmError('invalid-config', `${path}: write provider:model`)
  if (match.slice(0, -1).includes('*')) throw new LlmError('invalid-config', `${path}: "*" is allowed only at the end`)
  const { contextWindow, maxOutputTokens, input, price, structuredOutput } = fieldsOf(path, info, [
    'contextWindow',
    'maxOutputTokens',
    'input',
    'price',
    'structuredOutput',
  ])
  check.checkWhole(`${path}.contextWindow`, contextWindow, 1)
  check.checkWhole(`${path}.maxOutputTokens`, maxOutputTokens, 1)
  checkModelInput(`${path}.input`, input)
  check.checkOneOf(`${path}.structuredOutput`, structuredOutput, ['json-schema', 'tool', 'prompt'])
  if (price !== undefined) checkPrice(price, `${path}.price`)
}

/** Returns the built-in facts about a model. `name` is the provider's options key and the model id. */
export function knownInfo(name: string): ModelInfo {
  return layered(rowsOf(knownModels, name))
}

/** Returns the rows of a model, lowest precedence first: the longest matching pattern, then the exact name. */
function rowsOf(rows: readonly Row[], name: string): Row[] {
  const patterns = rows.filter(({ match }) => match.endsWith('*') && name.startsWith(match.slice(0, -1)))
  const longest = patterns.sort((a, b) => b.match.length - a.match.length)[0]
  const exact = rows.find(({ match }) => match === name)
  return [longest, exact].filter((row) => row !== undefined)
}

/** Merges rows field by field; a later row wins. A price is one field: parts of two prices would not make a valid one. */
function layered(rows: readonly Row[]): ModelInfo {
  const inputs = rows.flatMap(({ input }) => (input ? [input] : []))
  return rows.reduce<ModelInfo>(
    (below, { contextWindow, maxOutputTokens, price, structuredOutput }) => ({
      ...below,
      ...definedOnly({ contextWindow, maxOutputTokens, price, structuredOutput }),
    }),
    inputs.length > 0 ? { input: inputs.reduce((below, input) => ({ ...below, ...definedOnly(input) }), {}) } : {},
  )
}
