import { describe, expect, it } from 'vitest'
import type { Journal, JournalRecord } from '../../src/contract/journal.ts'
import { crashingJournal, recordingJournal } from '@bowline/testing'

const meta = { agent: 'a', toolCallId: 'c', runId: 'r' }
const settled: JournalRecord = { type: 'event', event: { type: 'settled', at: 1, runId: 'r', turn: 1 } }

/** A journal whose members are methods and fields of a class, as another implementation may have them. */
class FullJournal implements Journal {
  readonly schedulesCompaction = true
  readonly children = { sessionKeys: true, background: false, start: () => Promise.reject(new Error('not here')) }
  readonly abortSignal = new AbortController().signal
  readonly #taken: string[] = []
  #seq = 0

  load = () => Promise.resolve({ messages: [], seq: this.#seq, turns: 0 })

  commit(records: readonly JournalRecord[]) {
    const firstSeq = this.#seq + 1
    this.#seq += records.length
    return Promise.resolve({ ok: true as const, firstSeq })
  }

  drainInputs(window: string) {
    this.#taken.push(window)
    return Promise.resolve([{ inputId: `i${this.#taken.length}`, source: 'steer' as const, input: 'x' }])
  }

  enqueue() {
    this.#taken.push('queue')
    return Promise.resolve({ ok: true as const, inputId: `i${this.#taken.length}` })
  }

  child() {
    return new FullJournal()
  }
}

describe.each([
  ['recordingJournal', (journal: Journal): Journal => recordingJournal(journal)],
  ['crashingJournal', (journal: Journal): Journal => crashingJournal(journal, { commit: 99, when: 'before' })],
])('%s', (_name, wrap) => {
  it('passes on the optional methods of a journal', async () => {
    const inner = new FullJournal()
    const outer = wrap(inner)
    expect(outer.schedulesCompaction).toBe(true)
    expect(outer.children).toBe(inner.children)
    expect(outer.abortSignal).toBe(inner.abortSignal)
    expect(await outer.drainInputs?.('turn-start', 9)).toMatchObject([{ inputId: 'i1' }])
    expect(await outer.enqueue?.('x')).toEqual({ ok: true, inputId: 'i2' })
    expect(await outer.child?.('k', meta).commit([settled])).toEqual({ ok: true, firstSeq: 1 })
  })

  it('has no method that the journal lacks', () => {
    const bare: Journal = { load: () => Promise.reject(new Error('no')), commit: () => Promise.reject(new Error('no')) }
    for (const name of ['drainInputs', 'enqueue', 'schedulesCompaction', 'child', 'children', 'abortSignal'])
      expect(wrap(bare)).not.toHaveProperty(name)
  })
})

describe('recordingJournal', () => {
  it('records child journals by key, one per key', async () => {
    const recording = recordingJournal(new FullJournal())
    const child = recording.child?.('k', meta)
    await child?.commit([settled])
    expect(recording.child?.('k', meta)).toBe(child)
    expect(recording.childJournals.get('k')?.events).toMatchObject([{ type: 'settled', seq: 1 }])
    expect(recording.events).toEqual([])
  })
})

describe('crashingJournal', () => {
  it('a process dies with its child runs, at any commit', async () => {
    const crashing = crashingJournal(new FullJournal(), { commit: 2, when: 'after' })
    const child = crashing.child?.('k', meta)
    await crashing.commit([settled])
    await expect(child?.commit([settled])).rejects.toThrow('died after commit 2')
    expect(await child?.load()).toMatchObject({ seq: 1 })
    expect(crashing.crashed).toBe(true)
    await expect(crashing.commit([settled])).rejects.toThrow('died')
    expect(await crashing.load()).toMatchObject({ seq: 1 })
  })
})
