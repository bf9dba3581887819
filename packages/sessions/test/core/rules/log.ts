import assert from 'node:assert/strict'
import type { NewEvent } from '@bowline/sessions'
import { appendEntries, appendEvents, ensure, insertRun, mark, openCall, putCalls, room, settledCall, startMs, userEntry } from './bench.ts'
import type { Topic } from './kit.ts'

const call = { runId: 'run-1', step: 1, toolCallId: 'call-1' }

/** Tests that the store numbers events and returns them complete. */
export const log: Topic = ({ it }) => {
  it('S38: numbers go 1, 2, 3 per session, in the order of the batch', async (bench) => {
    const first = await bench.commit([ensure(), appendEvents(mark('a'), mark('b')), appendEvents(mark('c'))])
    assert.deepEqual([first.firstSeq, first.lastSeq], [1, 3])
    const none = await bench.commit([])
    assert.deepEqual([none.firstSeq, none.lastSeq], [4, 3])
    await bench.commit([ensure('room:2'), appendEvents(mark('x'))], { key: 'room:2' })
    const second = await bench.commit([appendEvents(mark('d'))])
    assert.deepEqual([second.firstSeq, second.lastSeq], [4, 4])
    const page = await bench.store.readEvents(room, 0, 100)
    assert.deepEqual(
      page.events.map((event) => [event.seq, 'sessionKey' in event && event.sessionKey]),
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
        [4, 'd'],
      ],
    )
    assert.deepEqual([page.firstSeq, page.lastSeq], [1, 4])
  })

  it('S38: a page of the log begins after its position', async (bench) => {
    await bench.commit([ensure(), appendEvents(...['a', 'b', 'c', 'd', 'e'].map(mark))])
    const numbers = async (after: number, limit: number) => {
      const { events, firstSeq, lastSeq } = await bench.store.readEvents(room, after, limit)
      assert.deepEqual([firstSeq, lastSeq], [1, 5])
      return events.map((event) => event.seq)
    }
    assert.deepEqual(await numbers(0, 2), [1, 2])
    assert.deepEqual(await numbers(2, 2), [3, 4])
    assert.deepEqual(await numbers(4, 2), [5])
    assert.deepEqual(await numbers(5, 2), [])
    assert.deepEqual(await numbers(9, 2), [])
    assert.deepEqual(await bench.store.readEvents('room:unknown', 0, 10), { events: [], firstSeq: 1, lastSeq: 0 })
  })

  it('S18: an event that refers to entry, ledger or input is read whole', async (bench) => {
    const ended = { type: 'tool-execution-end', at: startMs, runId: 'run-1', step: 1, toolCallId: 'call-1' } as const
    const events: NewEvent[] = [
      { event: { type: 'run-queued', at: startMs, runId: 'run-1', kind: 'user' }, refers: { runInput: 'run-1' } },
      { event: { type: 'user-message', at: startMs, messageId: 'a' }, refers: { entryId: 'a' } },
      { event: ended, refers: { call } },
      { event: { ...ended, by: 'its entry' }, refers: { entryId: 'result-call-1' } },
    ]
    const entry = { id: 'result-call-1', parentId: 'a', type: 'message', at: startMs, call } as const
    const { outcome } = settledCall('run-1', 'call-1')
    // A referenced record may come later in the batch.
    await bench.commit([
      ensure(),
      insertRun('run-1', { input: null }),
      appendEvents(...events),
      appendEntries(userEntry('a', null), entry),
      putCalls(settledCall('run-1', 'call-1')),
    ])
    assert.deepEqual((await bench.store.readEvents(room, 0, 10)).events, [
      { ...events[0]?.event, input: null, seq: 1 },
      { ...events[1]?.event, message: { role: 'user', id: 'a', content: 'text of a' }, seq: 2 },
      { ...ended, message: outcome, seq: 3 },
      { ...ended, by: 'its entry', message: outcome, seq: 4 },
    ])
  })

  it('S34: an event that refers to nothing is refused', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1'), putCalls(openCall('run-1', 'call-1'))])
    const { event } = mark('one')
    await bench.refused('conflict', [appendEvents({ event, refers: { entryId: 'nowhere' } })])
    await bench.refused('conflict', [appendEvents({ event, refers: { runInput: 'nowhere' } })])
    await bench.refused('conflict', [appendEvents({ event, refers: { call: { ...call, toolCallId: 'nowhere' } } })])
    // The call has no outcome yet.
    await bench.refused('conflict', [appendEvents({ event, refers: { call } })])
  })
}
