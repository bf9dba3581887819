import assert from 'node:assert/strict'
import type { SessionQuery } from '@bowline/sessions'
import { deleteSession, deliver, ensure, insertRun, other, patchRun, room, startMs } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'
import { readAll } from './read-all.ts'

async function keysOf(bench: Bench, query: SessionQuery): Promise<readonly string[]> {
  return (await bench.store.listSessions(query)).items.map((session) => session.key)
}

/** Tests of the filters of session lists. */
export const listing: Topic = ({ it }) => {
  it('S131: child sessions are found by the key of their parent, and no deeper ones', async (bench) => {
    const [first, second, deep] = [`${room}~a~1`, `${room}~b~1`, `${room}~a~1~c~1`]
    await bench.commit([ensure()])
    for (const [key, parent] of [
      [first, room],
      [second, room],
      [deep, first],
      [`${other}~a~1`, other],
    ] as const) {
      await bench.commit([ensure(key, { parent })], { key })
    }
    assert.equal((await bench.session(first)).parent, room)
    assert.deepEqual([...(await keysOf(bench, { parent: room }))].sort(), [first, second])
    assert.deepEqual(await keysOf(bench, { parent: first }), [deep])
    assert.deepEqual(await keysOf(bench, { parent: room, keyPrefix: `${room}~b` }), [second])
    assert.deepEqual(await keysOf(bench, { parent: 'room' }), [])
    assert.deepEqual(await keysOf(bench, { parent: null }), [room])
    assert.deepEqual(await keysOf(bench, { parent: null, keyPrefix: `${room}~` }), [])
    await bench.commit([deleteSession({ leavesNothing: true })], { key: first })
    assert.deepEqual(await keysOf(bench, { parent: room }), [second])
  })

  it('S162: sessions are found by their last activity, the time itself included', async (bench) => {
    for (const key of ['room:1', 'room:2', 'room:3']) {
      await bench.commit([ensure(key), insertRun(`run of ${key}`)], { key })
      await bench.clock.advance(10)
    }
    assert.deepEqual(await keysOf(bench, { activeSince: startMs + 10 }), ['room:3', 'room:2'])
    assert.deepEqual(await keysOf(bench, { activeSince: startMs + 11 }), ['room:3'])
    assert.deepEqual(await keysOf(bench, { activeSince: startMs + 21 }), [])
    await bench.claim({ runId: 'run of room:1' })
    assert.deepEqual(await keysOf(bench, { activeSince: startMs + 21 }), [])
    await bench.commit([insertRun('other run')], { key: 'room:2', deliver: [deliver('room:1', [insertRun('next run')])] })
    assert.deepEqual(await keysOf(bench, { activeSince: startMs + 30 }), ['room:1', 'room:2'])
    assert.deepEqual(await keysOf(bench, { activeSince: startMs + 30, agent: 'other' }), [])
  })

  it('S162: a commit that adds no run moves the activity only after a minute', async (bench) => {
    await bench.running('run-1')
    const times: number[] = []
    for (const ms of [59_999, 1, 59_999, 1]) {
      await bench.clock.advance(ms)
      await bench.commit([patchRun('run-1', { step: times.length })])
      times.push((await bench.session(room)).activeAt - startMs)
    }
    assert.deepEqual(times, [0, 60_000, 60_000, 120_000])
  })

  it('S47: what is asked for holds on every page', async (bench) => {
    for (let index = 0; index < 12; index++) {
      const key = `${room}~a~${index + 10}`
      await bench.commit([ensure(key, { parent: index % 2 ? room : other })], { key })
      if (index % 3 === 0) await bench.clock.advance(1)
    }
    const query = { parent: room, activeSince: startMs + 1 }
    let more = 0
    const found = await readAll(
      (page) => bench.store.listSessions({ ...query, ...page }),
      2,
      async () => {
        await bench.clock.advance(1)
        more += 1
        await bench.commit([ensure(`late:${more}`, { parent: room })], { key: `late:${more}` })
      },
    )
    const numbers = [1, 3, 5, 7, 9, 11].map((index) => `${room}~a~${index + 10}`)
    assert.deepEqual(found.map((session) => session.key).sort(), numbers)
  })

  it('S163: expired sessions are listed in one order, marked or not, on each page and with each filter', async (bench) => {
    for (let index = 0; index < 8; index++) {
      const key = `tenant:acme:s:${index}`
      const fields = {
        ...(index !== 3 && { ttl: { idleMs: 100 } }),
        ...(index % 4 === 1 && { parent: room }),
        agent: index > 5 ? 'other' : 'assistant',
      }
      await bench.commit([ensure(key, fields), insertRun(`run-${index}`)], { key })
      await bench.clock.advance(1)
    }
    await bench.clock.advance(200)
    for (const index of [0, 1, 6]) await bench.commit([{ op: 'session.expire' }], { key: `tenant:acme:s:${index}` })
    const numbers = async (query: SessionQuery) => {
      const found = await readAll(
        (page) => bench.store.listSessions({ ...query, ...page }),
        2,
        async () => undefined,
      )
      return found.map(({ key, expiredAt }) => Number(key.at(-1)) * (expiredAt === undefined ? -1 : 1))
    }
    const keyPrefix = 'tenant:acme:s:'
    for (const prefix of [{}, { keyPrefix }, { keyPrefix: 'tenant:acme' }]) {
      assert.deepEqual(await numbers({ ...prefix, expired: true }), [7, 6, 5, 4, 2, 1, 0])
      assert.deepEqual(await numbers({ ...prefix, expired: false }), [-3])
      assert.deepEqual(await numbers(prefix), [7, 6, 5, 4, -3, 2, 1, 0])
      assert.deepEqual(await numbers({ ...prefix, expired: true, parent: null }), [7, 6, 4, 2, 0])
      assert.deepEqual(await numbers({ ...prefix, expired: true, parent: room }), [5, 1])
      assert.deepEqual(await numbers({ ...prefix, expired: true, agent: 'other' }), [7, 6])
      assert.deepEqual(await numbers({ ...prefix, expired: true, status: ['queued'] }), [7, 6, 5, 4, 2, 1, 0])
      assert.deepEqual(await numbers({ ...prefix, expired: true, status: null }), [])
      assert.deepEqual(await numbers({ ...prefix, expired: true, activeSince: startMs + 5 }), [7, 6, 5])
    }
  })
}
