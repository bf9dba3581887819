import { defineTool } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { checkLog, gate, setup } from '../support.ts'

const hourMs = 3_600_000
const placeOf = placesOfStores()
const database = testDatabase()

/** Creates a clock that can be set forward, as that of a machine that slept: timers keep what is left of them. */
function sleepingClock() {
  const real = manualClock(1_000_000)
  let offset = 0
  const clock: Clock = { now: () => real.now() + offset, setTimer: (atMs, run, options) => real.setTimer(atMs - offset, run, options) }
  return { clock, advance: (ms: number) => real.advance(ms), sleep: (ms: number) => void (offset += ms) }
}

/** Returns a store, and a function that ends all leases by the clock of the store. */
async function storeOf(
  name: (typeof namesOfPlaces)[number] | 'postgres',
): Promise<{ readonly store: SessionStore; readonly endLeases: () => Promise<unknown> }> {
  if (name !== 'postgres') return { store: placeOf(name)[0], endLeases: () => Promise.resolve() }
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  onTestFinished(() => admin.end())
  const endLeases = () => admin.query('update bowline.lease set until = 0')
  return { store: postgresStore({ connectionString: database.url }), endLeases }
}

describe.each([...namesOfPlaces, 'postgres'] as const)('a process on %s that slept longer than its lease', (name) => {
  it('S61: goes on with its run if no other process has claimed it: the tool runs once, and each model call is made once', async () => {
    const { store: inner, endLeases } = await storeOf(name)
    const answered = { claim: 0, renew: 0 }
    const store = aroundStore(inner, async (operation, _args, go) => {
      const answer = await go()
      if (operation === 'claim' || operation === 'renew') answered[operation] += 1
      return answer
    })
    const { clock, advance, sleep } = sleepingClock()
    const [called, paid] = [gate(), gate()]
    let payments = 0
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      inputSchema: { type: 'object' },
      effect: 'once',
      execute: async () => {
        payments += 1
        called.open()
        await paid.passed
        return 'paid'
      },
    })
    const steps = [{ toolCalls: [{ id: 'c1', name: 'pay', input: {} }] }, { text: 'Done.' }]
    const { runtime, model, faults } = setup({ steps, tools: [pay], store, clock })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    await called.passed
    for (let nap = 0; nap < 3; nap++) {
      sleep(hourMs)
      await endLeases()
      // Looks for work, then beats.
      for (const operation of ['claim', 'renew'] as const) {
        const before = answered[operation]
        await advance(operation === 'claim' ? 1_000 : 2_000)
        await expect.poll(() => answered[operation]).toBeGreaterThan(before)
      }
    }
    paid.open()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect([payments, model.calls.length]).toEqual([1, 2])
    expect((await checkLog(session)).flatMap((event) => (event.type === 'turn-start' ? event.resumed : []))).toEqual([false])
    expect(faults).toEqual([])
    await runtime.stop()
  })
})
