import assert from 'node:assert/strict'
import type { NewEntry, PathOptions } from '../../store/contract.ts'
import { appendEntries, ensure, moveLeaf, room, startMs, userEntry } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'

function compactionEntry(id: string, parentId: string, firstKeptMessageId: string): NewEntry {
  const compaction = {
    ...{ compactionId: id, summary: `summary of ${id}`, firstKeptMessageId, tokensBefore: 90, tokensAfter: 10 },
    ...{ facts: [], source: 'default', lastMessageId: parentId, usage: {} },
  }
  return { id, parentId, type: 'compaction', at: startMs, compaction }
}

/** Entries in a line, each the child of the one before it. */
function line(parentId: string | null, ...ids: readonly string[]): NewEntry[] {
  return ids.map((id, index) => userEntry(id, index === 0 ? parentId : (ids[index - 1] ?? null)))
}

async function ids(bench: Bench, options: PathOptions = { context: true }): Promise<readonly string[]> {
  return (await bench.store.readPath(room, options)).items.map((entry) => entry.id)
}

/** What of a path a model is shown. */
export const context: Topic = ({ it }) => {
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
    assert.deepEqual([...read].reverse(), entries.map((entry, index) => ({ ...entry, n: index + 1 })))
  })

  it('S157: the context ends with the first message that the newest compaction keeps', async (bench) => {
    await bench.commit([ensure(), appendEntries(...line(null, 'a', 'b', 'c'), compactionEntry('first', 'c', 'b'))])
    assert.deepEqual(await ids(bench), ['first', 'c', 'b'])
    await bench.commit([appendEntries(...line('first', 'd', 'e'), compactionEntry('second', 'e', 'd'), userEntry('f', 'second'))])
    assert.deepEqual(await ids(bench), ['f', 'second', 'e', 'd'])
    // The originals stay readable.
    assert.deepEqual(await ids(bench, {}), ['f', 'second', 'e', 'd', 'first', 'c', 'b', 'a'])
  })

  it('S157: a newer compaction may keep what stands before an older one', async (bench) => {
    await bench.commit([ensure(), appendEntries(...line(null, 'a', 'b', 'c'), compactionEntry('first', 'c', 'c'))])
    await bench.commit([appendEntries(userEntry('d', 'first'), compactionEntry('second', 'd', 'b'))])
    assert.deepEqual(await ids(bench), ['second', 'd', 'first', 'c', 'b'])
  })

  it('S157: without a compaction, or when it keeps what is not on the path, the context is the whole path', async (bench) => {
    await bench.commit([ensure(), appendEntries(...line(null, 'a', 'b'))])
    assert.deepEqual(await ids(bench), ['b', 'a'])
    await bench.commit([appendEntries(compactionEntry('compaction', 'b', 'elsewhere'))])
    assert.deepEqual(await ids(bench), ['compaction', 'b', 'a'])
    assert.deepEqual(await ids(bench, { context: true, leaf: null }), [])
    assert.deepEqual(await bench.store.readPath('room:unknown', { context: true }), { items: [] })
  })

  it('S155: a compaction that keeps nothing is the end of the context', async (bench) => {
    await bench.commit([ensure(), appendEntries(...line(null, 'a', 'b'), compactionEntry('compaction', 'b', ''))])
    assert.deepEqual(await ids(bench), ['compaction'])
    await bench.commit([appendEntries(...line('compaction', 'c', 'd'))])
    assert.deepEqual(await ids(bench), ['d', 'c', 'compaction'])
  })

  it('S157: notes and summaries may be what is kept first, and a message counts by its own id', async (bench) => {
    const note = { id: 'note', parentId: 'a', type: 'note', at: startMs, text: 'kept' } as const
    const again: NewEntry = { id: 'again', parentId: 'note', type: 'message', at: startMs, message: { role: 'user', id: 'b', content: 'b' } }
    await bench.commit([ensure(), appendEntries(userEntry('a', null), note, again, compactionEntry('by-note', 'again', 'note'))])
    assert.deepEqual(await ids(bench), ['by-note', 'again', 'note'])
    await bench.commit([appendEntries(compactionEntry('by-message', 'by-note', 'b'))])
    assert.deepEqual(await ids(bench), ['by-message', 'by-note', 'again'])
  })

  it('S154: only compactions of the path itself count', async (bench) => {
    await bench.commit([ensure(), appendEntries(...line(null, 'a', 'b'), compactionEntry('compaction', 'b', 'b'))])
    await bench.commit([appendEntries(userEntry('sibling', 'b'))])
    assert.deepEqual(await ids(bench), ['sibling', 'b', 'a'])
    assert.deepEqual(await ids(bench, { context: true, leaf: 'compaction' }), ['compaction', 'b'])
    await bench.commit([moveLeaf('b')])
    assert.deepEqual(await ids(bench), ['b', 'a'])
  })

  it('S47: a context in pages ends where it ends in one, wherever the pages are cut', async (bench) => {
    await bench.commit([ensure(), appendEntries(...line(null, 'a', 'b', 'c'), compactionEntry('older', 'c', 'c'))])
    await bench.commit([appendEntries(...line('older', 'd', 'e', 'f'), compactionEntry('newer', 'f', 'e'), ...line('newer', 'g', 'h'))])
    const whole = await ids(bench)
    assert.deepEqual(whole, ['h', 'g', 'newer', 'f', 'e'])
    for (let limit = 1; limit <= 6; limit++) {
      const found: string[] = []
      let options: PathOptions | undefined = { context: true, limit }
      while (options) {
        const { items, next }: Awaited<ReturnType<typeof bench.store.readPath>> = await bench.store.readPath(room, options)
        found.push(...items.map((entry) => entry.id))
        const passed = found.includes('newer') ? 'e' : true
        options = next === undefined ? undefined : { context: passed, limit, before: next }
      }
      assert.deepEqual(found, whole, `${limit} at a time`)
    }
  })
}
