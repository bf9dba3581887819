import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../scripts/test-length.ts'
import { addCost, costOf, costToNumber, LlmError, type Cost, type ModelPrice, type Usage } from '../src/index.ts'
import { checkPrice } from '../src/usage/price.ts'

const price: ModelPrice = { input: '3', output: '15', cacheRead: '0.3', cacheWrite: '3.75' }
const usage: Usage = {
  inputTokens: 1000,
  noCacheTokens: 100,
  cacheReadTokens: 700,
  cacheWriteTokens: 200,
  outputTokens: 50,
  reasoningTokens: 20,
}

const costIn = (currency: string, amount: string): Cost => ({
  currency,
  total: amount,
  input: amount,
  cacheRead: '0',
  cacheWrite: '0',
  output: '0',
})

function refusalOf(run: () => unknown): LlmError {
  try {
    run()
  } catch (error) {
    if (LlmError.isInstance(error)) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('the cost of a call', () => {
  it('L67: a cost is exact, without floating point and without an exponent', () => {
    expect(costOf({ inputTokens: 3, outputTokens: 0 }, { input: 0.1, output: 0 })).toEqual({
      currency: 'USD',
      total: '0.0000003',
      input: '0.0000003',
      cacheRead: '0',
      cacheWrite: '0',
      output: '0',
    })
    const total = (tokens: number, rate: string | number): string | undefined =>
      costOf({ inputTokens: tokens, outputTokens: 0 }, { input: rate, output: 0 })?.total
    expect(total(1, '0.000000001')).toBe('0.000000000000001')
    expect(total(1, 1e-9)).toBe('0.000000000000001')
    expect(total(7, 1e-7)).toBe('0.0000000000007')
    expect(total(1, '25e-1')).toBe('0.0000025')
    expect(total(1, '1.500000000000')).toBe('0.0000015')
    expect(total(1, '1000000000e-12')).toBe('0.000000001')
    expect(total(2_000_000, 1e21)).toBe('2000000000000000000000')
    expect(total(Number.MAX_SAFE_INTEGER, '0.999999999')).toBe('9007199245.733791745259009')
    expect(total(1_000_000, 10)).toBe('10')
    expect(total(0, 10)).toBe('0')
  })

  it('L67: sums of 1,000,000 costs are exact', () => {
    const one = costOf({ inputTokens: 1, outputTokens: 3 }, { input: '0.1', output: '0.7' })
    const thousandOf = (cost: Cost | undefined): Cost | undefined => Array.from({ length: 1000 }, () => cost).reduce(addCost)
    expect(thousandOf(thousandOf(one))).toEqual({
      currency: 'USD',
      total: '2.2',
      input: '0.1',
      cacheRead: '0',
      cacheWrite: '0',
      output: '2.1',
    })
  })

  it('L67: any cost equals the result with rational numbers', () => {
    const tokens = fc.nat({ max: 10_000_000 })
    const rate = fc.record({ whole: fc.nat({ max: 1000 }), billionths: fc.nat({ max: 999_999_999 }) })
    const textOf = ({ whole, billionths }: { whole: number; billionths: number }): string =>
      `${whole}.${String(billionths).padStart(9, '0')}`
    const unitsOf = ({ whole, billionths }: { whole: number; billionths: number }): bigint =>
      BigInt(whole) * 1_000_000_000n + BigInt(billionths)
    fc.assert(
      fc.property(fc.tuple(tokens, tokens, tokens, tokens, tokens), fc.tuple(rate, rate, rate, rate, rate), (n, r) => {
        const [noCache, read, write, text, reasoning] = n
        const cost = costOf(
          {
            inputTokens: noCache + read + write,
            cacheReadTokens: read,
            cacheWriteTokens: write,
            outputTokens: text + reasoning,
            reasoningTokens: reasoning,
          },
          {
            input: textOf(r[0]),
            cacheRead: textOf(r[1]),
            cacheWrite: textOf(r[2]),
            output: textOf(r[3]),
            reasoning: textOf(r[4]),
          },
        )
        const expected = n.reduce((sum, count, index) => sum + BigInt(count) * unitsOf(r[index] ?? r[0]), 0n)
        const [whole = '', fraction = ''] = (cost?.total ?? '').split('.')
        expect(BigInt(whole + fraction.padEnd(15, '0'))).toBe(expected)
        expect(cost?.total).toMatch(/^\d+(\.\d*[1-9])?$/)
        expect(cost).not.toHaveProperty('estimated')
      }),
      randomRuns(100),
    )
  })

  it('L68: the total is the sum of its shares, each at its own price', () => {
    expect(costOf(usage, price)).toEqual({
      currency: 'USD',
      total: '0.00201',
      input: '0.0003',
      cacheRead: '0.00021',
      cacheWrite: '0.00075',
      output: '0.00075',
    })
  })

  it('L68: reasoning tokens use their own price if there is one', () => {
    expect(costOf(usage, { ...price, reasoning: '1' })).toMatchObject({ output: '0.00047', total: '0.00173' })
    const { reasoningTokens: _, ...unknown } = usage
    expect(costOf(unknown, { ...price, reasoning: '1' })).toMatchObject({ output: '0.00075' })
  })

  it('L68: input that is not known to be cached costs the input price', () => {
    expect(costOf({ inputTokens: 1000, outputTokens: 0 }, price)).toMatchObject({ input: '0.003', cacheRead: '0' })
    const partly = costOf({ inputTokens: 1000, cacheReadTokens: 400, outputTokens: 0 }, price)
    expect(partly).toMatchObject({ input: '0.0018', cacheRead: '0.00012' })
    expect(partly).not.toHaveProperty('estimated')
  })

  it('L68: no share is negative when counts contradict each other, and the cost is marked as estimated', () => {
    const moreCachedThanInput = { inputTokens: 10, cacheReadTokens: 90, outputTokens: 0 }
    expect(costOf(moreCachedThanInput, price)).toMatchObject({ input: '0', cacheRead: '0.000027', estimated: true })
    const moreReasoningThanOutput = { inputTokens: 0, outputTokens: 5, reasoningTokens: 8 }
    expect(costOf(moreReasoningThanOutput, { ...price, reasoning: '1' })).toMatchObject({
      output: '0.000008',
      estimated: true,
    })
    const partsThatDoNotAddUp = { inputTokens: 100, noCacheTokens: 10, outputTokens: 0 }
    expect(costOf(partsThatDoNotAddUp, price)).toMatchObject({ total: '0.0003', estimated: true })
  })

  it('L69: without a price, or without input or output tokens, there is no cost', () => {
    expect(costOf(usage, undefined)).toBeUndefined()
    expect(costOf({ inputTokens: 1 }, price)).toBeUndefined()
    expect(costOf({ outputTokens: 1 }, price)).toBeUndefined()
  })

  it('L69: a missing cache price falls back to the input price and flags the cost', () => {
    const { cacheRead: _read, ...noRead } = price
    const { cacheWrite: _write, ...noWrite } = price
    expect(costOf(usage, noRead)).toMatchObject({ cacheRead: '0.0021', estimated: true })
    expect(costOf(usage, noWrite)).toMatchObject({ cacheWrite: '0.0006', estimated: true })
  })

  it('L69: a missing cache price that no token needs sets no flag', () => {
    const cost = costOf({ inputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 1 }, { input: 1, output: 2 })
    expect(cost).not.toHaveProperty('estimated')
    expect(cost?.total).toBe('0.000007')
  })

  it('L69: estimated usage flags the cost', () => {
    expect(costOf({ ...usage, estimated: true }, price)).toMatchObject({ total: '0.00201', estimated: true })
  })

  it('L70: a tier applies to the whole call when its input is above the limit, and the highest one wins', () => {
    const tiered: ModelPrice = {
      input: 1,
      output: 1,
      tiers: [
        { aboveInputTokens: 200, input: 3, output: 30 },
        { aboveInputTokens: 100, input: 2, output: 20, cacheRead: '0.5' },
      ],
    }
    const costAt = (inputTokens: number): unknown[] => {
      const cost = costOf({ inputTokens, outputTokens: 1 }, tiered)
      return [cost?.input, cost?.output]
    }
    expect(costAt(100)).toEqual(['0.0001', '0.000001'])
    expect(costAt(101)).toEqual(['0.000202', '0.00002'])
    expect(costAt(200)).toEqual(['0.0004', '0.00002'])
    expect(costAt(201)).toEqual(['0.000603', '0.00003'])
    const cached = { cacheReadTokens: 50, outputTokens: 0 }
    expect(costOf({ inputTokens: 150, ...cached }, tiered)).toMatchObject({ cacheRead: '0.000025' })
    expect(costOf({ inputTokens: 300, ...cached }, tiered)).toMatchObject({ cacheRead: '0.00015', estimated: true })
  })
})

describe('sums of costs', () => {
  it('L71: a missing cost adds nothing, and without both there is no sum', () => {
    const cost = costIn('EUR', '1.5')
    expect(addCost(cost, undefined)).toEqual(cost)
    expect(addCost(undefined, cost)).toEqual(cost)
    expect(addCost(undefined, undefined)).toBeUndefined()
    expect(addCost()).toBeUndefined()
  })

  it('L71: the sum keeps the flag estimated', () => {
    expect(addCost(costIn('EUR', '1'), { ...costIn('EUR', '2'), estimated: true })).toMatchObject({
      total: '3',
      estimated: true,
    })
    expect(addCost(costIn('EUR', '1'), costIn('EUR', '2'))).not.toHaveProperty('estimated')
  })

  it('L71: costs of different currencies are not added', () => {
    const refusal = refusalOf(() => addCost(costIn('EUR', '1'), costIn('USD', '1')))
    expect(refusal).toMatchObject({ code: 'invalid-input' })
    expect(refusal.message).toMatch(/EUR.*USD/)
  })

  it('L71: an amount that is not a decimal is refused, never counted as 0', () => {
    for (const amount of ['', 'NaN', '1,5', '0x10', 'Infinity']) {
      expect(refusalOf(() => addCost(costIn('EUR', amount), costIn('EUR', '1')))).toMatchObject({ code: 'invalid-input' })
    }
  })

  it('L71: order and grouping do not change a sum', () => {
    const anyCost = fc
      .tuple(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.nat({ max: 20 }))
      .map(([digits, scale]) => costIn('USD', `${digits}e-${scale}`))
    fc.assert(
      fc.property(anyCost, anyCost, anyCost, (a, b, c) => {
        const sum = addCost(addCost(a, b), c)
        expect(addCost(a, addCost(c, b))).toEqual(sum)
        expect(sum?.total).toMatch(/^\d+(\.\d*[1-9])?$/)
      }),
      randomRuns(100),
    )
  })

  it('L67: the number for display is the nearest to the total', () => {
    expect(costToNumber(costIn('USD', '0.0000003'))).toBe(3e-7)
  })
})

describe('prices', () => {
  const problems: readonly (readonly [string, unknown])[] = [
    ['price', null],
    ['price.input', { output: 1 }],
    ['price.output', { input: 1, output: -1 }],
    ['price.input', { input: '-0.5', output: 1 }],
    ['price.input', { input: Number.NaN, output: 1 }],
    ['price.input', { input: Number.POSITIVE_INFINITY, output: 1 }],
    ['price.input', { input: '1e9999', output: 1 }],
    ['price.input', { input: '', output: 1 }],
    ['price.input', { input: '1,5', output: 1 }],
    ['price.input', { input: true, output: 1 }],
    ['price.input', { input: '0.0000000001', output: 1 }],
    ['price.input', { input: 0.1 + 0.2, output: 1 }],
    ['price.input', { input: 1e-10, output: 1 }],
    ['price.cacheRead', { input: 1, output: 1, cacheRead: -1 }],
    ['price.cacheWrite', { input: 1, output: 1, cacheWrite: '-1' }],
    ['price.reasoning', { input: 1, output: 1, reasoning: null }],
    ['price.currency', { input: 1, output: 1, currency: '' }],
    ['price.tiers', { input: 1, output: 1, tiers: {} }],
    ['price.tiers[0]', { input: 1, output: 1, tiers: [1] }],
    ['price.tiers[0].aboveInputTokens', { input: 1, output: 1, tiers: [{ input: 1, output: 1 }] }],
    ['price.tiers[0].output', { input: 1, output: 1, tiers: [{ aboveInputTokens: 1, input: 1, output: -1 }] }],
  ]

  it.each(problems)('L72: refuses a wrong %s by name (%j)', (path, wrong) => {
    const refusal = refusalOf(() => checkPrice(wrong))
    expect(refusal.code).toBe('invalid-config')
    expect(refusal.message.startsWith(`${path} must`)).toBe(true)
  })

  it('L72: the error can name the price, and costOf refuses the same prices', () => {
    const wrong: ModelPrice = { input: 1, output: -1 }
    expect(refusalOf(() => checkPrice(wrong, 'models["a:b"].price')).message).toContain('models["a:b"].price.output')
    expect(refusalOf(() => costOf(usage, wrong)).code).toBe('invalid-config')
  })

  it('L72: the limits of the ranges are accepted', () => {
    for (const input of [0, '0', 1e-9, '0.999999999', '1.50', '1e3', 1e21]) {
      expect(() => checkPrice({ input, output: 0 })).not.toThrow()
    }
  })
})
