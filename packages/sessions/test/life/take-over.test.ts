import { defineTool } from '@bowline/agent-loop'
import { manualClock, type Step } from '@bowline/llm/testing'
import type { Runtime } from '@bowline/sessions'
import { faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, gate, heldScript, type SetupOptions } from '../support.ts'
import { call, hosted, place } from './hosted.ts'

describe('takeOver', () => {
  async function abandoned(tools: SetupOptions['tools'], steps: SetupOptions['steps']) {
    const shared = await place()
    const first = await hosted({ steps, tools: tools ?? [], shared })
    const run = await first.session.send('go')
    void first.runtime.work('room:1').catch(() => undefined)
    return { shared, first, run }
  }

  const untilStopped = async ({
    runtime,
    clock,
  }: {
    readonly runtime: Runtime
    readonly clock: ReturnType<typeof manualClock>
  }): Promise<void> => {
    const stopping = runtime.stop({ graceMs: 0 })
    await clock.advance(0)
    await stopping
  }

  it('takes a run of another process at once, and fences that process', async () => {
    const held = heldScript([{ text: 'too late' }])
    const { shared, first, run } = await abandoned([], held.steps)
    await held.reached(0)
    const second = await hosted({ steps: [{ text: 'taken over' }], shared })
    expect(await second.runtime.work('room:1')).toEqual({ ran: 0, yielded: 0, nextDueAt: 10_000 })
    expect(await second.runtime.work('room:1', { takeOver: true })).toEqual({ ran: 1, yielded: 0, nextDueAt: null })
    held.answer(0)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'taken over' })
    await checkLog(second.session)
    await untilStopped(first)
    await second.runtime.stop()
  })

  it('waits for the lease while a tool that must start once may be at work, so that its outcome is not declared unknown too early', async () => {
    const started = gate()
    const paid = gate<string>()
    let payments = 0
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({}),
      effect: 'once',
      execute: async () => {
        payments += 1
        started.open()
        return paid.passed
      },
    })
    const { shared, first, run } = await abandoned([pay], [call('pay'), { text: 'paid' }])
    await started.passed
    const second = await hosted({ steps: [{ text: 'not asked' }], tools: [pay], shared })
    expect(await second.runtime.work('room:1', { takeOver: true })).toEqual({ ran: 0, yielded: 0, nextDueAt: 10_000 })
    await shared.clock.advance(9_000)
    expect(await second.runtime.work('room:1', { takeOver: true })).toMatchObject({ ran: 0 })
    paid.open('yes')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'paid' })
    expect(payments).toBe(1)
    await first.runtime.stop()
    await second.runtime.stop()
  })

  it('declares it unknown once the lease of a dead process has ended', async () => {
    const started = gate()
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({}),
      effect: 'once',
      execute: () => {
        started.open()
        return new Promise<string>(() => undefined)
      },
    })
    const shared = await place()
    const dead = { clock: manualClock(), store: shared.store }
    const first = await hosted({ steps: [call('pay')], tools: [pay], shared: dead })
    const run = await first.session.send('go')
    void first.runtime.work('room:1').catch(() => undefined)
    await started.passed
    const second = await hosted({ steps: [], tools: [pay], shared })
    const { nextDueAt } = await second.runtime.work('room:1', { takeOver: true })
    await shared.clock.advance(nextDueAt ?? 0)
    expect(await second.runtime.work('room:1', { takeOver: true })).toMatchObject({ ran: 1, nextDueAt: null })
    expect(await second.runtime.run(run.runId)).toMatchObject({ status: 'needs-recovery' })
    await untilStopped({ runtime: first.runtime, clock: dead.clock })
    await second.runtime.stop()
  })

  it.each([
    ['before its reads', 'any', 10_001],
    ['within its reads', 'readSession', 1_001],
  ] as const)('a visit that froze %s does not take the run from a worker that came after it', async (_when, of, nextDueAt) => {
    const shared = await place()
    const thaw = gate()
    let isFrozen = false
    const store = faultyStore(shared.store, [{ of, when: () => isFrozen, fault: { waitFor: () => thaw.passed } }])
    const first = await hosted({ steps: [{ text: 'too late' }], shared: { ...shared, store } })
    const run = await first.session.send('go')
    isFrozen = true
    const zombie = first.runtime.work('room:1', { takeOver: true })
    await shared.clock.advance(1)
    const held = heldScript([{ text: 'done' }])
    const second = await hosted({ steps: held.steps, shared })
    const working = second.runtime.work('room:1', { takeOver: true })
    await held.reached(0)
    thaw.open()
    expect(await zombie).toEqual({ ran: 0, yielded: 0, nextDueAt })
    held.answer(0)
    expect(await working).toMatchObject({ ran: 1 })
    expect(await run.result()).toMatchObject({ text: 'done' })
    await first.runtime.stop()
    await second.runtime.stop()
  })

  it('a worker that was taken over does not take the run back, and tells what was stored meanwhile', async () => {
    const held = heldScript([{ text: 'too late' }])
    const { shared, first, run } = await abandoned([], held.steps)
    await held.reached(0)
    const zombie = first.runtime.work('room:1', { takeOver: true })
    const taken = heldScript([{ text: 'taken over' }, { text: 'and two' }])
    const second = await hosted({ steps: taken.steps, shared })
    const working = second.runtime.work('room:1', { takeOver: true })
    await taken.reached(0)
    first.heard()
    await first.session.send('two')
    expect(first.heard()).toEqual([])
    held.answer(0)
    await shared.clock.advance(3_000)
    expect(await zombie).toEqual({ ran: 0, yielded: 0, nextDueAt: null })
    expect(first.heard()).toEqual([{ key: 'room:1', atMs: 3_000 }])
    taken.answer(0)
    taken.answer(1)
    expect(await working).toMatchObject({ ran: 2 })
    expect(await run.result()).toMatchObject({ text: 'taken over' })
    await first.runtime.stop()
    await second.runtime.stop()
  })
})

describe('a wake that is lost', () => {
  it('a sweep tells it again, for queued and for lost runs, and not for those that run', async () => {
    const shared = await place()
    const atWork = gate()
    const steps = (): Promise<Step> => {
      atWork.open()
      return new Promise(() => undefined)
    }
    const { runtime, session, heard, clock } = await hosted({ steps, shared, timers: true })
    await session.send('go')
    await runtime.session('room:2').send('later', { notBefore: 3_600_000 })
    await runtime.session('room:3').send('lost')
    await shared.store.claim({ owner: 'dead', max: 1, leaseMs: 10_000, agents: ['assistant'], holds: [], keys: ['room:3'] })
    const working = runtime
      .session('room:4')
      .send('at work')
      .then(() => runtime.work('room:4'))
    await atWork.passed
    heard()
    await runtime.sweep()
    expect(heard()).toEqual([{ key: 'room:1', atMs: 0 }])
    await clock.advance(30_000)
    expect(new Set(heard().map(({ key }) => key))).toEqual(new Set(['room:1', 'room:3']))
    const stopping = runtime.stop({ graceMs: 0 })
    await clock.advance(0)
    await stopping
    await working.catch(() => undefined)
  })

  it('S12: a store that fails for a moment ends no visit', async () => {
    const shared = await place()
    let broken = true
    const store = faultyStore(shared.store, [
      { of: 'readSession', when: () => broken, fault: { error: Object.assign(new Error('away'), { code: 'store-unavailable' }) } } as never,
    ])
    const { runtime, session } = await hosted({ steps: [{ text: 'done' }], shared: { ...shared, store } })
    broken = false
    const run = await session.send('go')
    expect(await runtime.work('room:1')).toMatchObject({ ran: 1 })
    expect(await run.status()).toBe('completed')
    await runtime.stop()
  })
})
