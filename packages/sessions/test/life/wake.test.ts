import { defineAgent, defineTool } from '@bowline/agent-loop'
import { manualClock, scriptedModel, type Step } from '@bowline/llm/testing'
import type { Batch, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { faultyStore } from '@bowline/testing/crashes'
import { checkLog, collect, gate, setup, type SetupOptions } from '../support.ts'

const slowPlace = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}), timeoutMs: 60_000 })
const asks: Step = { toolCalls: [{ id: 'c1', name: 'place', input: {} }] }

async function told(options: SetupOptions) {
  const clock = manualClock()
  const wakes: number[] = []
  const made = setup({ clock, timers: false, onWake: ({ atMs }) => void wakes.push(atMs), ...options })
  await made.runtime.start()
  const heard = (): number[] => wakes.splice(0)
  return { ...made, clock, heard, session: made.runtime.session('room:1') }
}

describe('onWake', () => {
  it.each(['drain', 'sweep'] as const)('S67, S203: is called for 30 s later, not at once, if a %s could not do its work', async (how) => {
    let broken = true
    let tries = 0
    const isEnd = (batch: Batch): boolean => batch.writes.some((write) => write.op === 'session.expire')
    const store = faultyStore(memoryStore(), [
      { of: 'commit', when: (batch) => isEnd(batch) && ++tries > 0 && broken, fault: { error: new Error('disk on fire') } },
    ])
    const { runtime, clock, heard, faults } = await told({ steps: [{ text: 'done' }], store })
    await runtime.session('room:1', { ttl: { maxAgeMs: 1_000 } }).open()
    await clock.advance(1_000)
    heard()
    expect(await runtime[how]()).toMatchObject({ nextDueAt: 31_000 })
    await runtime.session('room:2').send('go')
    heard()
    expect(await runtime.drain()).toMatchObject({ ran: 1, nextDueAt: 31_000 })
    expect(new Set(heard())).toEqual(new Set([31_000]))
    expect(faults).toHaveLength(2)
    broken = false
    await clock.advance(30_000)
    expect(await runtime[how]()).toMatchObject({ nextDueAt: null })
    expect(tries).toBe(3)
    await runtime.stop()
  })

  it('S68: is called after each commit that leaves work', async () => {
    const { runtime, session, heard, clock } = await told({ steps: [asks, asks, { text: 'done' }], tools: [slowPlace] })
    await session.send('go')
    expect(heard()).toEqual([0])
    await runtime.drain()
    heard()
    await clock.advance(10)
    await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    expect(heard()).toEqual([10])
    await runtime.drain()
    await clock.advance(10)
    heard()
    await session.stop({ waitMs: 0 })
    expect(heard()).toEqual([20])
    await runtime.drain()
    expect(heard()).toEqual([])
    await runtime.stop()
  })

  it('S68: is called with the deadline of a waiting run, and no longer once the run has its answer', async () => {
    const { runtime, session, heard } = await told({ steps: [asks, { text: 'done' }], tools: [slowPlace] })
    await session.send('go')
    heard()
    expect(await runtime.drain()).toMatchObject({ nextDueAt: 60_000 })
    expect(new Set(heard())).toEqual(new Set([60_000]))
    await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    heard()
    expect(await runtime.drain()).toMatchObject({ ran: 1, nextDueAt: null })
    expect(heard()).toEqual([])
    await runtime.stop()
  })

  it('S68: a later time does not replace an earlier time that is still due', async () => {
    const { runtime, session, heard } = await told({ steps: [{ text: 'one' }] })
    await session.send('now')
    await runtime.session('room:2').send('later', { notBefore: 5_000 })
    expect(heard()).toEqual([0, 0])
    await runtime.drain()
    expect(heard().at(-1)).toBe(5_000)
    await runtime.stop()
  })

  it('S68, S161: is called when a session is to expire', async () => {
    const { runtime, heard, clock } = await told({ steps: [] })
    await runtime.session('room:1', { ttl: { idleMs: 1_000 } }).open()
    await clock.advance(0)
    expect(heard()).toEqual([1_000])
    await runtime.stop()
  })

  it('S68: is called for a run that is queued after the ended one', async () => {
    const { runtime, session, heard } = await told({ steps: [{ text: 'one' }, { text: 'two' }] })
    await session.send('one')
    await session.send('two')
    heard()
    await runtime.drain({ maxRuns: 1 })
    expect(heard()).toEqual([0])
    await runtime.drain()
    expect(heard()).toEqual([])
    await runtime.stop()
  })

  it('S9, S68: is called by a stopped runtime that leaves work', async () => {
    const called = gate()
    const { runtime, session, heard } = await told({
      steps: () => {
        called.open()
        return new Promise<Step>(() => undefined)
      },
      timers: true,
    })
    await session.send('go')
    await called.passed
    heard()
    await runtime.stop()
    expect(heard()).toEqual([0])
  })

  it.each([
    {
      how: 'throws',
      onWake: () => {
        throw new Error('no alarm')
      },
    },
    { how: 'rejects', onWake: () => Promise.reject(new Error('no alarm')) },
  ])('S12, S68: a callback that $how is reported, and nothing fails', async ({ onWake }) => {
    const { runtime, session, faults, clock } = await told({ steps: [{ text: 'done' }], onWake })
    const run = await session.send('go')
    await runtime.drain()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await clock.advance(0)
    expect(faults).not.toEqual([])
    expect(faults.every((fault) => (fault as Error).message === 'no alarm')).toBe(true)
    await runtime.stop()
  })
})

describe('lost hints', () => {
  /** Wraps a store whose subscribers are never notified. */
  function deaf(store: SessionStore): SessionStore {
    return new Proxy(store, {
      get: (target, name) => (name === 'subscribe' ? () => () => undefined : (Reflect.get(target, name) as unknown)),
    })
  }

  async function apart(steps: SetupOptions['steps'], tools: SetupOptions['tools'] = []) {
    const clock = manualClock()
    const store = memoryStore()
    const sender = setup({ steps: [], tools, store: deaf(store), clock, concurrency: 0 })
    const worker = setup({ steps, tools, store: deaf(store), clock })
    await sender.runtime.start()
    await worker.runtime.start()
    return { clock, sender: sender.runtime, worker: worker.runtime, session: sender.runtime.session('room:1'), model: worker.model }
  }

  it('S48, S64: a run is claimed within a second', async () => {
    const { clock, sender, worker, session, model } = await apart([{ text: 'done' }])
    await session.send('go')
    await clock.advance(1_000)
    expect(model.calls).toHaveLength(1)
    await clock.advance(1_000)
    expect(await session.info()).toMatchObject({ status: 'completed' })
    await sender.stop()
    await worker.stop()
  })

  it('S48, S98: a stop reaches the owner within three seconds, and the caller gets its receipt', async () => {
    const { clock, sender, worker, session } = await apart(() => new Promise<Step>(() => undefined))
    await session.send('go')
    await clock.advance(1_000)
    expect(await session.info()).toMatchObject({ openRun: { status: 'running' } })
    const askedAt = clock.now()
    const stopping = session.stop().then((receipt) => ({ receipt, after: clock.now() - askedAt }))
    await clock.advance(5_000)
    const { receipt, after } = await stopping
    expect(receipt).toMatchObject({ state: 'settled', status: 'stopped' })
    // Three seconds for the owner, one for the notification of the end.
    expect(after).toBeLessThanOrEqual(4_000)
    await sender.stop()
    await worker.stop()
  })

  it('S48: a run is resumed for an answer within a second', async () => {
    const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
    const { clock, sender, worker, session, model } = await apart([asks, { text: 'in Oslo' }], [place])
    await session.send('go')
    await clock.advance(1_000)
    await clock.advance(0)
    await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    await clock.advance(1_000)
    expect(model.calls).toHaveLength(2)
    await sender.stop()
    await worker.stop()
  })

  it('S48, S101: if the owner of a run died, the next claimer carries out its stop, without another model call', async () => {
    const { clock, sender, worker, session, model } = await apart([])
    const run = await session.send('go')
    await sender.store.claim({ owner: 'dead', max: 1, leaseMs: 10_000, agents: ['assistant'], holds: [] })
    expect(await session.stop({ waitMs: 0 })).toMatchObject({ state: 'pending', status: 'running' })
    await clock.advance(15_000)
    expect(await run.stop()).toMatchObject({ state: 'settled', status: 'stopped' })
    expect(model.calls).toEqual([])
    await sender.stop()
    await worker.stop()
  })

  it('S101: in the middle of a turn too, the next claimer carries out the stop and settles the calls of the dead owner', async () => {
    const clock = manualClock()
    const store = memoryStore()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const started = gate()
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({}),
      effect: 'once',
      execute: () => new Promise<string>(() => started.open()),
    })
    const firstClock = manualClock()
    const first = setup({ steps: [{ toolCalls: [{ id: 'c1', name: 'pay', input: {} }] }], tools: [pay], store, clock: firstClock })
    await first.runtime.start()
    await first.runtime.session('room:1').send('go')
    await started.passed
    const second = setup({ steps: [], tools: [pay], store, clock })
    await second.runtime.start()
    const session = second.runtime.session('room:1')
    const stopping = session.stop({ waitMs: 60_000 })
    await clock.advance(20_000)
    expect(await stopping).toMatchObject({ state: 'settled', status: 'stopped', calls: [{ toolName: 'pay', status: 'unknown' }] })
    expect(second.model.calls).toEqual([])
    await checkLog(session)
    const leaving = first.runtime.stop({ graceMs: 0 })
    await firstClock.advance(0)
    await leaving
    await second.runtime.stop()
  })
})

describe('resume', () => {
  it('S65: one caller gets the run, others get null, as for unknown, foreign, ended or held runs', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const { runtime, session } = await told({ steps: [{ text: 'resumed' }, asks], tools: [slowPlace], store, clock })
    const other = await told({ steps: [], store, clock })
    const queued = await session.send('go')
    const behind = await session.send('and then')
    expect(await runtime.resume(behind.runId)).toBeNull()
    const both = await Promise.all([runtime.resume(queued.runId), other.runtime.resume(queued.runId), runtime.resume(queued.runId)])
    const [handle, ...others] = both
    expect(handle?.runId).toBe(queued.runId)
    expect(others).toEqual([null, null])
    expect(await handle?.result()).toMatchObject({ status: 'completed', text: 'resumed' })
    expect(await runtime.resume(queued.runId)).toBeNull()
    expect(await runtime.resume('run_of_nobody')).toBeNull()
    await (await runtime.resume(behind.runId))?.result()
    const before = await session.info()
    expect(before?.openRun).toMatchObject({ status: 'waiting-for-user' })
    expect(await runtime.resume(behind.runId)).toBeNull()
    expect(await session.info()).toEqual(before)
    const foreign = setup({ steps: [], store: store.second(), namespace: 'elsewhere', timers: false, clock })
    await foreign.runtime.start()
    expect(await foreign.runtime.resume(behind.runId)).toBeNull()
    await foreign.runtime.stop()
    await other.runtime.stop()
    await runtime.stop()
  })

  it('S65: works for each kind of run, also if its owner died', async () => {
    const clock = manualClock()
    const store = memoryStore()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel([{ text: 'helped' }]) })
    const toHelper: Step = { toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'help', run_in_background: true } }] }
    const { runtime, session } = await told({
      steps: [toHelper, { text: 'under way' }, { text: 'followed' }, { text: 'heard of it' }],
      agent: { subagents: [helper] },
      store,
      clock,
    })
    const kinds: string[] = []
    const resume = async (key: string): Promise<void> => {
      const [next] = (await store.listRuns(key, { status: ['queued', 'running'] })).items
      const runId = next?.id ?? ''
      kinds.push((await runtime.run(runId))?.kind ?? 'none')
      const handle = await runtime.resume(runId)
      expect(await handle?.result()).toMatchObject({ status: 'completed' })
      await clock.advance(0)
    }
    await session.send('go')
    await store.claim({ owner: 'dead', max: 1, leaseMs: 0, agents: ['assistant'], holds: [] })
    await resume('room:1')
    await session.followUp('and then')
    await resume('room:1')
    const child = (await runtime.sessions({ parent: 'room:1' })).items[0]?.key ?? ''
    await resume(child)
    await resume('room:1')
    expect(kinds).toEqual(['user', 'follow-up', 'child', 'notification'])
    await runtime.stop()
  })
})

describe('faults in the background', () => {
  it('S12, S160: a session that cannot be swept holds back no other session', async () => {
    const clock = manualClock()
    const memory = memoryStore()
    const store = faultyStore(memory, [
      { of: 'commit', when: ({ key }) => broken && key === 'room:1', fault: { error: new Error('row is damaged') } },
    ])
    let broken = false
    const { runtime, faults } = setup({ steps: [], store, clock, concurrency: 0 })
    await runtime.start()
    for (const room of ['room:1', 'room:2']) await runtime.session(room, { ttl: { maxAgeMs: 1_000 } }).open()
    broken = true
    await clock.advance(1_000)
    expect(faults).not.toEqual([])
    expect((await collect(runtime.session('room:2').events({ live: false }))).at(-1)).toMatchObject({ type: 'session-end' })
    broken = false
    await clock.advance(30_000)
    expect((await collect(runtime.session('room:1').events({ live: false }))).at(-1)).toMatchObject({ type: 'session-end' })
    await runtime.stop()
  })
})
