import { defineTool } from '@bowline/agent-loop'
import { manualClock, type ManualClock, type Step } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, gate, setup, types, type SetupOptions } from '../support.ts'

const asks = (...ids: readonly string[]): Step => ({ toolCalls: ids.map((id) => ({ id, name: 'place', input: {} })) })

/** Creates a runtime in which nothing happens by itself. */
async function asleep(options: SetupOptions) {
  const clock = manualClock()
  const store = memoryStore()
  const wakes: number[] = []
  const made = setup({ clock, store, timers: false, onWake: ({ atMs }) => void wakes.push(atMs), ...options })
  await made.runtime.start()
  return { ...made, clock, store, wakes, session: made.runtime.session('room:1') }
}

/** Creates a model whose n-th call waits for the n-th gate. */
function gatedSteps(count: number) {
  const gates = Array.from({ length: count }, () => gate())
  const called = Array.from({ length: count }, () => gate())
  const steps: SetupOptions['steps'] = async (_call, index) => {
    called[index]?.open()
    await gates[index]?.passed
    return { text: `answer ${index}` }
  }
  return { steps, gates, called }
}

describe('drain', () => {
  it('S66: executes all runs in all sessions, with their follow-up work, and returns what it did', async () => {
    const { runtime, session, faults } = await asleep({ steps: (_call, index) => ({ text: `answer ${index}` }), concurrency: 2 })
    const runs = [await session.send('one'), await session.send('two')]
    for (let room = 2; room < 6; room++) runs.push(await runtime.session(`room:${room}`).send('go'))
    expect(await runtime.drain()).toEqual({ ran: 6, yielded: 0, left: 0, nextDueAt: null })
    expect(await Promise.all(runs.map((run) => run.status()))).toEqual(runs.map(() => 'completed'))
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S66: at the deadline runs go back into the queue at their next boundary, without a counted attempt, and resume later', async () => {
    const { steps, gates, called } = gatedSteps(1)
    const { runtime, session, clock, store } = await asleep({ steps })
    const run = await session.send('go')
    const draining = runtime.drain({ untilMs: 5_000 })
    await called[0]?.passed
    await clock.advance(5_000)
    expect(await draining).toMatchObject({ ran: 0, yielded: 1, left: 1 })
    expect(await store.readRun(run.runId)).toMatchObject({ value: { status: 'queued', attempts: 0, totalAttempts: 0 } })
    gates[0]?.open()
    expect(await runtime.drain()).toMatchObject({ ran: 1, yielded: 0, left: 0 })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'answer 1' })
    await checkLog(session)
    await runtime.stop()
  })

  it('S66: with a past deadline or an aborted signal it starts nothing', async () => {
    const { runtime, session, model, clock } = await asleep({ steps: [] })
    await clock.advance(10)
    await session.send('go')
    expect(await runtime.drain({ untilMs: 10 })).toMatchObject({ ran: 0, yielded: 0, left: 1 })
    expect(await runtime.drain({ abortSignal: AbortSignal.abort() })).toMatchObject({ ran: 0, yielded: 0, left: 1 })
    expect(model.calls).toEqual([])
    await runtime.stop()
  })

  it('S66: an abort in the middle acts as a deadline', async () => {
    const { steps, called } = gatedSteps(1)
    const { runtime, session } = await asleep({ steps })
    await session.send('go')
    const stopping = new AbortController()
    const draining = runtime.drain({ abortSignal: stopping.signal })
    await called[0]?.passed
    stopping.abort()
    expect(await draining).toMatchObject({ ran: 0, yielded: 1, left: 1 })
    await runtime.stop()
  })

  it('S66: with maxRuns it claims no more runs', async () => {
    const { runtime, session, wakes } = await asleep({ steps: [{ text: 'one' }, { text: 'two' }] })
    await session.send('one')
    await session.send('two')
    wakes.length = 0
    expect(await runtime.drain({ maxRuns: 1 })).toMatchObject({ ran: 1, left: 1 })
    expect(wakes).toEqual([0])
    expect(await runtime.drain({ maxRuns: 1 })).toMatchObject({ ran: 1, left: 0 })
    await runtime.stop()
  })

  it('S66: work that arrives during the drain is executed too', async () => {
    const { steps, gates, called } = gatedSteps(2)
    const { runtime, session } = await asleep({ steps })
    await session.send('go')
    const draining = runtime.drain()
    await called[0]?.passed
    const other = await runtime.session('room:2').send('and me')
    // It does not wait for the first run.
    await called[1]?.passed
    gates[1]?.open()
    expect(await other.result()).toMatchObject({ status: 'completed' })
    gates[0]?.open()
    expect(await draining).toMatchObject({ ran: 2, left: 0 })
    await runtime.stop()
  })

  it('S66, S22: the follow-up work of the last run belongs to the drain', async () => {
    const store = memoryStore()
    const { steps, gates, called } = gatedSteps(2)
    const { runtime, session } = await asleep({ steps, store })
    const run = await session.send('go')
    const draining = runtime.drain()
    await called[0]?.passed
    // Steered by another process, for the run that a stop then ends.
    await session.steer('and this')
    await session.stop({ waitMs: 0 })
    for (const each of gates) each.open()
    expect(await draining).toMatchObject({ ran: 2, left: 0, nextDueAt: null })
    expect(await run.status()).toBe('stopped')
    expect((await session.runs()).items.map(({ status }) => status)).toEqual(['stopped', 'completed'])
    await runtime.stop()
  })

  it.each([
    { how: 'twice', drains: [{}, {}] },
    { how: 'with a deadline beside one without', drains: [{ untilMs: 1_000 }, {}] },
    { how: 'one without beside one with a deadline', drains: [{}, { untilMs: 1_000 }] },
    { how: 'both with a deadline', drains: [{ untilMs: 1_000 }, { untilMs: 2_000 }] },
  ])('S67: in parallel, $how: nothing is lost, nothing runs twice, and nothing is left to do afterwards', async ({ drains }) => {
    const { steps, gates, called } = gatedSteps(1)
    const { runtime, session, clock, model, faults } = await asleep({ steps })
    const run = await session.send('go')
    const all = drains.map((options) => runtime.drain(options))
    await called[0]?.passed
    await clock.advance(2_000)
    gates[0]?.open()
    await Promise.all(all)
    await runtime.drain()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await checkLog(session)
    const calls = model.calls.length
    await runtime.session('room:2').send('not now')
    await clock.advance(60_000)
    expect(model.calls).toHaveLength(calls)
    expect(clock.pendingTimers).toBe(0)
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S67: without work, repeated drains change nothing', async () => {
    const { runtime, session, store } = await asleep({ steps: [] })
    await session.open()
    const before = await store.readSession('room:1')
    const idle = { ran: 0, yielded: 0, left: 0, nextDueAt: null }
    expect([await runtime.drain(), await runtime.drain()]).toEqual([idle, idle])
    expect(await store.readSession('room:1')).toEqual(before)
    await runtime.stop()
  })

  it('S67, S95: returns the time at which the next work is due; a drain too early does nothing, a drain too late does it once', async () => {
    const timed = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}), timeoutMs: 60_000 })
    const { runtime, session, clock } = await asleep({ steps: [asks('c1'), { text: 'nobody knows' }], tools: [timed] })
    const run = await session.send('where?')
    const report = await runtime.drain()
    expect(report).toMatchObject({ ran: 1, left: 0, nextDueAt: 60_000 })
    await clock.advance(59_999)
    expect(await runtime.drain()).toMatchObject({ ran: 0, nextDueAt: 60_000 })
    expect(await run.status()).toBe('waiting-for-user')
    await clock.advance(600_000)
    expect(await runtime.drain()).toMatchObject({ ran: 1, left: 0, nextDueAt: null })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'nobody knows' })
    expect(await runtime.drain()).toMatchObject({ ran: 0 })
    expect(types(await checkLog(session)).filter((type) => type === 'tool-execution-end')).toHaveLength(1)
    await runtime.stop()
  })

  it('S33, S67: a run with notBefore is due at that time, and not before', async () => {
    const { runtime, session, clock, wakes } = await asleep({ steps: [{ text: 'late' }] })
    const run = await session.send('go', { notBefore: 5_000 })
    expect(wakes).toEqual([5_000])
    expect(await runtime.drain()).toMatchObject({ ran: 0, left: 1, nextDueAt: 5_000 })
    await clock.advance(5_000)
    expect(await runtime.drain()).toMatchObject({ ran: 1, left: 0, nextDueAt: null })
    expect(await run.status()).toBe('completed')
    await runtime.stop()
  })

  it('S61, S67: returns the time at which the lease of a dead process ends', async () => {
    const clock = manualClock()
    const store = memoryStore()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const { runtime, session } = await asleep({ steps: [{ text: 'taken over' }], store, clock })
    const run = await session.send('go')
    await store.claim({ owner: 'dead', max: 1, leaseMs: 10_000, agents: ['assistant'], holds: [] })
    expect(await runtime.drain()).toMatchObject({ ran: 0, left: 1, nextDueAt: 10_000 })
    await clock.advance(10_000)
    expect(await runtime.drain()).toMatchObject({ ran: 1, left: 0 })
    expect(await run.result()).toMatchObject({ text: 'taken over' })
    await runtime.stop()
  })

  it('S66: with timers too, the runs have yielded when the time is over', async () => {
    const { steps, called } = gatedSteps(1)
    const { runtime, session, clock } = await asleep({ steps, timers: true })
    const run = await session.send('go')
    await called[0]?.passed
    const draining = runtime.drain({ untilMs: 500 })
    await clock.advance(500)
    expect(await draining).toMatchObject({ ran: 0, yielded: 1, left: 1 })
    expect(await run.status()).toBe('queued')
    await runtime.stop()
  })

  it('S9, S66: a stop of the runtime ends a running drain', async () => {
    const { steps, called } = gatedSteps(1)
    const { runtime, session, store, clock } = await asleep({ steps })
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const run = await session.send('go')
    const draining = runtime.drain().catch((error: { code: string }) => error.code)
    await called[0]?.passed
    await runtime.stop()
    expect(await draining).toMatchObject({ ran: 0, yielded: 1, left: 1 })
    expect(await store.readRun(run.runId)).toMatchObject({ value: { status: 'queued' } })
  })
})

describe('timers: false', () => {
  const idleTimers = (clock: ManualClock): number => clock.pendingTimers

  it('S67: nothing happens between the calls, even with stored work, hints or due times', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const { runtime, session, model, wakes } = await asleep({ steps: [], store, clock })
    const other = setup({ steps: [], store, clock, concurrency: 0, timers: false })
    await other.runtime.start()
    await session.send('go')
    await other.runtime.session('room:2', { ttl: { maxAgeMs: 1_000 } }).send('and me')
    await other.runtime.session('room:3').send('later', { notBefore: 2_000 })
    expect(idleTimers(clock)).toBe(0)
    await clock.advance(100_000)
    expect(model.calls).toEqual([])
    expect((await store.readEvents('room:2', 0, 10)).events.map(({ type }) => type)).toEqual(['session-start', 'run-queued'])
    expect(wakes).toEqual([0])
    await other.runtime.stop()
    await runtime.stop()
  })

  it('S67: the start sweeps nothing', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const first = setup({ steps: [], store, clock, timers: false })
    await first.runtime.start()
    const session = first.runtime.session('room:1', { ttl: { maxAgeMs: 1_000 } })
    await session.open()
    await clock.advance(1_000)
    const asked: (keyof SessionStore)[] = []
    const watched = new Proxy(store, {
      get(target, name) {
        asked.push(name as keyof SessionStore)
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const second = setup({ steps: [], store: watched, clock, timers: false })
    await second.runtime.start()
    await clock.advance(10)
    expect(asked.filter((name) => name === 'due' || name === 'claim' || name === 'commit')).toEqual([])
    await second.runtime.sweep()
    expect(types(await checkLogOfExpired(second.runtime.session('room:1')))).toEqual(['session-start', 'session-end'])
    await second.runtime.stop()
    await first.runtime.stop()
  })

  it('S65, S67: a resumed run has its heartbeat as long as it runs, and no timer afterwards', async () => {
    const { steps, gates, called } = gatedSteps(1)
    const { runtime, session, clock } = await asleep({ steps })
    const { runId } = await session.send('go')
    const resumed = await runtime.resume(runId)
    await called[0]?.passed
    await clock.advance(30_000)
    gates[0]?.open()
    expect(await resumed?.result()).toMatchObject({ status: 'completed' })
    await clock.advance(0)
    expect(idleTimers(clock)).toBe(0)
    await runtime.stop()
  })
})

async function checkLogOfExpired(session: Parameters<typeof checkLog>[0]) {
  const events = []
  for await (const event of session.events({ live: false })) events.push(event)
  return events
}
