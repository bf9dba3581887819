import { defineTool } from '@bowline/agent-loop'
import { manualClock, type Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { endOf } from '../children/support.ts'
import { gate, setup, type SetupOptions } from '../support.ts'
import { answers, worker } from './worker.ts'

describe('a run that is stopped', () => {
  it('S126: ends while the store does not answer a claim', async () => {
    const hold = gate()
    const { runtime, clock, answered, send } = await worker({ concurrency: 2 })
    await runtime.start()
    const run = await send(1)
    answered.claim = () => hold.passed
    await send(2)
    await runtime.session('room:1').stop()
    await clock.advance(0)
    expect(await run.status()).toBe('stopped')
    hold.open()
    await runtime.stop()
  })

  it.each(['new', 'taken over in its turn'])(
    'S97, S101: makes no model call if it is %s and the stop came before the answer to its claim',
    async (how) => {
      const [begun, hold] = [gate(), gate()]
      const { runtime, clock, memory, answered, model, send } = await worker()
      const frozenClock = manualClock()
      const frozen = setup({ steps: () => (begun.open(), new Promise<Step>(() => undefined)), store: memory, clock: frozenClock })
      if (how !== 'new') {
        await frozen.runtime.start()
        await frozen.runtime.session('room:1').send('go')
        await begun.passed
      }
      await runtime.start()
      if (how !== 'new') await clock.advance(9_999)
      answered.claim = () => hold.passed
      await (how === 'new' ? send(1) : clock.advance(1))
      const session = runtime.session('room:1')
      const runId = (await session.runs()).items[0]?.runId ?? ''
      expect(await memory.readRun(runId)).toMatchObject({ value: { status: 'running', owner: runtime.id } })
      expect(await session.stop({ waitMs: 0 })).toMatchObject({ state: 'pending' })
      hold.open()
      expect(await endOf(memory, runId)).toMatchObject({ status: 'aborted' })
      expect(model.calls).toEqual([])
      const leaving = frozen.runtime.stop({ graceMs: 0 })
      await frozenClock.advance(0)
      await leaving
      await runtime.stop()
    },
  )

  it('S104: is aborted at once when it is killed', async () => {
    const { runtime, model, send } = await worker()
    await runtime.start()
    await send(1)
    await runtime.session('room:1').kill()
    expect(model.calls[0]?.abortSignal?.aborted).toBe(true)
    await runtime.stop()
  })
})

describe('S9: a runtime that stops', () => {
  it('S9: gives its runs back, claims nothing more, and leaves no timer', async () => {
    const { runtime, clock, memory, claims, send } = await worker({ concurrency: 1 })
    await runtime.start()
    const runs = [await send(1), await send(2)]
    const before = claims.length
    await runtime.stop()
    expect([clock.pendingTimers, claims.length]).toEqual([0, before])
    for (const { runId } of runs) expect(await memory.readRun(runId)).toMatchObject({ value: { status: 'queued', attempts: 0 } })
    await clock.advance(60_000)
    expect(claims).toHaveLength(before)
  })

  it('S9: waits for a claim under way, and gives its runs back', async () => {
    const { runtime, clock, memory, answered, send, model } = await worker()
    await runtime.start()
    const hold = gate()
    answered.claim = () => hold.passed
    const { runId } = await send(1)
    expect(await memory.readRun(runId)).toMatchObject({ value: { status: 'running' } })
    const stopping = runtime.stop()
    await clock.advance(0)
    hold.open()
    await stopping
    expect([clock.pendingTimers, model.calls.length]).toEqual([0, 0])
    expect(await memory.readRun(runId)).toMatchObject({ value: { status: 'queued' } })
  })

  it('S9: gives tools their grace, renews leases meanwhile, and gives back runs whose tools do not end', async () => {
    const started = gate()
    const stubborn = defineTool({
      name: 'dig',
      description: 'Digs.',
      inputSchema: z.object({}),
      execute: () => (started.open(), new Promise<string>(() => undefined)),
    })
    const steps: SetupOptions['steps'] = () => Promise.resolve({ toolCalls: [{ id: 'c1', name: 'dig', input: {} }] })
    const { runtime, clock, memory, renewals, timers, beats, send } = await worker({ steps, tools: [stubborn], abortGraceMs: 60_000 })
    await runtime.start()
    const { runId } = await send(1)
    await started.passed
    let stopped = false
    const stopping = runtime.stop({ graceMs: 5_000 }).then(() => (stopped = true))
    await clock.advance(4_999)
    expect([stopped, renewals.length]).toEqual([false, 1])
    await clock.advance(1)
    await stopping
    expect(await memory.readRun(runId)).toMatchObject({ value: { status: 'queued' } })
    // The process must stay alive until the runs are yielded.
    expect(timers).toContainEqual({ afterMs: 5_000, hold: true })
    const before = beats()
    await clock.advance(30_000)
    expect(beats()).toBe(before)
  })

  it.each(['before', 'while'])(
    'S9, S40: writes that the store refuses %s a runtime stops are left to the next claimer, without waiting for a heartbeat',
    async (moment) => {
      const [done, started] = [gate(), gate()]
      const dig = defineTool({
        name: 'dig',
        description: 'Digs.',
        inputSchema: z.object({}),
        execute: async () => (started.open(), await done.passed, 'dug'),
      })
      const steps: SetupOptions['steps'] = () => Promise.resolve({ toolCalls: [{ id: 'c1', name: 'dig', input: {} }] })
      const { runtime, clock, memory, faults, answered, send } = await worker({ steps, tools: [dig], abortGraceMs: 60_000 })
      await runtime.start()
      const { runId } = await send(1)
      await started.passed
      const passes = async (ms: number): Promise<void> => {
        for (let passed = 0; passed < ms; passed += 10) await clock.advance(10)
      }
      answered.commit = () => Promise.reject(new Error('away'))
      let stopped = false
      const stop = () => runtime.stop({ graceMs: 60_000 }).then(() => (stopped = true))
      if (moment === 'before') {
        done.open()
        await passes(500)
        expect(faults).not.toEqual([])
      }
      const stopping = stop()
      if (moment === 'while') {
        await passes(4_000)
        expect(stopped).toBe(false)
        done.open()
      }
      await passes(500)
      expect(stopped).toBe(true)
      await stopping
      expect(await memory.readRun(runId)).toMatchObject({ status: 'found' })
    },
  )

  it.each(['is stored', 'takes longer than the grace'])('S9, S12: waits until the follow-up work of its runs %s', async (how) => {
    const [done, hold] = [gate(), gate()]
    const { runtime, clock, faults, answered, send } = await worker({
      steps: async () => (await done.passed, { text: 'done' }),
      ttl: { idleMs: 86_400_000 },
    })
    await runtime.start()
    const run = await send(1)
    answered.due = async () => (await run.status()) === 'completed' && hold.passed
    done.open()
    await run.result()
    let stopped = false
    const stopping = runtime.stop({ graceMs: 5_000 }).then(() => (stopped = true))
    await clock.advance(4_999)
    expect(stopped).toBe(false)
    if (how === 'is stored') hold.open()
    else await clock.advance(1)
    await stopping
    expect(faults).toEqual([])
    hold.open()
  })

  it('S9, S66: ends a drain that waits for a run that does not end', async () => {
    const started = gate()
    const stubborn = defineTool({
      name: 'dig',
      description: 'Digs.',
      inputSchema: z.object({}),
      execute: () => (started.open(), new Promise<string>(() => undefined)),
    })
    const steps: SetupOptions['steps'] = () => Promise.resolve({ toolCalls: [{ id: 'c1', name: 'dig', input: {} }] })
    const { runtime, clock, send } = await worker({ steps, tools: [stubborn], abortGraceMs: 60_000 })
    await runtime.start()
    await send(1)
    await started.passed
    let drained = false
    const draining = runtime.drain().then(
      () => (drained = true),
      () => (drained = true),
    )
    await clock.advance(0)
    const stopping = runtime.stop({ graceMs: 1_000 })
    await clock.advance(1_000)
    await stopping
    await clock.advance(0)
    expect(drained).toBe(true)
    await draining
  })

  it('S9: can be started again, and claims again', async () => {
    const { runtime, send, statuses } = await worker({ steps: answers })
    await runtime.start()
    await runtime.stop()
    await runtime.start()
    const run = await send(1)
    await run.result()
    expect(await statuses([run])).toEqual(['completed'])
    await runtime.stop()
  })
})
