import assert from 'node:assert/strict'
import type { InboxKind, InboxRecord, Write } from '@bowline/sessions'
import { ensure, inboxKinds, other, putAnswers, room, startMs } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'

export const rowsOfEachKind: readonly InboxRecord[] = [
  {
    id: 'steer-1',
    kind: 'steer',
    at: startMs + 4,
    body: { inputId: 'input-1', input: { role: 'user', content: ['ü', null] }, runId: 'run-1' },
  },
  { id: 'taken-1', kind: 'taken', at: startMs + 5, body: { inputId: 'input-3', hash: 'hash', runId: 'run-1' } },
  { id: 'overlay-1', kind: 'overlay', at: startMs + 3, body: { inputId: 'input-2', input: 'be brief', turns: 2 } },
  {
    id: 'child-settled-1',
    kind: 'child-settled',
    at: startMs + 2,
    body: { taskId: 'bg_1', runId: 'child-1', group: 'run-1', agent: 'researcher', status: 'completed' },
  },
  { id: 'answer-1', kind: 'answer', at: startMs + 1, body: { toolCallId: 'call-1', hash: 'hash', answer: { result: 1 } } },
  { id: 'decision-1', kind: 'decision', at: startMs, body: { approvalId: 'approval-1', decision: 'approve', input: null, by: 'ann' } },
]

function put(...rows: readonly InboxRecord[]): Write {
  return { op: 'inbox.put', rows }
}

function overlay(id: string, turns: number, at = startMs): InboxRecord {
  return { id, kind: 'overlay', at, body: { inputId: id, input: `text of ${id}`, turns } }
}

async function idsOf(bench: Bench, ...kinds: readonly InboxKind[]): Promise<readonly string[]> {
  return (await bench.store.readInbox(room, kinds)).map((row) => row.id)
}

/** Tests that inbox rows are kept in the order of their arrival. */
export const inbox: Topic = ({ it }) => {
  it('S24: rows of every kind are read as they were put, in the order of their coming', async (bench) => {
    await bench.commit([ensure(), put(...rowsOfEachKind.slice(0, 2))])
    await bench.commit([put(...rowsOfEachKind.slice(2))])
    assert.deepEqual(await bench.store.readInbox(room, inboxKinds), rowsOfEachKind)
    assert.deepEqual(await idsOf(bench, 'decision', 'steer'), ['steer-1', 'decision-1'])
    for (const row of rowsOfEachKind) assert.deepEqual(await bench.store.readInbox(room, [row.kind]), [row])
  })

  it('S22: inbox-empty fails while something of its kinds waits', async (bench) => {
    const empty = { that: 'inbox-empty', kinds: ['steer', 'child-settled'] } as const
    await bench.commit([ensure(), ...[put(overlay('overlay-1', 1)), putAnswers('answer')]], { expect: [empty] })
    await bench.commit([], { expect: [empty, { that: 'inbox-empty', kinds: [] }] })
    for (const row of rowsOfEachKind.filter(({ kind }) => kind === 'steer' || kind === 'child-settled')) {
      await bench.commit([put(row)])
      await bench.refused('inputs-waiting', [{ op: 'inbox.take', ids: [row.id] }], { expect: [empty] })
      await bench.commit([], { expect: [{ that: 'inbox-empty', kinds: ['decision'] }] })
      await bench.commit([{ op: 'inbox.take', ids: [row.id] }])
      await bench.commit([], { expect: [empty] })
    }
  })

  it('S22: what waits in another session is no hindrance', async (bench) => {
    await bench.commit([ensure(other), put(...rowsOfEachKind)], { key: other })
    await bench.commit([ensure()], {
      expect: [
        { that: 'inbox-empty', kinds: inboxKinds },
        { that: 'inbox-below', kind: 'steer', max: 1 },
      ],
    })
  })

  it('S32: inbox-below counts the rows of its kind', async (bench) => {
    const below = { that: 'inbox-below', kind: 'overlay', max: 2 } as const
    await bench.commit([ensure(), put(...rowsOfEachKind)], { expect: [below] })
    await bench.commit([put(overlay('overlay-2', 1))], { expect: [below] })
    await bench.refused('queue-full', [put(overlay('overlay-3', 1))], { expect: [below] })
    await bench.commit([], { expect: [{ ...below, kind: 'steer' }] })
    await bench.commit([{ op: 'inbox.take', ids: ['overlay-1'] }])
    await bench.commit([put(overlay('overlay-3', 1))], { expect: [below] })
  })

  it('S27: a patch replaces the bodies of rows that are there, which keep their place and time', async (bench) => {
    await bench.commit([ensure(), put(overlay('a', 3, 10), overlay('b', 3, 20), overlay('c', 3, 30))])
    await bench.commit([{ op: 'inbox.patch', rows: [overlay('b', 2, 99), overlay('gone', 1), overlay('a', 1, 99)] }])
    assert.deepEqual(await bench.store.readInbox(room, ['overlay']), [overlay('a', 1, 10), overlay('b', 2, 20), overlay('c', 3, 30)])
    await bench.commit([
      { op: 'inbox.take', ids: ['a'] },
      { op: 'inbox.patch', rows: [overlay('a', 7)] },
    ])
    assert.deepEqual(await idsOf(bench, 'overlay'), ['b', 'c'])
    await bench.refused('missing', [{ op: 'inbox.patch', rows: [overlay('b', 1)] }], { key: other })
  })

  it('S140: a patch, a take and a put of one batch that is refused leave the inbox as it was', async (bench) => {
    await bench.commit([ensure(), put(...rowsOfEachKind)])
    const writes: Write[] = [
      { op: 'inbox.patch', rows: [overlay('overlay-1', 1)] },
      { op: 'inbox.take', ids: ['steer-1', 'answer-1'] },
      put({ ...rowsOfEachKind[0]!, id: 'steer-2' }),
    ]
    await bench.refused('inbox', [...writes, putAnswers('decision-1')])
    await bench.commit(writes)
    assert.deepEqual(await idsOf(bench, ...inboxKinds), ['taken-1', 'overlay-1', 'child-settled-1', 'decision-1', 'steer-2'])
  })
}
