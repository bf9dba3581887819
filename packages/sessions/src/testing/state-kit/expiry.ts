import assert from 'node:assert/strict'
import { longestMs } from '../../arguments.ts'
import { space } from './kit.ts'
import type { StateTopic } from './kit.ts'

/** Tests of lifetimes of records. */
export const expiry: StateTopic = ({ it }) => {
  it('O49: a record lives its milliseconds, not one less and not one more', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: 500 })
    await bench.pass(499)
    const { expiresAt } = await bench.found('a')
    await bench.pass(1)
    assert.deepEqual(await bench.get('a'), { status: 'expired', at: expiresAt })
  })

  it('O49: a change and a touch start its life anew, a read does not', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: 500 })
    await bench.pass(400)
    assert.equal(await bench.store.touch(space, 'a', 500), true)
    await bench.pass(400)
    await bench.must('a', 1, 2, { ttlMs: 500 })
    await bench.pass(400)
    await bench.found('a')
    await bench.ids()
    await bench.pass(100)
    assert.equal((await bench.get('a')).status, 'expired')
  })

  it('O49: a touch moves the expiry, and neither value nor version', async (bench) => {
    await bench.must('a', null, { v: 1 }, { ttlMs: 500 })
    const before = await bench.found('a')
    await bench.pass(100)
    await bench.store.touch(space, 'a', 2_000)
    const usedAt = before.usedAt + 100
    assert.deepEqual(await bench.found('a'), { ...before, usedAt, expiresAt: usedAt + 2_000 })
  })

  it('O49: the longest life is kept to the millisecond, until another one is given', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: 500 })
    await bench.store.touch(space, 'a', longestMs)
    const { usedAt, expiresAt } = await bench.found('a')
    assert.equal(expiresAt, usedAt + longestMs)
    await bench.store.touch(space, 'a', 500)
    await bench.pass(500)
    assert.equal((await bench.get('a')).status, 'expired')
  })

  it('O3: reading changes nothing', async (bench) => {
    await bench.must('a', null, { v: 1 }, { ttlMs: 500 })
    const before = await bench.found('a')
    await bench.pass(499)
    await bench.store.list(space, {})
    assert.deepEqual(await bench.found('a'), before)
  })

  it('O52: never is no expiry, until a life is given', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: 'never' })
    await bench.pass(1_000_000)
    assert.equal((await bench.found('a')).expiresAt, 'never')
    assert.equal(await bench.store.sweep(10), 0)
    await bench.must('a', 1, 2, { ttlMs: 500 })
    await bench.pass(500)
    assert.equal((await bench.get('a')).status, 'expired')
    await bench.must('b', null, 1, { ttlMs: 500 })
    await bench.store.touch(space, 'b', 'never')
    await bench.pass(1_000_000)
    assert.equal((await bench.found('b')).expiresAt, 'never')
  })

  it('O58: expired is neither missing nor there', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: 500 })
    await bench.must('live', null)
    await bench.pass(500)
    assert.equal((await bench.get('a')).status, 'expired')
    assert.deepEqual(await bench.get('b'), { status: 'missing' })
    assert.deepEqual(await bench.put('a', 1, 'late'), { ok: false, reason: 'missing' })
    assert.deepEqual(await bench.store.delete(space, 'a'), { ok: false, reason: 'missing' })
    assert.deepEqual(await bench.ids(), ['live'])
  })

  it('O54: a sweep removes what has expired, up to its limit, in every space', async (bench) => {
    for (const id of ['a', 'b', 'c']) await bench.must(id, null, 1, { ttlMs: 500 })
    await bench.store.compareAndSet('another', 'd', null, 1, { ttlMs: 500 })
    await bench.must('live', null, 1, { ttlMs: 501 })
    await bench.pass(500)
    assert.equal(await bench.store.sweep(3), 3)
    assert.equal(await bench.store.sweep(3), 1)
    assert.equal(await bench.store.sweep(3), 0)
    assert.deepEqual(await bench.get('a'), { status: 'missing' })
    assert.deepEqual(await bench.ids(), ['live'])
  })
}
