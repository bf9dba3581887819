import type { Clock } from '@bowline/llm'
import { systemClock } from '@bowline/llm'
import type { SessionStore } from '@bowline/sessions'
import { testStateStore } from '@bowline/sessions/testing'
import { describe, expect, it } from 'vitest'
import { postgresPlace } from '../stores/postgres/place.ts'

const place = postgresPlace()

async function stateOf(store: SessionStore, clock: Clock, namespace = 'default') {
  await store.open({ namespace, owner: 'owner-a', clock })
  return { ...store.state, close: () => store.close() }
}

testStateStore({
  name: 'postgres',
  create: async (clock) => stateOf(await place.empty({ clock }), clock),
  reopen: (_store, clock) => stateOf(place.store({ clock }), clock),
  second: (_store, clock) => stateOf(place.store({ clock }), clock),
  runner: { describe, it },
})

describe('the state of a postgres store', () => {
  it('O60: namespaces of one database have states of their own', async () => {
    const one = await stateOf(await place.empty(), systemClock, 'one')
    const two = await stateOf(place.store(), systemClock, 'two')
    await one.compareAndSet('s', 'a', null, 1, { ttlMs: 'never' })
    expect(await two.get('s', 'a')).toEqual({ status: 'missing' })
    expect(await two.list('s', {})).toEqual({ items: [] })
    expect(await two.sweep(10)).toBe(0)
    await Promise.all([one.close(), two.close()])
  })

  it('O61: a deleted record leaves its version and nothing of its value', async () => {
    const store = await stateOf(await place.empty(), systemClock)
    await store.compareAndSet('s', 'a', null, 'secret', { ttlMs: 'never' })
    await store.delete('s', 'a')
    expect(await place.query('select space, id, version::int, value, expires_at from bowline.state')).toEqual([{ space: 's', id: 'a', version: 1, value: null, expires_at: null }])
    await store.close()
  })

  it('O57: the time of the server counts, whatever the clock of the process says', async () => {
    const store = await stateOf(await place.empty(), { ...systemClock, now: () => 1 })
    await store.compareAndSet('s', 'a', null, 1, { ttlMs: 60_000 })
    const read = await store.get('s', 'a')
    const [row] = await place.query('select (extract(epoch from clock_timestamp()) * 1000)::float8 as now')
    expect(read).toMatchObject({ status: 'found', value: { version: 1 } })
    const used = read.status === 'found' ? read.value.usedAt : 0
    expect(Math.abs(Number(row?.['now']) - used)).toBeLessThan(60_000)
    await store.close()
  })
})
