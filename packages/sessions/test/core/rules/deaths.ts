import assert from 'node:assert/strict'
import {
  appendEntries,
  appendEvents,
  deleteSession,
  deliver,
  ensure,
  fence,
  insertRun,
  mark,
  other,
  parentOf,
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
import type { Topic } from './kit.ts'

const child = `${room}~researcher~1`

/** Creates a session with records of every kind, and a run in progress. */
async function fullRoom(bench: Bench, key = room) {
  const claim = await bench.running('run-1', key)
  await bench.commit(
    [
      appendEntries(userEntry('a', null), userEntry('b', 'a')),
      appendEvents(mark('a'), mark('b')),
      putCalls({ ...settledCall('run-1', 'call-1'), session: key }),
      putAnswers('answer'),
      putTimers(timer('timer-1', startMs)),
      insertRun('run-2', { inputId: 'input' }),
    ],
    { key },
  )
  return claim
}

/** Tests that nothing of a deleted session comes back, and that its numbers continue. */
export const deaths: Topic = ({ it }) => {
  it('S105: a deleted session leaves nothing but that it was deleted, and when', async (bench, stores) => {
    await fullRoom(bench)
    const before = await bench.session()
    const result = await bench.commit([appendEvents(mark('end')), deleteSession()])
    assert.deepEqual(
      [result.sessionId, result.version, result.firstSeq, result.lastSeq],
      [before.id, before.version + 1, before.nextSeq, before.nextSeq],
    )
    const nothingIsLeft = async (opened: Bench) => {
      const { store } = opened
      assert.deepEqual(await store.readSession(room), { status: 'deleted', at: startMs + 7 })
      assert.deepEqual(await store.readEvents(room, 0, 10), { events: [], firstSeq: 5, lastSeq: 4, deletedAt: startMs + 7 })
      assert.deepEqual(await store.readPath(room), { items: [] })
      for (const runId of ['run-1', 'run-2']) assert.deepEqual(await store.readRun(runId), { status: 'missing' })
      assert.deepEqual([await store.readCalls('run-1'), await store.readInbox(room, ['answer'])], [[], []])
      assert.deepEqual(await store.readCall(room, 'call-1'), { status: 'missing' })
      assert.deepEqual([await store.listRuns(room), await store.listBranches(room)], [{ items: [] }, { items: [] }])
      assert.deepEqual((await store.listSessions({})).items, [])
      assert.deepEqual(await store.due(10), { timers: [], expired: [], unread: [], nextAt: null })
      assert.deepEqual(await opened.claim(), [])
      assert.deepEqual(await store.renew([{ runId: 'run-1', epoch: 1 }], 1000), [{ runId: 'run-1', held: false }])
    }
    await nothingIsLeft(bench)
    await nothingIsLeft(await stores.reopen(bench))
  })

  it('S105: a late commit is refused and brings nothing back', async (bench) => {
    const claim = await fullRoom(bench)
    const { id } = await bench.session()
    await bench.commit([deleteSession()], { expect: [{ that: 'session', id }] })
    const late = [appendEvents(mark('late'))]
    await bench.refused('fenced', late, { expect: [fence(claim)] })
    await bench.refused('fenced', [ensure(), ...late], { expect: [fence(claim)] })
    await bench.refused('deleted', late, { expect: [{ that: 'session', id }] })
    await bench.refused('deleted', [ensure()], { expect: [{ that: 'session', id, alive: true }, fence(claim)] })
    await bench.refused('deleted', late)
    await bench.refused('deleted', [])
    assert.equal((await bench.store.readSession(room)).status, 'deleted')
  })

  it('S106: to delete once more is refused as deleted, and so is the repeat of the batch, without a second delivery', async (bench) => {
    await bench.commit([ensure()])
    await bench.commit([ensure(other)], { key: other })
    const batch = { id: 'delete', deliver: [deliver(other, [appendEvents(mark('gone'))])] }
    await bench.commit([deleteSession()], batch)
    await bench.refused('deleted', [deleteSession()], batch)
    await bench.refused('deleted', [{ op: 'session.delete', at: startMs + 99 }])
    assert.deepEqual(await bench.store.readSession(room), { status: 'deleted', at: startMs + 7 })
    assert.equal((await bench.session(other)).nextSeq, 2)
    await bench.refused('missing', [deleteSession()], { key: 'room:unknown' })
  })

  it('S34: a batch that is refused deletes nothing', async (bench) => {
    await fullRoom(bench)
    await bench.refused('conflict', [deleteSession()], { expect: [{ that: 'session', id: 'another' }] })
    await bench.refused('conflict', [appendEntries(userEntry('orphan', 'nowhere')), deleteSession()])
  })

  it('S39: version, seq and n go on in a session that is made anew, after reopening too', async (bench, stores) => {
    await fullRoom(bench)
    const { version } = await bench.session()
    await bench.commit([deleteSession()])
    const again = await stores.reopen(bench)
    const made = await again.commit([ensure(room, { id: 'second' }), insertRun('run-1'), appendEvents(mark('c'))], {
      expect: [{ that: 'session', id: null }],
    })
    assert.ok(made.version > version + 1)
    assert.deepEqual([made.sessionId, made.firstSeq, made.lastSeq], ['second', 4, 4])
    const { firstSeq, nextSeq, nextRun, leaf, status } = await again.session()
    assert.deepEqual([firstSeq, nextSeq, nextRun, leaf, status], [4, 5, 4, null, 'queued'])
    const { n, epoch, firstSeq: firstOfRun } = await again.run('run-1')
    assert.deepEqual([n, epoch, firstOfRun], [3, 0, 4])
    const page = await again.store.readEvents(room, 0, 10)
    assert.deepEqual([page.events.map((event) => event.seq), page.firstSeq, page.lastSeq, page.deletedAt], [[4], 4, 4, undefined])
    assert.deepEqual((await again.store.readPath(room)).items, [])
    assert.deepEqual(await again.store.readCalls('run-1'), [])
    assert.deepEqual(await again.store.readInbox(room, ['answer']), [])
  })

  it('S39: a write that names the old incarnation is refused, even if all numbers fit', async (bench) => {
    const claim = await fullRoom(bench)
    const old = await bench.session()
    await bench.commit([deleteSession()])
    await bench.commit([ensure(room, { id: 'second' })])
    const { version } = await bench.session()
    await bench.refused('conflict', [appendEvents(mark('late'))], { expect: [{ that: 'session', id: old.id }] })
    await bench.refused('conflict', [appendEvents(mark('late'))], { expect: [{ that: 'session', id: old.id, version }] })
    await bench.refused('fenced', [appendEvents(mark('late'))], { expect: [fence(claim)] })
    await bench.commit([insertRun('run-2', { inputId: 'input', inputHash: 'other content' })])
    assert.equal((await bench.session()).nextRun, 4)
  })

  it('S39: numbers go on over several lives', async (bench) => {
    let next = 1
    for (const life of ['first', 'second', 'third']) {
      const made = await bench.commit([ensure(room, { id: life }), appendEvents(mark(life), mark(life))])
      assert.deepEqual([made.firstSeq, made.sessionId], [next, life])
      await bench.commit([deleteSession()])
      // Two events, plus the one at which readers end.
      next += 3
    }
    assert.equal((await bench.store.readEvents(room, 0, 10)).firstSeq, next)
  })

  it('S39: a deleted child session leaves no data, not even its numbers', async (bench) => {
    await bench.commit([ensure(child, { parent: room }), insertRun('child-1', { parent: parentOf('run-1') }), appendEvents(mark('a'))], {
      key: child,
    })
    await bench.commit([deleteSession({ leavesNothing: true })], { key: child })
    assert.deepEqual(await bench.store.readSession(child), { status: 'missing' })
    assert.deepEqual(await bench.store.readEvents(child, 0, 10), { events: [], firstSeq: 1, lastSeq: 0 })
    assert.deepEqual(await bench.store.listChildren({ parent: { session: room } }), { items: [] })
    await bench.refused('missing', [], { key: child })
    const made = await bench.commit([ensure(child, { id: 'second' }), appendEvents(mark('b'))], { key: child })
    assert.deepEqual([made.version, made.firstSeq], [1, 1])
    // The numbers of an earlier deletion under the key are deleted too.
    await bench.commit([deleteSession()], { key: child })
    await bench.commit([ensure(child, { id: 'third' })], { key: child })
    await bench.commit([deleteSession({ leavesNothing: true })], { key: child })
    assert.deepEqual(await bench.store.readSession(child), { status: 'missing' })
  })

  it('S105: a deletion can be delivered', async (bench) => {
    await bench.commit([ensure()])
    await bench.commit([ensure(child, { parent: room }), insertRun('child-1')], { key: child })
    await bench.commit([], { deliver: [deliver(child, [deleteSession({ leavesNothing: true })])] })
    assert.deepEqual(await bench.store.readSession(child), { status: 'missing' })
    assert.deepEqual(await bench.store.readRun('child-1'), { status: 'missing' })
  })
}
