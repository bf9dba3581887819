import { defineTool } from '@bowline/agent-loop'
import { addCost, type Cost, type JSONValue } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { createRuntime, memoryStateStore, SessionError, type RuntimeOptions, type StateStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pricedAgent, usage } from '../fixtures/priced-agent.ts'
import { gate, logOf } from '../support.ts'

type Options = Partial<RuntimeOptions> & {
  readonly agent?: Parameters<typeof pricedAgent>[1]
  readonly steps?: Parameters<typeof pricedAgent>[0]
}

const runtimes: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of runtimes.splice(0)) await each.stop()
})

const day = 86_400_000
const acme = 'tenant:acme:room'

/** Creates a runtime whose tenants may spend this much per day. */
function runtimeWith(
  maxCost: string | 0,
  { agent, steps = () => ({ text: 'done', usage }), ...options }: Options = {},
  budget: object = {},
) {
  const runtime = createRuntime({ agents: [pricedAgent(steps, agent)], tenantBudget: { maxCost, window: 'day', ...budget }, ...options })
  runtimes.push(runtime)
  const ask = async (key = acme) => (await runtime.session(key).send('go')).result()
  return { runtime, ask }
}

/** Counts the calls of a state store, and lets a test fail them. */
function watched(state: StateStore, fail: (call: number, name: string) => 'before' | 'after' | undefined = () => undefined) {
  let calls: string[] = []
  const through =
    <Args extends readonly unknown[], Answer>(name: string, go: (...args: Args) => Promise<Answer>) =>
    async (...args: Args) => {
      calls.push(name)
      const fault = fail(calls.length, name)
      if (fault === 'before') throw new SessionError(calls.length % 2 === 0 ? 'store-unavailable' : 'store-full', 'no room, or away')
      const answer = await go(...args)
      if (fault === 'after') throw new SessionError('store-unavailable', 'the answer was lost')
      return answer
    }
  const store: StateStore = {
    ...state,
    get: through('get', state.get.bind(state)),
    compareAndSet: through('set', state.compareAndSet.bind(state)),
  }
  return { store, taken: () => calls.splice(0), reset: () => (calls = []) }
}

const total = (costs: readonly (Cost | undefined)[]) => costs.reduce((sum, cost) => addCost(sum, cost))?.total

describe('a budget per tenant', () => {
  it('A197: a call is reserved before it is made and settled at its cost, and the reading returns what is spent, reserved and left', async () => {
    const held = gate()
    const clock = manualClock(3 * day + 5)
    const { runtime, ask } = runtimeWith('0.01', { clock, steps: async () => (await held.passed, { text: 'done', usage }) })
    const answer = ask()
    const under = async () => runtime.tenantSpending('acme')
    while ((await under()).reserved === undefined) await new Promise(setImmediate)
    expect(await under()).toMatchObject({
      tenant: 'acme',
      maxCost: '0.01',
      currency: 'USD',
      reserved: { total: '0.002001' },
      left: 0.007999,
      windowStartsAt: 3 * day,
      windowEndsAt: 4 * day,
    })
    held.open()
    expect((await answer).cost?.total).toBe('0.002')
    const after = await under()
    expect(after).toMatchObject({ spent: { total: '0.002' }, left: 0.008 })
    expect(after).not.toHaveProperty('reserved')
  })

  it('A197: a call beyond the budget ends its run as limit, fits in the next window, and does not affect other tenants', async () => {
    const clock = manualClock(0)
    const { ask } = runtimeWith('0.005', { clock })
    expect((await ask('tenant:acme:1')).status).toBe('completed')
    expect((await ask('tenant:acme:2')).status).toBe('completed')
    expect(await ask()).toMatchObject({ status: 'limit', reason: 'max-cost' })
    expect((await ask('tenant:other:room')).status).toBe('completed')
    await clock.advance(day)
    expect((await ask()).status).toBe('completed')
  })

  it('A197: a budget of 0 allows no call with a cost', async () => {
    const { runtime, ask } = runtimeWith(0, { steps: [] })
    expect(await ask()).toMatchObject({ status: 'limit', reason: 'max-cost' })
    expect(await runtime.tenantSpending('acme')).toMatchObject({ maxCost: '0', left: 0 })
    const free = createRuntime({
      agents: [pricedAgent([{ text: 'free', usage }], {}, { input: '0', output: '0' })],
      tenantBudget: { maxCost: 0, window: 'day' },
    })
    runtimes.push(free)
    expect((await (await free.session(acme).send('go')).result()).text).toBe('free')
  })

  it('A197: sessions without a tenant, and tenants without a limit, are not limited and store nothing', async () => {
    const state = watched(memoryStateStore())
    const { runtime, ask } = runtimeWith(0, {}, { store: state.store, maxCost: (tenant: string) => (tenant === 'acme' ? undefined : 0) })
    expect((await ask('room:1')).status).toBe('completed')
    expect((await ask()).status).toBe('completed')
    expect((await ask('tenant:other:room')).status).toBe('limit')
    expect(await runtime.tenantSpending('acme')).not.toHaveProperty('maxCost')
    expect(state.taken()).toEqual(['get', 'get'])
  })

  it('A197: a function returns the tenant of a session, also for the sessions of subagents', async () => {
    const seen: unknown[] = []
    const helper = pricedAgent([{ text: 'helped', usage }], { name: 'helper', description: 'Helps.' })
    const steps = [
      { toolCalls: [{ name: 'delegate_to_helper', input: { prompt: 'help' } }], usage },
      { text: 'done', usage },
    ]
    const tenantOf = (session: { readonly key: string }): string => (seen.push(session), 'mine')
    const { runtime } = runtimeWith('1', { steps, agent: { subagents: [helper] } }, { tenantOf })
    const result = await (await runtime.session('room:1', { owner: 'ann', metadata: { plan: 'pro' } }).send('go')).result()
    expect(new Set(seen.map((each) => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify({ key: 'room:1', metadata: { plan: 'pro' }, owner: 'ann' })]),
    )
    // The cost of the subagent is counted where it was reserved, and not again when its parent adds it.
    expect(result.cost?.total).toBe('0.006')
    expect((await runtime.tenantSpending('mine')).spent?.total).toBe('0.006')
  })

  it('A197: a model call costs two store calls, one before and one after it, however many runs are active', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', inputSchema: z.object({}), execute: () => 'seen' })
    const state = watched(memoryStateStore())
    const steps = (_call: unknown, index: number) =>
      index % 3 === 2 ? { text: 'done', usage } : { toolCalls: [{ name: 'look', input: {} }], usage }
    const { ask } = runtimeWith('1', { steps, agent: { tools: [look] } }, { store: state.store })
    await ask()
    expect(state.taken()).toEqual(['get', ...Array.from({ length: 6 }, () => 'set')])
    await ask()
    expect(state.taken()).toEqual(Array.from({ length: 6 }, () => 'set'))
    await Promise.all(Array.from({ length: 8 }, (_, n) => ask(`tenant:acme:${n}`)))
    expect(state.taken().length).toBeLessThanOrEqual(8 * 6)
  })

  it('A197: the answer is stored only after its cost is counted', async () => {
    const held = gate()
    const state = memoryStateStore()
    let writes = 0
    const slow: StateStore = {
      ...state,
      compareAndSet: async (...args) => (++writes === 2 && (await held.passed), state.compareAndSet(...args)),
    }
    const { runtime, ask } = runtimeWith('1', {}, { store: slow })
    const answer = ask()
    while (writes < 2) await new Promise(setImmediate)
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    expect((await logOf(runtime.session(acme))).map(({ type }) => type)).not.toContain('message-end')
    held.open()
    expect((await answer).status).toBe('completed')
  })

  it('A197: a runtime that stops first counts what was spent while its store was away', async () => {
    let isAway = false
    const state = watched(memoryStateStore(), () => (isAway ? 'before' : undefined))
    const clock = manualClock(0)
    const { runtime, ask } = runtimeWith(
      '1',
      { clock, steps: async () => ((isAway = true), { text: 'done', usage }) },
      { store: state.store },
    )
    const answer = ask()
    while (!isAway) await new Promise(setImmediate)
    // The run continues after it has waited for half a minute.
    for (let waited = 0; waited < 31_000; waited += 500) {
      await new Promise(setImmediate)
      await clock.advance(500)
    }
    expect((await answer).status).toBe('completed')
    expect((await logOf(runtime.session(acme))).find(({ type }) => type === 'error')).toMatchObject({
      name: 'budget',
      message: expect.stringContaining('settle of a reservation failed: it did not answer in time') as string,
    })
    isAway = false
    const stopped = runtime.stop({ graceMs: 5_000 })
    while ((await state.store.list('tenant-budget', {})).items.every(({ value }) => !JSON.stringify(value).includes('"spent"'))) {
      await new Promise(setImmediate)
      await clock.advance(500)
    }
    await stopped
  })

  it.each([1, 2, 3, 4, 5])('A197: whatever happens to store call %i, the cost is counted once', async (at) => {
    for (const fault of ['before', 'after'] as const) {
      const clock = manualClock(0)
      const state = watched(memoryStateStore(), (call) => (call === at ? fault : undefined))
      const { runtime, ask } = runtimeWith('1', { clock }, { store: state.store })
      const both = Promise.all([ask(), ask('tenant:acme:other')])
      let isDone = false
      void both.finally(() => (isDone = true))
      while (!isDone) {
        await new Promise(setImmediate)
        await clock.advance(50)
      }
      expect((await both).map(({ status }) => status)).toEqual(['completed', 'completed'])
      const spending = await runtime.tenantSpending('acme')
      expect(spending.spent?.total).toBe('0.004')
      expect(spending.reserved).toBeUndefined()
    }
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'A197: with a store that fails and loses answers, concurrent runtimes count each call once (seed %i)',
    async (seed) => {
      let state = seed * 2_654_435_761
      const random = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32
      const clock = manualClock(0)
      const store = memoryStateStore({ clock })
      const faults = (): 'before' | 'after' | undefined => (random() < 0.2 ? 'before' : random() < 0.25 ? 'after' : undefined)
      const three = [1, 2, 3].map(() => runtimeWith('0.02', { clock }, { store: watched(store, faults).store }))
      const all = Promise.all(three.flatMap(({ ask }) => Array.from({ length: 6 }, (_, n) => ask(`tenant:acme:${n}`))))
      let isDone = false
      void all.finally(() => (isDone = true))
      while (!isDone) {
        await new Promise(setImmediate)
        await clock.advance(25)
      }
      const results = await all
      const done = results.filter(({ status }) => status === 'completed')
      expect(results.filter(({ status }) => status !== 'completed' && status !== 'limit')).toEqual([])
      const { runtime } = runtimeWith('0.02', { clock }, { store })
      const spending = await runtime.tenantSpending('acme')
      expect(spending.spent?.total).toBe(total(done.map(({ cost }) => cost)))
      expect(spending.left).toBeGreaterThanOrEqual(0)
      expect(spending.reserved).toBeUndefined()
    },
  )

  it('A197: two runtimes that spend at the same time on one store spend no more than the budget', async () => {
    const store = memoryStateStore()
    const two = [1, 2].map(() => runtimeWith('0.02', {}, { store }))
    const results = await Promise.all(two.flatMap(({ ask }) => Array.from({ length: 12 }, (_, n) => ask(`tenant:acme:${n}`))))
    const done = results.filter(({ status }) => status === 'completed')
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['completed', 'limit']))
    const spending = await two[0]?.runtime.tenantSpending('acme')
    expect(spending?.spent?.total).toBe(total(done.map(({ cost }) => cost)))
    expect(spending?.left).toBeGreaterThanOrEqual(0)
    expect(spending?.reserved).toBeUndefined()
  })

  it('A197: a reservation that is never settled is released after its lease', async () => {
    const clock = manualClock(0)
    const store = memoryStateStore({ clock })
    const dead = runtimeWith('0.003', { clock, steps: [{ hang: 'before' }] }, { store, leaseMs: 5_000 })
    void dead.ask().catch(() => undefined)
    const alive = runtimeWith('0.003', { clock }, { store, leaseMs: 5_000 })
    while ((await alive.runtime.tenantSpending('acme')).reserved === undefined) await new Promise(setImmediate)
    expect((await alive.ask()).status).toBe('limit')
    await clock.advance(4_999)
    expect((await alive.ask()).status).toBe('limit')
    await clock.advance(1)
    expect((await alive.ask()).status).toBe('completed')
    expect(await alive.runtime.tenantSpending('acme')).toMatchObject({ spent: { total: '0.002' } })
  })

  it('A197: a call that outlives its lease is still counted', async () => {
    const held = gate()
    const clock = manualClock(0)
    const { runtime, ask } = runtimeWith(
      '1',
      { clock, steps: async () => (await held.passed, { text: 'late', usage }) },
      { leaseMs: 1_000 },
    )
    const answer = ask()
    while ((await runtime.tenantSpending('acme')).reserved === undefined) await new Promise(setImmediate)
    await clock.advance(1_000)
    expect(await runtime.tenantSpending('acme')).not.toHaveProperty('reserved')
    held.open()
    await answer
    expect((await runtime.tenantSpending('acme')).spent?.total).toBe('0.002')
  })

  it('A197: a call is counted in the window in which it was reserved', async () => {
    const held = gate()
    const clock = manualClock(day - 1)
    const { runtime, ask } = runtimeWith('0.003', {
      clock,
      steps: async (_call, index) => (index === 0 && (await held.passed), { text: 'x', usage }),
    })
    const answer = ask()
    while ((await runtime.tenantSpending('acme')).reserved === undefined) await new Promise(setImmediate)
    await clock.advance(1)
    expect((await ask('tenant:acme:other')).status).toBe('completed')
    held.open()
    await answer
    expect((await runtime.tenantSpending('acme')).spent?.total).toBe('0.002')
  })

  it('A197: a stopped call gives back what it has not used', async () => {
    const { runtime } = runtimeWith('1', { steps: [{ hang: 'before' }] })
    const run = await runtime.session(acme).send('go')
    while ((await runtime.tenantSpending('acme')).reserved === undefined) await new Promise(setImmediate)
    await run.stop()
    const { cost } = await run.result()
    const spending = await runtime.tenantSpending('acme')
    expect(spending.reserved).toBeUndefined()
    expect(spending.spent?.total ?? '0').toBe(cost?.total ?? '0')
  })

  it('A197: the summary of a compaction is paid from the budget too, and is not made without room', async () => {
    const store = memoryStore()
    const compaction = { keepRecentTokens: 1, reserveTokens: 100 }
    const rich = (of = store) => runtimeWith('1', { store: of, agent: { compaction }, steps: () => ({ text: 'a summary', usage }) })
    const { runtime, ask } = rich()
    await ask()
    await ask()
    await runtime.stop()
    const poor = runtimeWith('0.000001', { store: store.second(), agent: { compaction }, steps: [] }, { store: memoryStateStore() })
    expect(await poor.runtime.session(acme).compact()).toMatchObject({ outcome: 'skipped', reason: 'the budget is used up' })
    await poor.runtime.stop()
    const again = rich(store.second()).runtime
    expect((await again.session(acme).compact()).outcome).toBe('done')
    expect((await again.tenantSpending('acme')).spent?.total).toBe('0.006')
  })

  it('A197: without a price, or with a price in another currency, the run ends with an error that says what to do', async () => {
    const noPrice = createRuntime({ agents: [pricedAgent([], {}, null)], tenantBudget: { maxCost: '1', window: 'day' } })
    runtimes.push(noPrice)
    expect(await (await noPrice.session(acme).send('go')).result()).toMatchObject({
      status: 'error',
      error: { message: expect.stringContaining('needs the price of scripted:scripted-model') as string },
    })
    const { ask } = runtimeWith('1', { steps: [] }, { currency: 'EUR' })
    expect(await ask()).toMatchObject({
      status: 'error',
      error: { message: expect.stringContaining('tenantBudget.currency must be the currency of the prices, USD; received EUR') as string },
    })
  })

  it.each([
    [{ maxCost: undefined }, /^tenantBudget\.maxCost must be a decimal/],
    [{ maxCost: '-1' }, /^tenantBudget\.maxCost must be a decimal/],
    [{ maxCost: '1', window: 'week' }, /^tenantBudget\.window must be 'day' or/],
    [{ maxCost: '1', window: 0 }, /^tenantBudget\.window must/],
    [{ maxCost: '1', window: 'day', store: {} }, /^tenantBudget\.store must be a state store/],
    [{ maxCost: '1', window: 'day', leaseMs: 0 }, /^tenantBudget\.leaseMs must/],
    [{ maxCost: '1', window: 'day', maxcost: '1' }, /has no option "maxcost"/],
  ])('S208: refuses %j', (tenantBudget, message) => {
    expect(() => createRuntime({ agents: [pricedAgent([])], tenantBudget: tenantBudget as never })).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringMatching(message) as string }),
    )
  })

  it('S208: functions that fail or return wrong values are named, and a runtime without budgets refuses to report on tenants', async () => {
    const failing = { maxCost: () => Promise.reject(new Error('no database')) }
    expect(await runtimeWith('1', { steps: [] }, failing).ask()).toMatchObject({
      status: 'error',
      error: { message: expect.stringContaining('tenantBudget.maxCost("acme") failed: no database') as string },
    })
    for (const given of ['lots', -1] as JSONValue[]) {
      expect(await runtimeWith('1', { steps: [] }, { maxCost: () => given }).ask()).toMatchObject({
        status: 'error',
        error: { message: expect.stringContaining('tenantBudget.maxCost("acme") must be a decimal') as string },
      })
    }
    expect(await runtimeWith('1', { steps: [] }, { tenantOf: () => 7 }).ask()).toMatchObject({
      status: 'error',
      error: { message: expect.stringContaining('tenantBudget.tenantOf() must be') as string },
    })
    const without = createRuntime({ agents: [pricedAgent([])] })
    runtimes.push(without)
    await expect(without.tenantSpending('acme')).rejects.toMatchObject({ code: 'invalid-config' })
    expect([without.hasTenantBudget, runtimeWith('1').runtime.hasTenantBudget]).toEqual([false, true])
    await expect(runtimeWith('1').runtime.tenantSpending('')).rejects.toMatchObject({ code: 'invalid-input' })
  })
})
