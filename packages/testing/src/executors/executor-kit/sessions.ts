import assert from 'node:assert/strict'
import { cancelGraceMs, failureOf, hasCode, outcomeOf } from './kit.ts'
import type { ExecutorTopic } from './kit.ts'

/** Tests of the start and end of sessions. */
export const sessions: ExecutorTopic = ({ it }) => {
  it('B10: sessions have ids of the bridge, in what is told of them and of their requests', async ({ open, ask, bridge }) => {
    const [one, two] = await Promise.all([open(), open()])
    assert.notEqual(one.sessionId, two.sessionId)
    assert.equal(outcomeOf(await ask(one.sessionId, 'say hello')).sessionId, one.sessionId)
    const { sessionId = two.sessionId } = failureOf(await ask(two.sessionId, 'fail')).details
    assert.equal(sessionId, two.sessionId)
    assert.deepEqual(new Set((await bridge.sessions()).sessions.map(({ sessionId }) => sessionId)), new Set([one.sessionId, two.sessionId]))
  })

  it(
    'B11: a session is there once the agent has let it in',
    async ({ open, notes }) => {
      await open()
      assert.deepEqual(await notes(), ['create', 'created'])
    },
    { needs: ['hooks'] },
  )

  it(
    'B11: of a session that the agent refuses nothing remains, and no close hook runs',
    async ({ open, notes, bridge }) => {
      await assert.rejects(open({ metadata: { create: 'refuse' } }), hasCode('CAPACITY', 'kit'))
      assert.deepEqual((await bridge.sessions()).sessions, [])
      assert.equal(bridge.health().sessions.active, 0)
      await open()
      assert.deepEqual(await notes(), ['create', 'create', 'created'])
    },
    { needs: ['hooks', 'metadata', 'typed-errors'] },
  )

  it('B12: status and list say what a prompt would find', async ({ open, ask, begin, bridge }) => {
    const { sessionId, status, createdAt, lastActivityAt } = await open()
    assert.deepEqual([status, createdAt], ['active', lastActivityAt])
    const run = await begin(sessionId, 'wait')
    const busy = await bridge.session(sessionId)
    assert.deepEqual([busy.status, busy.currentRequestId], ['busy', run.requestId])
    assert.equal(failureOf(await ask(sessionId, 'say no')).code, 'BUSY')
    await bridge.cancel({ sessionId })
    assert.equal((await bridge.session(sessionId)).status, 'idle')
    assert.deepEqual((await bridge.sessions()).sessions, [await bridge.session(sessionId)])
    outcomeOf(await ask(sessionId, 'say yes'))
  })

  it(
    'B13: metadata reach the agent as they were given',
    async ({ open, ask }) => {
      const metadata = { snake_case: null, list: [1, 1.5, ''], deep: { b: true, a: {} } }
      const { sessionId } = await open({ metadata, owner: 'ann' })
      const { structured } = outcomeOf(await ask(sessionId, 'see', { owner: 'ann' }))
      const { metadata: seen, owner } = structured as { readonly metadata: object; readonly owner: string }
      assert.equal(JSON.stringify(seen), JSON.stringify(metadata))
      assert.equal(owner, 'ann')
    },
    { needs: ['metadata', 'results'] },
  )

  it('B14: a session is there for its owner only', async ({ open, ask, bridge }) => {
    const { sessionId } = await open({ owner: 'ann' })
    await assert.rejects(bridge.session(sessionId, { owner: 'bob' }), hasCode('NOT_FOUND'))
    assert.equal(failureOf(await ask(sessionId, 'say hello', { owner: 'bob' })).code, 'NOT_FOUND')
    assert.equal((await bridge.close({ sessionId, owner: 'bob' })).existed, false)
    outcomeOf(await ask(sessionId, 'say hello', { owner: 'ann' }))
  })

  it(
    'B15: the session after the last is refused, and a closed one makes room',
    async ({ open, ask, bridge }) => {
      const { sessionId } = await open()
      await open()
      await assert.rejects(open(), hasCode('CAPACITY'))
      await bridge.close({ sessionId })
      const next = await open()
      outcomeOf(await ask(next.sessionId, 'say hello'))
    },
    { limits: { maxSessions: 2 } },
  )

  it(
    'B16, B21: a session ends with its time, from creation or from the last prompt',
    async ({ open, ask, bridge, clock }) => {
      const [idle, used] = [await open(), await open()]
      await clock.advance(1500)
      outcomeOf(await ask(used.sessionId, 'say hello'))
      await clock.advance(1000)
      outcomeOf(await ask(used.sessionId, 'say hello'))
      await assert.rejects(bridge.session(idle.sessionId), hasCode('EXPIRED', 'expired'))
      await clock.advance(1000)
      assert.equal(failureOf(await ask(used.sessionId, 'say hello')).code, 'EXPIRED')
    },
    { limits: { ttlMs: 3000, idleMs: 2000 } },
  )

  it(
    'B18: each way to end closes a session once',
    async ({ open, ask, bridge, clock, notes }) => {
      const [closed, expired, failed, kept] = [await open(), await open(), await open(), await open()]
      await Promise.all([1, 2, 3].map(() => bridge.close({ sessionId: closed.sessionId })))
      assert.equal(failureOf(await ask(failed.sessionId, 'break')).details.sessionValid, false)
      await bridge.close({ sessionId: failed.sessionId })
      await clock.advance(1500)
      outcomeOf(await ask(kept.sessionId, 'say hello'))
      await clock.advance(1000)
      await assert.rejects(bridge.session(expired.sessionId), hasCode('EXPIRED'))
      await bridge.close({ sessionId: expired.sessionId })
      await bridge.close({ sessionId: kept.sessionId })
      const closes = (await notes()).filter((line) => line.startsWith('close'))
      assert.deepEqual(closes, ['close closed', 'close closed', 'close expired', 'close closed'])
    },
    { needs: ['hooks', 'typed-errors'], limits: { idleMs: 2000 } },
  )

  it(
    'B18: a close hook that throws changes nothing',
    async ({ open, bridge, notes }) => {
      const { sessionId } = await open({ metadata: { close: 'throw' } })
      assert.deepEqual(await bridge.close({ sessionId }), { closed: true, sessionId, existed: true })
      assert.deepEqual(await notes(), ['create', 'created', 'close closed'])
    },
    { needs: ['hooks', 'metadata'] },
  )

  it('B19: a close stops what runs, and the session takes no prompt from then on', async ({ open, ask, begin, bridge }) => {
    const { sessionId } = await open()
    const run = await begin(sessionId, 'wait')
    const closing = bridge.close({ sessionId })
    assert.equal(outcomeOf(await run.result()).status, 'aborted')
    assert.equal((await closing).existed, true)
    assert.equal(failureOf(await ask(sessionId, 'say hello')).code, 'NOT_FOUND')
  })

  it(
    'B19: the agent is told to stop before its session is closed',
    async ({ open, begin, bridge, notes }) => {
      const { sessionId } = await open()
      await begin(sessionId, 'wait')
      await bridge.close({ sessionId })
      assert.deepEqual((await notes()).slice(2), ['prompt wait', 'abort', 'cancel closing', 'close closed'])
    },
    { needs: ['hooks'] },
  )

  it('B20: a close can be repeated, and one close has ended the session', async ({ open, bridge }) => {
    const { sessionId } = await open()
    const receipts = await Promise.all([1, 2, 3].map(() => bridge.close({ sessionId })))
    assert.deepEqual(
      receipts.map(({ closed }) => closed),
      [true, true, true],
    )
    assert.equal(receipts.filter(({ existed }) => existed).length, 1)
    assert.equal((await bridge.close({ sessionId: 'never-was' })).existed, false)
    await assert.rejects(bridge.session(sessionId), hasCode('NOT_FOUND'))
  })

  it(
    'B22: a failed session answers status and close, and takes no prompt',
    async ({ open, ask, bridge, notes }) => {
      const { sessionId } = await open()
      failureOf(await ask(sessionId, 'break'))
      assert.equal((await bridge.session(sessionId)).status, 'failed')
      const before = (await notes()).length
      assert.equal(failureOf(await ask(sessionId, 'say hello')).details.reason, 'session-failed')
      assert.equal((await notes()).length, before)
      assert.equal((await bridge.close({ sessionId })).existed, true)
    },
    { needs: ['typed-errors'] },
  )

  it(
    'B22, B46: so does one whose agent did not stop, in the end',
    async ({ open, ask, begin, bridge, clock }) => {
      const { sessionId } = await open()
      await begin(sessionId, 'stubborn')
      const closing = bridge.cancel({ sessionId })
      await clock.advance(cancelGraceMs)
      assert.equal((await closing).settled, false)
      assert.equal((await bridge.session(sessionId)).status, 'failed')
      assert.equal(failureOf(await ask(sessionId, 'say hello')).code, 'UPSTREAM')
      await bridge.close({ sessionId })
    },
    { needs: ['stubbornness'] },
  )

  it('B23: an earlier conversation goes on only where the agent can', async ({ open, ask, bridge }) => {
    const { sessionId } = await open()
    await bridge.close({ sessionId })
    const [agent] = bridge.discover()
    const resumed = open({ resumeSessionId: sessionId })
    if (!(agent?.resumable ?? agent?.durable)) return assert.rejects(resumed, hasCode('CONFIG', 'not-resumable'))
    const again = await resumed
    assert.notEqual(again.sessionId, sessionId)
    outcomeOf(await ask(again.sessionId, 'say hello'))
  })
}
