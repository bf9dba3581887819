import { describe, expect, it } from 'vitest'
import { createBudget } from '../../../src/index.ts'
import { mayFallBack, retryDelayMs, retryPolicyOf } from '../../../src/plugins/retry/retry.ts'

const cost = (total: string) => ({ currency: 'USD', total, input: '0', cacheRead: '0', cacheWrite: '0', output: total })
const used = (tokens: number, total?: string) => ({ usage: { totalTokens: tokens }, ...(total !== undefined && { cost: cost(total) }) })

describe('a budget', () => {
  it('A87: reserves up to exactly what is left, in tokens and in cost', () => {
    const budget = createBudget({ maxTotalTokens: 10, maxCost: '0.3' })
    expect(budget.left).toEqual({ tokens: 10, cost: 0.3 })
    expect(budget.reserve({ tokens: 11 })).toBeUndefined()
    expect(budget.reserve({ tokens: 1, cost: cost('0.300000000000001') })).toBeUndefined()
    const first = budget.reserve({ tokens: 4, cost: cost('0.1') })
    expect(budget.left).toEqual({ tokens: 6, cost: 0.2 })
    expect(budget.reserve({ tokens: 7 })).toBeUndefined()
    expect(budget.reserve({ tokens: 6, cost: cost('0.2') })).toBeDefined()
    expect(budget.left).toEqual({ tokens: 0, cost: 0 })
    expect(budget.reserve({ tokens: 0 })).toBeDefined()
    first?.settle(used(1, '0.05'))
    expect(budget.left).toEqual({ tokens: 3, cost: 0.05 })
  })

  it('A87: a reservation is settled once, with the real usage', () => {
    const budget = createBudget({ maxTotalTokens: 100, maxCost: '1' })
    const reservation = budget.reserve({ tokens: 50, cost: cost('0.5') })
    reservation?.settle(used(10, '0.25'))
    reservation?.settle(used(10, '0.25'))
    expect(budget.left).toEqual({ tokens: 90, cost: 0.75 })
    budget.reserve({ tokens: 5 })?.settle({ usage: {} })
    expect(budget.left).toEqual({ tokens: 90, cost: 0.75 })
  })

  it('A87: usage beyond the reservation leaves zero, never less', () => {
    const budget = createBudget({ maxTotalTokens: 5, maxCost: '0.1' })
    budget.charge(used(7, '0.2'))
    expect(budget.left).toEqual({ tokens: 0, cost: 0 })
    expect(budget.reserve({ tokens: 0 })).toBeUndefined()
  })

  it('A87: limits only what has a limit', () => {
    const tokens = createBudget({ maxTotalTokens: 5 })
    tokens.charge(used(1, '1000'))
    expect(tokens.left).toEqual({ tokens: 4 })
    const paid = createBudget({ maxCost: 0.5 })
    paid.charge(used(1_000_000, '0.1'))
    expect(paid.left).toEqual({ cost: 0.4 })
    expect(createBudget({}).left).toEqual({})
    expect(createBudget({}).reserve({ tokens: 1e9, cost: cost('1e0'.slice(0, 1)) })).toBeDefined()
  })

  it('A87: usage without a total counts input and output', () => {
    const budget = createBudget({ maxTotalTokens: 100 })
    budget.charge({ usage: { inputTokens: 7, outputTokens: 5 } })
    budget.charge({ usage: { inputTokens: 1 } })
    budget.charge({ usage: { outputTokens: 2 } })
    budget.charge({ usage: { totalTokens: 10, inputTokens: 1, outputTokens: 1 } })
    expect(budget.left).toEqual({ tokens: 100 - 7 - 5 - 1 - 2 - 10 })
  })

  it('A87: sums of costs are exact, however small', () => {
    const budget = createBudget({ maxCost: '0.3' })
    for (let n = 0; n < 3; n++) budget.charge(used(0, '0.1'))
    expect(budget.left).toEqual({ cost: 0 })
    const small = createBudget({ maxCost: '0.000000002' })
    small.charge(used(0, '0.000000001'))
    expect(small.reserve({ tokens: 0, cost: cost('0.000000001') })).toBeDefined()
    expect(small.reserve({ tokens: 0, cost: cost('0.000000001') })).toBeUndefined()
    const whole = createBudget({ maxCost: '12' })
    whole.charge(used(0, '11.5'))
    expect(whole.left).toEqual({ cost: 0.5 })
  })

  it.each([
    ['an estimate that is none', (budget: ReturnType<typeof createBudget>) => budget.reserve(5 as never), 'estimate'],
    ['tokens below zero', (budget: ReturnType<typeof createBudget>) => budget.reserve({ tokens: -1 }), 'estimate.tokens'],
    ['no tokens', (budget: ReturnType<typeof createBudget>) => budget.reserve({} as never), 'estimate.tokens'],
    [
      'a cost that is none',
      (budget: ReturnType<typeof createBudget>) => budget.reserve({ tokens: 1, cost: 'much' as never }),
      'estimate.cost',
    ],
    [
      'a total that is a number',
      (budget: ReturnType<typeof createBudget>) => budget.reserve({ tokens: 1, cost: { ...cost('1'), total: 1 as never } }),
      'estimate.cost.total',
    ],
    [
      'a total below zero',
      (budget: ReturnType<typeof createBudget>) => budget.charge({ usage: {}, cost: cost('-1') }),
      'actual.cost.total',
    ],
    ['what was used that is none', (budget: ReturnType<typeof createBudget>) => budget.charge(5 as never), 'actual'],
    ['no usage', (budget: ReturnType<typeof createBudget>) => budget.charge({} as never), 'actual.usage'],
  ])('S208: refuses %s by its path, and counts nothing', (_what, act, path) => {
    const budget = createBudget({ maxTotalTokens: 10, maxCost: '1' })
    expect(() => act(budget)).toThrow(new RegExp(`^${path.replaceAll('.', '\\.')} must`))
    expect(budget.left).toEqual({ tokens: 10, cost: 1 })
  })
})

describe('the wait before a retry', () => {
  const policy = retryPolicyOf({ baseDelayMs: 100, maxDelayMs: 500, jitter: 0.5 })
  const error = (retryAfterMs?: number) =>
    ({
      kind: 'overloaded',
      message: '',
      retryable: true,
      phase: 'before-output',
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    }) as const

  it('A116: doubles up to its cap; the provider sets a minimum; jitter only makes it longer', () => {
    const delays = [1, 2, 3, 4, 5].map((retry) => retryDelayMs(policy, retry, error(), () => 0))
    expect(delays).toEqual([100, 200, 400, 500, 500])
    expect(retryDelayMs(policy, 1, error(), () => 1)).toBe(150)
    expect(retryDelayMs(policy, 1, error(300), () => 0)).toBe(300)
    expect(retryDelayMs(policy, 4, error(300), () => 0)).toBe(500)
    expect(retryDelayMs(policy, 1, error(900), () => 0.5)).toBe(1125)
  })

  it('A116: has these defaults', () => {
    const delays = { baseDelayMs: 2_000, maxDelayMs: 30_000, maxServerDelayMs: 60_000, maxTotalDelayMs: 180_000 }
    expect(retryPolicyOf()).toEqual({ maxRetries: 3, ...delays, jitter: 0.25, rewind: 'attempt' })
  })

  it('A116: false turns retries off, with the other defaults', () => {
    expect(retryPolicyOf(false)).toEqual({ ...retryPolicyOf(), maxRetries: 0 })
  })

  it.each([
    ...[
      ['auth', false, true],
      ['auth-permanent', false, true],
      ['billing', false, true],
      ['model-not-found', false, true],
      ['config', false, true],
    ],
    ...[
      ['bad-request', true, false],
      ['content-blocked', true, false],
      ['aborted', true, false],
    ],
    ...[
      ['overloaded', true, true],
      ['overloaded', false, false],
      ['unknown', true, true],
      ['permission', false, false],
    ],
  ] as const)('A185: after %s, retryable %s, another model may take the step: %s', (kind, retryable, may) => {
    expect(mayFallBack({ ...error(), kind }, retryable)).toBe(may)
  })
})
