import { createModels } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { createBudget, defineAgent } from '../../../src/index.ts'
import type { Agent, AgentOptions, StepState } from '../../../src/index.ts'
import { retryDelayMs, retryPolicyOf } from '../../../src/plugins/retry/retry.ts'
import { conversation, model } from '../../support/conversation.ts'
import { playOut } from '../../support/waiting.ts'

/**
 * Creates an agent whose model costs a dollar per million input tokens and two per million output tokens, and writes at most 100
 * tokens.
 */
function pricedAgent(texts: readonly string[], options: Partial<AgentOptions> = {}): Agent {
  const scripted = model(texts.map((text) => ({ text })))
  const models = createModels({
    providers: { test: { languageModel: () => scripted } },
    models: { 'test:m': { price: { input: '1', output: '2' }, maxOutputTokens: 100 } },
  })
  return defineAgent({ model: 'test:m', models, retry: false, ...options })
}

describe('A87: the limit that has no room', () => {
  it.each([
    ['the cost, with tokens to spare', { maxTotalTokens: 100_000, maxCost: '0.000001' }, 'max-cost'],
    ['the cost, with just enough tokens', { maxTotalTokens: 101, maxCost: '0.000001' }, 'max-cost'],
    ['the tokens, with money to spare', { maxTotalTokens: 10, maxCost: '1' }, 'max-total-tokens'],
    ['the cost alone', { maxCost: '0.000001' }, 'max-cost'],
    ['the tokens alone', { maxTotalTokens: 10 }, 'max-total-tokens'],
  ] as const)('A87: %s', async (_what, limits, reason) => {
    expect(await playOut(conversation(), pricedAgent([], { limits }), 'go')).toMatchObject({ status: 'limit', reason, steps: 0 })
  })

  it('A87: the amount left is the smallest of all budgets, in tokens and in cost', async () => {
    const seen: StepState['budgetLeft'][] = []
    const prepareStep = ({ budgetLeft }: StepState): undefined => void seen.push(budgetLeft)
    const budget = createBudget({ maxTotalTokens: 5_000, maxCost: '0.5' })
    await playOut(conversation(), pricedAgent(['a'], { prepareStep, limits: { maxTotalTokens: 900, maxCost: '2' } }), 'go', { budget })
    expect(seen).toHaveLength(1)
    expect(seen[0]?.tokens).toBeLessThanOrEqual(900)
    expect(seen[0]?.tokens).toBeGreaterThan(700)
    expect(seen[0]?.cost).toBeLessThanOrEqual(0.5)
    expect(seen[0]?.cost).toBeGreaterThan(0.49)
  })

  it.each([
    ['one limit', { limits: { maxTotalTokens: 900 } }, { tokens: 900 }],
    ['no limit', {}, {}],
  ] as const)('A87: with %s the amount left is this', async (_what, options, left) => {
    const seen: StepState['budgetLeft'][] = []
    const prepareStep = ({ budgetLeft }: StepState): undefined => void seen.push(budgetLeft)
    await playOut(conversation(), pricedAgent(['a'], { prepareStep, ...options }), 'go')
    expect(seen).toEqual([left])
  })
})

describe('S208: a retry policy', () => {
  it('A116: without a base the wait is zero, and each value of rewind is accepted', () => {
    const error = { kind: 'overloaded', message: '', retryable: true, phase: 'before-output' } as const
    expect(retryDelayMs(retryPolicyOf({ baseDelayMs: 0, jitter: 0 }), 1, error, () => 0)).toBe(0)
    for (const rewind of ['attempt', 'turn'] as const) expect(retryPolicyOf({ rewind }).rewind).toBe(rewind)
    expect(retryPolicyOf({ jitter: 0, maxRetries: 0 })).toMatchObject({ jitter: 0, maxRetries: 0 })
  })

  it.each([
    ...(['maxRetries', 'baseDelayMs', 'maxDelayMs', 'maxServerDelayMs', 'maxTotalDelayMs'] as const).flatMap(
      (name) =>
        [
          [name, -1],
          [name, 1.5],
          [name, '5'],
        ] as const,
    ),
    ...([
      ['jitter', -0.1],
      ['jitter', 'some'],
      ['rewind', 'step'],
      ['isRetryable', true],
    ] as const),
  ])('S208: %s must not be %j', (name, value) => {
    expect(() => retryPolicyOf({ [name]: value })).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringMatching(new RegExp(`^retry\\.${name} must`)) as string }),
    )
  })

  it('S208: refuses any other option', () => {
    expect(() => retryPolicyOf({ retries: 3 } as never)).toThrow(/^retry has no option "retries"/)
  })
})
