import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../scripts/test-length.ts'
import { addCost, addUsage, costOf, createModels, LlmError, streamMessage, type ModelPrice } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { call, hello } from './support.ts'

/** Prices in whole billionths, their smallest unit. */
const billionths = fc.bigInt({ min: 0n, max: 10n ** 12n })
const decimalOf = (units: bigint): string => `${units / 1_000_000_000n}.${String(units % 1_000_000_000n).padStart(9, '0')}`

const rates = fc.record(
  { input: billionths, output: billionths, cacheRead: billionths, cacheWrite: billionths, reasoning: billionths },
  { requiredKeys: ['input', 'output'] },
)
type Rates = Readonly<Partial<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning', bigint>>>
const pricesOf = (units: Rates): Pick<ModelPrice, 'input' | 'output'> =>
  Object.fromEntries(Object.entries(units).map(([name, value]) => [name, decimalOf(value)])) as never

const tokens = fc.nat({ max: 3_000 })
const counts = fc.record({ noCache: tokens, read: tokens, write: tokens, text: tokens, reasoning: tokens })
const tiers = fc.uniqueArray(fc.record({ above: fc.nat({ max: 9_000 }), rates }), {
  selector: ({ above }) => above,
  maxLength: 4,
})

/** Converts a cost text to units of 10^-15, digit by digit. */
const unitsIn = (amount: string | undefined): bigint => {
  const [whole = '', fraction = ''] = (amount ?? '').split('.')
  return BigInt(whole + fraction.padEnd(15, '0'))
}

describe('the cost of a call, calculated a second time', () => {
  it('L68 L69 L70: tiers, caches and reasoning, each share at the right price', () => {
    fc.assert(
      fc.property(counts, rates, tiers, (n, base: Rates, steps) => {
        const inputTokens = n.noCache + n.read + n.write
        const usage = {
          inputTokens,
          cacheReadTokens: n.read,
          cacheWriteTokens: n.write,
          outputTokens: n.text + n.reasoning,
          reasoningTokens: n.reasoning,
        }
        const cost = costOf(usage, {
          ...pricesOf(base),
          tiers: steps.map(({ above, rates }) => ({ aboveInputTokens: above, ...pricesOf(rates) })),
        })
        let rate: Rates = base
        let highest = -1
        for (const { above, rates } of steps) {
          if (inputTokens <= above || above < highest) continue
          rate = rates
          highest = above
        }
        const { input = 0n, output = 0n, cacheRead, cacheWrite, reasoning } = rate
        const expected = {
          input: BigInt(n.noCache) * input,
          cacheRead: BigInt(n.read) * (cacheRead ?? input),
          cacheWrite: BigInt(n.write) * (cacheWrite ?? input),
          output: BigInt(n.text) * output + BigInt(n.reasoning) * (reasoning ?? output),
        }
        expect({
          input: unitsIn(cost?.input),
          cacheRead: unitsIn(cost?.cacheRead),
          cacheWrite: unitsIn(cost?.cacheWrite),
          output: unitsIn(cost?.output),
        }).toEqual(expected)
        expect(unitsIn(cost?.total)).toBe(Object.values(expected).reduce((sum, share) => sum + share, 0n))
        const guessed = (n.read > 0 && cacheRead === undefined) || (n.write > 0 && cacheWrite === undefined)
        expect(cost?.estimated).toBe(guessed ? true : undefined)
      }),
      randomRuns(2_000),
    )
  })

  it('L71: the cost of a sum is the sum of the costs, if every call reports all its numbers', () => {
    const price = { input: '0.3', output: '1.7', cacheRead: '0.03', cacheWrite: '0.375', reasoning: '2.1' }
    const usageOf = ({ noCache, read, write, text, reasoning }: Record<string, number>): Parameters<typeof costOf>[0] => ({
      inputTokens: noCache! + read! + write!,
      noCacheTokens: noCache!,
      cacheReadTokens: read!,
      cacheWriteTokens: write!,
      outputTokens: text! + reasoning!,
      reasoningTokens: reasoning!,
    })
    fc.assert(
      fc.property(counts, counts, (a, b) => {
        const [left, right] = [usageOf(a), usageOf(b)]
        expect(costOf(addUsage(left, right), price)).toEqual(addCost(costOf(left, price), costOf(right, price)))
      }),
      randomRuns(100),
    )
  })
})

describe('the price of a call', () => {
  it('L72: the price is read when the call is made: later changes of the price object have no effect', async () => {
    const price = { input: 1, output: 1 }
    const { stream } = call({ text: 'a', usage: { input: 1, output: 1 } }, { price })
    price.input = -1
    expect((await stream.result()).cost?.total).toBe('0.000002')
  })

  it('L72: refuses an unusable price at once, wherever it comes from', () => {
    const price = { input: 1, output: 1 }
    const models = createModels({ providers: { p: () => scriptedModel([]) }, models: { 'p:m': { price } } })
    price.input = Number.NaN
    const asked = (): unknown => streamMessage({ model: 'p:m', models, messages: hello })
    expect(asked).toThrow(LlmError)
    expect(asked).toThrow('price.input must be a finite decimal number')
    expect(() => call({ text: 'a' }, { price: 0 as never })).toThrow('price must be an object')
  })
})
