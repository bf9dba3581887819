import { appendEntries, appendEvents, ensure, fence, insertRun, mark, moveLeaf, patchRun, room, userEntry } from './bench.ts'
import type { Topic } from './kit.ts'

/** Tests that expectations are checked in the step that applies the batch. */
export const expectations: Topic = ({ it }) => {
  const event = [appendEvents(mark('one'))]

  it('S39: an expected incarnation must be the present one', async (bench) => {
    await bench.refused('missing', event, { expect: [{ that: 'session', id: 'first' }] })
    await bench.commit([ensure(room, { id: 'first' })], { expect: [{ that: 'session', id: null }] })
    await bench.refused('conflict', event, { expect: [{ that: 'session', id: null }] })
    await bench.refused('conflict', event, { expect: [{ that: 'session', id: 'second' }] })
    await bench.commit(event, { expect: [{ that: 'session', id: 'first' }] })
  })

  it('S39: an expected version must be the present one', async (bench) => {
    await bench.commit([ensure(room, { id: 'first' })])
    const { version } = await bench.session()
    await bench.refused('conflict', event, { expect: [{ that: 'session', id: 'first', version: version - 1 }] })
    await bench.commit(event, { expect: [{ that: 'session', id: 'first', version }] })
    await bench.refused('conflict', event, { expect: [{ that: 'session', id: 'first', version }] })
  })

  it('S36: a write under another epoch or status is fenced', async (bench) => {
    await bench.refused('fenced', [ensure()], { expect: [{ that: 'fence', runId: 'run-1', epoch: 1 }] })
    await bench.commit([ensure(), insertRun('run-1')])
    await bench.refused('fenced', event, { expect: [{ that: 'fence', runId: 'run-1', epoch: 0 }] })
    const [claim] = await bench.claim()
    await bench.refused('fenced', event, { expect: [{ that: 'fence', runId: 'run-1', epoch: 0 }] })
    await bench.refused('fenced', event, { expect: [{ that: 'fence', runId: 'run-1', epoch: 2 }] })
    await bench.commit(event, { expect: [fence(claim!)] })
    await bench.commit([patchRun('run-1', { status: 'completed' })], { expect: [fence(claim!)] })
    await bench.refused('fenced', event, { expect: [fence(claim!)] })
  })

  it('S36: a fence of a run of another session does not hold', async (bench) => {
    const claim = await bench.running('run-1', 'room:2')
    await bench.refused('fenced', [ensure(), ...event], { expect: [fence(claim)] })
  })

  it('S36: the owner that lost its run can write nothing more', async (bench) => {
    const lost = await bench.running('run-1')
    await bench.clock.advance(10_001)
    const [taken] = await bench.claim({ owner: 'owner-b' })
    await bench.refused('fenced', event, { expect: [fence(lost)] })
    await bench.commit(event, { expect: [fence(taken!)] })
  })

  it('S19: idle fails while a run is open', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')], { expect: [{ that: 'idle' }] })
    await bench.refused('busy', event, { expect: [{ that: 'idle' }] })
    await bench.commit([patchRun('run-1', { status: 'aborted' })])
    await bench.commit(event, { expect: [{ that: 'idle' }] })
  })

  it('S19: idle, compactions apart, fails while any other run is open', async (bench) => {
    const idle = { that: 'idle', exceptCompaction: true } as const
    await bench.commit([ensure(), insertRun('compaction', { kind: 'compaction' })], { expect: [idle] })
    await bench.commit(event, { expect: [idle] })
    await bench.refused('busy', event, { expect: [{ that: 'idle' }] })
    // Named, so that the claim waits for the end of the refused commit.
    await bench.claim({ keys: [room] })
    await bench.commit(event, { expect: [idle] })
    await bench.commit([insertRun('run-1')], { expect: [idle] })
    await bench.refused('busy', event, { expect: [idle] })
    await bench.commit([patchRun('compaction', { status: 'completed' })])
    await bench.refused('busy', event, { expect: [idle] })
    await bench.commit([patchRun('run-1', { status: 'aborted' })])
    await bench.commit(event, { expect: [idle, { that: 'idle' }] })
    // A compaction is recognised by its kind, not by its lane.
    await bench.commit([insertRun('run-2', { lane: 'compaction' })])
    await bench.refused('busy', event, { expect: [idle] })
  })

  it('S155: an expected leaf must be the end of the active path', async (bench) => {
    const leaf = (entryId: string | null) => ({ that: 'leaf', entryId }) as const
    await bench.refused('missing', [ensure()], { expect: [leaf(null)] })
    await bench.commit([ensure()])
    await bench.refused('conflict', event, { expect: [leaf('a')] })
    await bench.commit([appendEntries(userEntry('a', null), userEntry('b', 'a'))], { expect: [leaf(null)] })
    await bench.refused('conflict', event, { expect: [leaf(null)] })
    await bench.refused('conflict', [moveLeaf('a')], { expect: [leaf('a')] })
    await bench.commit([moveLeaf('a')], { expect: [leaf('b')] })
    await bench.commit([moveLeaf(null)], { expect: [leaf('a')] })
    await bench.commit(event, { expect: [leaf(null)] })
  })

  it('S34: none-queued fails while another run is open, and some-queued while none is', async (bench) => {
    const claim = await bench.running('run-1')
    const alone = { that: 'none-queued', except: 'run-1' } as const
    const queued = { that: 'some-queued', except: 'run-1' } as const
    await bench.commit(event, { expect: [fence(claim), alone] })
    await bench.refused('nothing-queued', event, { expect: [fence(claim), queued] })
    await bench.commit([insertRun('run-2')])
    await bench.refused('runs-queued', event, { expect: [fence(claim), alone] })
    await bench.commit(event, { expect: [fence(claim), queued] })
    await bench.commit([patchRun('run-2', { status: 'aborted' })])
    await bench.commit(event, { expect: [fence(claim), alone] })
    await bench.refused('nothing-queued', event, { expect: [fence(claim), queued] })
  })

  it('S32: queue-below counts the queued runs', async (bench) => {
    const below = { that: 'queue-below', max: 2 } as const
    await bench.commit([ensure(), insertRun('run-1')], { expect: [below] })
    await bench.commit([insertRun('run-2')], { expect: [below] })
    await bench.refused('queue-full', [insertRun('run-3')], { expect: [below] })
    await bench.claim()
    await bench.commit([insertRun('run-3')], { expect: [below] })
  })

  it('S34: run tests status and stop request', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    await bench.refused('conflict', event, { expect: [{ that: 'run', runId: 'unknown', status: ['queued'] }] })
    await bench.refused('conflict', event, { expect: [{ that: 'run', runId: 'run-1', status: ['running'] }] })
    const queued = { that: 'run', runId: 'run-1', status: ['running', 'queued'] } as const
    await bench.commit(event, { expect: [{ ...queued, notStopping: true }] })
    await bench.commit([patchRun('run-1', { stop: { at: 1, reason: 'enough' } })])
    await bench.refused('stopping', event, { expect: [{ ...queued, notStopping: true }] })
    await bench.commit(event, { expect: [queued] })
  })
}
