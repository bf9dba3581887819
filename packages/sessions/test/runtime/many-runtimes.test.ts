import { defineAgent } from '@bowline/agent-loop'
import { manualClock, scriptedModel, type ManualClock } from '@bowline/llm/testing'
import { createRuntime, type LoggedEvent } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, logOf, setup, types } from '../support.ts'

/** Lets time pass until it has happened. */
async function passUntil<T>(clock: ManualClock, happens: Promise<T>): Promise<T> {
  let open = true
  const done = happens.finally(() => (open = false))
  for (let seconds = 0; open && seconds < 60; seconds++) await clock.advance(1_000)
  return done
}

describe('several runtimes on one memory store', () => {
  it('S11, S115, S116: what one accepts another executes, and both read the same', async () => {
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
    expect(read).toEqual(await logOf(executing.runtime.session('room:1')))
    await checkLog(session)
    expect([accepting.faults, executing.faults]).toEqual([[], []])
    await accepting.runtime.stop()
    await executing.runtime.stop()
  })

  it('S8: each claims only runs of agents that it knows', async () => {
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

  it('S6: in different namespaces they see nothing of each other', async () => {
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

  it('S125: the result of a run is the same from any process, also long after it ended', async () => {
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

  it('S64: a queued run that nobody was told of is started by the next heartbeat', async () => {
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
