import { isRecord } from '../json.ts'
import { LlmError } from '../model-error.ts'
import type { ModelPrice, TokenPrices } from '../models/model-info.ts'
import { digitsAt, parseDecimal } from './decimal.ts'

/** Decimals that a price may have. */
export const priceScale = 9

/** Prices in units of `10^-priceScale`. */
export type Rates = { readonly [K in keyof TokenPrices]: bigint }

/** A price, checked and in whole numbers. */
export interface Tariff {
  readonly currency: string
  readonly base: Rates
  /** Highest limit first. */
  readonly tiers: readonly Tier[]
}

interface Tier {
  readonly aboveInputTokens: number
  readonly rates: Rates
}

/** Throws `LlmError` `CONFIG`, which names the field, for a price that cannot be reckoned with. */
export function checkPrice(price: ModelPrice, path = 'price'): void {
  readPrice(price, path)
}

/** The same, and gives what later changes of the object do not reach. */
export function readPrice(price: ModelPrice, path = 'price'): Tariff {
  if (!isRecord(price)) throw refusal(path, 'must be an object')
  const { currency = 'USD', tiers = [] } = price as ModelPrice
  if (typeof currency !== 'string' || currency === '') throw refusal(`${path}.currency`, 'must be a text')
  if (!Array.isArray(tiers)) throw refusal(`${path}.tiers`, 'must be a list')
  return {
    currency,
    base: readRates(price, path),
    tiers: tiers
      .map((tier: unknown, index) => readTier(tier, `${path}.tiers[${index}]`))
      .sort((a, b) => b.aboveInputTokens - a.aboveInputTokens),
  }
}

/** The rates that hold for all tokens of a call: those of the highest tier that it is above. */
export function ratesFor({ base, tiers }: Tariff, inputTokens: number): Rates {
  return tiers.find(({ aboveInputTokens }) => inputTokens > aboveInputTokens)?.rates ?? base
}

function readTier(tier: unknown, path: string): Tier {
  if (!isRecord(tier)) throw refusal(path, 'must be an object')
  const { aboveInputTokens } = tier
  if (!Number.isSafeInteger(aboveInputTokens) || (aboveInputTokens as number) < 0)
    throw refusal(`${path}.aboveInputTokens`, 'must be a whole number that is not negative')
  return { aboveInputTokens: aboveInputTokens as number, rates: readRates(tier, path) }
}

function readRates(prices: Readonly<Record<string, unknown>>, path: string): Rates {
  const required = (name: string): bigint => readRate(prices[name], `${path}.${name}`)
  const optional = <K extends string>(name: K): { [name in K]?: bigint } =>
    prices[name] === undefined ? {} : ({ [name]: required(name) } as { [name in K]: bigint })
  return {
    input: required('input'),
    output: required('output'),
    ...optional('cacheRead'),
    ...optional('cacheWrite'),
    ...optional('reasoning'),
  }
}

function readRate(value: unknown, path: string): bigint {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw refusal(path, `must be a decimal number, not ${value === null ? 'null' : typeof value}`)
  const rate = parseDecimal(value)
  if (!rate) throw refusal(path, `must be a finite decimal number, not "${value}"`)
  if (rate.digits < 0n) throw refusal(path, `must not be negative: ${value}`)
  if (rate.scale > priceScale) throw refusal(path, `must have at most ${priceScale} decimals: ${value}`)
  return digitsAt(rate, priceScale)
}

function refusal(path: string, problem: string): LlmError {
  return new LlmError('CONFIG', `${path} ${problem}`)
}
