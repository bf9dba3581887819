import { systemClock } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'
import { afterEach, describe, expect, it } from 'vitest'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../scripts/redis.ts'
import { ServerCheck } from '../src/redis/check-server.ts'
import { OwnClient } from '../src/redis/own-client.ts'
import { RedisServer } from '../src/redis/redis-server.ts'
import { LostAnswer, type ScriptServer } from '../src/redis/script-server.ts'
import { scriptStateStore } from '../src/redis/script-state-store.ts'
import { scripts, type Script } from '../src/redis/scripts.ts'
import { newPrefix, redisStores } from './redis-support.ts'

type Loss = 'made' | 'not made' | 'late'

const ttlMs = 60_000
const life = { ttlMs }

describe.skipIf(isRedisUrlMissing)(titleWithRedis('a lost answer of Redis', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  const open = redisStores(() => redis.url)
  const closing: StateStore[] = []
  afterEach(async () => {
    for (const store of closing.splice(0)) await store.close()
  })

  /** Creates a store whose answers can be lost, and another one on the same records. */
  function bench() {
    const prefix = newPrefix()
    const server = losingServer(new RedisServer({ source: sourceOf(redis.url), clock: systemClock, timeoutMs: 5_000 }))
    const store = scriptStateStore({ server, prefix, maxRecordBytes: 1_000 })
    closing.push(store)
    return { store, server, direct: open({ prefix }) }
  }

  it('O64: a change that was made is found by its mark, and not repeated', async () => {
    const { store, server, direct } = bench()
    server.lose('made')
    expect(await store.compareAndSet('s', 'a', null, 'one', life)).toEqual({ ok: true, version: 1 })
    server.lose('made', 'made')
    expect(await store.compareAndSet('s', 'a', 1, 'two', life)).toEqual({ ok: true, version: 2 })
    server.lose('made')
    expect(await store.touch('s', 'a', 90_000)).toBe(true)
    expect(await direct.get('s', 'a')).toMatchObject({ value: { version: 2, value: 'two' } })
    server.lose('made')
    expect(await store.delete('s', 'a', 2)).toEqual({ ok: true, version: 2 })
    expect(await direct.get('s', 'a')).toEqual({ status: 'missing' })
  })

  it('O64: a change that was not made is then made, once', async () => {
    const { store, server, direct } = bench()
    server.lose('not made', 'not made')
    expect(await store.compareAndSet('s', 'a', null, 'one', life)).toEqual({ ok: true, version: 1 })
    server.lose('not made')
    expect(await store.compareAndSet('s', 'a', 1, 'two', life)).toEqual({ ok: true, version: 2 })
    server.lose('not made')
    expect(await store.delete('s', 'a')).toEqual({ ok: true, version: 2 })
    expect(await direct.get('s', 'a')).toEqual({ status: 'missing' })
  })

  it('O64: after three lost answers the outcome is unknown, and the caller gets an error that says so', async () => {
    const { store, server, direct } = bench()
    server.lose('made', 'made', 'made')
    const message = expect.stringMatching(/did not answer. A change may or may not have been made/) as unknown
    await expect(store.compareAndSet('s', 'a', null, 'one', life)).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
      message,
    })
    expect(await direct.get('s', 'a')).toMatchObject({ value: { version: 1 } })
    expect(server.sent(scripts.compareAndSet)).toBe(3)
  })

  it('O16, O64: a late attempt changes nothing: it neither repeats the change nor restores a record', async () => {
    const { store, server, direct } = bench()
    server.lose('late')
    expect(await store.compareAndSet('s', 'a', null, 'one', life)).toEqual({ ok: true, version: 1 })
    await direct.delete('s', 'a')
    expect(await server.deliverLate()).toEqual([['late']])
    expect(await direct.get('s', 'a')).toEqual({ status: 'missing' })

    const theirs = await direct.compareAndSet('s', 'b', null, 'theirs', life)
    server.lose('late')
    expect(await store.compareAndSet('s', 'b', null, 'mine', life)).toMatchObject({ ok: false, reason: 'conflict' })
    await direct.delete('s', 'b')
    expect(await server.deliverLate()).toEqual([['late']])
    expect(await direct.get('s', 'b')).toEqual({ status: 'missing' })
    expect(theirs).toEqual({ ok: true, version: 1 })
  })

  it('O16, O64: a late touch and a late deletion do nothing', async () => {
    const { store, server, direct } = bench()
    await direct.compareAndSet('s', 'a', null, 'one', life)
    server.lose('late')
    expect(await store.touch('s', 'a', 1_000_000)).toBe(true)
    await direct.touch('s', 'a', ttlMs)
    const before = await direct.get('s', 'a')
    expect(await server.deliverLate()).toEqual([['late']])
    expect(await direct.get('s', 'a')).toEqual(before)

    server.lose('late')
    expect(await store.delete('s', 'a')).toEqual({ ok: true, version: 1 })
    await direct.compareAndSet('s', 'a', null, 'again', life)
    expect(await server.deliverLate()).toEqual([['late']])
    expect(await direct.get('s', 'a')).toMatchObject({ status: 'found' })
  })

  it('O64: a change is found even if another writer has changed or removed the record since', async () => {
    const { store, server, direct } = bench()
    server.lose('made')
    server.beforeNext(async () => void (await direct.compareAndSet('s', 'a', 1, 'theirs', life)))
    expect(await store.compareAndSet('s', 'a', null, 'mine', life)).toEqual({ ok: true, version: 1 })
    server.lose('made')
    server.beforeNext(async () => void (await direct.delete('s', 'a')))
    expect(await store.compareAndSet('s', 'a', 2, 'mine', life)).toEqual({ ok: true, version: 3 })
    expect(await direct.get('s', 'a')).toEqual({ status: 'missing' })
  })

  it('O64: of two deletes of one version one succeeds, even if its answer is lost', async () => {
    const { store, server, direct } = bench()
    await direct.compareAndSet('s', 'a', null, 'one', life)
    server.lose('not made')
    server.beforeNext(async () => void (await direct.delete('s', 'a', 1)))
    expect(await store.delete('s', 'a', 1)).toEqual({ ok: false, reason: 'missing' })
  })

  it('O64: if there were more changes than the record remembers, the outcome is unknown and nothing is done', async () => {
    const { store, server, direct } = bench()
    await direct.compareAndSet('s', 'a', null, 0, life)
    const many = async (): Promise<void> => {
      for (let version = 1; version < 40; version++) await direct.compareAndSet('s', 'a', version, version, life)
    }
    for (const work of [
      (version: number) => store.compareAndSet('s', 'a', version, 'mine', life),
      (_version: number) => store.compareAndSet('s', 'a', null, 'mine', life),
      (_version: number) => store.delete('s', 'a'),
    ]) {
      server.lose('not made')
      server.beforeNext(many)
      await expect(work(1)).rejects.toMatchObject({ code: 'store-unavailable' })
      expect(await direct.get('s', 'a')).toMatchObject({ value: { version: 40, value: 39 } })
    }
    // Only this change can have followed the stored version.
    server.lose('not made')
    expect(await store.compareAndSet('s', 'a', 40, 'mine', life)).toEqual({ ok: true, version: 41 })
  })

  it('O64: reads are repeated after lost answers; a sweep with a lost answer has an unknown count', async () => {
    const { store, server } = bench()
    await store.compareAndSet('s', 'a', null, 1, life)
    server.lose('made', 'made')
    expect(await store.get('s', 'a')).toMatchObject({ status: 'found' })
    server.lose('made')
    expect((await store.list('s', {})).items).toHaveLength(1)
    server.lose(undefined, 'made')
    await expect(store.sweep(5)).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('O62: a record that changes while a page is read is listed with its new value, and a deleted one is left out', async () => {
    const { store, server, direct } = bench()
    for (const id of ['a', 'b', 'c']) await direct.compareAndSet('s', id, null, `first of ${id}`, life)
    server.before(scripts.values, async () => {
      await direct.compareAndSet('s', 'a', 1, 'second', life)
      await direct.delete('s', 'b')
    })
    const { items } = await store.list('s', {})
    expect(items.map(({ id, version, value }) => [id, version, value])).toEqual([
      ['a', 2, 'second'],
      ['c', 1, 'first of c'],
    ])
  })
})

function sourceOf(url: string): OwnClient {
  return new OwnClient({ url, timeoutMs: 5_000, clock: systemClock, check: new ServerCheck(() => undefined) })
}

interface LosingServer extends ScriptServer {
  /** Fate of the next changes, one after the other. */
  lose(...losses: readonly (Loss | undefined)[]): void
  /** Executes the late ones. */
  deliverLate(): Promise<readonly unknown[]>
  /** Runs before the next script after a lost answer. */
  beforeNext(work: () => Promise<void>): void
  before(script: Script, work: () => Promise<void>): void
  sent(script: Script): number
}

function losingServer(server: RedisServer): LosingServer {
  const losses: (Loss | undefined)[] = []
  const late: (() => Promise<unknown>)[] = []
  const sent: Script[] = []
  const works = new Map<Script | 'next', () => Promise<void>>()

  async function workBefore(place: Script | 'next'): Promise<void> {
    const work = works.get(place)
    works.delete(place)
    await work?.()
  }
  return {
    name: server.name,
    losses: 0,
    open: () => server.open(),
    close: () => server.close(),
    async run(script, ...given) {
      if (script === scripts.addSpace) return server.run(script, ...given)
      sent.push(script)
      await workBefore(script)
      if (losses.length === 0) await workBefore('next')
      const loss = losses.shift()
      if (loss === undefined) return server.run(script, ...given)
      if (loss === 'made') await server.run(script, ...given)
      if (loss === 'late') late.push(() => server.run(script, ...given))
      throw new LostAnswer('lost')
    },
    lose: (...all) => void losses.push(...all),
    deliverLate: () => Promise.all(late.splice(0).map((run) => run())),
    beforeNext: (work) => void works.set('next', work),
    before: (script, work) => void works.set(script, work),
    sent: (script) => sent.filter((each) => each === script).length,
  }
}
