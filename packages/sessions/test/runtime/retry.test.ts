import { manualClock, type ManualClock } from '@bowline/llm/testing'
import type { Runtime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, setup, types, type SetupOptions } from '../support.ts'

const busy = { error: Object.assign(new Error('Rate limit reached'), { statusCode: 429 }) }
const retry = { jitter: 0, baseDelayMs: 40_000, maxDelayMs: 40_000 }

async function started(clock: ManualClock, options: SetupOptions) {
  const made = setup({ clock, ...options })
  await made.runtime.start()
  return { ...made, session: made.runtime.session('room:1') }
}

async function untilWaiting(runtime: Runtime): Promise<void> {
  for await (const event of runtime.session('room:1').events()) if (event.type === 'retry-start') return
}

describe('retries of a run', () => {
  it('S70, S114: a retry keeps its remaining wait when the run is given back, and its attempts are counted on', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const first = await started(clock, { steps: [busy], store, agent: { retry } })
    const run = await first.session.send('go')
    await untilWaiting(first.runtime)
    await clock.advance(30_000)
    await first.runtime.stop()
    expect(await store.open({ namespace: 'default', clock, owner: 'tests' }).then(() => store.readRun(run.runId))).toMatchObject({
      value: {
        status: 'queued',
        reason: 'yielded',
        turnState: { attempt: 2, notBefore: 40_000, waitedMs: 40_000, retry: { count: 1, open: true } },
      },
    })

    const second = await started(clock, { steps: [{ text: 'at last' }], store, agent: { retry } })
    await clock.advance(9_000)
    expect(second.model.calls).toHaveLength(0)
    await clock.advance(1_000)
    const again = second.session.events({ runId: run.runId })
    const log = []
    for await (const event of again) log.push(event)
    expect(await second.runtime.run(run.runId)).toMatchObject({ status: 'completed' })
    expect(types(log).filter((type) => type.startsWith('retry'))).toEqual(['retry-start', 'retry-end'])
    expect(log.find((event) => event.type === 'retry-end')).toMatchObject({ attempt: 2, success: true })
    expect(await store.readRun(run.runId)).not.toMatchObject({ value: { turnState: expect.anything() as unknown } })
    await checkLog(second.session)
    await second.runtime.stop()
    await store.close()
  })

  it('S85: with onFailedTurn rewind a failed run leaves nothing in the transcript, and the next run starts at the same place', async () => {
    const clock = manualClock()
    const agent = { retry: false, onFailedTurn: 'rewind' } as const
    const { runtime, session } = await started(clock, { steps: [{ text: 'one' }, busy, { text: 'three' }], agent })
    await (await session.send('first')).result()
    const leaf = (await session.info())?.leaf
    expect(await (await session.send('second')).result()).toMatchObject({ status: 'error', text: '' })
    expect((await session.info())?.leaf).toBe(leaf)
    expect(await (await session.send('third')).result()).toMatchObject({ text: 'three' })
    expect((await session.messages()).items.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(types(await checkLog(session)).filter((type) => type === 'message-discarded')).toHaveLength(2)
    await runtime.stop()
  })
})
