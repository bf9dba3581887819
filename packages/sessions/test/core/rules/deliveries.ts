import assert from 'node:assert/strict'
import type { Write } from '@bowline/sessions'
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
import type { Topic } from './kit.ts'

async function inboxOf(bench: Bench, key: string): Promise<readonly string[]> {
  return (await bench.store.readInbox(key, ['answer'])).map((row) => row.id)
}

async function twoRooms(bench: Bench): Promise<void> {
  await bench.commit([ensure()])
  await bench.commit([ensure(other)], { key: other })
}

/** Tests that deliveries of a batch are applied exactly once, together with it. */
export const deliveries: Topic = ({ it }) => {
  it('S45: a delivery is applied with its batch, in the order of its writes, and raises the other version', async (bench) => {
    await twoRooms(bench)
    await bench.clock.advance(60_000)
    const result = await bench.commit([appendEvents(mark('own'))], {
      deliver: [deliver(other, [appendEvents(mark('a'), mark('b')), putAnswers('answer')]), deliver(other, [appendEvents(mark('c'))])],
    })
    assert.deepEqual([result.sessionId, result.version, result.firstSeq, result.lastSeq], [`session-of-${room}`, 2, 1, 1])
    const { version, nextSeq, activeAt } = await bench.session(other)
    assert.deepEqual([version, nextSeq, activeAt], [3, 4, startMs + 60_000])
    const { events } = await bench.store.readEvents(other, 0, 10)
    assert.deepEqual(
      events.map((event) => [event.seq, 'sessionKey' in event && event.sessionKey]),
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ],
    )
    assert.deepEqual(await inboxOf(bench, other), ['answer'])
  })

  it('S45: a repeat of the batch delivers nothing again, also after others wrote', async (bench) => {
    const claim = await bench.running('run-1')
    await bench.commit([ensure(other)], { key: other })
    const batch = { id: 'again', expect: [fence(claim)], deliver: [deliver(other, [putAnswers('answer'), appendEvents(mark('a'))])] }
    const first = await bench.commit([], batch)
    for (const between of [[], [insertRun('run-2')]]) {
      if (between.length > 0) await bench.commit(between)
      await bench.commit([{ op: 'inbox.take', ids: ['answer'] }], { key: other })
      const before = await bench.everything(other)
      assert.deepEqual(await bench.try([], batch), first)
      assert.deepEqual(await bench.everything(other), before)
    }
  })

  it('S45: a repeat does not deliver what was dropped the first time', async (bench) => {
    await twoRooms(bench)
    const batch = { id: 'again', deliver: [deliver(other, [putAnswers('late')], [{ that: 'inbox-below', kind: 'answer', max: 1 }])] }
    await bench.commit([putAnswers('first')], { key: other })
    await bench.commit([], batch)
    await bench.commit([{ op: 'inbox.take', ids: ['first'] }], { key: other })
    await bench.commit([], batch)
    assert.deepEqual(await inboxOf(bench, other), [])
  })

  it('S45: a delivery whose condition does not hold is dropped, and the batch and the other deliveries are not', async (bench) => {
    await twoRooms(bench)
    await bench.commit([ensure('room:3')], { key: 'room:3' })
    const before = await bench.everything(other)
    const result = await bench.commit([appendEvents(mark('own'))], {
      deliver: [
        deliver(other, [putAnswers('a')], [{ that: 'session', id: 'another incarnation' }]),
        deliver(other, [putAnswers('b')], [{ that: 'idle' }, { that: 'run', runId: 'unknown', status: ['running'] }]),
        deliver('room:3', [putAnswers('c')], [{ that: 'session', id: 'session-of-room:3', alive: true }]),
      ],
    })
    assert.equal(result.lastSeq, 1)
    assert.deepEqual(await bench.everything(other), before)
    assert.deepEqual(await inboxOf(bench, 'room:3'), ['c'])
  })

  it('S45: a delivery of which one write is refused leaves nothing', async (bench) => {
    await twoRooms(bench)
    await bench.running('run-3', 'room:3')
    const before = await bench.everything(other)
    const good: Write[] = [appendEvents(mark('a')), insertRun('run-2'), putAnswers('a'), putTimers(timer('timer-1', startMs))]
    const bad: Write[] = [appendEntries(userEntry('orphan', 'nowhere')), insertRun('run-3'), patchRun('run-3', { status: 'aborted' })]
    for (const [index, write] of bad.entries()) {
      await bench.commit([appendEvents(mark('own'))], { deliver: [deliver(other, [...good, write])] })
      assert.deepEqual(await bench.everything(other), before, `write ${index}`)
    }
    assert.equal((await bench.store.readRun('run-2')).status, 'missing')
    assert.equal((await bench.session()).nextSeq, 4)
  })

  it('S45: a delivery to a session that is gone, or never was, is dropped', async (bench) => {
    await twoRooms(bench)
    await bench.commit([deleteSession()], { key: other })
    const deliveriesToNobody = [other, 'room:unknown'].map((to) => deliver(to, [putAnswers('a'), appendEvents(mark('a'))]))
    await bench.commit([appendEvents(mark('own'))], { deliver: deliveriesToNobody })
    assert.deepEqual(await bench.store.readSession(other), { status: 'deleted', at: startMs + 7 })
    assert.deepEqual(await bench.store.readSession('room:unknown'), { status: 'missing' })
    assert.equal((await bench.session()).nextSeq, 2)
  })

  it('S128: a delivery makes a child session with its run, once, and its events have the numbers of that session', async (bench) => {
    await bench.running('run-1')
    const key = `${room}~researcher~1`
    const spawn = (id: string) => [
      ensure(key, { parent: room }),
      insertRun(id, { kind: 'child', inputId: 'spawn', parent: parentOf('run-1') }),
      appendEvents(mark('a'), { event: { type: 'run-queued', at: startMs, runId: id }, refers: { runInput: id } }),
    ]
    await bench.commit([appendEvents(mark('own'))], { deliver: [deliver(key, spawn('child-1'))] })
    const { version, nextSeq, nextRun, status, parent } = await bench.session(key)
    assert.deepEqual([version, nextSeq, nextRun, status, parent], [1, 3, 2, 'queued', room])
    const { events } = await bench.store.readEvents(key, 0, 10)
    assert.deepEqual(
      events.map((event) => event.seq),
      [1, 2],
    )
    assert.deepEqual(events[1], { type: 'run-queued', at: startMs, runId: 'child-1', input: (await bench.run('child-1')).input, seq: 2 })
    const before = await bench.everything(key)
    // Delivers the same run, and another run for the same input.
    await bench.commit([], { deliver: [deliver(key, spawn('child-1')), deliver(key, spawn('child-2'))] })
    assert.deepEqual(await bench.everything(key), before)
    assert.deepEqual(
      (await bench.claim()).map((claim) => claim.run.id),
      ['child-1'],
    )
  })

  it('S135: the end of a child, its result in the ledger of the parent and the parent’s wake are one commit', async (bench) => {
    const parent = await bench.running('run-1')
    const child = await bench.running('child-1', other)
    await bench.commit([patchRun('run-1', { status: 'awaiting-tools' })], { expect: [fence(parent)] })
    const wake = [
      putCalls(settledCall('run-1', 'call-1')),
      patchRun('run-1', { status: 'queued' }),
      { op: 'session.patch', patch: { childUsage: { inputTokens: 5 } } } as const,
    ]
    const waiting = { that: 'run', runId: 'run-1', status: ['awaiting-tools'] } as const
    const end = { key: other, id: 'end', expect: [fence(child)], deliver: [deliver(room, wake, [waiting])] }
    await bench.commit([patchRun('child-1', { status: 'completed' })], end)
    await bench.commit([patchRun('child-1', { status: 'completed' })], end)
    assert.deepEqual([(await bench.run('run-1')).status, (await bench.session()).status], ['queued', 'queued'])
    assert.deepEqual((await bench.session()).childUsage, { inputTokens: 5 })
    assert.deepEqual(
      (await bench.claim()).map((claim) => claim.run.id),
      ['run-1'],
    )
  })

  it('S36: a refused batch delivers nothing', async (bench) => {
    const lost = await bench.running('run-1')
    await bench.commit([ensure(other)], { key: other })
    await bench.clock.advance(10_000)
    await bench.claim({ owner: 'owner-b' })
    const before = await bench.everything(other)
    const brought = [
      deliver(other, [putAnswers('a'), appendEvents(mark('a'))]),
      deliver('room:new', [ensure('room:new'), insertRun('run-2')]),
    ]
    await bench.refused('fenced', [], { expect: [fence(lost)], deliver: brought })
    await bench.refused('conflict', [appendEntries(userEntry('orphan', 'nowhere'))], { deliver: brought })
    await bench.refused('missing', [], { key: 'room:unknown', deliver: brought })
    assert.deepEqual(await bench.everything(other), before)
    assert.deepEqual(await bench.store.readSession('room:new'), { status: 'missing' })
    assert.deepEqual(await bench.store.readRun('run-2'), { status: 'missing' })
  })

  it('S15: a batch whose input exists delivers nothing', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1', { inputId: 'input' })])
    await bench.commit([ensure(other)], { key: other })
    const repeat = insertRun('run-2', { inputId: 'input', inputHash: 'hash of run-1' })
    const result = await bench.commit([repeat], { deliver: [deliver(other, [putAnswers('a')])] })
    assert.deepEqual(result.existing, { runId: 'run-1' })
    assert.deepEqual(await inboxOf(bench, other), [])
  })

  it('S45: what was delivered is there after reopening, and comes no second time', async (bench, stores) => {
    await twoRooms(bench)
    const batch = { id: 'last', deliver: [deliver(other, [appendEvents(mark('a')), putAnswers('a')])] }
    await bench.commit([], batch)
    const before = await bench.everything(other)
    const again = await stores.reopen(bench)
    assert.deepEqual(await again.everything(other), before)
    await again.commit([], batch)
    assert.deepEqual(await again.everything(other), before)
  })

  it('S38: deliveries from many sessions at once leave numbers without gaps', async (bench) => {
    await bench.commit([ensure(other)], { key: other })
    const keys = Array.from({ length: 16 }, (_, index) => `room:from-${index}`)
    await Promise.all(
      keys.map((key) => bench.commit([ensure(key)], { key, deliver: [deliver(other, [appendEvents(mark(key), mark(key))])] })),
    )
    const { events, lastSeq } = await bench.store.readEvents(other, 0, 100)
    assert.equal(lastSeq, 32)
    assert.deepEqual(
      events.map((event) => event.seq),
      Array.from({ length: 32 }, (_, index) => index + 1),
    )
    assert.equal((await bench.session(other)).version, 17)
  })
}
