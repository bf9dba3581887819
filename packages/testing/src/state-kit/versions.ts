import assert from 'node:assert/strict'
import { space } from './kit.ts'
import type { StateTopic } from './kit.ts'

/** Tests that a version of an id is never reused. */
export const versions: StateTopic = ({ it }) => {
  it('O61: versions go on after a deletion', async (bench) => {
    await bench.must('a', null)
    await bench.must('a', 1)
    await bench.store.delete(space, 'a')
    assert.equal(await bench.must('a', null), 3)
    await bench.store.delete(space, 'a')
    assert.equal(await bench.must('a', null), 4)
  })

  it('O61: versions go on after an expiry, swept or not', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: bench.lifeMs })
    await bench.pass(bench.lifeMs)
    assert.equal(await bench.must('a', null, 2, { ttlMs: bench.lifeMs }), 2)
    await bench.pass(bench.lifeMs)
    assert.equal(await bench.store.sweep(10), 1)
    assert.equal(await bench.must('a', null), 3)
  })

  it('O16: a late write does not meet the version of a record that was made anew', async (bench) => {
    const late = await bench.must('a', null, 'first')
    await bench.store.delete(space, 'a')
    assert.deepEqual(await bench.put('a', late, 'late'), { ok: false, reason: 'missing' })
    await bench.must('a', null, 'second')
    assert.equal((await bench.put('a', late, 'late')).ok, false)
    assert.equal((await bench.found('a')).value, 'second')
  })

  it('O16: a touch brings nothing back', async (bench) => {
    assert.equal(await bench.store.touch(space, 'never', 1_000), false)
    await bench.must('deleted', null)
    await bench.store.delete(space, 'deleted')
    assert.equal(await bench.store.touch(space, 'deleted', 1_000), false)
    await bench.must('expired', null, 1, { ttlMs: bench.lifeMs })
    await bench.pass(bench.lifeMs)
    assert.equal(await bench.store.touch(space, 'expired', 1_000), false)
    assert.equal((await bench.get('expired')).status, 'expired')
    await bench.store.sweep(10)
    assert.equal(await bench.store.touch(space, 'expired', 1_000), false)
    for (const id of ['never', 'deleted', 'expired']) assert.deepEqual(await bench.get(id), { status: 'missing' })
    assert.deepEqual(await bench.ids(), [])
  })
}
