import assert from 'node:assert/strict'
import { appendEntries, appendEvents, ensure, insertRun, mark, patchRun, putTimers, room, startMs, timer, userEntry } from './bench.ts'
import type { Topic } from './kit.ts'

/** Tests that committed records are there after the store is reopened. */
export const reopening: Topic = ({ it }) => {
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

  it('S15: an input id is known after reopening, also when its run has ended', async (bench, stores) => {
    await bench.commit([ensure(), insertRun('run-1', { inputId: 'input' })])
    await bench.commit([patchRun('run-1', { status: 'aborted' })])
    const again = await stores.reopen(bench)
    const repeat = await again.commit([insertRun('run-2', { inputId: 'input', inputHash: 'hash of run-1' })])
    assert.deepEqual(repeat.existing, { runId: 'run-1' })
  })
}
