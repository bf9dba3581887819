import assert from 'node:assert/strict'
import { SessionError } from '@bowline/sessions'
import { space } from './kit.ts'
import type { StateTopic } from './kit.ts'

/** Tests of reads, compare-and-set, deletion, and errors of a closed store. */
export const writes: StateTopic = ({ it, options }) => {
  it('O57: what was written is read, with its version and its times', async (bench) => {
    const value = { text: 'ä 🎈', list: [1, null, { deep: true }], empty: {}, 'half \ud83d': 'a\0b \udc00' }
    assert.deepEqual(await bench.put('a', null, value, { ttlMs: 5_000 }), { ok: true, version: 1 })
    const { usedAt, ...read } = await bench.found('a')
    assert.deepEqual(read, { version: 1, value, expiresAt: usedAt + 5_000 })
    assert.deepEqual(await bench.other.get(space, 'a'), await bench.get('a'))
  })

  it('O57: a write needs the version that stands, and tells what stands instead', async (bench) => {
    await bench.must('a', null, 'one')
    await bench.must('a', 1, 'two')
    const current = await bench.found('a')
    for (const expected of [null, 1, 3]) {
      assert.deepEqual(await bench.put('a', expected, 'late'), { ok: false, reason: 'conflict', current })
    }
    assert.deepEqual(await bench.found('a'), current)
    assert.deepEqual([current.version, current.value], [2, 'two'])
  })

  it('O57: where there is nothing a version cannot be replaced', async (bench) => {
    assert.deepEqual(await bench.put('a', 1), { ok: false, reason: 'missing' })
    assert.deepEqual(await bench.get('a'), { status: 'missing' })
    assert.deepEqual(await bench.ids(), [])
  })

  it('O13: of 32 writers that have read the same version one wins, and none is overwritten', async (bench) => {
    await bench.must('count', null, 0)
    const add = async (): Promise<void> => {
      for (;;) {
        const { version, value } = await bench.found('count')
        if ((await bench.put('count', version, Number(value) + 1)).ok) return
      }
    }
    const addElsewhere = async (): Promise<void> => {
      for (;;) {
        const read = await bench.other.get(space, 'count')
        assert.ok(read.status === 'found')
        const { version, value } = read.value
        if ((await bench.other.compareAndSet(space, 'count', version, Number(value) + 1, { ttlMs: 60_000 })).ok) return
      }
    }
    await Promise.all(Array.from({ length: 16 }, () => [add(), addElsewhere()]).flat())
    const { version, value } = await bench.found('count')
    assert.deepEqual([version, value], [33, 32])
  })

  it('O5: of creators at the same time one creates', async (bench) => {
    const results = await Promise.all([1, 2, 3].map((value) => bench.put('a', null, value)))
    assert.deepEqual(results.map((result) => result.ok).sort(), [false, false, true])
    const winner = results.findIndex((result) => result.ok) + 1
    assert.deepEqual((await bench.found('a')).value, winner)
  })

  it('O57: a deletion gives the version that is gone; with a version it heeds that', async (bench) => {
    await bench.must('a', null)
    await bench.must('a', 1)
    const current = await bench.found('a')
    assert.deepEqual(await bench.store.delete(space, 'a', 1), { ok: false, reason: 'conflict', current })
    assert.deepEqual(await bench.store.delete(space, 'a', 2), { ok: true, version: 2 })
    assert.deepEqual(await bench.get('a'), { status: 'missing' })
    for (const expected of [undefined, 2]) {
      assert.deepEqual(await bench.store.delete(space, 'a', expected), { ok: false, reason: 'missing' })
    }
  })

  it('O59: values are copies, going in and coming out', async (bench) => {
    const value = { list: ['as written'] }
    await bench.must('a', null, value)
    value.list.push('changed later')
    const read = (await bench.found('a')).value as { list: string[] }
    read.list.push('changed by a reader')
    const [listed] = (await bench.store.list(space, {})).items
    ;((listed?.value ?? {}) as { list: string[] }).list.push('changed from the list')
    assert.deepEqual((await bench.found('a')).value, { list: ['as written'] })
  })

  it('O57: what JSON would change is refused, and so is a life that is none', async (bench) => {
    for (const value of [() => undefined, { at: new Date(0) }, [Number.NaN], 1n]) {
      await assert.rejects(bench.put('a', null, value as never), hasCode('invalid-input'))
    }
    for (const ttlMs of [0, -1, 0.5, Number.NaN, '5']) {
      await assert.rejects(bench.put('a', null, 1, { ttlMs: ttlMs as never }), hasCode('invalid-config'))
      await assert.rejects(bench.store.touch(space, 'a', ttlMs as never), hasCode('invalid-config'))
    }
    assert.deepEqual(await bench.get('a'), { status: 'missing' })
  })

  it('O58: a closed store is unavailable, not empty', async (bench) => {
    await bench.must('a', null)
    const { store } = bench
    await store.close()
    const calls: readonly (() => Promise<unknown>)[] = [
      () => store.get(space, 'a'),
      () => store.compareAndSet(space, 'a', 1, 2, { ttlMs: 1 }),
      () => store.touch(space, 'a', 1),
      () => store.delete(space, 'a'),
      () => store.list(space, {}),
      () => store.sweep(1),
    ]
    for (const call of calls) await assert.rejects(call(), hasCode('store-unavailable'))
  })

  if (options.reopen) {
    it('O57: records, versions and what is left of deleted ones are there after reopening', async (bench) => {
      await bench.must('a', null, { kept: true })
      await bench.must('gone', null)
      await bench.store.delete(space, 'gone')
      const before = await bench.found('a')
      const again = await bench.reopen()
      assert.deepEqual(await again.found('a'), before)
      assert.equal(await again.must('gone', null), 2)
    })
  }
}

export function hasCode(code: string) {
  return (error: unknown): boolean => SessionError.isInstance(error) && error.code === code
}
