import assert from 'node:assert/strict'
import { SessionError } from '@bowline/sessions'
import { appendEntries, ensure, moveLeaf, putCalls, room, settledCall, startMs, userEntry } from './bench.ts'
import type { NewEntry } from '@bowline/sessions'
import type { Topic } from './kit.ts'

function compactionEntry(id: string, parentId: string, firstKeptMessageId: string): NewEntry {
  const compaction = {
    compactionId: id,
    summary: `summary of ${id}`,
    firstKeptMessageId,
    tokensBefore: 90,
    tokensAfter: 10,
    facts: [],
    source: 'default',
    lastMessageId: parentId,
    usage: {},
  }
  return { id, parentId, type: 'compaction', at: startMs, compaction }
}

/** Tests that entries form a tree that only grows. */
export const transcript: Topic = ({ it }) => {
  it('S43: a parent must exist or come earlier in the batch', async (bench) => {
    await bench.commit([ensure()])
    await bench.refused('conflict', [appendEntries(userEntry('a', 'nowhere'))])
    await bench.refused('conflict', [appendEntries(userEntry('b', 'a'), userEntry('a', null))])
    await bench.refused('conflict', [appendEntries(userEntry('a', 'a'))])
    await bench.commit([appendEntries(userEntry('a', null), userEntry('b', 'a'))])
    await bench.commit([appendEntries(userEntry('c', 'b'))])
  })

  it('S43: an entry of another session is no parent', async (bench) => {
    await bench.commit([ensure('room:2'), appendEntries(userEntry('a', null))], { key: 'room:2' })
    await bench.commit([ensure()])
    await bench.refused('conflict', [appendEntries(userEntry('b', 'a'))])
    await bench.commit([appendEntries(userEntry('a', null))])
  })

  it('S43: a repeated entry id is refused, and the entry stays as it was', async (bench) => {
    await bench.commit([ensure(), appendEntries(userEntry('a', null))])
    await bench.refused('conflict', [appendEntries(userEntry('a', null, 'other text'))])
    await bench.refused('conflict', [appendEntries(userEntry('b', 'a'), userEntry('b', 'a'))])
  })

  it('S43: the leaf is the last entry, and the path leads from it to the root', async (bench) => {
    await bench.commit([ensure(), appendEntries(userEntry('a', null), userEntry('b', 'a'), userEntry('c', 'a'))])
    assert.equal((await bench.session()).leaf, 'c')
    const ids = async (options: Parameters<typeof bench.store.readPath>[1]) =>
      (await bench.store.readPath(room, options)).items.map((entry) => entry.id)
    assert.deepEqual(await ids({}), ['c', 'a'])
    assert.deepEqual(await ids({ leaf: 'b' }), ['b', 'a'])
    assert.deepEqual(await ids({ leaf: null }), [])
    assert.deepEqual(await ids({ before: 'b' }), ['a'])
    assert.deepEqual(await ids({ before: 'a' }), [])
    const [last] = (await bench.store.readPath(room)).items
    assert.deepEqual(last, { ...userEntry('c', 'a'), n: 3 })
  })

  it('S43, S47: the path is that of the parents, whatever the order of the ids, in pages of any size', async (bench) => {
    const ids = ['m', 'z', 'b', 'y', 'c', 'n', 'a', 'x', 'o', 'p']
    const branches = ['l', 'bb', 'yy', 'q']
    await bench.commit([ensure(), appendEntries(...ids.map((id, index) => userEntry(id, ids[index - 1] ?? null)))])
    await bench.commit([appendEntries(...branches.map((id, index) => userEntry(id, ids[index * 2] ?? null))), moveLeaf('p')])
    const wanted = ids.toReversed()
    for (let limit = 1; limit <= ids.length + 1; limit++) {
      const found: string[] = []
      for (let before: string | undefined; found.length < wanted.length; before = found.at(-1)) {
        const { items, next } = await bench.store.readPath(room, { limit, ...(before === undefined ? {} : { before }) })
        found.push(...items.map((entry) => entry.id))
        assert.equal(next === undefined, found.length === wanted.length)
      }
      assert.deepEqual(found, wanted)
    }
  })

  it('S149: the leaf moves to any entry of the session, or before the first, and nothing is deleted', async (bench) => {
    await bench.commit([ensure('room:2'), appendEntries(userEntry('elsewhere', null))], { key: 'room:2' })
    await bench.commit([ensure(), appendEntries(userEntry('a', null), userEntry('b', 'a'))])
    const path = async () => (await bench.store.readPath(room)).items.map((entry) => entry.id)
    await bench.commit([moveLeaf('a')])
    assert.deepEqual(await path(), ['a'])
    await bench.commit([appendEntries(userEntry('c', 'a')), moveLeaf('b')])
    assert.deepEqual([(await bench.session()).leaf, await path()], ['b', ['b', 'a']])
    await bench.commit([moveLeaf(null)])
    assert.deepEqual([(await bench.session()).leaf, await path()], [null, []])
    for (const unknown of ['nowhere', 'elsewhere']) await bench.refused('conflict', [moveLeaf(unknown)])
    await bench.commit([moveLeaf('c')])
    assert.deepEqual(await path(), ['c', 'a'])
  })

  it('S43: a compaction is an entry of the path', async (bench) => {
    const compaction = {
      compactionId: 'b',
      summary: 'what was said',
      firstKeptMessageId: 'a',
      tokensBefore: 90,
      tokensAfter: 10,
      facts: [{ kind: 'file-read', value: 'a.txt' }],
      source: 'default',
      usage: { inputTokens: 5 },
    }
    const entry = { id: 'b', parentId: 'a', type: 'compaction', at: startMs, runId: 'run-1', compaction } as const
    await bench.commit([ensure(), appendEntries(userEntry('a', null), entry, userEntry('c', 'b'))])
    const { items } = await bench.store.readPath(room)
    assert.deepEqual(items, [
      { ...userEntry('c', 'b'), n: 3 },
      { ...entry, n: 2 },
      { ...userEntry('a', null), n: 1 },
    ])
  })

  it('S43: a path from an entry that is not there is an error, not an empty transcript', async (bench) => {
    await bench.commit([ensure(), appendEntries(userEntry('a', null))])
    const unknown = (error: unknown): boolean => SessionError.isInstance(error) && error.code === 'unknown-entry'
    await assert.rejects(bench.store.readPath(room, { leaf: 'nowhere' }), unknown)
    await assert.rejects(bench.store.readPath(room, { before: 'nowhere' }), unknown)
    assert.deepEqual(await bench.store.readPath('room:unknown'), { items: [] })
  })

  it('S83: an entry that refers to the ledger is read with its outcome', async (bench) => {
    await bench.running('run-1')
    const call = settledCall('run-1', 'call-1')
    const key = { runId: 'run-1', step: 1, toolCallId: 'call-1' }
    const entry = { id: 'result-call-1', parentId: 'a', type: 'message', at: startMs, runId: 'run-1' } as const
    await bench.refused('conflict', [appendEntries(userEntry('a', null), { ...entry, call: key })])
    // The ledger row may come later in the batch.
    await bench.commit([appendEntries(userEntry('a', null), { ...entry, call: key }), putCalls(call)])
    const [result] = (await bench.store.readPath(room)).items
    assert.deepEqual(result, { ...entry, n: 2, message: call.outcome })
  })

  it('S43: entries of every type are read as they were written', async (bench, stores) => {
    const summary = { text: 'was tried', fromLeaf: 'x', commonAncestor: null }
    const entries: NewEntry[] = [
      userEntry('a', null),
      { id: 'summary', parentId: 'a', type: 'branch-summary', at: 2, summary },
      { id: 'note', parentId: 'summary', type: 'note', at: 3, text: 'ünd' },
      { id: 'custom', parentId: 'note', type: 'custom', at: 4, runId: 'run-1', data: { nested: [null, 1] } },
      compactionEntry('compaction', 'custom', 'a'),
      { id: 'label', parentId: 'compaction', type: 'label', at: 5, label: { entryId: 'a', text: 'start' } },
      { id: 'unlabel', parentId: 'label', type: 'label', at: 6, label: { entryId: 'a', text: null } },
    ]
    await bench.commit([ensure(), appendEntries(...entries)])
    const again = await stores.reopen(bench)
    const read = (await again.store.readPath(room)).items
    assert.deepEqual(
      [...read].reverse(),
      entries.map((entry, index) => ({ ...entry, n: index + 1 })),
    )
  })
}
