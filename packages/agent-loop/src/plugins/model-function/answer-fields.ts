import { isRecord } from '../../base/json.ts'

const texts = ['provider', 'modelId', 'rawStopReason', 'abortReason'] as const
const amounts = ['total', 'input', 'cacheRead', 'cacheWrite', 'output'] as const
const decimal = /^\d+(\.\d+)?$/

type Fields = Readonly<Record<string, unknown>>

/** What is wrong with the fields of a given answer beside its content: sums, budgets and later requests rely on them. */
export function wrongField(given: Fields): string | undefined {
  const { usage, cost, paused, at, timing } = given
  if (usage !== undefined && !isUsage(usage)) return 'has a usage that is none'
  if (cost !== undefined && !isCost(cost)) return 'has a cost that is none'
  if (paused !== undefined && paused !== true) return 'has a paused that is not true'
  if (at !== undefined && typeof at !== 'number') return 'has an at that is no time'
  if (timing !== undefined && !isRecord(timing)) return 'has a timing that is none'
  const wrong = texts.find((name) => given[name] !== undefined && typeof given[name] !== 'string')
  return wrong === undefined ? undefined : `has a ${wrong} that is no text`
}

/** Only the counts matter, which are whole numbers: what a provider has said is kept beside them. */
function isUsage(usage: unknown): boolean {
  return isRecord(usage) && Object.entries(usage).every(([name, count]) => !name.endsWith('Tokens') || (Number.isSafeInteger(count) && Number(count) >= 0))
}

function isCost(cost: unknown): boolean {
  if (!isRecord(cost) || typeof cost['currency'] !== 'string') return false
  return amounts.every((name) => typeof cost[name] === 'string' && decimal.test(cost[name]))
}
