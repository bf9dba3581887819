import type { Cost, Usage } from '../messages.ts'
import { describeValue, isFields } from '../arguments.ts'
import { checkInput } from '../check.ts'
import { LlmError } from '../model-error.ts'
import type { ModelPrice } from '../model-info.ts'
import { decimalText, digitsAt, parseDecimal, type FixedPoint } from './decimal.ts'
import { priceScale, ratesFor, readPrice, type Tariff } from './price.ts'
import { checkUsage, tokenCount } from './usage.ts'

/** Prices are per 1,000,000 tokens, so the cost of one token has up to six more decimals. */
const costScale = priceScale + 6

/**
 * Returns the exact cost of the tokens, or undefined if the price or the number of input or output tokens is unknown. Without cache
 * counts, all input costs the input price. If counts contradict each other (more cached tokens than input), the cost is marked
 * `estimated`; no part is ever negative. Throws `LlmError` `invalid-config` for a price that `createModels` would refuse.
 */
export function costOf(usage: Usage, price: ModelPrice | undefined): Cost | undefined {
  checkUsage('usage', usage)
  return price === undefined ? undefined : costAt(usage, readPrice(price))
}

/** Like `costOf`, for a price that was read before. Never throws. */
export function costAt(usage: Usage, tariff: Tariff): Cost | undefined {
  const input = tokenCount(usage.inputTokens)
  const output = tokenCount(usage.outputTokens)
  if (input === undefined || output === undefined) return undefined
  const rates = ratesFor(tariff, input)
  const read = tokenCount(usage.cacheReadTokens) ?? 0
  const write = tokenCount(usage.cacheWriteTokens) ?? 0
  const noCache = Math.max(0, input - read - write)
  const reasoning = rates.reasoning === undefined ? 0 : (tokenCount(usage.reasoningTokens) ?? 0)
  const shares = {
    input: money(noCache, rates.input),
    cacheRead: money(read, rates.cacheRead ?? rates.input),
    cacheWrite: money(write, rates.cacheWrite ?? rates.input),
    output: money(Math.max(0, output - reasoning), rates.output) + money(reasoning, rates.reasoning ?? rates.output),
  }
  const guessedPrice = (read > 0 && rates.cacheRead === undefined) || (write > 0 && rates.cacheWrite === undefined)
  const contradictory = (tokenCount(usage.noCacheTokens) ?? noCache) + read + write !== input || reasoning > output
  const total = shares.input + shares.cacheRead + shares.cacheWrite + shares.output
  return {
    currency: tariff.currency,
    total: costText(total),
    input: costText(shares.input),
    cacheRead: costText(shares.cacheRead),
    cacheWrite: costText(shares.cacheWrite),
    output: costText(shares.output),
    ...(usage.estimated || guessedPrice || contradictory ? { estimated: true } : undefined),
  }
}

/**
 * Returns the exact sum of two costs. An undefined cost adds nothing; if both are undefined, so is the sum. Throws `LlmError`
 * `invalid-input` for different currencies and for amounts that are not decimals.
 */
export function addCost(a?: Cost, b?: Cost): Cost | undefined {
  if (a !== undefined) checkCost('a', a)
  if (b !== undefined) checkCost('b', b)
  if (a === undefined || b === undefined) return a ?? b
  if (a.currency !== b.currency)
    throw new LlmError('invalid-input', `costs in ${a.currency} and ${b.currency} cannot be added: a.currency and b.currency must be equal`)
  return {
    currency: a.currency,
    total: addText(a.total, b.total),
    input: addText(a.input, b.input),
    cacheRead: addText(a.cacheRead, b.cacheRead),
    cacheWrite: addText(a.cacheWrite, b.cacheWrite),
    output: addText(a.output, b.output),
    ...(a.estimated || b.estimated ? { estimated: true } : undefined),
  }
}

/** Returns the total as the nearest number, for display. Compute with the exact texts instead. */
export function costToNumber(cost: Cost): number {
  checkInput.checkRequired('cost', cost, 'an object', isFields)
  amount(cost.total, 'cost.total')
  return Number(cost.total)
}

const amountNames = ['total', 'input', 'cacheRead', 'cacheWrite', 'output'] as const satisfies readonly (keyof Cost)[]

function checkCost(path: string, cost: unknown): void {
  checkInput.checkRequired(path, cost, 'an object', isFields)
  const fields = cost as Partial<Record<string, unknown>>
  checkInput.checkName(`${path}.currency`, fields['currency'])
  for (const name of amountNames) {
    amount(fields[name], `${path}.${name}`)
  }
  checkInput.checkBoolean(`${path}.estimated`, fields['estimated'])
}

function money(tokens: number, rate: bigint): bigint {
  return BigInt(tokens) * rate
}

function costText(digits: bigint): string {
  return decimalText({ digits, scale: costScale })
}

function addText(a: string, b: string): string {
  const left = amount(a, 'a')
  const right = amount(b, 'b')
  const scale = Math.max(left.scale, right.scale)
  return decimalText({ digits: digitsAt(left, scale) + digitsAt(right, scale), scale })
}

function amount(text: unknown, path: string): FixedPoint {
  const value = typeof text === 'string' ? parseDecimal(text) : undefined
  if (!value) throw new LlmError('invalid-input', `${path} must be an amount of money like "0.25"; received ${describeValue(text)}`)
  return value
}
