import assert from 'node:assert/strict'
import type { Write } from '@bowline/sessions'
import {
  appendEntries,
  appendEvents,
  ensure,
  fence,
  insertRun,
  mark,
  openCall,
  patchRun,
  putAnswers,
  putCalls,
  putTimers,
  room,
  startMs,
  timer,
  userEntry,
} from './bench.ts'
import type { Topic } from './kit.ts'

/** Tests that a batch is atomic and idempotent. */
export const commits: Topic = ({ it }) => {
  it('S34: a batch whose last write is refused leaves nothing, whatever came before it', async (bench) => {
    const { run } = await bench.running('run-1')
    await bench.commit([appendEntries(userEntry('first', null)), putAnswers('answer:1'), putTimers(timer('timer-0', startMs - 5))])
    const writes: Write[] = [
      { op: 'session.patch', patch: { turns: 7, usage: { inputTokens: 5 }, metadata: { changed: true } } },
      appendEntries(userEntry('second', 'first')),
      appendEvents(mark('one'), mark('two')),
      insertRun('run-2', { inputId: 'input-2' }),
      patchRun(run.id, { step: 3, openMessageId: 'message-1' }),
      putCalls(openCall(run.id, 'call-1')),
      putAnswers('answer:2'),
      { op: 'inbox.take', ids: ['answer:1'] },
      {
        op: 'inbox.patch',
        rows: [{ id: 'answer:2', kind: 'answer', at: startMs, body: { toolCallId: 'call', hash: 'other', answer: {} } }],
      },
      { op: 'definition.put', hash: 'hash', body: { model: 'large' } },
      patchRun(run.id, { definition: 'hash' }),
      putTimers(timer('timer-1', startMs), timer('timer-2', startMs - 1)),
      { op: 'timer.drop', ids: ['timer-0'] },
      { op: 'session.expire' },
    ]
    for (let count = 0; count <= writes.length; count++) {
      await bench.refused('conflict', [...writes.slice(0, count), appendEntries(userEntry('orphan', 'nowhere'))])
    }
    assert.equal((await bench.store.readRun('run-2')).status, 'missing')
    assert.equal(await bench.store.readDefinition('hash'), undefined)
    await bench.commit(writes)
  })

  it('S34: a refused first batch leaves no session', async (bench) => {
    await bench.refused('conflict', [ensure(), appendEvents(mark('one')), appendEntries(userEntry('a', 'nowhere'))])
    assert.deepEqual(await bench.store.readSession(room), { status: 'missing' })
    assert.equal((await bench.commit([ensure(), appendEvents(mark('one'))])).firstSeq, 1)
  })

  it('S34: writes need a session, or must make it first', async (bench) => {
    const needy: Write[] = [
      { op: 'session.patch', patch: { turns: 1 } },
      appendEntries(userEntry('a', null)),
      appendEvents(mark('one')),
      insertRun('run-1'),
      putAnswers('answer:1'),
      { op: 'inbox.take', ids: ['answer:1'] },
    ]
    for (const write of needy) await bench.refused('missing', [write])
    await bench.refused('missing', [])
  })

  it('S35: a repeat of the last batch of a session answers the same and applies nothing', async (bench) => {
    const writes = [ensure(), appendEvents(mark('one'), mark('two'))]
    const first = await bench.commit(writes, { id: 'again', expect: [{ that: 'session', id: null }] })
    const before = await bench.everything()
    assert.deepEqual(await bench.try(writes, { id: 'again', expect: [{ that: 'session', id: null }] }), first)
    assert.deepEqual(await bench.everything(), before)
  })

  it('S35: a repeat of the last batch of a run is known after others wrote, and after the run has ended', async (bench) => {
    const claim = await bench.running('run-1')
    const writes = [appendEvents(mark('end')), patchRun('run-1', { status: 'completed' })]
    const first = await bench.commit(writes, { id: 'end-of-run', expect: [fence(claim)] })
    await bench.commit([insertRun('run-2')])
    const before = await bench.everything()
    assert.deepEqual(await bench.try(writes, { id: 'end-of-run', expect: [fence(claim)] }), first)
    assert.deepEqual(await bench.everything(), before)
  })

  it('S35: a repeat of the batch that put a run in the queue is known after others wrote', async (bench) => {
    const first = await bench.commit([ensure(), insertRun('run-1')], { id: 'accept' })
    await bench.commit([appendEvents(mark('other'))])
    await bench.claim()
    assert.deepEqual(await bench.try([ensure(), insertRun('run-1')], { id: 'accept' }), first)
    assert.equal((await bench.store.listRuns(room)).items.length, 1)
  })

  it('S15: an input id with equal content gives the run that exists, even when the expectations fail', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1', { inputId: 'input', inputHash: 'same' })])
    const before = await bench.everything()
    const repeat = [ensure(), insertRun('run-2', { inputId: 'input', inputHash: 'same' }), appendEvents(mark('again'))]
    const result = await bench.commit(repeat, { expect: [{ that: 'idle' }] })
    assert.deepEqual(result.existing, { runId: 'run-1' })
    assert.ok(result.lastSeq < result.firstSeq)
    assert.deepEqual(await bench.everything(), before)
  })

  it('S15: input ids belong to their session', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1', { inputId: 'input', inputHash: 'same' })])
    const other = [ensure('room:2'), insertRun('run-2', { inputId: 'input', inputHash: 'same' })]
    assert.equal((await bench.commit(other, { key: 'room:2' })).existing, undefined)
  })

  it('S15: two runs with one input id in a batch are refused', async (bench) => {
    const twice = ['run-1', 'run-2'].map((id) => insertRun(id, { inputId: 'input', inputHash: 'same' }))
    await bench.refused('id-reused', [ensure(), ...twice])
    await bench.commit([ensure(), ...twice.slice(0, 1), insertRun('run-3', { inputId: 'other' })])
  })

  it('S16: an input id with other content is refused, and nothing is written', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1', { inputId: 'input', inputHash: 'same' })])
    await bench.refused('id-reused', [insertRun('run-2', { inputId: 'input', inputHash: 'other' }), appendEvents(mark('x'))])
  })

  it('S34: of 32 concurrent creations one wins', async (bench) => {
    const writers = Array.from({ length: 32 }, (_, index) =>
      bench.try([ensure(room, { id: `incarnation-${index}` })], { expect: [{ that: 'session', id: null }] }),
    )
    const results = await Promise.all(writers)
    assert.equal(results.filter((result) => result.ok).length, 1)
    assert.ok(results.every((result) => result.ok || result.reason === 'conflict'))
    assert.equal((await bench.session()).version, 1)
  })

  it('S38: 32 concurrent writers leave numbers without gaps', async (bench) => {
    await bench.commit([ensure()])
    const writers = Array.from({ length: 32 }, (_, index) =>
      bench.commit([appendEvents(mark(`${index} a`), mark(`${index} b`)), insertRun(`run-${index}`)]),
    )
    const results = await Promise.all(writers)
    const { events, lastSeq } = await bench.store.readEvents(room, 0, 1000)
    assert.equal(lastSeq, 64)
    assert.deepEqual(
      events.map((event) => event.seq),
      Array.from({ length: 64 }, (_, index) => index + 1),
    )
    for (const [index, { firstSeq }] of results.entries()) {
      const own = events.slice(firstSeq - 1, firstSeq + 1).map((event) => 'sessionKey' in event && event.sessionKey)
      assert.deepEqual(own, [`${index} a`, `${index} b`])
    }
    const order = (await bench.store.listRuns(room, { limit: 1000 })).items.map((run) => run.n)
    assert.deepEqual(
      order,
      Array.from({ length: 32 }, (_, index) => index + 1),
    )
    assert.equal((await bench.session()).version, 33)
  })
}
