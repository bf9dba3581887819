import assert from 'node:assert/strict'
import { failureOf, firstEvent, outcomeOf } from './kit.ts'
import type { ExecutorTopic } from './kit.ts'

/** Delegation: create, prompt and close in one call. */
export const delegations: ExecutorTopic = ({ it }) => {
  it('B51: the session of a delegation is gone with it', async ({ bridge }) => {
    const run = bridge.delegate({ prompt: 'say hello' })
    const { text, agentId, sessionId } = outcomeOf(await run.result())
    assert.deepEqual([text, agentId, sessionId], ['hello', 'kit', run.sessionId])
    assert.deepEqual((await bridge.sessions()).sessions, [])
    assert.equal(bridge.health().sessions.active, 0)
  })

  it(
    'B51: it is created, prompted and closed, with the reason of its end',
    async ({ bridge, notes }) => {
      outcomeOf(await bridge.delegate({ prompt: 'say hello' }).result())
      failureOf(await bridge.delegate({ prompt: 'fail' }).result())
      const run = bridge.delegate({ prompt: 'wait' })
      await firstEvent(run)
      await bridge.cancel({ requestId: run.requestId })
      assert.deepEqual(await notes(), [
        ...['create', 'created', 'prompt say hello', 'close closed'],
        ...['create', 'created', 'prompt fail', 'close failed'],
        ...['create', 'created', 'prompt wait', 'abort', 'cancel caller', 'close closed'],
      ])
    },
    { needs: ['hooks'] },
  )

  it(
    'B52: who is not let in is not prompted and not closed, and a failing close hides no answer',
    async ({ bridge, notes }) => {
      const refused = bridge.delegate({ prompt: 'say hello', metadata: { create: 'refuse' } })
      assert.equal(failureOf(await refused.result()).details.reason, 'kit')
      assert.deepEqual(await notes(), ['create'])
      const answered = bridge.delegate({ prompt: 'say hello', metadata: { close: 'throw' } })
      assert.equal(outcomeOf(await answered.result()).text, 'hello')
    },
    { needs: ['hooks', 'metadata', 'typed-errors'] },
  )

  it('B53: its outcome can be asked for when it is over', async ({ bridge }) => {
    const run = bridge.delegate({ prompt: 'stream a b' })
    const result = await run.result()
    assert.deepEqual(await bridge.request(run.requestId), result)
  })

  it(
    'B54: its time is that of all three',
    async ({ bridge, clock }) => {
      const run = bridge.delegate({ prompt: 'say hello', metadata: { create: 'hang' }, timeoutMs: 1000 })
      assert.equal(await run.accepted(), true)
      await clock.advance(1000)
      const { code, details } = failureOf(await run.result())
      assert.deepEqual([code, details.stage], ['TIMEOUT', 'total'])
    },
    { needs: ['hooks', 'metadata'] },
  )

  it('B67: many at once are all answered, and leave nothing', async ({ bridge }) => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, place) => bridge.delegate({ prompt: `say ${place}` }).result()))
    assert.deepEqual(
      results.map((result) => outcomeOf(result).text),
      results.map((_, place) => String(place)),
    )
    assert.equal(bridge.health().sessions.active, 0)
  })
}
