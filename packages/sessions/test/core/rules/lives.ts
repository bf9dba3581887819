import assert from 'node:assert/strict'
import { appendEntries, appendEvents, deliver, ensure, insertRun, mark, other, patchRun, room, startMs, userEntry } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'

const alive = { that: 'session', id: `session-of-${room}`, alive: true } as const

async function statusOf(bench: Bench): Promise<string> {
  return (await bench.store.readSession(room)).status
}

async function expiresAt(bench: Bench): Promise<number | undefined> {
  const read = await bench.store.readSession(room)
  return 'value' in read ? read.value.expiresAt : undefined
}

async function expiredAt(bench: Bench): Promise<number | undefined> {
  const read = await bench.store.readSession(room)
  return 'value' in read ? read.value.expiredAt : undefined
}

/** Tests that a session lives exactly for its TTL. */
export const lives: Topic = ({ it }) => {
  it('S163: a session without a time to live, or with never, has no end', async (bench) => {
    await bench.commit([ensure()])
    await bench.commit([ensure(other, { ttl: { maxAgeMs: 'never', idleMs: 'never' } })], { key: other })
    await bench.clock.advance(10 * 365 * 86_400_000)
    for (const key of [room, other]) assert.equal('expiresAt' in (await bench.session(key)), false)
    assert.deepEqual((await bench.session(other)).settings, { ttl: { maxAgeMs: 'never', idleMs: 'never' } })
    assert.deepEqual(await bench.store.due(10), { timers: [], expired: [], unread: [], nextAt: null })
  })

  it('S163: a session ends when it is that old, to the millisecond, whatever happens in it', async (bench) => {
    await bench.commit([ensure(room, { ttl: { maxAgeMs: 1000 }, at: startMs - 400 })])
    await bench.clock.advance(599)
    await bench.commit([appendEvents(mark('a'))], { expect: [alive] })
    assert.equal(await statusOf(bench), 'found')
    await bench.clock.advance(1)
    const read = await bench.store.readSession(room)
    assert.ok(read.status === 'expired')
    assert.deepEqual([read.at, read.value.expiredAt, read.value.expiresAt], [startMs + 600, startMs + 600, undefined])
    await bench.refused('expired', [appendEvents(mark('b'))], { expect: [alive] })
  })

  it('S163: a session ends so long after the last commit, to the millisecond', async (bench) => {
    await bench.commit([ensure(room, { ttl: { idleMs: 1000 } })])
    await bench.clock.advance(999)
    await bench.commit([], { expect: [alive] })
    assert.equal(await expiresAt(bench), startMs + 1999)
    await bench.clock.advance(999)
    assert.equal(await statusOf(bench), 'found')
    await bench.clock.advance(1)
    assert.equal(await statusOf(bench), 'expired')
  })

  it('S163: a clock that was set back gives no session a longer life than its own after the next commit', async (bench) => {
    await bench.commit([ensure(room, { ttl: { idleMs: 1000, maxAgeMs: 1500 } })])
    await bench.clock.advance(-3_600_000)
    await bench.commit([])
    assert.equal(await expiresAt(bench), bench.clock.now() + 1000)
    await bench.clock.advance(1000)
    assert.equal(await statusOf(bench), 'expired')
  })

  it('S163: of two ends the first counts', async (bench) => {
    await bench.commit([ensure(room, { ttl: { idleMs: 1000, maxAgeMs: 1500 } })])
    assert.equal(await expiresAt(bench), startMs + 1000)
    await bench.clock.advance(600)
    await bench.commit([])
    assert.equal(await expiresAt(bench), startMs + 1500)
  })

  it('S162: reading, claiming and renewing prolong nothing; commits and deliveries do', async (bench) => {
    await bench.commit([ensure(room, { ttl: { idleMs: 1000 } }), insertRun('run-1')])
    await bench.commit([ensure(other)], { key: other })
    await bench.clock.advance(300)
    await bench.everything()
    await bench.store.listSessions({})
    await bench.store.due(10)
    const [claim] = await bench.claim()
    assert.deepEqual([claim?.session.expiresAt, claim?.session.activeAt], [startMs + 1000, startMs])
    await bench.store.renew([{ runId: 'run-1', epoch: 1 }], 10_000)
    assert.equal(await expiresAt(bench), startMs + 1000)
    await bench.commit([patchRun('run-1', { step: 1 })])
    assert.equal(await expiresAt(bench), startMs + 1300)
    await bench.clock.advance(300)
    await bench.commit([], { key: other, deliver: [deliver(room, [appendEvents(mark('a'))])] })
    assert.equal(await expiresAt(bench), startMs + 1600)
    // Refused batches and repeats do not count as activity.
    await bench.clock.advance(300)
    await bench.refused('conflict', [appendEntries(userEntry('orphan', 'nowhere'))])
    assert.equal(await expiresAt(bench), startMs + 1600)
  })

  it('S161: nothing brings an expired session back, marked or not, and it stays readable', async (bench, stores) => {
    await bench.commit([ensure(room, { ttl: { idleMs: 1000 } }), insertRun('run-1'), appendEvents(mark('a'))])
    await bench.commit([appendEntries(userEntry('a', null))])
    await bench.clock.advance(1000)
    await bench.commit([patchRun('run-1', { stop: { at: 1 } }), appendEvents(mark('b'))])
    assert.equal(await statusOf(bench), 'expired')
    await bench.commit([{ op: 'session.expire' }, patchRun('run-1', { status: 'aborted' })])
    await bench.commit([appendEvents(mark('c'))])
    const again = await stores.reopen(bench)
    const read = await again.store.readSession(room)
    assert.ok(read.status === 'expired')
    assert.deepEqual([read.at, read.value.expiredAt, read.value.status, read.value.version], [startMs + 1000, startMs + 1000, 'stopped', 5])
    assert.equal((await again.store.readEvents(room, 0, 10)).lastSeq, 3)
    assert.deepEqual(
      (await again.store.readPath(room)).items.map((entry) => entry.id),
      ['a'],
    )
    assert.equal((await again.run('run-1')).status, 'aborted')
  })

  it('S161: a session that is marked ends now at the latest, and keeps its first end', async (bench) => {
    await bench.commit([ensure()])
    await bench.clock.advance(50)
    await bench.commit([{ op: 'session.expire' }])
    assert.deepEqual([await statusOf(bench), await expiredAt(bench), await expiresAt(bench)], ['expired', startMs + 50, undefined])
    await bench.clock.advance(50)
    await bench.commit([{ op: 'session.expire' }])
    assert.equal(await expiredAt(bench), startMs + 50)
    await bench.refused('expired', [insertRun('run-1')], { expect: [alive] })
    await bench.refused('missing', [{ op: 'session.expire' }], { key: 'room:unknown' })
  })

  it('S161: runs of an expired session are not claimed, also when nobody has marked it', async (bench) => {
    const ttl = { maxAgeMs: 1000 }
    await bench.commit([ensure(room, { ttl }), insertRun('run-1')])
    await bench.commit([ensure(other), insertRun('run-2')], { key: other })
    await bench.clock.advance(1000)
    assert.deepEqual(
      (await bench.claim()).map((claim) => claim.run.id),
      ['run-2'],
    )
    await bench.commit([{ op: 'session.expire' }])
    assert.deepEqual(await bench.claim(), [])
  })

  it('S161: a running run of an expired session is not taken over', async (bench) => {
    await bench.commit([ensure(room, { ttl: { maxAgeMs: 1000 } }), insertRun('run-1')])
    assert.equal((await bench.claim({ leaseMs: 10 })).length, 1)
    await bench.clock.advance(1000)
    assert.deepEqual(await bench.claim({ owner: 'owner-b' }), [])
  })

  it('S40: an expected living session is missing, another or expired, and these are told apart', async (bench) => {
    await bench.refused('missing', [ensure()], { expect: [alive] })
    await bench.commit([ensure(room, { ttl: { maxAgeMs: 10 } })])
    await bench.commit([], { expect: [alive] })
    await bench.clock.advance(10)
    await bench.refused('expired', [], { expect: [alive] })
    await bench.refused('conflict', [], { expect: [{ ...alive, id: 'another' }] })
    await bench.refused('conflict', [], { expect: [{ ...alive, version: 1 }] })
    await bench.refused('conflict', [ensure(room, { id: 'another' })], { expect: [{ that: 'session', id: null }] })
    await bench.commit([], { expect: [{ that: 'session', id: alive.id, version: 2 }] })
  })

  it('S163: lists tell of an expired session what reading it tells', async (bench) => {
    await bench.commit([ensure(room, { ttl: { maxAgeMs: 10 } }), insertRun('run-1'), patchRun('run-1', { status: 'aborted' })])
    await bench.commit([ensure(other)], { key: other })
    const keysWith = async (expired: boolean) =>
      (await bench.store.listSessions({ expired, status: ['stopped'] })).items.map(({ key }) => key)
    assert.deepEqual([await keysWith(false), await keysWith(true)], [[room], []])
    await bench.clock.advance(10)
    assert.deepEqual([await keysWith(false), await keysWith(true)], [[], [room]])
    const read = await bench.store.readSession(room)
    const listed = (await bench.store.listSessions({})).items.find(({ key }) => key === room)
    assert.deepEqual(listed, read.status === 'expired' && read.value)
  })
}
