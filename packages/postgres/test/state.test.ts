import type { Clock } from '@bowline/llm'
import { systemClock } from '@bowline/llm'
import type { SessionStore } from '@bowline/sessions'
import { stateStoreFromEnv } from '@bowline/sessions/env'
import { postgresStateStore } from '@bowline/postgres'
import { testStateStore } from '@bowline/testing/stores'
import { describe, expect, it } from 'vitest'
import { postgresPlace } from './place.ts'
import { stateProcess } from '../../sessions/test/state/state-process-handle.ts'

const place = postgresPlace()
const elsewhere = stateProcess()

async function stateOf(store: SessionStore, clock: Clock, namespace = 'default') {
  await store.open({ namespace, owner: 'owner-a', clock })
  return { ...store.state, close: () => store.close() }
}

testStateStore({
  name: 'postgres, from two processes, with a runtime and without',
  create: async (clock) => stateOf(await place.empty({ clock }), clock),
  reopen: async (_store, clock) => postgresStateStore({ connectionString: place.url, clock }),
  second: async (_store, clock) => elsewhere({ kind: 'postgres', connectionString: place.url }, clock),
  search: true,
  runner: { describe, it },
})

describe('the state of a postgres store', () => {
  it('O60: namespaces of one database have separate states', async () => {
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
    expect(await place.query('select space, id, version::int, value, expires_at from bowline.state')).toEqual([
      { space: 's', id: 'a', version: 1, value: null, expires_at: null },
    ])
    await store.close()
  })

  it('O57: the time of the server is used, whatever the clock of the process says', async () => {
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

describe('a state store on postgres without a runtime', () => {
  it('O70: is the one that the environment names', async () => {
    const runtime = await stateOf(await place.empty(), systemClock)
    await runtime.compareAndSet('s', 'a', null, 'one', { ttlMs: 'never' })
    const chosen = await stateStoreFromEnv({ environment: { DATABASE_URL: place.url } })
    expect(chosen).toMatchObject({
      kind: 'postgres',
      because: expect.stringMatching(/^DATABASE_URL is set, and none of REDIS_URL, /) as unknown,
    })
    expect(await chosen.store.get('s', 'a')).toMatchObject({ value: { value: 'one' } })
    const apart = await stateStoreFromEnv({ environment: { DATABASE_URL: place.url }, prefix: 'apart' })
    expect(await apart.store.get('s', 'a')).toEqual({ status: 'missing' })
    // They are not registered as processes.
    expect(await place.query('select count(*)::int as known from bowline.process')).toEqual([{ known: 1 }])
    for (const store of [runtime, chosen.store, apart.store]) await store.close()
  })

  it('O58: an unreachable server is unavailable, is tried again at each call, and is unavailable after closing', async () => {
    let asked = 0
    const pool = {
      connect: () => Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED', asked: ++asked })),
      on: () => pool,
      removeListener: () => pool,
    }
    const store = postgresStateStore({ pool })
    for (const call of [() => store.get('s', 'a'), () => store.open(), () => store.sweep(1)])
      await expect(call()).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(asked).toBe(3)
    await store.close()
    await store.close()
    await expect(store.get('s', 'a')).rejects.toMatchObject({
      code: 'store-unavailable',
      message: 'The Postgres state store is closed. Create another one.',
    })
    expect(asked).toBe(3)
  })

  it('O65: a missing or unreadable URL throws at creation and is not shown', () => {
    const cases = [
      [
        { environment: {} },
        'postgresStateStore needs a server: give it a connectionString of the form postgresql://user:password@host:port/database, or a pool, or set the variable DATABASE_URL.',
      ],
      [
        { environment: { DATABASE_URL: 'mysql://:secret@host/x' } },
        'The variable DATABASE_URL must have the form postgresql://user:password@host:port/database.',
      ],
      [{ connectionString: 'secret', environment: { DATABASE_URL: 'postgresql://host/x' } }, /^postgresStateStore needs a server/],
    ] as const
    for (const [options, message] of cases) {
      const create = () => postgresStateStore(options)
      expect(create).toThrow(
        expect.objectContaining({
          code: 'invalid-config',
          message: typeof message === 'string' ? message : (expect.stringMatching(message) as unknown),
        }),
      )
      expect(create).not.toThrow(/secret/)
    }
  })
})
