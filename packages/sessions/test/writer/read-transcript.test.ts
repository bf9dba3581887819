import type { Compaction } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { NewEntry, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { readTranscript } from '../../src/writer/read-transcript.ts'

const key = 'room:1'

async function storeOf(entries: readonly NewEntry[]): Promise<SessionStore> {
  const store = memoryStore()
  await store.open({ namespace: 'default', clock: manualClock(1), owner: 'tests' })
  const session = { id: 'session-1', agent: 'assistant', metadata: {}, at: 1 }
  const result = await store.commit({
    id: 'batch-1',
    key,
    expect: [],
    writes: [
      { op: 'session.ensure', session },
      { op: 'entry.append', entries },
    ],
  })
  expect(result).toMatchObject({ ok: true })
  return store
}

/** Returns messages 1 to `count` in a row, with a compaction after message `after`. */
function line(count: number, after: number, compaction: Partial<Compaction>, runId = 'run-1'): NewEntry[] {
  const entries: NewEntry[] = []
  let parentId: string | null = null
  for (let n = 1; n <= count; n++) {
    entries.push({ id: `m${n}`, parentId, at: 1, runId, type: 'message', message: { role: 'user', id: `m${n}`, content: `${n}` } })
    parentId = `m${n}`
    if (n !== after) continue
    entries.push({ id: 'c1', parentId, at: 1, runId, type: 'compaction', compaction: { ...whole, ...compaction } })
    parentId = 'c1'
  }
  return entries
}

const whole: Compaction = {
  compactionId: 'c1',
  summary: 'So far.',
  firstKeptMessageId: 'm1',
  facts: [],
  source: 'default',
  usage: {},
  tokensBefore: 1,
  tokensAfter: 1,
}

/** Counts the entries read. */
function counted(store: SessionStore): { readonly store: SessionStore; readonly entries: () => number } {
  let entries = 0
  const readPath: SessionStore['readPath'] = async (...given) => {
    const page = await store.readPath(...given)
    entries += page.items.length
    return page
  }
  return { store: { ...store, readPath }, entries: () => entries }
}

describe('the transcript for a model', () => {
  it('S155: entries that a compaction replaces are not read', async () => {
    const { store, entries } = counted(await storeOf(line(2000, 1950, { firstKeptMessageId: 'm1900' })))
    const { messages, compaction } = await readTranscript(store, key, { openRun: 'run-2' })
    expect(messages.map(({ id }) => id)).toEqual(Array.from({ length: 101 }, (_, index) => `m${1900 + index}`))
    expect(compaction).toMatchObject({ compactionId: 'c1' })
    expect(entries()).toBeLessThan(300)
  })

  it('S155: a compaction that keeps nothing hides the entries before its last message', async () => {
    const store = await storeOf(line(20, 12, { firstKeptMessageId: '', lastMessageId: 'm12' }))
    expect((await readTranscript(store, key, { openRun: 'run-2' })).messages.map(({ id }) => id)).toEqual([
      'm12',
      'm13',
      'm14',
      'm15',
      'm16',
      'm17',
      'm18',
      'm19',
      'm20',
    ])
  })

  it('S155: a compaction of the open run hides nothing, because its turn may be rewound', async () => {
    const store = await storeOf(line(20, 18, { firstKeptMessageId: 'm15' }))
    expect((await readTranscript(store, key, { openRun: 'run-1' })).messages).toHaveLength(20)
    expect((await readTranscript(store, key)).messages).toHaveLength(6)
  })

  it('S155: without a compaction the whole transcript is read, page by page', async () => {
    const store = await storeOf(line(2600, 0, {}))
    const { messages, compaction } = await readTranscript(store, key)
    expect(messages.map(({ id }) => id)).toEqual(Array.from({ length: 2600 }, (_, index) => `m${index + 1}`))
    expect(compaction).toBeUndefined()
  })
})
