import assert from 'node:assert/strict'
import type { DeltaEvent } from '@bowline/agent-loop'
import type { Claim, StoreHint } from '@bowline/sessions'
import type { DeltaBatch, DeltaPlace, DeltaStore } from '@bowline/sessions/internal'
import { appendEvents, deleteSession, ensure, fence, insertRun, mark, other, patchRun, room } from '../core/rules/bench.ts'
import type { Bench } from '../core/rules/bench.ts'
import type { Topic } from '../core/rules/kit.ts'

function deltasOf({ store }: Bench): DeltaStore {
  assert.ok(store.deltas, 'The store has no deltas.')
  return store.deltas
}

/** Returns deltas of a claimed run, one for each text. The first is the `n`-th after `base`. */
function batchOf({ run }: Claim, { base, n }: DeltaPlace, ...texts: readonly string[]): DeltaBatch {
  const events = texts.map((delta): DeltaEvent => ({
    type: 'text-delta',
    at: 1,
    runId: run.id,
    turn: 1,
    step: 1,
    messageId: 'm',
    index: 0,
    delta,
  }))
  return { key: run.session, runId: run.id, epoch: run.epoch, base, n, events }
}

async function textsAfter(bench: Bench, base: number, n: number, key = room): Promise<readonly string[]> {
  const batches = await deltasOf(bench).read(key, { base, n })
  return batches.flatMap(({ events }) => events.map((event) => ('delta' in event ? event.delta : '')))
}

/** Tests of live deltas for readers in other processes. */
export const deltas: Topic = ({ it, place }) => {
  it('S188: deltas are read in order, from a place on', async (bench) => {
    const claim = await bench.running('run-1')
    const [first, second, later] = [
      batchOf(claim, { base: 3, n: 1 }, 'a', 'b'),
      batchOf(claim, { base: 3, n: 3 }, 'c'),
      batchOf(claim, { base: 5, n: 1 }, 'd'),
    ]
    for (const batch of [first, second, later]) await deltasOf(bench).push(batch)
    assert.deepEqual(await deltasOf(bench).read(room, { base: 0, n: 0 }), [first, second, later])
    assert.deepEqual(await textsAfter(bench, 3, 1), ['a', 'b', 'c', 'd'])
    assert.deepEqual(await textsAfter(bench, 3, 2), ['c', 'd'])
    assert.deepEqual(await textsAfter(bench, 4, 0), ['d'])
    assert.deepEqual(await textsAfter(bench, 5, 1), [])
    assert.deepEqual(await textsAfter(bench, 0, 0, other), [])
  })

  it('S188: the next commit of the run removes them, that of another writer does not', async (bench) => {
    const claim = await bench.running('run-1')
    await deltasOf(bench).push(batchOf(claim, { base: 1, n: 1 }, 'a'))
    await bench.commit([appendEvents(mark('b'))])
    assert.deepEqual(await textsAfter(bench, 0, 0), ['a'])
    await bench.commit([appendEvents(mark('c'))], { expect: [fence(claim)] })
    assert.deepEqual(await textsAfter(bench, 0, 0), [])
  })

  it('S121: those of an owner that has lost its run, or of a run that does not run, are dropped', async (bench) => {
    const before = await bench.running('run-1')
    await bench.commit([patchRun('run-1', { status: 'queued' })], { expect: [fence(before)] })
    await deltasOf(bench).push(batchOf(before, { base: 1, n: 1 }, 'a'))
    const [claim] = await bench.claim({ owner: 'owner-b' })
    assert.ok(claim)
    await deltasOf(bench).push(batchOf(before, { base: 1, n: 1 }, 'b'))
    assert.deepEqual(await textsAfter(bench, 0, 0), [])
    await deltasOf(bench).push(batchOf(claim, { base: 1, n: 1 }, 'c'))
    assert.deepEqual(await textsAfter(bench, 0, 0), ['c'])
  })

  it('S105: none are left of a session that was deleted', async (bench) => {
    const claim = await bench.running('run-1')
    await deltasOf(bench).push(batchOf(claim, { base: 1, n: 1 }, 'a'))
    await bench.commit([patchRun('run-1', { status: 'aborted' }), deleteSession()])
    await bench.commit([ensure(), insertRun('run-2')])
    assert.deepEqual(await textsAfter(bench, 0, 0), [])
  })

  it('S48: they are told as deltas', async (bench) => {
    const claim = await bench.running('run-1')
    const told = new Promise<StoreHint>((resolve) => {
      const end = bench.store.subscribe((hint) => {
        if (hint.key !== room || !hint.deltas) return
        end()
        resolve(hint)
      })
    })
    await deltasOf(bench).push(batchOf(claim, { base: 1, n: 1 }, 'a'))
    assert.deepEqual(await told, { key: room, wake: false, deltas: true })
  })

  const { second } = place
  if (!second) return
  it('S188: another process reads them, one of another namespace does not', async (bench, stores) => {
    const same = await stores.open(await second(bench.store), { owner: 'owner-b', clock: bench.clock })
    const elsewhere = await stores.open(await second(bench.store), { owner: 'owner-c', namespace: 'other', clock: bench.clock })
    const claim = await bench.running('run-1')
    await deltasOf(bench).push(batchOf(claim, { base: 1, n: 1 }, 'a'))
    assert.deepEqual(await textsAfter(same, 0, 0), ['a'])
    assert.deepEqual(await textsAfter(elsewhere, 0, 0), [])
  })
}
