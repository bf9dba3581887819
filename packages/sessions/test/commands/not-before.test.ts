import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { setup, userTexts } from '../support.ts'

const at = 100_000

describe('notBefore', () => {
  it('S33: holds its run and the runs after it, to the millisecond', async () => {
    const clock = manualClock()
    const { runtime, model } = setup({ steps: [{ text: 'a' }, { text: 'b' }], clock })
    await runtime.start()
    const session = runtime.session('room:1')
    await session.send('later', { notBefore: at })
    const behind = await session.send('behind')
    await clock.advance(at - 1)
    expect(model.calls).toHaveLength(0)
    expect(await session.info()).toMatchObject({ status: 'queued', queued: 2 })
    await clock.advance(1)
    expect(await behind.result()).toMatchObject({ status: 'completed' })
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['later', 'behind'])
    await runtime.stop()
  })

  it('S33: does not hold a follow-up or an interrupting input, which go first', async () => {
    const clock = manualClock()
    const { runtime, model } = setup({ steps: [{ text: 'a' }, { text: 'b' }, { text: 'c' }], clock })
    await runtime.start()
    const session = runtime.session('room:1')
    const later = await session.send('later', { notBefore: at })
    await (await session.followUp('behind')).result()
    await (await session.send('instead', { onBusy: 'interrupt' })).result()
    expect(model.calls.map((each) => userTexts(each).at(-1))).toEqual(['behind', 'instead'])
    expect(await later.status()).toBe('queued')
    await clock.advance(at)
    expect(await later.result()).toMatchObject({ text: 'c' })
    await runtime.stop()
  })

  it('S33: holds across a restart', async () => {
    const clock = manualClock()
    const store = memoryStore()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const first = setup({ steps: [], clock, store })
    await first.runtime.start()
    const { runId } = await first.runtime.session('room:1').send('later', { notBefore: at })
    await first.runtime.stop()
    await clock.advance(at / 2)
    const second = setup({ steps: [{ text: 'a' }], clock, store })
    await second.runtime.start()
    await clock.advance(at / 2 - 1)
    expect(second.model.calls).toHaveLength(0)
    await clock.advance(1)
    for await (const event of second.runtime.session('room:1').events({ runId })) void event
    expect(await second.runtime.run(runId)).toMatchObject({ status: 'completed' })
    await second.runtime.stop()
    await store.close()
  })

  it('S33, S67: without timers: a drain returns the time, and a drain at that time executes the run', async () => {
    const clock = manualClock()
    const { runtime, model } = setup({ steps: [{ text: 'a' }], clock, timers: false })
    await runtime.start()
    const session = runtime.session('room:1')
    const later = await session.send('later', { notBefore: at })
    expect(await runtime.drain()).toMatchObject({ ran: 0, nextDueAt: at })
    await clock.advance(at)
    expect(model.calls).toHaveLength(0)
    expect(await runtime.drain()).toMatchObject({ ran: 1, nextDueAt: null })
    expect(await later.status()).toBe('completed')
    await runtime.stop()
  })

  it('S33: holds nothing any more once its run is stopped', async () => {
    const clock = manualClock()
    const { runtime } = setup({ steps: [{ text: 'a' }], clock })
    await runtime.start()
    const session = runtime.session('room:1')
    const later = await session.send('later', { notBefore: at })
    const behind = await session.send('behind')
    expect(await later.stop()).toMatchObject({ state: 'settled', status: 'stopped' })
    expect(await behind.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it.each([NaN, Infinity, -1])('S33: refuses %d', async (notBefore) => {
    const { runtime } = setup({ steps: [] })
    await runtime.start()
    await expect(runtime.session('room:1').send('later', { notBefore })).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await runtime.session('room:1').info()).toBeNull()
    await runtime.stop()
  })
})
