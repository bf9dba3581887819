import assert from 'node:assert/strict'
import { space } from './kit.ts'
import type { StateBench, StateTopic } from './kit.ts'

async function walk(bench: StateBench, limit: number, prefix = ''): Promise<string[]> {
  const ids: string[] = []
  let page: string | undefined
  do {
    const found = await bench.store.list(space, { limit, prefix, ...(page === undefined ? {} : { page }) })
    assert.ok(found.items.length <= limit)
    ids.push(...found.items.map((item) => item.id))
    page = found.next
  } while (page !== undefined)
  return ids
}

/** Tests of lists of live records. */
export const listing: StateTopic = ({ it }) => {
  it('O62: a walk meets every record once, in order of the bytes of the ids', async (bench) => {
    const ids = ['a', 'aa', 'ab', 'b', 'B', 'z', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}', '\u{10ffff}a']
    for (const id of ids.toReversed()) await bench.must(id, null)
    const inOrder = ids.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
    for (const limit of [1, 2, 5, 100]) assert.deepEqual(await walk(bench, limit), inOrder)
  })

  it('O62: a prefix is where its ids are, and nowhere else', async (bench) => {
    const ids = ['room', 'room:1', 'room:2', 'roomy', 'roon', '\ud7ff', '\ud7ffa', '\ue000', '\u{10ffff}', '\u{10ffff}\u{10ffff}']
    for (const id of ids) await bench.must(id, null)
    for (const prefix of ['room', 'room:', 'roo', 'x', '\ud7ff', '\u{10ffff}']) {
      const wanted = ids.filter((id) => id.startsWith(prefix))
      for (const limit of [1, 100]) assert.deepEqual(await walk(bench, limit, prefix), wanted)
    }
  })

  it('O20: pages stay what they are when records before them go or come', async (bench) => {
    for (const id of ['b', 'c', 'd', 'e']) await bench.must(id, null)
    const first = await bench.store.list(space, { limit: 2 })
    await bench.must('a', null)
    await bench.store.delete(space, 'c')
    const { next } = first
    assert.ok(next !== undefined)
    const second = await bench.store.list(space, { limit: 2, page: next })
    assert.deepEqual(
      [first, second].map((page) => page.items.map((item) => item.id)),
      [
        ['b', 'c'],
        ['d', 'e'],
      ],
    )
    assert.equal(second.next, undefined)
  })

  it('O20: what has expired is in no page, and each record is listed as it is read', async (bench) => {
    await bench.must('a', null, 1, { ttlMs: bench.lifeMs })
    await bench.must('b', null, { of: 'b' })
    await bench.must('c', null, 1, { ttlMs: bench.lifeMs })
    await bench.pass(bench.lifeMs)
    assert.deepEqual(await bench.store.list(space, { limit: 1 }), { items: [{ id: 'b', ...(await bench.found('b')) }] })
  })

  it('O57: a page has 100 records unless asked, and 1,000 at most', async (bench) => {
    for (let n = 0; n < 101; n++) await bench.must(`id-${n}`, null, n)
    assert.equal((await bench.store.list(space, {})).items.length, 100)
    assert.equal((await bench.store.list(space, { limit: 5_000 })).items.length, 101)
    assert.deepEqual(await bench.store.list('empty', {}), { items: [] })
  })
}
