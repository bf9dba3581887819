import { describe, expect, it } from 'vitest'
import { manualClock } from '@bowline/llm/testing'
import { memoryStateStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { testStateStore } from '@bowline/testing/stores'
import { StateTable } from '../../src/state/state-table.ts'
import { tableStateStore } from '../../src/state/table-state-store.ts'

const runner = { describe, it }

testStateStore({ name: 'memory', create: async (clock) => memoryStateStore({ clock }), runner })

testStateStore({
  name: 'memory session store',
  async create(clock) {
    const store = memoryStore()
    await store.open({ namespace: 'default', owner: 'owner-a', clock })
    return { ...store.state, close: () => store.close() }
  },
  runner,
})

describe('the memory state store', () => {
  it('O57: holds up to its maximum of records, and drops none for another', async () => {
    const clock = manualClock()
    const store = memoryStateStore({ maxRecords: 2, clock })
    await store.compareAndSet('s', 'a', null, 1, { ttlMs: 500 })
    await store.compareAndSet('s', 'b', null, 1, { ttlMs: 1_000 })
    await expect(store.compareAndSet('t', 'c', null, 1, { ttlMs: 500 })).rejects.toMatchObject({ code: 'store-full' })
    expect(await store.compareAndSet('s', 'b', 1, 2, { ttlMs: 1_000 })).toMatchObject({ ok: true })
    await clock.advance(500)
    expect(await store.compareAndSet('t', 'c', null, 1, { ttlMs: 500 })).toMatchObject({ ok: true })
    expect(() => memoryStateStore({ maxRecords: 0 })).toThrow(/maxRecords/)
  })

  it('O60: namespaces of one memory have separate states', async () => {
    const [one, two, same] = [memoryStore()].flatMap((store) => [store, store.second(), store.second()])
    const opening = { owner: 'owner-a', clock: manualClock() }
    await one?.open({ ...opening, namespace: 'one' })
    await two?.open({ ...opening, namespace: 'two' })
    await same?.open({ ...opening, namespace: 'one' })
    await one?.state.compareAndSet('s', 'a', null, 1, { ttlMs: 'never' })
    expect(await two?.state.get('s', 'a')).toEqual({ status: 'missing' })
    expect(await same?.state.get('s', 'a')).toMatchObject({ status: 'found' })
  })

  it('O58: the state of a store that is not open is unavailable', async () => {
    await expect(memoryStore().state.get('s', 'a')).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('O61: keeps nothing of deleted ids, and never uses their versions again', async () => {
    const table = new StateTable()
    const store = tableStateStore({ table, now: () => 0 })
    for (let n = 0; n < 100; n++) {
      await store.compareAndSet('s', `id-${n % 50}`, null, n, { ttlMs: 'never' })
      await store.delete('s', `id-${n % 50}`)
    }
    expect([...table.records()]).toEqual([])
    expect(await store.compareAndSet('s', 'id-0', null, 1, { ttlMs: 'never' })).toEqual({ ok: true, version: 101 })
  })
})
