import { createModels } from '@bowline/llm'
import type { ModelPrice } from '@bowline/llm'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { createBudget, defineAgent, defineExtension } from '../../../src/index.ts'
import type { Agent, AgentOptions, Budget } from '../../../src/index.ts'
import { agentOf, conversation, model } from '../../support/conversation.ts'
import { mortal } from '../../support/mortal.ts'
import { echo, latch, remote, until } from '../../support/tools.ts'
import { eventsOf, playOut } from '../../support/waiting.ts'
import { handOver, helper } from '../subagents/support.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })
const dollar: ModelPrice = { input: '1', output: '2' }

/** Creates an agent whose model has a price, or none. */
function pricedAgent(steps: readonly Step[], options: Partial<AgentOptions> = {}, price: ModelPrice | null = dollar): Agent {
  const scripted = model(steps)
  const models = createModels({
    providers: { test: { languageModel: () => scripted } },
    models: { 'test:m': { ...(price && { price }), maxOutputTokens: 100 } },
  })
  return defineAgent({ model: 'test:m', models, retry: false, ...options })
}

const cost = (total: string) => ({ currency: 'USD', total, input: total, cacheRead: '0', cacheWrite: '0', output: '0' })

describe('createBudget', () => {
  it('A87: a reservation must fit beside used and reserved amounts, and the real usage replaces it', () => {
    const budget = createBudget({ maxTotalTokens: 100 })
    const first = budget.reserve({ tokens: 60 })
    expect(budget.reserve({ tokens: 41 })).toBeUndefined()
    expect(budget.left).toEqual({ tokens: 40 })
    first?.settle({ usage: { inputTokens: 10, outputTokens: 5 } })
    first?.settle({ usage: { totalTokens: 90 } })
    expect(budget.left).toEqual({ tokens: 85 })
    expect(budget.reserve({ tokens: 85 })).toBeDefined()
  })

  it('costs are exact decimals', () => {
    const budget = createBudget({ maxCost: '0.3' })
    for (const total of ['0.1', '0.2']) budget.reserve({ tokens: 0, cost: cost(total) })
    expect(budget.left.cost).toBe(0)
    expect(budget.reserve({ tokens: 0, cost: cost('0.000000000000001') })).toBeUndefined()
    const small = createBudget({ maxCost: '0.000000002' })
    expect(small.reserve({ tokens: 0, cost: cost('0.000000002000001') })).toBeUndefined()
    expect(small.reserve({ tokens: 0, cost: cost('0.000000002') })).toBeDefined()
  })

  it.each([
    [{ maxTotalTokens: -1 }, /^maxTotalTokens must/],
    [{ maxCost: '1e3' }, /^maxCost must/],
    [{ maxCost: '-1' }, /^maxCost must/],
    [{ typo: 1 }, /^createBudget\.limits has no option "typo"/],
  ])('S208: refuses %j', (limits, message) => {
    expect(() => createBudget(limits as never)).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringMatching(message) as string }),
    )
  })

  it('A87: a limit of zero is accepted', () => {
    expect(createBudget({ maxTotalTokens: 0, maxCost: 0 }).left).toEqual({ tokens: 0, cost: 0 })
    expect(createBudget({ maxTotalTokens: 0 }).reserve({ tokens: 1 })).toBeUndefined()
  })
})

describe('a budget', () => {
  it('A87: a call whose reservation does not fit is not made, and the turn ends as limit and accepts the next input', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('x', 'a')], usage: { input: 500, output: 100 } }, { text: 'fine' }], {
      tools: [echo('a').tool],
      runtimeParams: { maxTokens: 200 },
      limits: { maxTotalTokens: 900 },
    })
    const result = await playOut(talk, agent, 'go')
    expect(result).toMatchObject({ status: 'limit', reason: 'max-total-tokens', steps: 1 })
    expect(agent.model.calls).toHaveLength(1)
    expect(eventsOf(talk, 'step-start')).toHaveLength(1)
    expect((await playOut(talk, agent, 'more', { limits: { maxTotalTokens: 5_000 } })).text).toBe('fine')
  })

  it('A87: without room for the first call no step begins', async () => {
    const talk = conversation()
    const result = await playOut(talk, agentOf([], { limits: { maxTotalTokens: 4_000 } }), 'go')
    expect(result).toMatchObject({ status: 'limit', reason: 'max-total-tokens', steps: 0 })
    expect(talk.types()).toEqual(['user-message', 'turn-start', 'turn-end', 'save-point', 'settled'])
  })

  it.each([
    ['what is asked for', { maxTokens: 10 }, 10],
    ['what the model gives at most', {}, 100],
  ] as const)('reserves the input and %s', async (_what, runtimeParams, output) => {
    const talk = conversation()
    const budget = createBudget({ maxTotalTokens: 1_000, maxCost: '1' })
    const gate = latch()
    const run = talk.run(
      pricedAgent([{ text: 'a', parts: [{ wait: gate.promise }], usage: { input: 3, output: 2 } }], { runtimeParams }),
      'a text of 24 characters.',
      { budget },
    )
    await until(() => talk.types().includes('text-delta'))
    expect(budget.left).toEqual({ tokens: 1_000 - 6 - output, cost: 1 - (6 + 2 * output) / 1_000_000 })
    gate.resolve()
    await run.result()
    expect(budget.left).toEqual({ tokens: 995, cost: 0.999993 })
  })

  it('reserves 4,096 tokens for the answer of a model whose limits are unknown', async () => {
    const talk = conversation()
    const budget = createBudget({ maxTotalTokens: 10_000 })
    const gate = latch()
    const run = talk.run(agentOf([{ text: 'a', parts: [{ wait: gate.promise }] }]), 'a text of 24 characters.', { budget })
    await until(() => talk.types().includes('text-delta'))
    expect(budget.left.tokens).toBe(10_000 - 6 - 4_096)
    gate.resolve()
    await run.result()
  })

  it('A87: if one budget has no room, nothing is reserved on the others', async () => {
    const talk = conversation()
    const greedy = helper('greedy', [], { runtimeParams: { maxTokens: 4_000 } })
    const options = { subagents: [greedy], runtimeParams: { maxTokens: 500 }, limits: { maxTotalTokens: 4_300 } }
    const agent = agentOf([{ toolCalls: [handOver('g', 'greedy')] }, { text: 'done' }], options)
    const result = await playOut(talk, agent, 'go', { budget: createBudget({ maxTotalTokens: 3_000 }) })
    expect(eventsOf(talk, 'child-end')).toMatchObject([{ status: 'limit' }])
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
  })

  it('A87: of two runs at once on one budget only the calls that fit are made', async () => {
    const budget = createBudget({ maxTotalTokens: 150 })
    const gate = latch()
    const one = conversation()
    const two = conversation()
    const first = one.run(agentOf([{ text: 'a', parts: [{ wait: gate.promise }] }], { runtimeParams: { maxTokens: 100 } }), 'go', {
      budget,
    })
    await until(() => one.types().includes('text-delta'))
    const options = { runtimeParams: { maxTokens: 100 } }
    expect(await playOut(two, agentOf([], options), 'go', { budget })).toMatchObject({ status: 'limit', reason: 'max-total-tokens' })
    gate.resolve()
    expect((await first.result()).status).toBe('completed')
    expect((await playOut(two, agentOf([{ text: 'b' }], options), 'again', { budget })).status).toBe('completed')
    expect(budget.left.tokens).toBe(120)
  })

  it('A87: a reservation for a call that was never made is released', async () => {
    const budget = createBudget({ maxTotalTokens: 10_000 })
    const stop = new AbortController()
    const halt = defineExtension({ name: 'halt', hooks: { onStepStart: () => stop.abort() } })
    await playOut(conversation(), agentOf([], { extensions: [halt] }), 'go', { budget, abortSignal: stop.signal })
    expect(budget.left.tokens).toBe(10_000)
    const { talk } = mortal('message-start', 'before')
    expect((await playOut(talk, agentOf([]), 'go', { budget })).reason).toBe('journal-error')
    expect(budget.left.tokens).toBe(10_000)
  })

  it('A87: a call that is repeated after a crash is reserved too', async () => {
    const { talk, revive } = mortal('message-start', 'after')
    const limits = { maxTotalTokens: 5_000 }
    await playOut(talk, agentOf([], { limits }), 'x'.repeat(2_400))
    revive()
    expect(await playOut(talk, agentOf([], { limits }), undefined)).toMatchObject({ status: 'limit', reason: 'max-total-tokens', steps: 1 })
    expect(eventsOf(talk, 'usage')).toMatchObject([{ estimated: true, usage: { inputTokens: 600 } }])
  })

  it('A87: a retry needs room like a first attempt', async () => {
    const talk = conversation()
    const broken: Step = { text: 'half', finish: { unified: 'error', raw: 'error' }, usage: { input: 900, output: 50 } }
    const agent = agentOf([broken], {
      retry: { jitter: 0, isRetryable: () => true },
      runtimeParams: { maxTokens: 100 },
      limits: { maxTotalTokens: 1_000 },
    })
    const result = await playOut(talk, agent, 'go')
    expect(result).toMatchObject({ status: 'limit', reason: 'max-total-tokens', steps: 1 })
    expect(eventsOf(talk, 'retry-end')).toMatchObject([{ success: false }])
    expect(result.messages.map(({ role }) => role)).toEqual(['user'])
  })

  it('A87: maxTotalTokens and maxCost count all segments of a turn', async () => {
    for (const limits of [{ maxTotalTokens: 1_000 }, { maxCost: '0.001' }]) {
      const talk = conversation()
      const options: Partial<AgentOptions> = { tools: [remote('far')], limits, runtimeParams: { maxTokens: 100 } }
      await playOut(talk, pricedAgent([{ toolCalls: [call('r', 'far')], usage: { input: 880, output: 10 } }], options), 'go')
      const result = await playOut(talk, pricedAgent([], options), { toolResults: [{ toolCallId: 'r', output: 'x' }] })
      expect(result).toMatchObject({ status: 'limit', reason: limits.maxCost === undefined ? 'max-total-tokens' : 'max-cost', steps: 1 })
    }
  })

  it('A87: maxCost needs the price of the model that writes summaries', () => {
    const agent = pricedAgent([], { limits: { maxCost: '1' }, compaction: { model: model([]) } })
    expect(() => agent.run('go')).toThrow('maxCost needs the price of')
    expect(() => pricedAgent([], { compaction: { model: 'nowhere:m' } }).run('go')).toThrow('compaction.model')
  })

  it('A87: maxCost counts the reserved price of a call before it, and the exact cost after it', async () => {
    const talk = conversation()
    const budget = createBudget({ maxCost: '0.001' })
    const agent = pricedAgent([
      { text: 'a', usage: { input: 100, output: 50 } },
      { text: 'b', usage: { input: 600, output: 50 } },
    ])
    expect(await playOut(talk, agent, 'go', { budget })).toMatchObject({ status: 'completed', cost: { total: '0.0002' } })
    expect(budget.left.cost).toBe(0.0008)
    await playOut(talk, agent, 'go', { budget })
    expect(budget.left.cost).toBe(0.0001)
    expect(await playOut(talk, agent, 'go', { budget })).toMatchObject({ status: 'limit', reason: 'max-cost' })
  })

  it('A87: the cost of a call interrupted by a crash is estimated, so that it counts', async () => {
    const { talk, revive } = mortal('message-start', 'after')
    const limits = { maxCost: '1' }
    await playOut(talk, pricedAgent([], { limits }), 'go')
    revive()
    const result = await playOut(talk, pricedAgent([{ text: 'done' }], { limits }), undefined)
    expect(result.cost).toMatchObject({ estimated: true })
    expect(Number(result.cost?.total)).toBeGreaterThan(0.00002)
  })

  it('A6: refuses maxCost with a model whose price is unknown, also for fallbacks and model functions', () => {
    const unknown = expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining('price') as string }) as Error
    const limits = { maxCost: '1' }
    expect(() => pricedAgent([], { limits }, null).run('go')).toThrow(unknown)
    expect(() => pricedAgent([], {}, null).run('go', { limits })).toThrow(unknown)
    expect(() => pricedAgent([], {}, null).run('go', { budget: createBudget({ maxCost: 1 }) })).toThrow(unknown)
    expect(() => pricedAgent([], { limits, fallback: [model([])] }).run('go')).toThrow(unknown)
    expect(() => defineAgent({ model: () => Promise.resolve([]), limits }).run('go')).toThrow(unknown)
  })

  it('A6: refuses one limit for prices in two currencies', () => {
    const scripted = model([])
    const models = createModels({
      providers: { test: { languageModel: () => scripted } },
      models: {
        'test:m': { price: dollar },
        'test:e': { price: { ...dollar, currency: 'EUR' } },
        'test:u': { price: { ...dollar, currency: 'USD' } },
      },
    })
    const agent = defineAgent({ model: 'test:m', models, fallback: ['test:e'] })
    expect(() => agent.run('go', { limits: { maxCost: '1' } })).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining('EUR') as string }),
    )
    // A price without a currency is in dollars.
    expect(() =>
      defineAgent({ model: 'test:m', models, fallback: ['test:u'], limits: { maxCost: '1' } })
        .run('go')
        .abort(),
    ).not.toThrow()
  })

  it('A6: a model from prepareStep without a price ends a turn with maxCost', async () => {
    const talk = conversation()
    const agent = pricedAgent([], { limits: { maxCost: '1' }, prepareStep: () => ({ model: model([]) }) })
    expect(await playOut(talk, agent, 'go')).toMatchObject({ status: 'error', reason: 'extension-error' })
    expect(eventsOf(talk, 'error')).toMatchObject([
      { name: 'prepareStep', fatal: true, message: expect.stringContaining('price') as string },
    ])
  })

  it('costs in different currencies are not added', async () => {
    const talk = conversation()
    const [first, second] = [model([{ text: 'half', finish: false }]), model([{ text: 'fine' }])]
    const models = createModels({
      providers: { test: { languageModel: (id) => (id === 'm' ? first : second) } },
      models: { 'test:m': { price: dollar }, 'test:e': { price: { ...dollar, currency: 'EUR' } } },
    })
    const result = await playOut(talk, defineAgent({ model: 'test:m', models, fallback: ['test:e'], retry: false }), 'go')
    expect(result).toMatchObject({ status: 'completed', text: 'fine' })
    expect(eventsOf(talk, 'usage')).toMatchObject([{ cost: { currency: 'USD' } }])
    expect(result.messages.at(-1)).toMatchObject({ cost: { currency: 'EUR' } })
    expect(result.cost).toBeUndefined()
  })

  it('without reported usage an estimate counts, with a flag, also over segments', async () => {
    const talk = conversation()
    const silent: Budget = createBudget({ maxTotalTokens: 10_000 })
    const speak = () => Promise.resolve([{ role: 'assistant' as const, content: 'x'.repeat(400) }])
    const result = await playOut(talk, defineAgent({ model: speak }), 'y'.repeat(400), { budget: silent })
    expect(result.usage).toMatchObject({ inputTokens: 100, outputTokens: 100, totalTokens: 200, estimated: true })
    expect(silent.left.tokens).toBe(9_800)
    expect((await playOut(conversation(), defineAgent({ model: speak }), 'go')).usage).toEqual({})
  })
})
