import assert from 'node:assert/strict'
import type { Searchable, StateSearch } from '@bowline/sessions'
import { space } from './kit.ts'
import type { StateBench, StateTopic } from './kit.ts'
import { hasCode } from './writes.ts'

type Search = (words: readonly string[], query?: { readonly group?: string; readonly limit?: number }) => Promise<readonly string[]>

interface SearchBench extends StateBench {
  readonly index: StateSearch
  readonly add: (id: string, expected: number | null, searchable?: Searchable, ttlMs?: number) => Promise<void>
  readonly search: Search
}

const inRoom = (...words: readonly string[]): Searchable => ({ group: 'room', words })

/** Tests of the word index, if the store has one. */
export const searching: StateTopic = ({ it, options }) => {
  if (options.search !== true) {
    return it('A195: a store without an index of words says so', async ({ store, other }) =>
      assert.deepEqual([store.search, other.search], [undefined, undefined]))
  }
  const test = (name: string, run: (bench: SearchBench) => Promise<void>): void =>
    it(name, async (bench) => {
      const { search: index } = bench.store
      assert.ok(index)
      await run(searchBench(bench, index))
    })

  test('A195: a record is found by the beginnings of its words, by any of several, in its group alone', async ({
    add,
    search,
    other,
    index,
  }) => {
    await add('a', null, inRoom('blue', 'whale'))
    await add('b', null, inRoom('größe', '日', '本', '42'))
    await add('c', null, { group: 'rooms', words: ['blue'] })
    await add('d', null, { group: 'it\'s % _ " (odd)', words: ['blue'] })
    assert.deepEqual(await search(['blue']), ['a'])
    assert.deepEqual(await search(['wha']), ['a'])
    assert.deepEqual(await search(['hale']), [])
    assert.deepEqual((await search(['whale', 'größ'])).toSorted(), ['a', 'b'])
    for (const word of ['日', '本', '4', '42']) assert.deepEqual(await search([word]), ['b'])
    assert.deepEqual(await search(['blue'], { group: 'rooms' }), ['c'])
    assert.deepEqual(await search(['blue'], { group: 'it\'s % _ " (odd)' }), ['d'])
    assert.deepEqual(await search(['blue'], { group: 'roo' }), [])
    assert.deepEqual(await index.find('elsewhere', { group: 'room', words: ['blue'], limit: 10 }), [])
    assert.deepEqual(
      (await other.search?.find(space, { group: 'room', words: ['blue'], limit: 10 }))?.map(({ id }) => id),
      ['a'],
    )
  })

  test('A195: words of the query language are words', async ({ add, search }) => {
    await add('a', null, inRoom('and', 'or', 'not', 'near'))
    await add('b', null, inRoom('other'))
    for (const word of ['and', 'or', 'not', 'near']) assert.deepEqual(await search([word]), ['a'])
  })

  test('A195: the newest come first, without words all of the group, and each as it is read', async (bench) => {
    const { add, search, index } = bench
    for (const [place, id] of ['b', 'c', 'a'].entries()) {
      await add(id, null, inRoom('word', `n${place}`))
      await bench.pass(5)
    }
    assert.deepEqual(await search([]), ['a', 'c', 'b'])
    assert.deepEqual(await search(['word'], { limit: 2 }), ['a', 'c'])
    await add('b', 1, inRoom('word'))
    assert.deepEqual(await search(['wor']), ['b', 'a', 'c'])
    const [first] = await index.find(space, { group: 'room', words: ['word'], limit: 1 })
    assert.deepEqual(first, { id: 'b', ...(await bench.found('b')) })
    assert.equal(await index.count(space, 'room'), 3)
    assert.equal(await index.count(space, 'rooms'), 0)
  })

  test('A195: a change replaces the words and the group, a write without words takes them away, and a refused one leaves them', async (bench) => {
    const { add, search, store } = bench
    await add('a', null, inRoom('first'))
    await add('a', 1, inRoom('second'))
    assert.deepEqual([await search(['first']), await search(['second'])], [[], ['a']])
    assert.equal((await store.compareAndSet(space, 'a', 1, 'late', { ttlMs: 60_000, searchable: inRoom('late') })).ok, false)
    assert.deepEqual([await search(['late']), await search(['second'])], [[], ['a']])
    await add('a', 2, { group: 'hall', words: ['second'] })
    assert.deepEqual([await search(['second']), await search(['second'], { group: 'hall' })], [[], ['a']])
    await bench.must('a', 3, 'plain')
    assert.deepEqual(await search([], { group: 'hall' }), [])
    await add('a', 4, inRoom('again'))
    assert.deepEqual(await search(['again']), ['a'])
  })

  test('A194, A195: nothing is found of a record that was deleted, has expired or was swept', async (bench) => {
    const { add, search, store, index } = bench
    await add('a', null, inRoom('gone'))
    await add('b', null, inRoom('gone'), bench.lifeMs)
    await store.delete(space, 'a')
    assert.deepEqual(await search(['gone']), ['b'])
    await bench.pass(bench.lifeMs)
    assert.deepEqual([await search(['gone']), await index.count(space, 'room')], [[], 0])
    await store.sweep(10)
    await add('a', null, inRoom('back'))
    await add('b', null, inRoom('back'))
    assert.deepEqual([await search(['gone']), (await search(['back'])).toSorted()], [[], ['a', 'b']])
  })

  test('A195: what is no word, no group or no limit is refused, and nothing is written', async (bench) => {
    const { store, index } = bench
    for (const word of ['', 'two words', 'Capital', "it's", '*', 'x'.repeat(65), 5]) {
      const words = [word as string]
      await assert.rejects(
        store.compareAndSet(space, 'a', null, 1, { ttlMs: 1, searchable: { group: 'room', words } }),
        hasCode('invalid-input'),
      )
      await assert.rejects(index.find(space, { group: 'room', words, limit: 1 }), hasCode('invalid-input'))
    }
    for (const group of ['', 'a\0b', '\ud800', 'x'.repeat(1025)]) {
      await assert.rejects(store.compareAndSet(space, 'a', null, 1, { ttlMs: 1, searchable: { group, words: [] } }), hasCode('invalid-key'))
      await assert.rejects(index.find(space, { group, words: [], limit: 1 }), hasCode('invalid-key'))
    }
    for (const limit of [0, 1_001, 1.5])
      await assert.rejects(index.find(space, { group: 'room', words: [], limit }), hasCode('invalid-input'))
    assert.deepEqual(await bench.get('a'), { status: 'missing' })
  })
}

function searchBench(bench: StateBench, index: StateSearch): SearchBench {
  return {
    ...bench,
    index,
    async add(id, expected, searchable, ttlMs = 60_000) {
      assert.ok((await bench.store.compareAndSet(space, id, expected, `value of ${id}`, { ttlMs, ...(searchable && { searchable }) })).ok)
    },
    search: async (words, { group = 'room', limit = 10 } = {}) => (await index.find(space, { group, words, limit })).map(({ id }) => id),
  }
}
