import { createClient } from 'redis'
import { afterEach, describe, expect, it } from 'vitest'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../scripts/redis.ts'
import { newPrefix, redisStores } from './redis-support.ts'

const forever = { ttlMs: 'never' } as const

describe.skipIf(isRedisUrlMissing)(titleWithRedis('expired records of Redis', isRedisUrlMissing), () => {
  const server = sharedRedis()
  const open = redisStores(() => server.url)
  const clients: { destroy(): void }[] = []
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy()
  })

  it('O61, O62: expired records leave only a version, even without a sweep', async () => {
    const admin = await createClient({ url: server.url }).connect()
    clients.push(admin)
    const prefix = newPrefix()
    let now = 1_750_000_000_000
    const clock = { now: () => now, setTimer: () => () => undefined }
    const store = open({ url: server.url, prefix, clock })
    for (let n = 0; n < 50; n++) await store.compareAndSet('s', `expired-${n}`, null, n, { ttlMs: 1_000 })
    for (let n = 0; n < 50; n++) {
      await store.compareAndSet('s', 'deleted', null, n, { ttlMs: 1_000 })
      await store.delete('s', 'deleted')
    }
    now += 86_400_000
    expect(await store.get('s', 'expired-1')).toMatchObject({ status: 'expired' })
    now += 1_000
    for (let version = 0; version < 30; version++) await store.compareAndSet('s', 'live', version || null, version, forever)
    expect(await store.get('s', 'expired-1')).toEqual({ status: 'missing' })
    const records = await admin.hGetAll(`${prefix}:{s}:records`)
    expect(Object.keys(records).sort()).toEqual(['', 'live'])
    expect(records['']).toBe('50')
    expect([await admin.zCard(`${prefix}:{s}:ids`), await admin.exists([`${prefix}:{s}:due`, `${prefix}:{s}:gone`])]).toEqual([1, 0])
    expect(await store.compareAndSet('s', 'deleted', null, 1, forever)).toEqual({ ok: true, version: 51 })
    expect(await store.compareAndSet('s', 'expired-1', null, 1, forever)).toEqual({ ok: true, version: 51 })
  })

  it('O62: a page after thousands of expired records is found in parts', async () => {
    let now = 1_750_000_000_000
    const store = open({ url: server.url, clock: { now: () => now, setTimer: () => () => undefined } })
    const many = Array.from({ length: 5_200 }, (_, n) => `a-${String(n).padStart(4, '0')}`)
    await Promise.all(many.map((id) => store.compareAndSet('s', id, null, 1, { ttlMs: 10 })))
    await store.compareAndSet('s', 'b', null, 1, forever)
    await store.compareAndSet('s', 'c', null, 1, forever)
    now += 10
    const first = await store.list('s', { limit: 1 })
    expect([first.items.map(({ id }) => id), first.next]).toEqual([['b'], 'b'])
    expect((await store.list('s', { prefix: 'a-' })).items).toEqual([])
    expect(await store.sweep(10_000)).toBe(5_200)
  })
})
