import assert from 'node:assert/strict'
import { longestMs } from '@bowline/sessions/internal'
import { space } from './kit.ts'
import type { StateTopic } from './kit.ts'

/** Tests of lifetimes of records. */
export const expiry: StateTopic = ({ it }) => {
  it('O49: a record lives its milliseconds, not one less and not one more', async (bench) => {
    const { lifeMs, slackMs } = bench
    await bench.must('a', null, 1, { ttlMs: lifeMs })
    await bench.pass(lifeMs - slackMs)
    const { expiresAt } = await bench.found('a')
    await bench.pass(slackMs)
    assert.deepEqual(await bench.get('a'), { status: 'expired', at: expiresAt })
  })

  it('O49: a change and a touch start its life anew, a read does not', async (bench) => {
    const { lifeMs, slackMs } = bench
    await bench.must('a', null, 1, { ttlMs: lifeMs })
    await bench.pass(lifeMs - slackMs)
    assert.equal(await bench.store.touch(space, 'a', lifeMs), true)
    await bench.pass(lifeMs - slackMs)
    await bench.must('a', 1, 2, { ttlMs: lifeMs })
    await bench.pass(lifeMs - slackMs)
    await bench.found('a')
    await bench.ids()
    await bench.pass(slackMs)
    assert.equal((await bench.get('a')).status, 'expired')
  })

  it('O49: a touch moves the expiry, and neither value nor version', async (bench) => {
    await bench.must('a', null, { v: 1 }, { ttlMs: bench.lifeMs })
    const before = await bench.found('a')
    await bench.pass(100)
    await bench.store.touch(space, 'a', 3_000)
    const after = await bench.found('a')
    const { usedAt } = after
    assert.deepEqual(after, { ...before, usedAt, expiresAt: usedAt + 3_000 })
    assert.ok(bench.isExact ? usedAt === before.usedAt + 100 : usedAt >= before.usedAt + 100, 'the touch is no use')
  })

  it('O49: the longest life is kept to the millisecond, until another one is given', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: bench.lifeMs })
    await bench.store.touch(space, 'a', longestMs)
    const { usedAt, expiresAt } = await bench.found('a')
    assert.equal(expiresAt, usedAt + longestMs)
    await bench.store.touch(space, 'a', bench.lifeMs)
    await bench.pass(bench.lifeMs)
    assert.equal((await bench.get('a')).status, 'expired')
  })

  it('O3: reading changes nothing', async (bench) => {
    await bench.must('a', null, { v: 1 }, { ttlMs: bench.lifeMs })
    const before = await bench.found('a')
    await bench.pass(bench.lifeMs - bench.slackMs)
    await bench.store.list(space, {})
    assert.deepEqual(await bench.found('a'), before)
  })

  it('O52: never is no expiry, until a life is given', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: 'never' })
    const longMs = bench.isExact ? 1_000_000 : bench.lifeMs
    await bench.pass(longMs)
    assert.equal((await bench.found('a')).expiresAt, 'never')
    assert.equal(await bench.store.sweep(10), 0)
    await bench.must('a', 1, 2, { ttlMs: bench.lifeMs })
    await bench.pass(bench.lifeMs)
    assert.equal((await bench.get('a')).status, 'expired')
    await bench.must('b', null, 1, { ttlMs: bench.lifeMs })
    await bench.store.touch(space, 'b', 'never')
    await bench.pass(longMs)
    assert.equal((await bench.found('b')).expiresAt, 'never')
  })

  it('O58: expired is neither missing nor there', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: bench.lifeMs })
    await bench.must('live', null)
    await bench.pass(bench.lifeMs)
    assert.equal((await bench.get('a')).status, 'expired')
    assert.deepEqual(await bench.get('b'), { status: 'missing' })
    assert.deepEqual(await bench.put('a', 1, 'late'), { ok: false, reason: 'missing' })
    assert.deepEqual(await bench.store.delete(space, 'a'), { ok: false, reason: 'missing' })
    assert.deepEqual(await bench.ids(), ['live'])
  })

  it('O54: a sweep removes what has expired, up to its limit, in every space', async (bench) => {
    for (const id of ['a', 'b', 'c']) await bench.must(id, null, 1, { ttlMs: bench.lifeMs })
    await bench.store.compareAndSet('another', 'd', null, 1, { ttlMs: bench.lifeMs })
    await bench.must('live', null, 1, { ttlMs: bench.lifeMs + bench.slackMs })
    await bench.pass(bench.lifeMs)
    assert.equal(await bench.store.sweep(3), 3)
    assert.equal(await bench.store.sweep(3), 1)
    assert.equal(await bench.store.sweep(3), 0)
    assert.deepEqual(await bench.get('a'), { status: 'missing' })
    assert.deepEqual(await bench.ids(), ['live'])
  })
}
