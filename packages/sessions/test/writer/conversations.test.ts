import type { JournalRecord, StoredMessage } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { NewEntry, SessionStore, Write } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { charactersIn } from '../../src/json.ts'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { Conversations, type Conversation } from '../../src/writer/conversations.ts'

const key = 'room:1'

interface Bench {
  readonly store: SessionStore
  /** Number of entries read since the last call. */
  reads(): number
  append(...entries: readonly NewEntry[]): Promise<void>
}

async function setup(): Promise<Bench> {
  let read = 0
  const inner = memoryStore()
  const store = aroundStore(inner, async (_operation, _args, go) => {
    const answer = await go()
    if (isPage(answer)) read += answer.items.length
    return answer
  })
  await store.open({ namespace: 'default', clock: manualClock(1), owner: 'tests' })
  let batches = 0
  const commit = async (...writes: readonly Write[]): Promise<void> => {
    const result = await inner.commit({ id: `batch-${++batches}`, key, expect: [], writes })
    expect(result).toMatchObject({ ok: true })
  }
  await commit({ op: 'session.ensure', session: { id: 'session-1', agent: 'assistant', metadata: {}, at: 1 } })
  return {
    store,
    reads() {
      const since = read
      read = 0
      return since
    },
    append: (...entries) => commit({ op: 'entry.append', entries }),
  }
}

function isPage(answer: unknown): answer is { readonly items: readonly unknown[] } {
  return typeof answer === 'object' && answer !== null && 'items' in answer && Array.isArray(answer.items)
}

function message(n: number, content = `${n}`): StoredMessage {
  return { role: 'user', id: `m${n}`, content }
}

function entry(n: number, parent: number | null, runId = 'run-1'): NewEntry {
  return { id: `m${n}`, parentId: parent === null ? null : `m${parent}`, at: 1, runId, type: 'message', message: message(n) }
}

/** Returns consecutive messages between two numbers. */
function line(from: number, to: number): NewEntry[] {
  return Array.from({ length: to - from + 1 }, (_, index) => entry(from + index, from + index === 1 ? null : from + index - 1))
}

function compaction(id: string, parent: string, firstKeptMessageId: string): NewEntry {
  const body = {
    compactionId: id,
    summary: 'So far.',
    firstKeptMessageId,
    facts: [],
    source: 'default',
    usage: {},
    tokensBefore: 1,
    tokensAfter: 1,
  } as const
  return { id, parentId: parent, at: 1, runId: 'run-1', type: 'compaction', compaction: body }
}

function ids(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `m${from + index}`)
}

async function idsAt({ store }: Bench, conversation: Conversation, leaf: string | null, openRun?: string): Promise<readonly string[]> {
  return (await conversation.read(store, key, leaf, openRun)).messages.map(({ id }) => id)
}

const appended = (n: number): JournalRecord => ({ type: 'append', message: message(n) })

describe('S155: the transcript that a process remembers', () => {
  it('S155: a known transcript is not read again, nor are the entries that a turn has added', async () => {
    const bench = await setup()
    await bench.append(...line(1, 600))
    const conversation = new Conversations().of('session-1')
    expect(await idsAt(bench, conversation, 'm600')).toEqual(ids(1, 600))
    expect(bench.reads()).toBe(600)
    conversation.committed([appended(601), appended(602)], 'm600', 'm602')
    expect(await idsAt(bench, conversation, 'm602')).toEqual(ids(1, 602))
    expect(bench.reads()).toBe(0)
  })

  it('S155: of the entries that another process has added, no more than a hundred are read', async () => {
    const bench = await setup()
    await bench.append(...line(1, 600))
    const conversation = new Conversations().of('session-1')
    await idsAt(bench, conversation, 'm600')
    await bench.append(...line(601, 603))
    bench.reads()
    expect(await idsAt(bench, conversation, 'm603')).toEqual(ids(1, 603))
    expect(bench.reads()).toBe(100)
  })

  it('S155: if another process has added more entries than that, the whole transcript is read', async () => {
    const bench = await setup()
    await bench.append(...line(1, 20))
    const conversation = new Conversations().of('session-1')
    await idsAt(bench, conversation, 'm20')
    await bench.append(...line(21, 140))
    expect(await idsAt(bench, conversation, 'm140')).toEqual(ids(1, 140))
  })

  it('S155: on another branch no entry of the left branch is shown', async () => {
    const bench = await setup()
    await bench.append(...line(1, 10))
    const conversation = new Conversations().of('session-1')
    await idsAt(bench, conversation, 'm10')
    await bench.append(entry(11, 5))
    expect(await idsAt(bench, conversation, 'm11')).toEqual([...ids(1, 5), 'm11'])
    expect(await idsAt(bench, conversation, 'm4')).toEqual(ids(1, 4))
    expect(await idsAt(bench, conversation, null)).toEqual([])
    expect(await idsAt(bench, conversation, 'm10')).toEqual(ids(1, 10))
  })

  it.each([
    ['from another leaf', [appended(12)], 'm9', 'm12'],
    ['that takes back messages', [{ type: 'discard', messageIds: ['m10'] }], 'm10', 'm9'],
  ] as const)('S155: after a commit %s the transcript is read again', async (_name, records, from, to) => {
    const bench = await setup()
    await bench.append(...line(1, 10))
    const conversation = new Conversations().of('session-1')
    await idsAt(bench, conversation, 'm10')
    conversation.committed(records as readonly JournalRecord[], from, to)
    bench.reads()
    expect(await idsAt(bench, conversation, 'm9')).toEqual(ids(1, 9))
    expect(bench.reads()).toBe(9)
  })

  it('S155: entries replaced by a compaction are forgotten, whether the compaction comes from a commit or from the store', async () => {
    const bench = await setup()
    await bench.append(...line(1, 10))
    const conversations = [new Conversations().of('session-1'), new Conversations().of('session-1')] as const
    for (const conversation of conversations) await idsAt(bench, conversation, 'm10')
    const made = compaction('c1', 'm10', 'm8')
    await bench.append(made)
    if (!('compaction' in made)) throw new TypeError('no compaction')
    conversations[0].committed([{ type: 'compaction', compaction: made.compaction }], 'm10', 'c1')
    for (const conversation of conversations) {
      expect(await conversation.read(bench.store, key, 'c1', undefined)).toEqual({
        messages: [message(8), message(9), message(10)],
        compaction: made.compaction,
      })
    }
  })

  it('S155: a compaction of a running run hides nothing from that run, but hides the replaced entries afterwards', async () => {
    const bench = await setup()
    await bench.append(...line(1, 10), compaction('c1', 'm10', 'm8'))
    const conversation = new Conversations().of('session-1')
    expect(await idsAt(bench, conversation, 'c1', 'run-1')).toEqual(ids(1, 10))
    bench.reads()
    expect(await idsAt(bench, conversation, 'c1')).toEqual(ids(8, 10))
    expect(bench.reads()).toBe(0)
  })

  it('S155, A170: the loop gets the same list again as long as it has only grown, and another one if messages have left it', async () => {
    const bench = await setup()
    await bench.append(...line(1, 3))
    const conversation = new Conversations().of('session-1')
    const read = async (leaf: string) => (await conversation.read(bench.store, key, leaf, undefined)).messages
    const first = await read('m3')
    conversation.committed([appended(4)], 'm3', 'm4')
    expect(await read('m4')).toBe(first)
    expect(first.map(({ id }) => id)).toEqual(ids(1, 4))
    await bench.append(entry(4, 3), entry(5, 4), compaction('c1', 'm5', 'm3'))
    const compacted = await read('c1')
    expect(compacted.map(({ id }) => id)).toEqual(ids(3, 5))
    expect(first.map(({ id }) => id)).toEqual(ids(1, 5))
    conversation.committed([{ type: 'discard', messageIds: ['m5'] }], 'c1', 'm4')
    await bench.append(entry(6, 4))
    expect((await read('m6')).map(({ id }) => id)).toEqual([...ids(1, 4), 'm6'])
    expect(compacted.map(({ id }) => id)).toEqual(ids(3, 5))
  })

  it('S155: a process keeps the most recent transcripts, up to a size that it reaches again and again', async () => {
    const bench = await setup()
    await bench.append(...line(1, 4))
    const size = charactersIn([message(1), message(2), message(3)]) + charactersIn([message(4)])
    const conversations = new Conversations({ sessions: 1_000, characters: 3 * size })
    for (let round = 0; round < 5; round++) {
      const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => `${id}${round}`)
      for (const id of all) {
        const conversation = conversations.of(id)
        expect(await idsAt(bench, conversation, 'm3')).toEqual(ids(1, 3))
        conversation.committed([appended(4)], 'm3', 'm4')
      }
      bench.reads()
      const reads: number[] = []
      for (const id of all.toReversed()) {
        expect(await idsAt(bench, conversations.of(id), 'm4')).toEqual(ids(1, 4))
        reads.push(bench.reads())
      }
      // The newest three fit.
      expect(reads).toEqual([0, 0, 0, 4, 4, 4])
    }
  })

  it('S155: a process keeps the transcripts of so many sessions', async () => {
    const bench = await setup()
    await bench.append(...line(1, 3))
    const conversations = new Conversations({ sessions: 2, characters: 1_000_000 })
    for (let round = 0; round < 5; round++) {
      for (const id of ['a', 'b', 'c']) await idsAt(bench, conversations.of(id), 'm3')
      bench.reads()
      for (const id of ['c', 'b', 'a']) await idsAt(bench, conversations.of(id), 'm3')
      expect(bench.reads()).toBe(3)
    }
  })

  it('S155: sessions that hold nothing yet do not keep the others from being dropped', async () => {
    const bench = await setup()
    await bench.append(...line(1, 3))
    const conversations = new Conversations({ sessions: 1_000, characters: 2 * charactersIn([message(1), message(2), message(3)]) })
    for (let n = 0; n < 10; n++) {
      conversations.of(`empty-${n}`)
      expect(await idsAt(bench, conversations.of(`full-${n}`), 'm3')).toEqual(ids(1, 3))
    }
  })

  it('S155: a transcript larger than the limit is read each time, while its run goes on and others join in', async () => {
    const bench = await setup()
    await bench.append(...line(1, 5))
    const conversations = new Conversations({ sessions: 1_000, characters: charactersIn([message(1), message(2)]) })
    for (let turn = 0; turn < 3; turn++) {
      const conversation = conversations.of('session-1')
      expect(await idsAt(bench, conversation, 'm5')).toEqual(ids(1, 5))
      expect(await idsAt(bench, conversation, 'm5')).toEqual(ids(1, 5))
      conversation.committed([appended(6)], 'm5', 'm6')
    }
    expect(await idsAt(bench, conversations.of('session-2'), 'm2')).toEqual(ids(1, 2))
    bench.reads()
    expect(await idsAt(bench, conversations.of('session-2'), 'm2')).toEqual(ids(1, 2))
    expect(bench.reads()).toBe(0)
    // The entries of another process carry it past the limit.
    expect(await idsAt(bench, conversations.of('session-2'), 'm5')).toEqual(ids(1, 5))
  })

  it('S155: nothing is kept of a session that is over, and what one of its runs still reads takes no room from other sessions', async () => {
    const bench = await setup()
    await bench.append(...line(1, 3))
    const conversations = new Conversations()
    const [over, kept] = [conversations.of('over'), conversations.of('kept')]
    for (const conversation of [over, kept]) await idsAt(bench, conversation, 'm3')
    conversations.forget('over')
    bench.reads()
    expect(await idsAt(bench, over, 'm3')).toEqual(ids(1, 3))
    expect(bench.reads()).toBe(3)
    over.committed([{ type: 'append', message: message(4, 'x'.repeat(2 ** 25)) }], 'm3', 'm4')
    expect(await idsAt(bench, kept, 'm3')).toEqual(ids(1, 3))
    expect(bench.reads()).toBe(0)
  })
})
