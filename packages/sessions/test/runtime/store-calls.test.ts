import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { Session } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { aroundStore, type StoreOperation } from '../../../testing/src/around-store.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { collect, gate, setup, type SetupOptions } from '../support.ts'

const placeOf = placesOfStores()

type Calls = Partial<Record<StoreOperation, number>>

describe.each(namesOfPlaces)('S182: the calls of a turn to the %s store', (name) => {
  /** Creates a session that had a turn, and counts the calls of its store from then on. */
  async function talking(steps: SetupOptions['steps'], options: Partial<SetupOptions> = {}) {
    let calls: Calls = {}
    const [store] = placeOf(name)
    const counting = aroundStore(store, async (operation, _args, go) => {
      calls = { ...calls, [operation]: (calls[operation] ?? 0) + 1 }
      return go()
    })
    // No poll or heartbeat is due during the turn.
    const { runtime, faults } = setup({ steps, store: counting, clock: manualClock(), ...options })
    await runtime.start()
    await (await runtime.session('room:1').send('first')).result()
    // After the first sweep, and after everything that the runtime stores after a run.
    await runtime.sweep()
    const { cursor } = await runtime.session('room:1').open()
    calls = {}
    const stop = async (): Promise<void> => {
      await runtime.stop()
      expect(faults).toEqual([])
    }
    return { session: runtime.session('room:1'), cursor, calls: () => calls, stop }
  }

  async function untilSettled(session: Session, cursor: string): Promise<void> {
    for await (const event of session.events({ cursor })) if (event.type === 'settled') return
  }

  it('S182: a plain turn with the reader of its run takes seven calls', async () => {
    const { session, calls, stop } = await talking([{ text: 'one' }, { text: 'two' }])
    await collect(await session.send('go'))
    expect(calls()).toEqual({ readSession: 1, commit: 3, claim: 1, readInbox: 1, readEvents: 1 })
    await stop()
  })

  it('S182: a handle that has read its session does not read it again', async () => {
    const { session, calls, stop } = await talking([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
    await (await session.send('go')).result()
    const before = calls()
    await collect(await session.send('go'))
    expect(calls().readSession).toBe(before.readSession)
    await stop()
  })

  it('S182: a plain turn with the reader of its session takes at most twelve calls', async () => {
    const { session, cursor, calls, stop } = await talking([{ text: 'one' }, { text: 'two' }])
    const settled = untilSettled(session, cursor)
    await session.send('go')
    await settled
    const total = Object.values(calls()).reduce((sum, count) => sum + count, 0)
    expect(total).toBeLessThanOrEqual(12)
    expect(calls()).toMatchObject({ commit: 3, claim: 1 })
    await stop()
  })

  it('S182: a step with a tool takes three calls more, however long the conversation is', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', inputSchema: z.object({}), execute: async () => 'seen' })
    const asking = { toolCalls: [{ name: 'look', input: {} }] }
    const { session, calls, stop } = await talking([{ text: 'one' }, asking, asking, asking, { text: 'done' }], { tools: [look] })
    await collect(await session.send('go'))
    expect(calls()).toEqual({ readSession: 1, commit: 3 + 2 * 3, claim: 1, readInbox: 1 + 3, readEvents: 1 })
    await stop()
  })

  it('S182: the next input of a busy session is claimed when the turn before it ends', async () => {
    const held = gate()
    const { session, calls, stop } = await talking((_call, index) =>
      index === 1 ? held.passed.then(() => ({ text: 'held' })) : Promise.resolve({ text: 'free' }),
    )
    const first = await session.send('go')
    const second = await session.send('and go on')
    held.open()
    expect(await Promise.all([first.result(), second.result()])).toMatchObject([{ status: 'completed' }, { status: 'completed' }])
    expect(calls()).toMatchObject({ claim: 2 })
    await stop()
  })
})
