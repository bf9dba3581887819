import assert from 'node:assert/strict'
import { ensure, fence, insertRun, patchRun, room, startMs } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'

/** Claims and ends runs of the room until none is left. Returns their ids in order. */
async function orderOfRuns(bench: Bench): Promise<readonly string[]> {
  const order: string[] = []
  for (let [claim] = await bench.claim(); claim; [claim] = await bench.claim()) {
    order.push(claim.run.id)
    await bench.commit([patchRun(claim.run.id, { status: 'completed' })], { expect: [fence(claim)] })
  }
  return order
}

/** Tests of the order of runs in a session, and of their start time. */
export const lanes: Topic = ({ it }) => {
  it('S17: compactions go before interrupts, these before follow-ups, these before the queue', async (bench) => {
    await bench.commit([ensure(), insertRun('user-1'), insertRun('user-2', { at: 1 })])
    await bench.commit([insertRun('follow-up-1', { kind: 'follow-up' }), insertRun('notification-1', { kind: 'notification' })])
    await bench.commit([insertRun('interrupt-1', { lane: 'interrupt' }), insertRun('interrupt-2', { lane: 'interrupt' })])
    await bench.commit([insertRun('follow-up-2', { kind: 'follow-up' }), insertRun('compaction-1', { kind: 'compaction' })])
    await bench.commit([
      insertRun('interrupt-3', { kind: 'follow-up', lane: 'interrupt' }),
      insertRun('compaction-2', { kind: 'compaction' }),
    ])
    await bench.commit([insertRun('child-1', { kind: 'child' }), insertRun('last', { kind: 'compaction', lane: 'queue' })])
    assert.deepEqual(await orderOfRuns(bench), [
      ...['compaction-1', 'compaction-2'],
      ...['interrupt-3', 'interrupt-2', 'interrupt-1'],
      ...['follow-up-1', 'follow-up-2'],
      ...['user-1', 'user-2', 'notification-1', 'child-1', 'last'],
    ])
  })

  it('S17: runs are listed in the order of acceptance, whatever their lane', async (bench) => {
    await bench.commit([
      ensure(),
      insertRun('user'),
      insertRun('interrupt', { lane: 'interrupt' }),
      insertRun('compaction', { kind: 'compaction' }),
    ])
    assert.deepEqual(
      (await bench.store.listRuns(room)).items.map((run) => [run.id, run.n]),
      [
        ['user', 1],
        ['interrupt', 2],
        ['compaction', 3],
      ],
    )
  })

  it('S19: a compaction is claimed before inputs that were there first', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    await bench.commit([insertRun('compaction', { kind: 'compaction' })])
    assert.deepEqual(await bench.claim({ runId: 'run-1' }), [])
    assert.deepEqual(
      (await bench.claim()).map((claim) => claim.run.id),
      ['compaction'],
    )
    assert.deepEqual(await bench.claim(), [])
  })

  it('S25: no lane goes before the run that holds the session, nor before one that has begun and was given back', async (bench) => {
    const given = {
      tools: 'awaiting-tools',
      approval: 'awaiting-approval',
      subagent: 'awaiting-subagent',
      recovery: 'needs-recovery',
      yield: 'running',
    } as const
    for (const [name, holding] of Object.entries(given)) {
      const key = `room:${name}`
      const claim = await bench.running(name, key)
      const later = (['interrupt', 'follow-up', 'compaction', 'queue'] as const).map((lane) => insertRun(`${lane} of ${name}`, { lane }))
      await bench.commit([patchRun(name, { status: holding, turn: 1 }), ...later], { key, expect: [fence(claim)] })
      assert.deepEqual(await bench.claim(), [])
      await bench.commit([patchRun(name, { status: 'queued' })], { key })
      assert.deepEqual(await bench.claim({ runId: `compaction of ${name}` }), [])
      assert.deepEqual(
        (await bench.claim()).map((next) => next.run.id),
        [name],
      )
      await bench.commit([patchRun(name, { status: 'completed' })], { key })
      assert.deepEqual(
        (await bench.claim()).map((next) => next.run.id),
        [`compaction of ${name}`],
      )
    }
  })

  it('S60, S56: a lost run is claimed before all runs that wait after it', async (bench, stores) => {
    await bench.running('lost')
    const waiting = (['compaction', 'interrupt', 'follow-up', 'queue'] as const).map((lane) => insertRun(`${lane} behind it`, { lane }))
    await bench.commit(waiting)
    await bench.clock.advance(10_000)
    const again = await stores.reopen(bench, { owner: 'owner-b' })
    assert.deepEqual(await again.claim({ owner: 'owner-b', runId: 'interrupt behind it' }), [])
    assert.deepEqual(
      (await again.claim({ owner: 'owner-b' })).map(({ run, previous }) => [run.id, previous]),
      [['lost', 'running']],
    )
    assert.deepEqual(await again.claim({ owner: 'owner-b' }), [])
  })

  it('S60, S62: no run after a lost run that waits for its next takeover is claimed, and the time of the takeover is the next due time', async (bench) => {
    await bench.running('lost')
    await bench.commit([insertRun('follow-up', { kind: 'follow-up' })])
    await bench.clock.advance(10_000)
    assert.equal((await bench.claim({ owner: 'owner-b', leaseMs: 1 })).length, 1)
    await bench.clock.advance(1)
    assert.deepEqual(await bench.claim({ owner: 'owner-c' }), [])
    const { nextAt } = await bench.store.due(1)
    assert.equal(nextAt, bench.clock.now() + 999)
    await bench.clock.advance(999)
    assert.deepEqual(
      (await bench.claim({ owner: 'owner-c' })).map(({ run }) => run.id),
      ['lost'],
    )
  })

  it('S60, S63: a clock that was set back keeps no lost run waiting for as long as it went back', async (bench) => {
    await bench.running('lost')
    await bench.clock.advance(10_000)
    assert.equal((await bench.claim({ owner: 'owner-b', leaseMs: 1 })).length, 1)
    await bench.clock.advance(-3_600_000)
    const atOnce = await bench.claim({ owner: 'owner-c', leaseMs: 1 })
    await bench.clock.advance(1_000)
    const later = await bench.claim({ owner: 'owner-c', leaseMs: 1 })
    assert.deepEqual(
      [...atOnce, ...later].map(({ run }) => run.attempts),
      [2],
    )
    const { nextAt } = await bench.store.due(1)
    assert.ok(nextAt !== null && nextAt <= bench.clock.now() + 2_000)
  })

  it('S33: a run and the runs after it are held until its time, to the millisecond', async (bench, stores) => {
    await bench.commit([ensure(), insertRun('run-1', { notBefore: startMs + 500 }), insertRun('run-2')])
    assert.equal((await bench.run('run-1')).notBefore, startMs + 500)
    assert.deepEqual(await bench.claim(), [])
    assert.deepEqual(await bench.claim({ runId: 'run-2' }), [])
    await bench.clock.advance(499)
    const again = await stores.reopen(bench)
    assert.deepEqual(await again.claim(), [])
    await again.clock.advance(1)
    assert.deepEqual(await again.claim({ runId: 'run-2' }), [])
    assert.deepEqual(await orderOfRuns(again), ['run-1', 'run-2'])
  })

  it('S33: a run that is held does not hold what goes before it', async (bench) => {
    await bench.commit([ensure(), insertRun('held', { notBefore: startMs + 500 }), insertRun('behind')])
    await bench.commit([insertRun('interrupt', { lane: 'interrupt' })])
    assert.deepEqual(await orderOfRuns(bench), ['interrupt'])
    await bench.commit([patchRun('held', { status: 'aborted' })])
    assert.deepEqual(await orderOfRuns(bench), ['behind'])
  })

  it('S33: a run that is given back until later waits, and goes on when that is taken away', async (bench) => {
    const claim = await bench.running('run-1')
    await bench.commit([patchRun('run-1', { status: 'queued', notBefore: startMs + 500 }), insertRun('run-2')], { expect: [fence(claim)] })
    assert.deepEqual(await bench.claim(), [])
    await bench.commit([patchRun('run-1', { notBefore: null })])
    assert.equal('notBefore' in (await bench.run('run-1')), false)
    assert.deepEqual(await orderOfRuns(bench), ['run-1', 'run-2'])
  })

  it('S63: each takeover without progress waits longer after the last claim, at most 30 s', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    let owners = 0
    const claim = () => bench.claim({ owner: `owner-${owners++}`, leaseMs: 1 })
    assert.equal((await claim()).length, 1)
    await bench.clock.advance(1)
    assert.equal((await claim())[0]?.run.attempts, 1)
    for (const [index, seconds] of [1, 2, 4, 8, 16, 30, 30].entries()) {
      const delayMs = seconds * 1000
      assert.equal((await bench.store.due(1)).nextAt, bench.clock.now() + delayMs)
      await bench.clock.advance(delayMs - 1)
      assert.deepEqual(await claim(), [], `${seconds} s`)
      assert.deepEqual(await bench.store.listClaimable(), { items: [] })
      await bench.clock.advance(1)
      assert.deepEqual(await bench.store.listClaimable(), { items: [room] })
      assert.equal((await claim())[0]?.run.attempts, index + 2)
    }
  })

  it('S62, S67: a lost run that waits for its next takeover keeps back no other session, and the earliest takeover is the next time', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    await bench.commit([ensure('room:2'), insertRun('run-2', { at: startMs + 1 })], { key: 'room:2' })
    let owners = 0
    const take = async (runId?: string) =>
      (await bench.claim({ owner: `owner-${owners++}`, leaseMs: 0, max: 1, ...(runId !== undefined && { runId }) })).map(
        ({ run }) => run.id,
      )
    const nextAfterMs = async () => ((await bench.store.due(1)).nextAt ?? startMs) - startMs
    for (const runId of ['run-1', 'run-1', 'run-2']) assert.deepEqual(await take(runId), [runId])
    assert.deepEqual([await take(), await take(), await nextAfterMs()], [['run-2'], [], 1000])
    await bench.clock.advance(1000)
    assert.deepEqual([await take('run-1'), await nextAfterMs()], [['run-1'], 3000])
    await bench.clock.advance(500)
    assert.deepEqual([await take(), await nextAfterMs()], [['run-2'], 3000])
    await bench.clock.advance(1500)
    assert.deepEqual([await take(), await nextAfterMs()], [['run-1'], 3500])
  })

  it('S63: after progress a lost run is taken over at once, and one that was given back never waits', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    for (const owner of ['owner-a', 'owner-b']) {
      assert.equal((await bench.claim({ owner, leaseMs: 1 })).length, 1)
      await bench.clock.advance(1)
    }
    await bench.commit([patchRun('run-1', { attempts: 0 })])
    const [claim] = await bench.claim({ owner: 'owner-c', leaseMs: 1 })
    assert.deepEqual([claim?.run.attempts, claim?.run.totalAttempts], [1, 2])
    await bench.commit([patchRun('run-1', { status: 'queued' })], { expect: [fence(claim!)] })
    assert.equal((await bench.claim({ owner: 'owner-d' })).length, 1)
  })
}
