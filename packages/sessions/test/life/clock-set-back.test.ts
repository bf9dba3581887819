import type { Clock } from '@bowline/llm'
import { manualClock, type Step } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { gate, setup } from '../support.ts'

const hourMs = 3_600_000
const never = (): Promise<Step> => new Promise<Step>(() => undefined)

/** Creates a clock that can be set, like that of a machine. Timers that are already set keep their duration. */
function settableClock() {
  const real = manualClock()
  let offset = 10 * hourMs
  const clock: Clock = { now: () => real.now() + offset, setTimer: (atMs, run) => real.setTimer(atMs - offset, run) }
  return { clock, advance: (ms: number) => real.advance(ms), setBack: (ms: number) => void (offset -= ms) }
}

describe('a clock that is set back', () => {
  it('S59: an owner whose renewals fail yields its run before its lease can end', async () => {
    const { clock, advance, setBack } = settableClock()
    const called = gate()
    let aborted = false
    const store = faultyStore(memoryStore(), [{ of: 'renew', fault: { error: new Error('no connection') } }])
    const { runtime } = setup({
      store,
      clock,
      steps: ({ abortSignal }) => {
        abortSignal?.addEventListener('abort', () => (aborted = true))
        called.open()
        return never()
      },
    })
    await runtime.start()
    await runtime.session('room:1').send('go')
    await called.passed
    setBack(hourMs)
    await advance(9_999)
    expect(aborted).toBe(true)
    await runtime.stop({ graceMs: 0 })
  })

  it('S61: a lost run is taken over within the time of its lease plus its delay', async () => {
    const { clock, advance, setBack } = settableClock()
    const store = memoryStore()
    const { runtime } = setup({ steps: [{ text: 'done' }], store, clock })
    await store.open({ namespace: 'default', clock, owner: 'dead' })
    const first = setup({ steps: [], store, clock, concurrency: 0 })
    await first.runtime.start()
    const run = await first.runtime.session('room:1').send('go')
    await store.claim({ owner: 'dead', max: 1, leaseMs: 10_000, agents: ['assistant'], holds: [] })
    await runtime.start()
    setBack(hourMs)
    await advance(12_000)
    expect(await run.status()).toBe('completed')
    await runtime.stop()
    await first.runtime.stop()
  })

  it('S164: the runtime still prunes old data within the hour', async () => {
    const { clock, advance, setBack } = settableClock()
    const prunes: number[] = []
    const memory = memoryStore()
    const store = faultyStore(memory, [{ of: 'prune', when: () => prunes.push(clock.now()) < 0, fault: { error: new Error('not used') } }])
    const { runtime } = setup({ steps: [], store, clock })
    await runtime.start()
    await advance(60_000)
    expect(prunes).toHaveLength(1)
    setBack(5 * hourMs)
    await advance(60_000)
    expect(prunes).toHaveLength(2)
    await runtime.stop()
  })
})
