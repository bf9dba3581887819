import { defineTool } from '@bowline/agent-loop'
import { manualClock, type Step } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { faultyStore } from '@bowline/testing/crashes'
import { gate, setup } from '../support.ts'

/** Answers that never arrive. */
const never = (): Promise<Step> => new Promise<Step>(() => undefined)

describe('leases', () => {
  it('S58: one heartbeat renews all leases of a process, and an idle process sends none', async () => {
    const clock = manualClock()
    const memory = memoryStore()
    const renewed: number[] = []
    const store: SessionStore = new Proxy(memory, {
      get(target, name) {
        if (name !== 'renew') return Reflect.get(target, name) as unknown
        return (...args: Parameters<SessionStore['renew']>) => {
          renewed.push(args[0].length)
          return target.renew(...args)
        }
      },
    })
    const { runtime } = setup({ steps: never, store, clock })
    await runtime.start()
    await clock.advance(10_000)
    expect(renewed).toEqual([])
    for (let room = 1; room <= 5; room++) await runtime.session(`room:${room}`).send('go')
    await clock.advance(9_000)
    expect(renewed).toEqual([5, 5, 5])
    await runtime.stop()
  })

  it('S61: an owner that is only slow keeps its run', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const slow = setup({ steps: never, store, clock })
    const other = setup({ steps: [], store, clock })
    await slow.runtime.start()
    await other.runtime.start()
    const run = await slow.runtime.session('room:1').send('go')
    await clock.advance(120_000)
    expect(await store.readRun(run.runId)).toMatchObject({ value: { status: 'running', epoch: 1, owner: slow.runtime.id } })
    await other.runtime.stop()
    await slow.runtime.stop()
  })

  it('S61, S63: a run that kills each process is taken over after its lease, then with a delay of one, two and four seconds', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const { runtime } = setup({ steps: [], store, clock, concurrency: 0, attempts: { withoutProgress: 5 } })
    await runtime.start()
    await runtime.session('room:1').send('go')
    const claimedAt: number[] = []
    for (let ms = 0; ms < 20_000; ms += 500) {
      // The leases of these owners end at once, so only the backoff delays the run.
      if ((await store.claim({ owner: `dead ${ms}`, max: 1, leaseMs: 0, agents: ['assistant'], holds: [] })).length > 0)
        claimedAt.push(clock.now())
      await clock.advance(500)
    }
    const waits = claimedAt.slice(1).map((at, place) => at - (claimedAt[place] ?? 0))
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000])
    await runtime.stop()
  })

  it('S40: an unavailable store is reported, and nothing is created', async () => {
    let broken = false
    const memory = memoryStore()
    const store = faultyStore(memory, [{ of: 'readSession', when: () => broken, fault: { error: new Error('no connection') } }])
    const { runtime } = setup({ steps: [], store, concurrency: 0 })
    await runtime.start()
    broken = true
    const session = runtime.session('room:1')
    for (const work of [
      () => session.open(),
      () => session.send('go'),
      () => session.info(),
      () => session.delete(),
      () => session.kill(),
    ]) {
      await expect(work()).rejects.toThrow('no connection')
    }
    broken = false
    expect(await memory.readSession('room:1')).toEqual({ status: 'missing' })
    await runtime.stop()
  })

  it('S9, S12: a stop right after the end of a run first writes the follow-up work, and reports no fault', async () => {
    const memory = memoryStore()
    const reading = gate()
    const go = gate()
    const waitFor = (): Promise<void> => {
      reading.open()
      return go.passed
    }
    const store = faultyStore(memory, [{ of: 'due', when: () => armed, fault: { waitFor } }])
    let armed = false
    const { runtime, faults } = setup({ steps: [{ text: 'done' }], store, ttl: { idleMs: 86_400_000 } })
    await runtime.start()
    armed = true
    await (await runtime.session('room:1').send('go')).result()
    await reading.passed
    const stopping = runtime.stop()
    go.open()
    await stopping
    expect(faults).toEqual([])
  })
})

describe('a changed definition', () => {
  const toolOf = (description: string) => defineTool({ name: 'place', description, inputSchema: z.object({}) })
  const asks: Step = { toolCalls: [{ id: 'c1', name: 'place', input: {} }] }

  async function held() {
    const clock = manualClock()
    const store = memoryStore()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const first = setup({ steps: [asks], tools: [toolOf('Where the user is.')], store, clock })
    await first.runtime.start()
    const run = await first.runtime.session('room:1').send('go')
    await run.result()
    await first.runtime.stop()
    const second = setup({ steps: [{ text: 'in Oslo' }], tools: [toolOf('Another thing.')], store, clock, onDefinitionChange: 'refuse' })
    await second.runtime.start()
    const session = second.runtime.session('room:1')
    const { run: answered } = await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    expect(await answered.result()).toMatchObject({ status: 'needs-recovery', reason: 'definition-changed' })
    expect(await session.info()).toMatchObject({ status: 'needs-recovery' })
    return { ...second, session, runId: run.runId }
  }

  it('S82: recover with continue resumes the run, once', async () => {
    const { runtime, session, runId, model } = await held()
    const [run] = await Promise.all([session.recover(runId, 'continue'), session.recover(runId, 'continue')])
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'in Oslo' })
    await session.recover(runId, 'continue')
    expect(model.calls).toHaveLength(1)
    await runtime.stop()
  })

  it.each(['recover', 'stop', 'kill'] as const)('S82: %s ends the run, and the session goes on', async (how) => {
    const { runtime, session, runId } = await held()
    if (how === 'recover') await (await session.recover(runId, 'stop')).result()
    else expect(await session[how]()).toMatchObject({ state: 'settled' })
    expect(await runtime.run(runId)).toMatchObject({ status: 'stopped' })
    expect(await runtime.session('room:1').info()).toMatchObject({ status: 'stopped' })
    await runtime.stop()
  })
})
