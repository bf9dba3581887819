import { memoryStateStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import type { BridgeEvent, PromptContext } from '../src/index.ts'
import { answer, failureOf, never, outcomeOf, startBridge, testAgent } from './support.ts'

describe('cancel', () => {
  const trace: string[] = []
  const polite = testAgent('a', {
    onPrompt: async function* ({ abortSignal }: PromptContext): AsyncGenerator<BridgeEvent> {
      yield { type: 'text-delta', delta: 'some ' }
      abortSignal.addEventListener('abort', () => trace.push('abortSignal'))
      await new Promise((resolve) => abortSignal.addEventListener('abort', resolve))
      yield { type: 'text-delta', delta: 'text' }
    },
    onCancel: async ({ reason }) => void trace.push(`onCancel ${reason}`),
  })

  it('B44: by requestId, by sessionId, by both; a pair that does not match is NOT_FOUND', async () => {
    const { bridge, clock } = await startBridge([polite])
    const other = await bridge.createSession()
    for (const way of ['request', 'session', 'both'] as const) {
      const { sessionId } = await bridge.createSession()
      const { requestId, ...run } = bridge.prompt({ sessionId, prompt: 'hi' })
      await clock.advance(0)
      await expect(bridge.cancel({ sessionId: other.sessionId, requestId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
      const input = { request: { requestId }, session: { sessionId }, both: { sessionId, requestId } }[way]
      expect(await bridge.cancel(input)).toEqual({ cancelled: true, sessionId, requestId, settled: true })
      expect(outcomeOf(await run.result())).toMatchObject({ status: 'aborted', text: 'some text' })
      expect((await bridge.session(sessionId)).status).toBe('idle')
    }
    await expect(bridge.cancel({ requestId: 'never' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(bridge.cancel({})).rejects.toMatchObject({ code: 'PROTOCOL' })
  })

  it('B44: of two busy sessions the named one is cancelled; an idle one has nothing to cancel', async () => {
    const { bridge, clock } = await startBridge([polite])
    const [one, two, idle] = [await bridge.createSession(), await bridge.createSession(), await bridge.createSession()]
    const runs = [one, two].map(({ sessionId }) => bridge.prompt({ sessionId, prompt: 'hi' }))
    await clock.advance(0)
    const nothing = { cancelled: false, settled: true, reason: 'not-running' }
    expect(await bridge.cancel({ sessionId: idle.sessionId })).toEqual({ ...nothing, sessionId: idle.sessionId })
    expect(await bridge.cancel({ sessionId: two.sessionId })).toMatchObject({ cancelled: true, requestId: runs[1]?.requestId })
    expect((await bridge.session(one.sessionId)).status).toBe('busy')
    expect(outcomeOf(await bridge.request(runs[0]?.requestId ?? '')).status).toBe('running')
  })

  it('B44, B45: a call that is being checked is cancelled if it is accepted, and NOT_FOUND if it is refused', async () => {
    const { bridge } = await startBridge([polite])
    const { sessionId } = await bridge.createSession()
    const taken = bridge.prompt({ sessionId, prompt: 'hi' })
    const refused = bridge.prompt({ sessionId, prompt: 'ho' })
    const answers = await Promise.allSettled([
      bridge.cancel({ requestId: refused.requestId }),
      bridge.cancel({ requestId: taken.requestId }),
    ])
    expect(answers).toMatchObject([
      { reason: { code: 'NOT_FOUND' } },
      { value: { cancelled: true, sessionId, requestId: taken.requestId, settled: true } },
    ])
    expect(failureOf(await refused.result()).code).toBe('BUSY')
    expect(outcomeOf(await taken.result()).status).toBe('aborted')
  })

  it('B45: works from acceptance on, and while a delegation opens its session, by either id', async () => {
    for (const way of ['requestId', 'sessionId'] as const) {
      const prompts: string[] = []
      const agent = testAgent('a', { onSessionCreate: () => never, onPrompt: ({ prompt }) => (prompts.push(prompt), answer('')) })
      const { bridge } = await startBridge([agent])
      const run = bridge.delegate({ prompt: 'hi' })
      expect(await run.accepted()).toBe(true)
      expect(await bridge.cancel({ [way]: run[way] })).toMatchObject({ cancelled: true })
      expect(outcomeOf(await run.result()).status).toBe('aborted')
      expect(prompts).toEqual([])
    }
  })

  it('B46: the signal is aborted, then onCancel awaited; an agent that does not stop fails its session and frees its slot', async () => {
    trace.length = 0
    const { bridge, clock } = await startBridge([polite, testAgent('stubborn', { onPrompt: () => never })], { cancelGraceMs: 200 })
    const one = await bridge.createSession()
    bridge.prompt({ sessionId: one.sessionId, prompt: 'hi' })
    await clock.advance(0)
    await bridge.cancel({ sessionId: one.sessionId })
    expect(trace).toEqual(['abortSignal', 'onCancel caller'])
    const two = await bridge.createSession({ agentId: 'stubborn' })
    bridge.prompt({ sessionId: two.sessionId, prompt: 'hi' })
    await clock.advance(0)
    const receipt = bridge.cancel({ sessionId: two.sessionId })
    await clock.advance(200)
    expect(await receipt).toMatchObject({ cancelled: true, settled: false })
    expect(await bridge.session(two.sessionId)).toMatchObject({ status: 'failed', lastError: { details: { reason: 'did-not-stop' } } })
    expect(bridge.health().requests.inFlight).toBe(0)
  })

  it('B47: with nothing running the result says so', async () => {
    const { bridge } = await startBridge([testAgent('a')])
    const { sessionId } = await bridge.createSession()
    expect(await bridge.cancel({ sessionId })).toEqual({ cancelled: false, sessionId, settled: true, reason: 'not-running' })
    const run = bridge.prompt({ sessionId, prompt: 'hi' })
    outcomeOf(await run.result())
    const { requestId } = run
    expect(await bridge.cancel({ requestId })).toEqual({ cancelled: false, sessionId, requestId, settled: true, reason: 'not-running' })
    expect(outcomeOf(await bridge.request(requestId)).status).toBe('completed')
  })

  it('B49: if cancel and completion come at once, every reader gets the one recorded first', async () => {
    for (let ticks = 0; ticks < 12; ticks++) {
      const gate = Promise.withResolvers<void>()
      const onPrompt = async () => {
        await gate.promise
        return answer('done')
      }
      const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })])
      const { sessionId } = await bridge.createSession()
      const run = bridge.prompt({ sessionId, prompt: 'hi' })
      await clock.advance(0)
      gate.resolve()
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
      const receipt = await bridge.cancel({ requestId: run.requestId })
      const read = outcomeOf(await run.result())
      expect(await bridge.request(run.requestId)).toEqual(read)
      const { requestId } = run
      if (read.status === 'aborted') expect(receipt).toEqual({ cancelled: true, sessionId, requestId, settled: true })
      else expect(receipt).toEqual({ cancelled: false, sessionId, requestId, settled: true, reason: 'not-running' })
      expect(['aborted', 'completed']).toContain(read.status)
    }
  })

  it('B47, B99: a request of another bridge is not cancelled here, and is reported as elsewhere', async () => {
    const store = memoryStateStore()
    const [one, two] = [await startBridge([polite], { store }), await startBridge([polite], { store })]
    const { sessionId } = await one.bridge.createSession()
    const { requestId, ...run } = one.bridge.prompt({ sessionId, prompt: 'hi' })
    await one.clock.advance(0)
    const elsewhere = { cancelled: false, sessionId, requestId, settled: false, reason: 'elsewhere' }
    for (const asked of [{ requestId }, { sessionId }, { requestId, sessionId }]) expect(await two.bridge.cancel(asked)).toEqual(elsewhere)
    expect(outcomeOf(await one.bridge.request(requestId)).status).toBe('running')
    await one.bridge.cancel({ requestId })
    expect(outcomeOf(await run.result()).status).toBe('aborted')
    expect(await two.bridge.cancel({ requestId })).toMatchObject({ cancelled: false })
  })

  it('B49: of two outcomes of one request the first recorded stays, for every bridge on the store', async () => {
    const store = memoryStateStore()
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    const bridgeOf = (text: string, gate: PromiseWithResolvers<void>) => {
      const onPrompt = async () => {
        await gate.promise
        return answer(text)
      }
      return startBridge([{ ...testAgent('a', { onPrompt }), durable: true }], { store })
    }
    const [one, two] = [await bridgeOf('first', gates[0]), await bridgeOf('second', gates[1])]
    const { sessionId } = await one.bridge.createSession()
    const run = one.bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' })
    expect(await run.accepted()).toBe(true)
    const joined = two.bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' })
    expect(await joined.accepted()).toBe(true)
    gates[0].resolve()
    expect(outcomeOf(await run.result()).text).toBe('first')
    gates[1].resolve()
    expect(outcomeOf(await joined.result()).text).toBe('first')
    for (const { bridge } of [one, two]) expect(outcomeOf(await bridge.request('r1')).text).toBe('first')
  })
})
