import assert from 'node:assert/strict'
import { cancelGraceMs, failureOf, hasCode, outcomeOf } from './kit.ts'
import type { ExecutorTopic } from './kit.ts'

/** Tests of deadlines, cancels, and work that does not stop. */
export const stopping: ExecutorTopic = ({ it }) => {
  it('B42, B43: the deadline stops the agent', async ({ open, begin, bridge, clock, notes }) => {
    const { sessionId } = await open()
    const run = await begin(sessionId, 'wait', { timeoutMs: 1500 })
    await clock.advance(1499)
    assert.equal(outcomeOf(await bridge.request(run.requestId)).status, 'running')
    await clock.advance(1)
    const { code, retryable, details } = failureOf(await run.result())
    assert.deepEqual([code, retryable, details.stage], ['TIMEOUT', true, 'total'])
    assert.equal((await bridge.session(sessionId)).status, 'idle')
    assert.ok((await notes()).includes('abort'))
  })

  it(
    'B42: so does silence',
    async ({ open, begin, clock }) => {
      const { sessionId } = await open()
      const run = await begin(sessionId, 'wait')
      await clock.advance(2000)
      assert.equal(failureOf(await run.result()).details.stage, 'inactivity')
    },
    { bridge: { inactivityMs: 1000 } },
  )

  it(
    'B43: a result that comes too late is none',
    async ({ open, ask, begin, clock }) => {
      const { sessionId } = await open()
      const run = await begin(sessionId, 'late', { timeoutMs: 1000 })
      await clock.advance(1000)
      assert.equal(failureOf(await run.result()).code, 'TIMEOUT')
      assert.equal(outcomeOf(await ask(sessionId, 'say next')).text, 'next')
    },
    { needs: ['results'] },
  )

  it('B44: by its id, by its session, or by both, but not by a pair that does not belong together', async ({ open, begin, bridge }) => {
    const other = await open()
    const { sessionId } = await open()
    for (const named of ['request', 'session', 'both']) {
      const { requestId, ...run } = await begin(sessionId, 'wait', { requestId: named })
      await assert.rejects(bridge.cancel({ sessionId: other.sessionId, requestId: named }), hasCode('NOT_FOUND'))
      const call = { ...(named !== 'session' && { requestId: named }), ...(named !== 'request' && { sessionId }) }
      assert.deepEqual(await bridge.cancel(call), { cancelled: true, sessionId, requestId: named, settled: true })
      assert.equal(outcomeOf(await run.result()).requestId, named)
    }
  })

  it(
    'B45: while the agent still lets the session of a delegation in',
    async ({ bridge }) => {
      const run = bridge.delegate({ prompt: 'say hello', metadata: { create: 'hang' } })
      assert.equal(await run.accepted(), true)
      assert.equal((await bridge.cancel({ requestId: run.requestId })).cancelled, true)
      assert.equal(outcomeOf(await run.result()).status, 'aborted')
    },
    { needs: ['hooks', 'metadata'] },
  )

  it(
    'B46: the signal comes first, then the hook, and both before the answer',
    async ({ open, begin, bridge, notes }) => {
      const { sessionId } = await open()
      await begin(sessionId, 'wait')
      await bridge.cancel({ sessionId })
      assert.deepEqual((await notes()).slice(-3), ['prompt wait', 'abort', 'cancel caller'])
    },
    { needs: ['hooks'] },
  )

  it(
    'B46, B67: who does not stop is waited for no longer than the grace, and keeps no slot',
    async ({ open, begin, bridge, clock }) => {
      const { sessionId } = await open()
      const run = await begin(sessionId, 'stubborn')
      const cancelling = bridge.cancel({ sessionId })
      await clock.advance(cancelGraceMs)
      assert.deepEqual(await cancelling, { cancelled: true, sessionId, requestId: run.requestId, settled: false })
      assert.equal(bridge.health().requests.inFlight, 0)
      assert.equal((await bridge.session(sessionId)).status, 'failed')
      outcomeOf(await bridge.delegate({ prompt: 'say hello' }).result())
    },
    { needs: ['stubbornness'] },
  )

  it('B47, B49: what has ended is not cancelled', async ({ open, ask, bridge }) => {
    const { sessionId } = await open()
    assert.deepEqual(await bridge.cancel({ sessionId }), { cancelled: false, sessionId, settled: true, reason: 'not-running' })
    const { requestId } = outcomeOf(await ask(sessionId, 'say hello'))
    const { cancelled, reason } = await bridge.cancel({ requestId })
    assert.deepEqual([cancelled, reason], [false, 'not-running'])
    assert.equal(outcomeOf(await bridge.request(requestId)).status, 'completed')
  })

  it('B48: a cancelled prompt has an outcome, with the text so far, and the session goes on', async ({ open, ask, begin, bridge }) => {
    const { sessionId } = await open()
    const run = await begin(sessionId, 'wait')
    await bridge.cancel({ sessionId })
    const { status, stopReason, text } = outcomeOf(await run.result())
    assert.deepEqual([status, stopReason, text], ['aborted', 'cancelled', 'waiting'])
    assert.equal((await bridge.session(sessionId)).status, 'idle')
    assert.equal(outcomeOf(await ask(sessionId, 'say next')).text, 'next')
  })

  it('B50: the signal of a caller reaches the agent', async ({ open, begin, notes }) => {
    const { sessionId } = await open()
    const controller = new AbortController()
    const run = await begin(sessionId, 'wait', { abortSignal: controller.signal })
    controller.abort()
    assert.equal(outcomeOf(await run.result()).status, 'aborted')
    assert.ok((await notes()).includes('abort'))
  })

  it('B50: sessions are stopped one by one', async ({ open, begin, bridge }) => {
    const [one, two] = [await open(), await open()]
    const runs = [await begin(one.sessionId, 'wait'), await begin(two.sessionId, 'wait')] as const
    await bridge.cancel({ sessionId: one.sessionId })
    assert.equal((await bridge.session(two.sessionId)).status, 'busy')
    await bridge.cancel({ sessionId: two.sessionId })
    assert.deepEqual(
      (await Promise.all(runs.map((run) => run.result()))).map((result) => outcomeOf(result).status),
      ['aborted', 'aborted'],
    )
  })

  it('B71, B72: a bridge that stops stops its agents, but for those that go on without it', async ({ open, begin, bridge, notes }) => {
    const goesOn = bridge.discover()[0]?.durable === true
    const { sessionId } = await open()
    const run = await begin(sessionId, 'wait')
    await bridge.stop({ deadlineMs: 5000 })
    assert.equal((await run.result()).ok, !goesOn)
    assert.deepEqual(
      (await notes()).filter((line) => line === 'abort'),
      goesOn ? [] : ['abort'],
    )
  })
}
