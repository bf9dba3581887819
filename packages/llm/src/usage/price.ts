import { needed } from '../arguments.ts'
import { check, fieldsOf, refuseSetting } from '../check.ts'
import { LlmError } from '../model-error.ts'
import type { TokenPrices } from '../model-info.ts'
import { digitsAt, parseDecimal } from './decimal.ts'

/** Maximum number of decimals of a price. */
export const priceScale = 9

/** Prices in units of `10^-priceScale`. */
export type Rates = { readonly [K in keyof TokenPrices]: bigint }

const rateNames = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] satisfies (keyof TokenPrices)[]

/** A checked price in whole numbers. */
export interface Tariff {
  readonly currency: string
  readonly base: Rates
  /** Sorted by limit, highest first. */
  readonly tiers: readonly Tier[]
}

interface Tier {
  readonly aboveInputTokens: number
  readonly rates: Rates
}

/** Throws `LlmError` `invalid-config` with the name of the field for an invalid price. */
export function checkPrice(price: unknown, path = 'price'): void {
  readPrice(price, path)
}

/** Checks a price and returns a copy, so that later changes of the object have no effect. */
export function readPrice(price: unknown, path = 'price'): Tariff {
  const fields = fieldsOf(path, price, ['currency', 'tiers', ...rateNames])
  const { currency = 'USD', tiers = [] } = fields
  check.checkName(`${path}.currency`, currency)
  check.checkList(`${path}.tiers`, tiers)
  return {
    currency: currency as string,
    base: readRates(fields, path),
    tiers: Array.from(tiers as readonly unknown[])
      .map((tier, index) => readTier(tier, `${path}.tiers[${index}]`))
      .sort((a, b) => b.aboveInputTokens - a.aboveInputTokens),
  }
}

/** Returns the rates for all tokens of a call: those of the highest tier whose limit the input exceeds. */
export function ratesFor({ base, tiers }: Tariff, inputTokens: number): Rates {
  return tiers.find(({ aboveInputTokens }) => inputTokens > aboveInputTokens)?.rates ?? base
}

function readTier(tier: unknown, path: string): Tier {
  const fields = fieldsOf(path, tier, ['aboveInputTokens', ...rateNames])
  const { aboveInputTokens } = fields
  check.checkWhole(`${path}.aboveInputTokens`, needed(aboveInputTokens), 0)
  return { aboveInputTokens: aboveInputTokens as number, rates: readRates(fields, path) }
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
  if (typeof value !== 'string' && typeof value !== 'number') refuseSetting(path, 'a decimal number', value)
  const rate = parseDecimal(value)
  if (!rate) refuseSetting(path, 'a finite decimal number', value)
  if (rate.digits < 0n) throw refusal(path, `must not be negative: ${value}`)
  if (rate.scale > priceScale) throw refusal(path, `must have at most ${priceScale} decimals: ${value}`)
  return digitsAt(rate, priceScale)
}

function refusal(path: string, problem: string): LlmError {
  return new LlmError('invalid-config', `${path} ${problem}`)
}
