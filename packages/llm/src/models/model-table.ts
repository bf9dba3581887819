import { check, fieldsOf } from '../check.ts'
import { definedOnly } from '../json.ts'
import { LlmError } from '../model-error.ts'
import { checkModelInput } from '../prompt/check-options.ts'
import { checkPrice } from '../usage/price.ts'
import { knownModels } from './known-models.ts'
import type { ModelInfo } from '../model-info.ts'

/** What is known about models: what the user says, then what this package knows. */
export interface ModelTable {
  /** `ref` is the user's name of the model, `knownAs` the one in the built-in table. */
  infoOf(ref: string, knownAs: string): ModelInfo
}

/** A model, or several of one name's beginning: `provider:model`, which may end in `*`. */
interface Row extends ModelInfo {
  readonly match: string
}

/** Throws `LlmError` for a row that can name no model or has an impossible price. */
export function modelTable(given: Readonly<Record<string, ModelInfo>>): ModelTable {
  const rows = Object.entries(given).filter(([, info]) => info !== undefined).map(([match, info]): Row => {
    checkRow(`models["${match}"]`, match, info)
    return { ...info, match }
  })
  return { infoOf: (ref, knownAs) => layered([...rowsOf(knownModels, knownAs), ...rowsOf(rows, ref)]) }
}

function checkRow(path: string, match: string, info: ModelInfo): void {
  if (!match.includes(':')) throw new LlmError('invalid-config', `${path}: write provider:model`)
  if (match.slice(0, -1).includes('*')) throw new LlmError('invalid-config', `${path}: a "*" stands only at the end`)
  const { contextWindow, maxOutputTokens, input, price, structuredOutput } = fieldsOf(path, info, ['contextWindow', 'maxOutputTokens', 'input', 'price', 'structuredOutput'])
  check.checkWhole(`${path}.contextWindow`, contextWindow, 1)
  check.checkWhole(`${path}.maxOutputTokens`, maxOutputTokens, 1)
  checkModelInput(`${path}.input`, input)
  check.checkOneOf(`${path}.structuredOutput`, structuredOutput, ['json-schema', 'tool', 'prompt'])
  if (price !== undefined) checkPrice(price, `${path}.price`)
}

/** What this package knows about a model by its provider's options key and its id. */
export function knownInfo(name: string): ModelInfo {
  return layered(rowsOf(knownModels, name))
}

/** The rows of a model, lowest first: that of the longest pattern, then its own. */
function rowsOf(rows: readonly Row[], name: string): Row[] {
  const patterns = rows.filter(({ match }) => match.endsWith('*') && name.startsWith(match.slice(0, -1)))
  const longest = patterns.sort((a, b) => b.match.length - a.match.length)[0]
  const exact = rows.find(({ match }) => match === name)
  return [longest, exact].filter((row) => row !== undefined)
}

/** Field by field, the later row wins. A price is one field: half of one and half of another would be neither. */
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
