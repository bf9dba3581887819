import { manualClock, scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import type { CompactionResult } from '../../../src/contract/compaction.ts'
import type { CommitExpectation, CommitOutcome, Journal, JournalRecord, JournalState } from '../../../src/contract/journal.ts'
import type { Compaction } from '../../../src/events/message-events.ts'
import { compactJournal } from '../../../src/plugins/compaction/compact-journal.ts'
import type { JournalCompaction } from '../../../src/plugins/compaction/compact-journal.ts'
import { breakerOf, compactionPolicyOf } from '../../../src/plugins/compaction/policy.ts'
import { summaryModel } from '../../../src/plugins/compaction/summary.ts'
import { fakeIds } from '@bowline/testing'
import { answer, long, testModel, used, user } from './messages.ts'

const messages = [
  user('u1', long(4_000)),
  answer('a1', long(400), used(1_100, 100)),
  user('u2', long(60)),
  answer('a2', long(60), used(1_250, 15)),
]

/** Creates a journal that records its commits. */
function journalOf(state: Partial<JournalState> = {}, given: Partial<Journal> = {}) {
  const commits: (readonly JournalRecord[])[] = []
  const journal: Journal = {
    load: async () => ({ messages, seq: 10, turns: 2, ...state }),
    async commit(records: readonly JournalRecord[], _expect?: CommitExpectation): Promise<CommitOutcome> {
      commits.push(records)
      return { ok: true, firstSeq: 11 }
    },
    ...given,
  }
  const types = (): readonly (readonly string[])[] =>
    commits.map((records) => records.map((record) => (record.type === 'event' ? record.event.type : record.type)))
  return { journal, commits, types }
}

function run(journal: Journal, steps: readonly Step[], options: Partial<JournalCompaction> = {}): Promise<CompactionResult> {
  const scripted = scriptedModel(steps)
  const clock = manualClock(1_000)
  return compactJournal({
    journal,
    clock,
    ids: fakeIds(),
    model: testModel,
    contextWindow: 20_000,
    effectOf: () => undefined,
    setting: compactionPolicyOf({ keepRecentTokens: 25 }),
    summaryModel: () => summaryModel({ model: scripted, name: testModel, contextWindow: 20_000, clock, cache: 'auto' }),
    ...options,
  })
}

function storedIn(commits: readonly (readonly JournalRecord[])[]): Compaction | undefined {
  return commits.flat().flatMap((record) => (record.type === 'compaction' ? record.compaction : []))[0]
}

describe('a compaction by hand', () => {
  it('stores its events after the last turn, then settled, and the record in the same commit', async () => {
    const { journal, commits, types } = journalOf()
    const done = await run(journal, [{ text: 'the summary' }])
    expect(done).toMatchObject({ outcome: 'done', tokensBefore: 1_265, compaction: { firstKeptMessageId: 'u2', lastMessageId: 'a2' } })
    expect(types()).toEqual([['compaction-start'], ['usage', 'compaction-end', 'compaction', 'settled']])
    expect(storedIn(commits)).toEqual(done.compaction)
    const events = commits.flat().flatMap((record) => (record.type === 'event' ? record.event : []))
    expect(
      new Set(events.map((event) => JSON.stringify([event.at, 'turn' in event && event.turn, 'runId' in event && event.runId]))).size,
    ).toBe(1)
    expect(events[0]).toMatchObject({ trigger: 'manual', turn: 2, at: 1_000 })
  })

  it('A130: the next compaction begins with the compaction in force', async () => {
    const first = await run(journalOf().journal, [{ text: 'the summary' }])
    const { journal } = journalOf({
      messages: [...messages, user('u3', long(400)), answer('a3', long(200))],
      ...(first.compaction && { compaction: first.compaction }),
    })
    const second = await run(journal, [
      { text: 'the second', expect: (call) => expect(JSON.stringify(call.prompt)).toContain('the summary') },
    ])
    expect(second).toMatchObject({ outcome: 'done', compaction: { summary: 'the second', firstKeptMessageId: 'a3' } })
    expect(second.tokensBefore).toBeLessThan(300)
  })

  it('leaves out settled while other runs are queued', async () => {
    const commits: string[][] = []
    const { journal } = journalOf(
      {},
      {
        commit: async (records, expect) => {
          if (expect?.nothingQueued) return { ok: false, reason: 'runs-queued' }
          commits.push(records.map((record) => (record.type === 'event' ? record.event.type : record.type)))
          return { ok: true, firstSeq: 11 }
        },
      },
    )
    await run(journal, [{ text: 'the summary' }])
    expect(commits).toEqual([['compaction-start'], ['usage', 'compaction-end', 'compaction']])
  })

  it('settles when the last queued run is removed between the commit with settled and the commit without', async () => {
    const commits: string[][] = []
    const refusals = ['runs-queued', 'nothing-queued'] as const
    let refused = 0
    const { journal } = journalOf(
      {},
      {
        commit: async (records, expect) => {
          const reason = expect?.nothingQueued === undefined ? undefined : refusals[refused++]
          if (reason) return { ok: false, reason }
          commits.push(records.map((record) => (record.type === 'event' ? record.event.type : record.type)))
          return { ok: true, firstSeq: 11 }
        },
      },
    )
    await run(journal, [{ text: 'the summary' }])
    expect(commits).toEqual([['compaction-start'], ['usage', 'compaction-end', 'compaction', 'settled']])
  })

  it('A30: is skipped with an open turn and stores nothing', async () => {
    const open = { runId: 'r', turn: 2, step: 1, calls: [], usage: {} }
    const { journal, commits } = journalOf({ open })
    expect(await run(journal, [])).toMatchObject({ outcome: 'skipped', reason: 'a turn is open' })
    expect(commits).toEqual([])
  })

  it('A138: a successful compaction closes the breaker of its conversation', async () => {
    const { journal } = journalOf()
    breakerOf(journal).addUseless(testModel)
    expect(breakerOf(journal).isOpen(1, testModel)).toBe(true)
    await run(journal, [{ text: 'the summary' }])
    expect(breakerOf(journal).isOpen(1, testModel)).toBe(false)
  })

  it.each([
    ['load', { load: () => Promise.reject(new Error('gone')) }],
    ['commit', { commit: () => Promise.reject(new Error('gone')) }],
  ])('A134: a journal whose %s fails makes it fail, and it does not reject', async (_name, given) => {
    const { journal } = journalOf({}, given)
    expect(await run(journal, [])).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('gone') as string })
  })

  it('A109: the signals of the journal and of the caller stop it, and no listener stays on either', async () => {
    for (const place of ['journal', 'caller'] as const) {
      const stop = new AbortController()
      let listeners = 0
      const { signal } = stop
      const add = signal.addEventListener.bind(signal)
      const remove = signal.removeEventListener.bind(signal)
      signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args))
      signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args))
      const { journal, types } = journalOf({}, place === 'journal' ? { abortSignal: signal } : {})
      const wait = new Promise<void>((resolve) => setImmediate(() => resolve(stop.abort())))
      const outcome = await run(
        journal,
        [{ text: 't', parts: [{ wait }, { hang: true }], finish: false }],
        place === 'caller' ? { abortSignal: signal } : {},
      )
      expect(outcome).toMatchObject({ outcome: 'cancelled' })
      expect(types().at(-1)).toEqual(['usage', 'compaction-end', 'settled'])
      expect(listeners).toBe(0)
    }
  })

  it('stores nothing more once the journal belongs to another process', async () => {
    const stop = new AbortController()
    stop.abort({ kind: 'fenced' })
    const { journal, commits } = journalOf({}, { abortSignal: stop.signal })
    expect(await run(journal, [])).toMatchObject({ outcome: 'failed' })
    expect(commits).toEqual([])
  })
})
