import { isDurable } from '@bowline/agent-loop/events'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { manualClock, scriptedModel, type ManualClock } from '@bowline/llm/testing'
import { createRuntime, type Batch, type LoggedEvent, type SessionStore, type StoreHint } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, gate, logOf, setup, types } from '../support.ts'

/** Advances the clock until `happens` resolves. */
async function passUntil<T>(clock: ManualClock, happens: Promise<T>): Promise<T> {
  let open = true
  const done = happens.finally(() => (open = false))
  for (let seconds = 0; open && seconds < 60; seconds++) await clock.advance(1_000)
  return done
}

describe('several runtimes on one memory store', () => {
  it('S11, S115, S116: one runtime executes what another has accepted, and both read the same', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const accepting = setup({ steps: [], store, clock, concurrency: 0 })
    const executing = setup({ steps: [{ text: 'from over there' }], store, clock })
    await accepting.runtime.start()
    await executing.runtime.start()
    const session = accepting.runtime.session('room:1')
    await session.open()
    const read: LoggedEvent[] = []
    const reading = (async () => {
      for await (const event of session.events()) {
        read.push(event)
        if (event.type === 'settled') return
      }
    })()
    const run = await session.send('go')
    const ofRun = (async () => {
      const seen: string[] = []
      for await (const event of run) seen.push(event.type)
      return seen
    })()
    expect(await passUntil(clock, run.result())).toMatchObject({ status: 'completed', text: 'from over there' })
    await passUntil(clock, reading)
    expect((await passUntil(clock, ofRun)).at(-1)).toBe('save-point')
    expect(read.filter(isDurable)).toEqual(await logOf(executing.runtime.session('room:1')))
    expect(read.flatMap((event) => (event.type === 'text-delta' ? event.delta : []))).toEqual(['from over there'])
    await checkLog(session)
    expect([accepting.faults, executing.faults]).toEqual([[], []])
    await accepting.runtime.stop()
    await executing.runtime.stop()
  })

  it('S8: each runtime claims only runs of agents that it knows', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const runtimeOf = (...names: string[]) => {
      const agents = names.map((name) => defineAgent({ name, model: scriptedModel([{ text: `I am ${name}` }]) }))
      return createRuntime({ agents, store, clock })
    }
    const old = runtimeOf('one')
    const both = runtimeOf('one', 'two')
    await old.start()
    const run = await both.start().then(() => both.session('room:2', { agent: 'two' }).send('who?'))
    expect(await passUntil(clock, run.result())).toMatchObject({ text: 'I am two' })
    await both.stop()
    const waiting = createRuntime({ agents: [defineAgent({ name: 'two', model: scriptedModel([]) })], store, clock, concurrency: 0 })
    await waiting.start()
    const left = await waiting.session('room:3').send('who?')
    await clock.advance(30_000)
    expect(await left.status()).toBe('queued')
    await waiting.stop()
    await old.stop()
  })

  it('S6: runtimes in different namespaces see nothing of each other', async () => {
    const store = memoryStore()
    const one = setup({ steps: [{ text: 'in one' }], store, namespace: 'one' })
    const two = setup({ steps: [], store: store.second(), namespace: 'two' })
    await one.runtime.start()
    await two.runtime.start()
    const run = await one.runtime.session('room:1').send('go')
    expect((await run.result()).text).toBe('in one')
    expect(await two.runtime.session('room:1').info()).toBeNull()
    expect(await two.runtime.run(run.runId)).toBeNull()
    expect((await two.runtime.sessions()).items).toEqual([])
    await two.runtime.stop()
    await one.runtime.stop()
  })

  it('S125: the result of a run is the same from any process, also long after its end', async () => {
    const store = memoryStore()
    const first = setup({ steps: [{ text: 'one' }, { text: 'two' }], store })
    await first.runtime.start()
    const run = await first.runtime.session('room:1').send('a', { id: 'x' })
    const result = await run.result()
    await (await first.runtime.session('room:1').send('b')).result()
    await first.runtime.stop()
    const later = setup({ steps: [], store })
    await later.runtime.start()
    const again = await later.runtime.session('room:1').send('a', { id: 'x' })
    expect(again.accepted).toBe('duplicate')
    expect(await again.result()).toEqual(result)
    await later.runtime.stop()
  })

  it('S64: a queued run without a hint is started at the next heartbeat', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const { runtime } = setup({ steps: [{ text: 'found' }], store, clock })
    await runtime.start()
    const deaf = setup({ steps: [], store, clock, concurrency: 0 })
    await deaf.runtime.start()
    const run = await deaf.runtime.session('room:1').send('go')
    await clock.advance(3_000)
    await passUntil(clock, run.result())
    expect(types(await logOf(runtime.session('room:1')))).toContain('settled')
    expect(clock.now()).toBeLessThanOrEqual(30_000)
    await deaf.runtime.stop()
    await runtime.stop()
  })
})

/**
 * Wraps the store of one of several runtimes. Marks hints of the others as `elsewhere`, and drops all hints if `hints` is false.
 */
function toldApart(memory: SessionStore, hears: { hints: boolean }): SessionStore {
  let committing = 0
  return new Proxy(memory, {
    get(target, name) {
      if (name === 'commit') {
        return async (batch: Batch) => {
          committing += 1
          return target.commit(batch).finally(() => (committing -= 1))
        }
      }
      if (name === 'subscribe') {
        return (listener: (hint: StoreHint) => void) =>
          target.subscribe((hint) => hears.hints && listener(committing > 0 ? hint : { ...hint, elsewhere: true }))
      }
      return Reflect.get(target, name) as unknown
    },
  })
}

describe('S97: a stop from another process', () => {
  it.each([
    ['at once with a hint', true, 0],
    ['at the next heartbeat without one', false, 3_000],
  ] as const)('S97, S58: reaches the tools of a run %s', async (_when, hints, afterMs) => {
    const clock = manualClock()
    const memory = memoryStore()
    const running = gate<AbortSignal>()
    const dig = defineTool({
      name: 'dig',
      description: 'Digs.',
      inputSchema: z.object({}),
      execute: (_input, { abortSignal }) => (running.open(abortSignal), new Promise<string>(() => undefined)),
    })
    const asking = setup({ steps: [], store: toldApart(memory, { hints: true }), clock, concurrency: 0 })
    const executing = setup({
      steps: [{ toolCalls: [{ name: 'dig', input: {} }] }],
      tools: [dig],
      store: toldApart(memory, { hints }),
      clock,
    })
    await asking.runtime.start()
    await executing.runtime.start()
    const session = executing.runtime.session('room:1')
    await session.send('go')
    const signal = await running.passed
    await clock.advance(0)
    const stopping = asking.runtime.session('room:1').stop({ waitMs: 0 })
    await clock.advance(0)
    await stopping
    expect(signal.aborted).toBe(afterMs === 0)
    await clock.advance(afterMs)
    expect(signal.aborted).toBe(true)
    await passUntil(clock, asking.runtime.session('room:1').stop())
    await asking.runtime.stop()
    await executing.runtime.stop({ graceMs: 0 })
    expect([...asking.faults, ...executing.faults]).toEqual([])
  })
})
