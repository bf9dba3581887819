import assert from 'node:assert/strict'
import {
  appendEntries,
  appendEvents,
  deliver,
  ensure,
  fence,
  insertRun,
  mark,
  openCall,
  other,
  parentOf,
  patchRun,
  putAnswers,
  putCalls,
  putTimers,
  room,
  settledCall,
  startMs,
  timer,
  userEntry,
} from './bench.ts'
import type { Bench } from './bench.ts'
import { rowsOfEachKind } from './inbox.ts'
import type { Topic } from './kit.ts'

/** Tests that committed records are there after the store is reopened. */
export const reopening: Topic = ({ it }) => {
  it('S34: everything that was acknowledged is there after reopening', async (bench, stores) => {
    const claim = await bench.running('run-1')
    const call = { runId: 'run-1', step: 1, toolCallId: 'done' }
    const entry = { id: 'result-done', parentId: 'a', type: 'message', at: startMs, call } as const
    await bench.commit(
      [
        putCalls(settledCall('run-1', 'done'), openCall('run-1', 'open')),
        appendEntries(userEntry('a', null), entry),
        appendEvents(mark('one'), { event: { type: 'run-queued', at: startMs }, refers: { runInput: 'run-1' } }),
        putAnswers('answer'),
        patchRun('run-1', { stop: { at: 1 }, error: { code: 'crash-loop', message: 'lost' } }),
        { op: 'session.patch', patch: { turns: 1, metadata: { a: [1, null] } } },
      ],
      { expect: [fence(claim)] },
    )
    const before = await bench.everything()
    const again = await stores.reopen(bench)
    assert.deepEqual(await again.everything(), before)
  })

  it('S34: what waits, what is due, children, branches and definitions are there after reopening', async (bench, stores) => {
    const child = `${room}~researcher~1`
    await bench.commit([ensure(room, { ttl: { idleMs: 5000, maxAgeMs: 'never' } }), insertRun('run-1', { lane: 'interrupt' })])
    await bench.commit(
      [
        { op: 'inbox.put', rows: rowsOfEachKind },
        putTimers(timer('due', startMs - 1), timer('later', startMs + 700, { kind: 'deadline' })),
        { op: 'definition.put', hash: 'hash', body: { model: 'large' } },
        patchRun('run-1', { definition: 'hash' }),
        insertRun('run-2', { kind: 'follow-up', notBefore: startMs + 900 }),
        appendEntries(userEntry('a', null), userEntry('b', 'a'), userEntry('c', 'a')),
        { op: 'session.patch', patch: { leaf: 'b', childUsage: { inputTokens: 1 } } },
      ],
      { deliver: [deliver(child, [ensure(child, { parent: room }), insertRun('child-1', { kind: 'child', parent: parentOf('run-1') })])] },
    )
    await bench.commit([ensure(other, { ttl: { maxAgeMs: 10 } })], { key: other })
    await bench.clock.advance(10)
    const of = async (opened: Bench) => [await opened.everything(), await opened.everything(child), await opened.everything(other)]
    const before = await of(bench)
    const text = JSON.stringify(before)
    for (const part of ['"steer-1"', '"due"', '"child-1"', '"leaf":"c"', '"large"', '"idleMs":5000', '"over":true'])
      assert.ok(text.includes(part), part)
    assert.deepEqual(await of(await stores.reopen(bench)), before)
  })

  it('S160: the next time is known after reopening', async (bench, stores) => {
    await bench.commit([ensure(room, { ttl: { idleMs: 5000 } }), putTimers(timer('later', startMs + 700))])
    const again = await stores.reopen(bench)
    assert.equal((await again.store.due(10)).nextAt, startMs + 700)
    await again.commit([{ op: 'timer.drop', ids: ['later'] }])
    assert.equal((await (await stores.reopen(again)).store.due(10)).nextAt, startMs + 5000)
  })

  it('S38: numbers go on after reopening', async (bench, stores) => {
    await bench.commit([ensure(), appendEvents(mark('a')), insertRun('run-1'), appendEntries(userEntry('a', null))])
    const again = await stores.reopen(bench)
    const result = await again.commit([appendEvents(mark('b')), insertRun('run-2'), appendEntries(userEntry('b', 'a'))])
    assert.deepEqual([result.firstSeq, result.version], [2, 2])
    assert.equal((await again.run('run-2')).n, 2)
    assert.deepEqual(
      (await again.store.readPath(room)).items.map((entry) => entry.n),
      [2, 1],
    )
  })

  it('S35: a repeat after reopening is known', async (bench, stores) => {
    const writes = [ensure(), appendEvents(mark('a'))]
    const first = await bench.commit(writes, { id: 'last' })
    const again = await stores.reopen(bench)
    assert.deepEqual(await again.try(writes, { id: 'last' }), first)
    assert.equal((await again.store.readEvents(room, 0, 10)).lastSeq, 1)
  })

  it('S15: an input id is known after reopening, also when its run has ended', async (bench, stores) => {
    await bench.commit([ensure(), insertRun('run-1', { inputId: 'input' })])
    await bench.commit([patchRun('run-1', { status: 'aborted' })])
    const again = await stores.reopen(bench)
    const repeat = await again.commit([insertRun('run-2', { inputId: 'input', inputHash: 'hash of run-1' })])
    assert.deepEqual(repeat.existing, { runId: 'run-1' })
  })

  it('S60: a run that was running when its process ended is claimed again', async (bench, stores) => {
    await bench.running('run-1')
    const again = await stores.reopen(bench, { owner: 'owner-b' })
    await again.clock.advance(10_000)
    const [claim] = await again.claim({ owner: 'owner-b' })
    assert.deepEqual([claim?.previous, claim?.run.epoch, claim?.run.attempts], ['running', 2, 1])
  })
}
