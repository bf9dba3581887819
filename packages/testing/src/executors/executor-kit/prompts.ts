import assert from 'node:assert/strict'
import type { BridgeEvent } from '@bowline/bridge'
import { kitResult } from '../kit-agent.ts'
import { failureOf, outcomeOf } from './kit.ts'
import type { ExecutorTopic } from './kit.ts'

/** Tests of prompts and results. */
export const prompts: ExecutorTopic = ({ it }) => {
  it('B25: of two prompts at once one runs, and the agent never hears of the other', async ({ open, ask, notes }) => {
    const { sessionId } = await open()
    const results = await Promise.all([ask(sessionId, 'say one'), ask(sessionId, 'say two')])
    assert.deepEqual(results.map((result) => (result.ok ? result.text : result.error.code)).sort(), ['BUSY', 'one'])
    assert.deepEqual(
      (await notes()).filter((line) => line.startsWith('prompt')),
      ['prompt say one'],
    )
    assert.equal(outcomeOf(await ask(sessionId, 'say three')).text, 'three')
  })

  it(
    'B26: the agent is told the id that callers know',
    async ({ open, ask }) => {
      const { sessionId } = await open()
      const outcome = outcomeOf(await ask(sessionId, 'see', { requestId: 'request-1' }))
      const { requestId, hasDeadline } = outcome.structured as { readonly requestId: string; readonly hasDeadline: boolean }
      assert.deepEqual([outcome.requestId, requestId, hasDeadline], ['request-1', 'request-1', true])
    },
    { needs: ['results'] },
  )

  it('B27: a repeat of an id joins the first call, while it runs and after', async ({ open, ask, begin, bridge, notes }) => {
    const { sessionId } = await open()
    const call = { requestId: 'request-1' }
    const run = await begin(sessionId, 'wait', call)
    const joined = bridge.prompt({ sessionId, prompt: 'wait', ...call })
    await bridge.cancel(call)
    assert.deepEqual(await joined.result(), await run.result())
    assert.deepEqual(await ask(sessionId, 'wait', call), await run.result())
    assert.equal(failureOf(await ask(sessionId, 'say other', call)).details.reason, 'id-reused')
    assert.equal((await notes()).filter((line) => line.startsWith('prompt')).length, 1)
  })

  it(
    'B29: of a refused call the agent hears nothing',
    async ({ open, ask, notes }) => {
      const { sessionId } = await open()
      const before = (await notes()).length
      assert.equal(failureOf(await ask(sessionId, `say ${'x'.repeat(20)}`)).code, 'CAPACITY')
      assert.equal(failureOf(await ask(sessionId, '')).code, 'PROTOCOL')
      assert.equal(failureOf(await ask('never-was', 'say hello')).code, 'NOT_FOUND')
      assert.equal((await notes()).length, before)
    },
    { bridge: { maxPromptBytes: 20 } },
  )

  it('B30: without a result the text is that of all deltas', async ({ open, ask }) => {
    const { sessionId } = await open()
    const { text, stopReason, status } = outcomeOf(await ask(sessionId, 'stream a ä 🎈 b'))
    assert.deepEqual([text, stopReason, status], ['aä🎈b', 'end_turn', 'completed'])
  })

  it(
    'B30: what comes after the result does not count',
    async ({ open, ask }) => {
      const { sessionId } = await open()
      assert.equal(outcomeOf(await ask(sessionId, 'more')).text, 'first')
      assert.equal(outcomeOf(await ask(sessionId, 'say next')).text, 'next')
    },
    { needs: ['results'] },
  )

  it('B30: a reader sees the events of the agent, in order', async ({ open, bridge }) => {
    const { sessionId } = await open()
    const run = bridge.prompt({ sessionId, prompt: 'stream a b c' })
    let text = ''
    for await (const event of run) text += textOf(event)
    assert.equal(text, 'abc')
    assert.equal(outcomeOf(await run.result()).text, 'abc')
  })

  it(
    'B42: progress is told',
    async ({ open, bridge }) => {
      const { sessionId } = await open()
      const run = bridge.prompt({ sessionId, prompt: 'result' })
      const events: BridgeEvent[] = []
      for await (const event of run) events.push(event)
      assert.ok(events.some((event) => event.type === 'progress' && event.message === 'half'))
    },
    { needs: ['progress'] },
  )

  it(
    'B32: a result arrives as it was given',
    async ({ open, ask }) => {
      const { sessionId } = await open()
      const outcome = outcomeOf(await ask(sessionId, 'result'))
      assert.equal(JSON.stringify(outcome.structured), JSON.stringify(kitResult.structured))
      assert.deepEqual(outcome.usage, kitResult.usage)
      assert.deepEqual([outcome.text, outcome.stopReason], [kitResult.text, kitResult.stopReason])
    },
    { needs: ['results'] },
  )

  it(
    'B33: a result is whole or an error',
    async ({ open, ask }) => {
      const { sessionId } = await open()
      assert.equal(outcomeOf(await ask(sessionId, 'long 1000')).text?.length, 1000)
      const error = failureOf(await ask(sessionId, 'long 1001'))
      assert.deepEqual([error.code, error.details.reason], ['UPSTREAM', 'result-too-large'])
    },
    { bridge: { maxResultBytes: 1000 } },
  )

  it('B34: what an agent throws is not told, only that it failed', async ({ open, ask }) => {
    const { sessionId } = await open()
    const error = failureOf(await ask(sessionId, 'fail'))
    assert.equal(error.code, 'UPSTREAM')
    assert.doesNotMatch(JSON.stringify([error.message, error.details]), /secret/)
  })

  it(
    'B34: a typed error arrives as it was thrown',
    async ({ open, ask, bridge }) => {
      const { sessionId } = await open()
      const { code, retryable, message, details } = failureOf(await ask(sessionId, 'refuse'))
      assert.deepEqual([code, retryable, message], ['UPSTREAM', true, 'Too many'])
      assert.deepEqual([details.reason, details.retryAfterMs], ['rate-limit', 1500])
      assert.equal((await bridge.session(sessionId)).status, 'idle')
    },
    { needs: ['typed-errors'] },
  )

  it('B36: a prompt that was cancelled before it began never reaches the agent', async ({ open, ask, bridge, notes }) => {
    const { sessionId } = await open()
    const before = (await notes()).length
    assert.equal(outcomeOf(await ask(sessionId, 'say hello', { abortSignal: AbortSignal.abort() })).status, 'aborted')
    assert.equal((await notes()).length, before)
    assert.equal((await bridge.session(sessionId)).status, 'idle')
  })

  it(
    'B37, B38: parameters hold for one prompt, and all of them arrive',
    async ({ open, ask }) => {
      const { sessionId } = await open()
      const runtimeParams = { temperature: 0, stopSequences: ['x'], providerSpecific: { some: { deep: null } } }
      const paramsOf = async (input: object): Promise<unknown> => {
        const { structured } = outcomeOf(await ask(sessionId, 'see', input))
        return (structured as { readonly runtimeParams: unknown }).runtimeParams
      }
      assert.deepEqual(await paramsOf({ runtimeParams }), runtimeParams)
      assert.deepEqual(await paramsOf({}), {})
    },
    { needs: ['params', 'results'] },
  )
}

/** Returns the text that an event adds. */
function textOf(event: BridgeEvent): string {
  if (event.type === 'text-delta') return event.delta
  return event.type === 'agent-event' && event.event.type === 'text-delta' ? event.event.delta : ''
}
