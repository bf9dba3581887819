import assert from 'node:assert/strict'
import type { BranchRecord } from '@bowline/sessions'
import { appendEntries, ensure, moveLeaf, other, room, startMs, userEntry } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'
import { readAll } from './read-all.ts'

async function leavesOf(bench: Bench): Promise<readonly string[]> {
  return (await bench.store.listBranches(room)).items.map((branch) => branch.leaf)
}

/** Tests of the list of branches. */
export const branches: Topic = ({ it }) => {
  it('S153: every leaf is listed with the length of its path and its time, in the order of coming into being', async (bench, stores) => {
    assert.deepEqual(await bench.store.listBranches(room), { items: [] })
    await bench.commit([ensure()])
    assert.deepEqual(await bench.store.listBranches(room), { items: [] })
    const at = (id: string, parentId: string | null, time: number) => ({ ...userEntry(id, parentId), at: time })
    await bench.commit([appendEntries(at('z', null, 5), at('y', 'z', 4), at('x', 'y', 3))])
    await bench.commit([appendEntries(at('b', 'y', 2)), appendEntries({ id: 'note', parentId: 'b', type: 'note', at: 7, text: 'x' })])
    await bench.commit([ensure(other), appendEntries(userEntry('elsewhere', null))], { key: other })
    await bench.commit([appendEntries(at('a', 'z', 1), at('root', null, 9))])
    const expected: BranchRecord[] = [
      { leaf: 'x', entries: 3, at: 3 },
      { leaf: 'note', entries: 4, at: 7 },
      { leaf: 'a', entries: 2, at: 1 },
      { leaf: 'root', entries: 1, at: 9 },
    ]
    assert.deepEqual(await bench.store.listBranches(room), { items: expected })
    assert.deepEqual(await (await stores.reopen(bench)).store.listBranches(room), { items: expected })
  })

  it('S149: moving the leaf makes and ends no branch', async (bench) => {
    await bench.commit([ensure(), appendEntries(userEntry('a', null), userEntry('b', 'a'), userEntry('c', 'a'))])
    for (const leaf of ['b', 'a', null]) {
      await bench.commit([moveLeaf(leaf)])
      assert.deepEqual(await leavesOf(bench), ['b', 'c'])
    }
    await bench.commit([appendEntries(userEntry('d', 'b'))])
    assert.deepEqual(await leavesOf(bench), ['c', 'd'])
  })

  it('S47: branches in pages come once each while the tree grows, and none is left out', async (bench) => {
    const ids = Array.from({ length: 12 }, (_, index) => `leaf-${index}`)
    await bench.commit([ensure(), appendEntries(userEntry('a', null), ...ids.map((id) => userEntry(id, 'a')))])
    let more = 0
    const found = await readAll(
      (page) => bench.store.listBranches(room, page),
      5,
      async () => {
        // Both the last entry that was returned and one that was not returned yet get a child.
        const [given, coming] = more === 0 ? (['leaf-4', 'leaf-7'] as const) : (['leaf-10', 'leaf-11'] as const)
        await bench.commit([appendEntries(userEntry(`new-${more++}`, given), userEntry(`new-${more++}`, coming))])
      },
    )
    const leaves = found.map((branch) => branch.leaf)
    assert.deepEqual(leaves, [...ids.filter((id) => !['leaf-7', 'leaf-11'].includes(id)), ...['new-0', 'new-1', 'new-2', 'new-3']])
    assert.deepEqual(
      found.map((branch) => branch.entries),
      leaves.map((leaf) => (leaf.startsWith('new') ? 3 : 2)),
    )
    assert.deepEqual((await bench.store.listBranches(room, { limit: 1 })).items.length, 1)
    await assert.rejects(bench.store.listBranches(room, { page: 'made up' }), { code: 'invalid-cursor' })
  })

  it('S153: a line of 2,000 entries is one branch of 2,000', async (bench) => {
    await bench.commit([ensure()])
    for (let from = 0; from < 2000; from += 500) {
      const line = Array.from({ length: 500 }, (_, index) => from + index)
      await bench.commit([appendEntries(...line.map((n) => userEntry(`entry-${n}`, n === 0 ? null : `entry-${n - 1}`)))])
    }
    assert.deepEqual(await bench.store.listBranches(room), { items: [{ leaf: 'entry-1999', entries: 2000, at: startMs }] })
  })
}
