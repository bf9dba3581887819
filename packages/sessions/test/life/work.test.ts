import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import type { Batch, Wake } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, gate, heldScript, setup } from '../support.ts'
import { call, hosted, place } from './hosted.ts'

const slowPlace = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}), timeoutMs: 60_000 })

describe('placement host', () => {
  it('a send tells the session before it is acknowledged, and nothing runs until the host calls work', async () => {
    const { runtime, session, heard, model, clock } = await hosted({ steps: [{ text: 'done' }], timers: true })
    const run = await session.send('go')
    expect(heard()).toEqual([{ key: 'room:1', atMs: 0 }])
    await clock.advance(20_000)
    expect(model.calls).toEqual([])
    expect(await runtime.work('room:1')).toEqual({ ran: 1, yielded: 0, nextDueAt: null })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(heard()).toEqual([])
    await runtime.stop()
  })

  it('a send whose answer was lost tells the session again', async () => {
    const { runtime, session, heard } = await hosted({ steps: [] })
    await session.send('go', { id: 'm-1' })
    heard()
    expect(await session.send('go', { id: 'm-1' })).toMatchObject({ accepted: 'duplicate' })
    expect(heard()).toEqual([{ key: 'room:1', atMs: 0 }])
    await runtime.stop()
  })

  it('the acknowledgement waits for the host, at most five seconds, and a host that fails fails nothing', async () => {
    const told = gate()
    const faults: unknown[] = []
    const onError = (error: unknown): void => void faults.push(error)
    const { runtime, session, clock } = await hosted({ steps: [], onWake: () => told.passed, onError })
    let done = false
    const first = session.send('one').then(() => (done = true))
    await clock.advance(4_999)
    expect(done).toBe(false)
    await clock.advance(1)
    await first
    expect(faults.splice(0)).toMatchObject([{ message: expect.stringContaining('did not resolve within 5000 ms') as string }])
    told.open()
    runtime.onWake(() => Promise.reject(new Error('no engine')))
    await session.send('two')
    expect(faults).toMatchObject([{ message: 'no engine' }])
    await runtime.stop()
  })

  it('without a host it refuses to start, and writes nothing', async () => {
    const store = memoryStore()
    const { runtime } = setup({ steps: [], store, placement: 'host' })
    await expect(runtime.start()).rejects.toMatchObject({ code: 'invalid-config', message: expect.stringContaining("'host'") as string })
    await expect(runtime.session('room:1').send('go')).rejects.toMatchObject({ code: 'invalid-config' })
    const remove = runtime.onWake(() => undefined)
    await runtime.session('room:1').send('go')
    remove()
    expect((await runtime.sessions()).items).toHaveLength(1)
    await runtime.stop()
  })

  it('refuses bad arguments', async () => {
    const { runtime } = await hosted({ steps: [] })
    await expect(runtime.work('')).rejects.toMatchObject({ code: 'invalid-key' })
    await expect(runtime.work('room:1', { untilMs: -1 })).rejects.toMatchObject({ message: expect.stringContaining('untilMs') as string })
    await expect(runtime.work('room:1', { takeover: true } as never)).rejects.toMatchObject({
      message: expect.stringContaining('takeover') as string,
    })
    expect(() => runtime.onWake(undefined as never)).toThrow('onWake.callback')
    expect(() => setup({ steps: [], placement: 'engine' as never })).toThrow('placement')
    expect(await runtime.work('room:nobody')).toEqual({ ran: 0, yielded: 0, nextDueAt: null })
    await runtime.stop()
  })
})

describe('work', () => {
  it('executes all runs of one session, in order, and none of another', async () => {
    const { runtime, session, model } = await hosted({ steps: (_call, index) => ({ text: `answer ${index}` }) })
    const runs = [await session.send('one'), await session.send('two')]
    const other = await runtime.session('room:2').send('not me')
    expect(await runtime.work('room:1')).toEqual({ ran: 2, yielded: 0, nextDueAt: null })
    expect(await Promise.all(runs.map((run) => run.result()))).toMatchObject([{ text: 'answer 0' }, { text: 'answer 1' }])
    expect(await other.status()).toBe('queued')
    expect(model.calls).toHaveLength(2)
    await checkLog(session)
    await runtime.stop()
  })

  it('a plain turn costs one look at the session', async () => {
    const shared = await place()
    const asked: string[] = []
    const store = new Proxy(shared.store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          asked.push(String(name))
          return Reflect.apply(value, target, args)
        }
      },
    })
    const { runtime, session } = await hosted({ steps: [{ text: 'done' }], shared: { ...shared, store } })
    await session.send('go')
    asked.length = 0
    expect(await runtime.work('room:1')).toEqual({ ran: 1, yielded: 0, nextDueAt: null })
    const looks = ['readSession', 'listTimers', 'listTimers', 'listRuns', 'readInbox']
    expect(asked.slice(0, looks.length)).toEqual(looks)
    expect(asked.filter((name) => name === 'listTimers')).toHaveLength(2)
    expect(asked.filter((name) => name === 'claim')).toHaveLength(1)
    await runtime.stop()
  })

  it('a second call joins the first; at its own limit it returns, and the first goes on', async () => {
    const { steps, reached, answer } = heldScript([{ text: 'done' }])
    const { runtime, session, clock, model } = await hosted({ steps })
    await session.send('go')
    const first = runtime.work('room:1')
    await reached(0)
    const second = runtime.work('room:1')
    const third = runtime.work('room:1', { untilMs: 1_000 })
    await clock.advance(1_000)
    expect(await third).toEqual({ ran: 0, yielded: 0, nextDueAt: 1_000 })
    answer(0)
    const report = { ran: 1, yielded: 0, nextDueAt: null }
    expect(await Promise.all([first, second])).toEqual([report, report])
    expect(model.calls).toHaveLength(1)
    await runtime.stop()
  })

  it('after the time no step begins: a step in progress ends, and the session is due at once', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', inputSchema: z.object({}), execute: () => 'seen' })
    const { steps, reached, answer } = heldScript([call('look'), { text: 'done' }])
    const { runtime, session, clock, store, model } = await hosted({ steps, tools: [look] })
    const run = await session.send('go')
    const working = runtime.work('room:1', { untilMs: 5_000 })
    await reached(0)
    await clock.advance(5_000)
    answer(0)
    expect(await working).toEqual({ ran: 0, yielded: 1, nextDueAt: 5_000 })
    expect(await store.readRun(run.runId)).toMatchObject({ value: { status: 'queued', attempts: 0 } })
    answer(1)
    expect(await runtime.work('room:1', { untilMs: 6_000 })).toEqual({ ran: 1, yielded: 0, nextDueAt: null })
    expect(await run.result()).toMatchObject({ text: 'done' })
    expect(model.calls).toHaveLength(2)
    await checkLog(session)
    await runtime.stop()
  })

  it('an abort yields at once, in the middle of a model call', async () => {
    const { steps, reached, answer } = heldScript([{ text: 'never' }, { text: 'done' }])
    const { runtime, session, store } = await hosted({ steps })
    const run = await session.send('go')
    const stopping = new AbortController()
    const working = runtime.work('room:1', { abortSignal: stopping.signal })
    await reached(0)
    stopping.abort()
    expect(await working).toEqual({ ran: 0, yielded: 1, nextDueAt: 0 })
    expect(await store.readRun(run.runId)).toMatchObject({ value: { status: 'queued', attempts: 0 } })
    answer(1)
    expect(await runtime.work('room:1')).toMatchObject({ ran: 1, nextDueAt: null })
    answer(0)
    await runtime.stop()
  })

  it('a session that is due later is worked on then, and not before', async () => {
    const { runtime, session, clock, heard } = await hosted({
      steps: [call('place'), { text: 'nobody knows' }, { text: 'late' }],
      tools: [slowPlace],
    })
    const run = await session.send('where?')
    expect(await runtime.work('room:1')).toMatchObject({ ran: 1, nextDueAt: 60_000 })
    await clock.advance(59_999)
    expect(await runtime.work('room:1')).toEqual({ ran: 0, yielded: 0, nextDueAt: 60_000 })
    await clock.advance(1)
    heard()
    expect(await runtime.work('room:1')).toEqual({ ran: 1, yielded: 0, nextDueAt: null })
    expect(await run.result()).toMatchObject({ text: 'nobody knows' })
    expect(heard()).toEqual([])
    await session.send('later', { notBefore: 90_000 })
    expect(heard()).toEqual([{ key: 'room:1', atMs: 90_000 }])
    expect(await runtime.work('room:1')).toEqual({ ran: 0, yielded: 0, nextDueAt: 90_000 })
    await runtime.stop()
  })

  it('a stop of a run that is due later tells of the run after it, which is due now', async () => {
    const { runtime, session, heard } = await hosted({ steps: [{ text: 'done' }] })
    await session.send('later', { notBefore: 90_000 })
    const next = await session.send('next')
    expect(await runtime.work('room:1')).toEqual({ ran: 0, yielded: 0, nextDueAt: 90_000 })
    heard()
    await session.stop()
    expect(heard()).toEqual([{ key: 'room:1', atMs: 0 }])
    expect(await runtime.work('room:1')).toMatchObject({ ran: 1, nextDueAt: null })
    expect(await next.status()).toBe('completed')
    await runtime.stop()
  })

  it('a visit whose time is over when its run waits says that a timer is due', async () => {
    const held = heldScript([call('where')])
    const where = defineTool({ name: 'where', description: 'Where the user is.', inputSchema: z.object({}) })
    const { runtime, session, clock } = await hosted({ steps: held.steps, tools: [where] })
    await session.send('go')
    await session.schedule({ id: 's', at: 1_000, input: 'tick' })
    const working = runtime.work('room:1', { untilMs: 5_000 })
    await held.reached(0)
    await clock.advance(6_000)
    held.answer(0)
    expect(await working).toEqual({ ran: 1, yielded: 0, nextDueAt: 6_000 })
    expect(await runtime.work('room:1')).toEqual({ ran: 0, yielded: 0, nextDueAt: null })
    expect((await session.info())?.queued).toBe(1)
    await runtime.stop()
  })

  it('fires the schedules of the session and expires it', async () => {
    const { runtime, clock, heard, model } = await hosted({ steps: () => ({ text: 'tick' }) })
    const session = runtime.session('room:1', { ttl: { maxAgeMs: 150_000 } })
    await session.schedule({ id: 's', every: 60_000, input: 'tick' })
    expect(heard()).toContainEqual({ key: 'room:1', atMs: 60_000 })
    await clock.advance(60_000)
    expect(await runtime.work('room:1')).toEqual({ ran: 1, yielded: 0, nextDueAt: 120_000 })
    await clock.advance(60_000)
    expect(await runtime.work('room:1')).toEqual({ ran: 1, yielded: 0, nextDueAt: 150_000 })
    await clock.advance(30_000)
    expect(await runtime.work('room:1')).toEqual({ ran: 0, yielded: 0, nextDueAt: null })
    expect(model.calls).toHaveLength(2)
    expect((await checkLog(session)).at(-1)).toMatchObject({ type: 'session-end' })
    await runtime.stop()
  })

  it('what is stored while a visit ends is not lost: the visit does it, or says that it is due', async () => {
    let send: (() => Promise<unknown>) | undefined
    const shared = await place()
    // Stores an input at each of the reads of a visit in turn.
    for (let at = 1; at <= 12; at++) {
      let reads = 0
      const watched = new Proxy(shared.store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (name !== 'readSession' || typeof value !== 'function')
            return typeof value === 'function' ? (value.bind(target) as unknown) : value
          return async (...args: unknown[]) => {
            const found: unknown = await (Reflect.apply(value, target, args) as Promise<unknown>)
            reads += 1
            const now = reads === at ? send : undefined
            if (now) send = undefined
            await now?.()
            return found
          }
        },
      })
      const key = `room:${at}`
      const { runtime, heard } = await hosted({ steps: () => ({ text: 'done' }), shared: { ...shared, store: watched } })
      const session = runtime.session(key)
      await session.send('one')
      heard()
      let later: Promise<{ readonly runId: string }> | undefined
      reads = 0
      send = () => (later = session.send('two'))
      let due: number | null = 0
      for (let visits = 0; due !== null && visits < 3; visits++) due = (await runtime.work(key)).nextDueAt
      if (later) {
        const { runId } = await later
        const isDone = ((await shared.store.readRun(runId)) as { value: { status: string } }).value.status === 'completed'
        expect([at, isDone || heard().some((wake) => wake.key === key)]).toEqual([at, true])
      }
      send = undefined
      await runtime.stop()
    }
  })

  it('a run of a subagent is told as its own session, and its end wakes the parent', async () => {
    const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel([{ text: 'helped' }]) })
    const { runtime, session, heard } = await hosted({
      steps: [{ toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'help' } }] }, { text: 'done' }],
      agent: { subagents: [helper] },
    })
    const run = await session.send('go')
    heard()
    expect(await runtime.work('room:1')).toEqual({ ran: 1, yielded: 0, nextDueAt: null })
    const [child] = heard()
    expect(child?.key).toMatch(/^room:1~/)
    expect(await runtime.work(child?.key ?? '')).toMatchObject({ ran: 1 })
    expect(heard()).toEqual([{ key: 'room:1', atMs: 0 }])
    expect(await runtime.work('room:1')).toMatchObject({ ran: 1 })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    await runtime.stop()
  })

  it('waits for a free slot, and for a tenant that is at its limit it says when to come again', async () => {
    const { steps, reached, answer } = heldScript([{ text: 'one' }, { text: 'two' }])
    const { runtime, clock } = await hosted({ steps, concurrency: 1, maxRunsPerTenant: 1 })
    await runtime.session('tenant:a:1').send('one')
    await runtime.session('tenant:b:1').send('two')
    await runtime.session('tenant:a:2').send('three')
    const first = runtime.work('tenant:a:1')
    await reached(0)
    const second = runtime.work('tenant:b:1')
    const limited = runtime.work('tenant:b:1', { untilMs: 10 })
    await clock.advance(10)
    expect(await limited).toMatchObject({ ran: 0, nextDueAt: 10 })
    answer(0)
    expect(await first).toMatchObject({ ran: 1 })
    await reached(1)
    answer(1)
    expect(await second).toMatchObject({ ran: 1 })
    await runtime.stop()
  })

  it('S64: sweeps tell of all sessions with work, also behind a thousand that nobody here can work on', async () => {
    const { runtime, clock, heard, store } = await hosted({ steps: [] })
    const stuck = Array.from({ length: 1_050 }, (_none, at) => `room:${String(at).padStart(4, '0')}`)
    await Promise.all(stuck.map((key) => store.commit(queuedRun(key, 'of-another-build', 1))))
    await store.commit(queuedRun('room:free', 'assistant', 2))
    await clock.advance(2)
    const told = async (): Promise<readonly string[]> => {
      await runtime.sweep()
      return heard().map(({ key = '' }) => key)
    }
    expect(await told()).toEqual(stuck.slice(0, 1_000))
    expect(await told()).toEqual([...stuck.slice(1_000), 'room:free'])
    expect(await told()).toEqual(stuck.slice(0, 1_000))
    await runtime.stop()
  })

  it('S64: a sweep whose host is slow tells of no further page, and the next sweep goes on there', async () => {
    const told: string[] = []
    const onWake = ({ key = '' }: Wake): Promise<void> => (told.push(key), new Promise<void>(() => undefined))
    const { runtime, clock, store } = await hosted({ steps: [], onWake, onError: () => undefined })
    const keys = Array.from({ length: 350 }, (_none, at) => `room:${String(at).padStart(4, '0')}`)
    await Promise.all(keys.map((key) => store.commit(queuedRun(key, 'assistant', 1))))
    await clock.advance(1)
    const first = runtime.sweep()
    await clock.advance(15_000)
    await first
    expect(told).toEqual(keys.slice(0, 200))
    const second = runtime.sweep()
    await clock.advance(15_000)
    await second
    expect(told.slice(200)).toEqual(keys.slice(200))
    await runtime.stop()
  })
})

/** A commit that makes a session with one queued run. */
function queuedRun(key: string, agent: string, at: number): Batch {
  const run = { id: `run of ${key}`, kind: 'user', inputHash: 'hash', input: 'go', at } as const
  const session = { id: `session of ${key}`, agent, metadata: {}, at }
  return {
    id: `batch of ${key}`,
    key,
    expect: [],
    writes: [
      { op: 'session.ensure', session },
      { op: 'run.insert', run },
    ],
  }
}
