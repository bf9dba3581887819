import { defineAgent, defineTool, type Tool } from '@bowline/agent-loop'
import { manualClock, scriptedModel, type ManualClock, type Script } from '@bowline/llm/testing'
import { createRuntime, memoryStateStore, type OrchestrationConfig } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { bench, expectLooksToExtend, id, kinds, openStores, startMs } from './support.ts'

const stores = openStores()
const day = 86_400_000
const config: OrchestrationConfig = { steps: [{ name: 'plan', isDefault: true, sequence: ['search', 'pay', 'ship'] }] }
const tool = (name: string, more: Partial<Tool> = {}): Tool =>
  defineTool({ name, description: name, inputSchema: z.object({}), effect: 'pure' as const, execute: () => 'done', ...more } as never)
const call = (name: string) => ({ toolCalls: [{ id: `call-${name}`, name, input: {} }] })
const plan = [call('search'), call('pay'), call('ship'), { text: 'Shipped.' }]

type Given = ReturnType<typeof bench>

/** Creates a runtime whose clock stands still: what passes is the time of the states. */
async function shop(given: Given, { steps = plan, tools = [] }: { readonly steps?: Script; readonly tools?: readonly Tool[] } = {}) {
  const model = scriptedModel(steps)
  const own = ['search', 'pay', 'ship'].filter((name) => !tools.some((each) => each.name === name))
  const all = [...tools, ...own.map((name) => tool(name, name === 'pay' ? { needsApproval: true } : {}))]
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'assistant', model, tools: all, extensions: [given.orchestration.extension()] })],
    store: memoryStore(),
  })
  await runtime.start()
  const shown = () => model.calls.map((request) => request.tools?.map(({ name }) => name))
  return { runtime, session: runtime.session(id), shown }
}

async function approveAfter(
  clock: ManualClock,
  ms: number,
  { session }: Awaited<ReturnType<typeof shop>>,
  meanwhile: () => Promise<unknown> = async () => undefined,
) {
  const { pendingApprovals } = await (await session.send('go')).result()
  await meanwhile()
  await clock.advance(ms)
  const { run } = await session.approve(pendingApprovals[0]?.approvalId ?? '')
  return run.result()
}

describe('the state of an open run', () => {
  it.each(kinds)('O71: lives in %s as long as the run waits, then for its lifetime', async (kind) => {
    const clock = manualClock(startMs)
    const given = bench({ config, store: await stores[kind](clock) }, clock)
    const { runtime, shown, ...rest } = await shop(given)
    expect(await approveAfter(clock, 200 * day, { runtime, shown, ...rest })).toMatchObject({ status: 'completed', text: 'Shipped.' })
    expect(shown().slice(0, 3)).toEqual([['search'], ['pay'], ['ship']])
    expect(given.diagnostics.filter(({ code }) => code === 'state-expired')).toEqual([])
    await runtime.stop()
    expect(await given.orchestration.getState(id)).toMatchObject({ sequenceIndex: 3, ttl: day })
    await clock.advance(day)
    expect(await given.orchestration.getState(id)).toBeNull()
  })

  it.each([
    ['a look', ({ orchestration }: Given) => orchestration.getState(id)],
    ['a look of a manager with a short lifetime', ({ another }: Given) => another({ ttlMs: 500 }).getState(id)],
    ['a touch', ({ another }: Given) => another({ ttlMs: 500 }).touch(id)],
    ['a change', ({ another }: Given) => another({ ttlMs: 500 }).updateState(id, { data: { seen: true } })],
    ['a cleanup', ({ another }: Given) => another({ cleanup: { maxSessions: 1 } }).cleanupExpiredStates()],
  ])('O71: is not shortened by %s while the run waits', async (_name, meanwhile) => {
    const given = bench({ config })
    const at = await shop(given)
    const result = await approveAfter(given.clock, 3 * day, at, async () => {
      await given.clock.advance(day / 2)
      await given.orchestration.getOrCreateState('room:2')
      await meanwhile(given)
    })
    expect([result.text, at.shown()[2]]).toEqual(['Shipped.', ['ship']])
    await at.runtime.stop()
  })

  it('O71: lives while a tool runs longer than its lifetime, even one shorter than any heartbeat', async () => {
    const given = bench({ config, ttlMs: 1 })
    const slow = tool('search', { execute: async () => (await given.clock.advance(day), 'found') })
    const at = await shop(given, { tools: [slow, tool('pay')] })
    expect(await (await at.session.send('go')).result()).toMatchObject({ text: 'Shipped.' })
    expect(at.shown().slice(0, 3)).toEqual([['search'], ['pay'], ['ship']])
    await at.runtime.stop()
    await given.clock.advance(1)
    expect(await given.orchestration.getState(id)).toBeNull()
  })

  it('O71: is held again by the turn if another writer, who read it before, has given it an end', async () => {
    const clock = manualClock(startMs)
    const store = memoryStateStore({ clock })
    const given = bench({ config, store }, clock)
    const late = async () => {
      const read = await store.get('orchestration-state', id)
      if (read.status !== 'found') throw new Error(read.status)
      await store.compareAndSet('orchestration-state', id, read.value.version, read.value.value, { ttlMs: 500 })
      return 'found'
    }
    const at = await shop(given, { tools: [tool('search', { execute: late })] })
    expect(await approveAfter(clock, 3 * day, at)).toMatchObject({ text: 'Shipped.' })
    expect(at.shown()[2]).toEqual(['ship'])
    await at.runtime.stop()
  })

  it('O71, O47: lives as long as a run of a subagent waits, and the one of the subagent too', async () => {
    const given = bench({ config })
    const model = scriptedModel(({ prompt }) => plan[prompt.filter(({ role }) => role === 'tool').length] ?? { text: '' })
    const tools = ['search', 'pay', 'ship'].map((name) => tool(name, name === 'pay' ? { needsApproval: true } : {}))
    const helper = defineAgent({ name: 'helper', description: 'Helps', model, tools, extensions: [given.orchestration.extension()] })
    const delegate = { toolCalls: [{ id: 'call-1', name: 'delegate_to_helper', input: { prompt: 'help' } }] }
    const own = given.orchestration.extension({ steps: [{ name: 'any', isDefault: true }] })
    const agent = defineAgent({
      name: 'assistant',
      model: scriptedModel([delegate, { text: 'Helped.' }]),
      subagents: [helper],
      extensions: [own],
    })
    const runtime = createRuntime({ agents: [agent], store: memoryStore() })
    await runtime.start()
    expect(await approveAfter(given.clock, 3 * day, { runtime, session: runtime.session(id), shown: () => [] })).toMatchObject({
      text: 'Helped.',
    })
    await runtime.stop()
    const states = (await given.orchestration.listStates()).items
    expect(states.map(({ sequenceIndex, ttl }) => [sequenceIndex, ttl])).toEqual([
      [0, day],
      [3, day],
    ])
  })

  it('O71: ends its lifetime after the run was stopped while it waited', async () => {
    const given = bench({ config })
    const { runtime, session } = await shop(given)
    await (await session.send('go')).result()
    expect((await session.stop()).state).toBe('settled')
    await runtime.stop()
    expect(await given.orchestration.getState(id)).toMatchObject({ sequenceIndex: 1, ttl: day })
  })

  it('O71: if it is gone all the same, a diagnostic tells it', async () => {
    const given = bench({ config })
    const at = await shop(given)
    const result = await approveAfter(given.clock, 0, at, () => given.orchestration.removeState(id))
    await at.runtime.stop()
    expect(at.shown()[2]).toEqual(['search'])
    expect(result.status).toBe('completed')
    const expired = {
      code: 'state-expired',
      sessionId: id,
      message: 'The state of a run has expired or was removed. Its plan starts anew.',
    }
    expect(given.diagnostics.filter(({ code }) => code === 'state-expired')).toEqual([expired])
  })

  it('O71: a turn whose session has outlived its state tells that its plan starts anew; a first turn does not', async () => {
    const given = bench({ config })
    const told = () => given.diagnostics.filter(({ code }) => code === 'state-expired').map(({ message }) => message)
    const first = await shop(given, { steps: [{ text: 'ok' }, { text: 'ok' }] })
    await (await first.session.send('one')).result()
    await first.runtime.stop()
    expect(told()).toEqual([])
    await given.clock.advance(2 * day)
    const second = await shop(given, { steps: [{ text: 'ok' }] })
    await (await second.session.send('two')).result()
    await second.runtime.stop()
    expect(told()).toEqual(['The state of a run has expired or was removed. Its plan starts anew.'])
  })
})

describe('a look', () => {
  it.each(kinds)('O3, O49: is an access in %s, and writes only after a tenth of the lifetime', async (kind) => {
    const clock = manualClock(startMs)
    await expectLooksToExtend(await stores[kind](clock), clock)
  })

  it('O49: keeps the lifetime of the record, also if the manager that looks has another', async () => {
    const { orchestration, another, clock } = bench({ ttlMs: 1_500 })
    await orchestration.getOrCreateState(id)
    await clock.advance(900)
    expect(await another({ ttlMs: 5 }).getState(id)).toMatchObject({ ttl: 1_500, lastAccessed: startMs + 900 })
    await clock.advance(1_499)
    expect(await orchestration.getState(id)).not.toBeNull()
  })
})
