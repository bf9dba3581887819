import assert from 'node:assert/strict'
import type { Write } from '@bowline/sessions'
import { appendEvents, fence, insertRun, mark, patchRun, room, startMs } from './bench.ts'
import type { Topic } from './kit.ts'

/** Tests of named inputs: repeats, and their place in the queue. */
export const inputs: Topic = ({ it }) => {
  it('S15: the id of a steered input is known while it waits, when it was taken, and to a run', async (bench) => {
    await bench.running('run-1')
    await bench.commit([steering('x', 'same')])
    const repeats = [steering('x', 'same'), insertRun('run-2', { inputId: 'x', inputHash: 'same' })]
    for (const again of repeats) assert.deepEqual((await bench.commit([again])).existing, { runId: 'run-1' })
    await bench.commit([taken('x', 'same')])
    assert.deepEqual(await bench.store.readInbox(room, ['steer']), [])
    for (const again of repeats) assert.deepEqual((await bench.commit([again])).existing, { runId: 'run-1' })
    assert.deepEqual(await bench.store.readRun('run-2'), { status: 'missing' })
  })

  it('S16: and with other content it is refused', async (bench) => {
    await bench.running('run-1')
    await bench.commit([steering('x', 'same'), insertRun('run-2', { inputId: 'y', inputHash: 'same' })])
    await bench.refused('id-reused', [steering('x', 'other')])
    await bench.refused('id-reused', [steering('y', 'other')])
    await bench.commit([taken('x', 'same')])
    await bench.refused('id-reused', [insertRun('run-3', { inputId: 'x', inputHash: 'other' })])
  })

  it('S22: the batch that takes a steered input may make it a run', async (bench) => {
    await bench.running('run-1')
    await bench.commit([steering('x', 'same')])
    const made = await bench.commit([{ op: 'inbox.take', ids: ['steer:x'] }, insertRun('run-2', { inputId: 'x', inputHash: 'same' })])
    assert.equal(made.existing, undefined)
    assert.deepEqual((await bench.commit([steering('x', 'same')])).existing, { runId: 'run-2' })
  })

  it('S28: a row that is patched is another one in the same place, and nothing of it stays', async (bench) => {
    await bench.running('run-1')
    await bench.commit([steering('a', 'hash'), steering('b', 'hash'), steering('c', 'hash')])
    await bench.commit([taken('b', 'hash'), { op: 'inbox.patch', rows: [takenRow('gone', 'hash')] }])
    const rows = await bench.store.readInbox(room, ['steer', 'taken'])
    assert.deepEqual(
      rows.map(({ id, kind }) => [id, kind]),
      [
        ['steer:a', 'steer'],
        ['steer:b', 'taken'],
        ['steer:c', 'steer'],
      ],
    )
    assert.deepEqual(rows[1], takenRow('b', 'hash'))
  })

  it('S164: what was taken is forgotten with the runs of its time', async (bench) => {
    await bench.running('run-1')
    await bench.commit([steering('x', 'same')])
    await bench.commit([taken('x', 'same'), appendEvents(mark('done')), patchRun('run-1', { status: 'completed' })])
    await bench.store.prune({ runsEndedBefore: startMs }, 10)
    assert.equal((await bench.store.readInbox(room, ['taken'])).length, 1)
    await bench.store.prune({ runsEndedBefore: startMs + 1 }, 10)
    assert.deepEqual(await bench.store.readInbox(room, ['taken']), [])
  })

  it('S20: a run that is given back is placed before an interrupt if it has begun, and otherwise after it', async (bench) => {
    for (const begun of [true, false]) {
      const key = `room:${String(begun)}`
      const [first, second] = [`${key}-first`, `${key}-second`]
      const claim = await bench.running(first, key)
      if (begun) await bench.commit([patchRun(first, { turn: 1 })], { key })
      await bench.commit([insertRun(second, { lane: 'interrupt' })], { key })
      await bench.commit([patchRun(first, { status: 'queued', reason: 'yielded' })], { key, expect: [fence(claim)] })
      assert.deepEqual(
        (await bench.claim()).map(({ run }) => run.id),
        [begun ? first : second],
      )
    }
  })
}

function steering(inputId: string, hash: string): Write {
  const row = { id: `steer:${inputId}`, kind: 'steer', at: startMs, body: { inputId, hash, input: 'left', runId: 'run-1' } } as const
  return { op: 'inbox.put', rows: [row] }
}

function taken(inputId: string, hash: string): Write {
  return { op: 'inbox.patch', rows: [takenRow(inputId, hash)] }
}

function takenRow(inputId: string, hash: string) {
  return { id: `steer:${inputId}`, kind: 'taken', at: startMs, body: { inputId, hash, runId: 'run-1' } } as const
}
