import assert from 'node:assert/strict'
import { space } from './kit.ts'
import type { StateTopic } from './kit.ts'
import { hasCode } from './writes.ts'

const ttlMs = 60_000

/** Tests that spaces and ids are plain text and stay separate. */
export const places: StateTopic = ({ it }) => {
  it('O60: a space and its ids are apart from every other space', async ({ store }) => {
    const pairs = [
      ['a', 'b:c'],
      ['a:b', 'c'],
      ['a', 'b'],
      ['b', 'a'],
      ['a/b', 'c'],
      ['a', 'b/c'],
      ['a\u0001b', 'c'],
      ['a', 'c'],
    ] as const
    for (const [name, id] of pairs) assert.equal((await store.compareAndSet(name, id, null, [name, id], { ttlMs })).ok, true)
    for (const [name, id] of pairs) {
      const read = await store.get(name, id)
      assert.deepEqual(read.status === 'found' && read.value.value, [name, id])
    }
    assert.deepEqual(
      (await store.list('a', {})).items.map((item) => item.id),
      ['b', 'b/c', 'b:c', 'c'],
    )
    assert.deepEqual(
      (await store.list('a:b', {})).items.map((item) => item.id),
      ['c'],
    )
    await store.delete('a', 'b:c')
    assert.equal((await store.get('a:b', 'c')).status, 'found')
  })

  it('O60: characters of patterns are plain text, in ids and prefixes', async (bench) => {
    const ids = ['*', '%', '_', '?', '[a]', 'a*', 'a%', 'a_', 'ab', 'AB', '\\', "'", '"', '{a}']
    for (const id of ids) await bench.must(id, null, id)
    for (const id of ids) assert.equal((await bench.found(id)).value, id)
    for (const prefix of ['*', '%', '_', '?', '[a', 'a*', 'a%', 'a_', '\\', "'"]) {
      assert.deepEqual(
        await bench.ids({ prefix }),
        ids.filter((id) => id.startsWith(prefix)),
      )
    }
    assert.deepEqual(await bench.ids({ prefix: 'ab' }), ['ab'])
  })

  it('O6: an id or a space that is none is refused', async (bench) => {
    for (const text of ['', '\ud800', 'a\0b', 'x'.repeat(1025), 5, undefined]) {
      const wrong = text as string
      await assert.rejects(bench.get(wrong), hasCode('invalid-key'))
      await assert.rejects(bench.put(wrong, null), hasCode('invalid-key'))
      await assert.rejects(bench.store.touch(space, wrong, 1), hasCode('invalid-key'))
      await assert.rejects(bench.store.delete(space, wrong), hasCode('invalid-key'))
      await assert.rejects(bench.store.list(wrong, {}), hasCode('invalid-key'))
    }
  })
}
