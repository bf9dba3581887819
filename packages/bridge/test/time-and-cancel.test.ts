import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { BridgeEvent, CancelReason, PromptContext } from '../src/index.ts'
import { aborted, answer, failureOf, never, outcomeOf, startBridge, testAgent } from './support.ts'
import type { AgentParts } from './support.ts'

/** Sends `first `, waits for the abort, sends `last` and ends. */
async function* polite({ abortSignal }: PromptContext): AsyncGenerator<BridgeEvent> {
  yield { type: 'text-delta', delta: 'first ' }
  await aborted(abortSignal)
  yield { type: 'text-delta', delta: 'last' }
}

/** Sends `first ` and never ends. */
async function* stubborn(): AsyncGenerator<BridgeEvent> {
  yield { type: 'text-delta', delta: 'first ' }
  await never
}

function cancelTrace(parts: AgentParts) {
  const trace: string[] = []
  const agent = testAgent('a', {
    onCancel: ({ reason }: { reason: CancelReason }) => void trace.push(`cancel ${reason}`),
    onSessionClose: (_session, reason) => void trace.push(`close ${reason}`),
    ...parts,
  })
  return { trace, agent }
}

describe('time', () => {
  it('B42, B43: the deadline cancels the agent and the caller gets TIMEOUT with the stage total', async () => {
    const { trace, agent } = cancelTrace({ onPrompt: polite })
    const { bridge, clock } = await startBridge([agent])
    const result = bridge.delegate({ prompt: 'hi', timeoutMs: 2000 }).result()
    await clock.advance(1999)
    expect(trace).toEqual([])
    await clock.advance(1)
    expect(failureOf(await result)).toMatchObject({ code: 'TIMEOUT', retryable: true, details: { stage: 'total', agentId: 'a' } })
    expect(trace).toEqual(['cancel timeout', 'close failed'])
    expect(clock.pendingTimers).toBe(0)
  })

  it('B42: timeoutMs of the bridge applies if the caller gives none', async () => {
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt: polite })], { timeoutMs: 700 })
    const result = bridge.delegate({ prompt: 'hi' }).result()
    await clock.advance(700)
    expect(failureOf(await result).details.stage).toBe('total')
  })

  it('B42, B43: any event resets the inactivity timer; silence is TIMEOUT with the stage inactivity', async () => {
    const say = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const onPrompt = async function* (request: PromptContext): AsyncGenerator<BridgeEvent> {
      for (const { promise } of say) {
        await promise
        yield { type: 'progress' }
      }
      yield* polite(request)
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })], { inactivityMs: 1000 })
    let settled = false
    const result = bridge
      .delegate({ prompt: 'hi' })
      .result()
      .finally(() => (settled = true))
    for (const { resolve } of say) {
      await clock.advance(999)
      resolve()
      await clock.advance(0)
    }
    await clock.advance(999)
    expect(settled).toBe(false)
    await clock.advance(1)
    expect(failureOf(await result)).toMatchObject({ code: 'TIMEOUT', details: { stage: 'inactivity' } })
  })

  it('B42: inactivityMs 0 turns the limit off', async () => {
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt: polite })], { inactivityMs: 0, timeoutMs: 10_000_000 })
    const result = bridge.delegate({ prompt: 'hi' }).result()
    await clock.advance(9_999_999)
    await clock.advance(1)
    expect(failureOf(await result).details.stage).toBe('total')
  })

  it('B43: the bridge waits for an agent that does not stop no longer than the grace period; its late result is dropped and counted', async () => {
    const finish = Promise.withResolvers<void>()
    const onPrompt = async () => {
      await finish.promise
      return answer('at last')
    }
    const { trace, agent } = cancelTrace({ onPrompt })
    const { bridge, clock, logger } = await startBridge([agent], { cancelGraceMs: 300 })
    const result = bridge.delegate({ prompt: 'hi', timeoutMs: 1000 }).result()
    await clock.advance(1300)
    expect(failureOf(await result).code).toBe('TIMEOUT')
    expect(bridge.health().requests.inFlight).toBe(0)
    finish.resolve()
    await clock.advance(0)
    expect(logger.lines.at(-1)).toMatchObject({ message: 'late event dropped', fields: { requestId: expect.any(String) } })
    expect(bridge.counters().dropped).toBe(1)
    expect(trace).toEqual(['cancel timeout', 'close failed'])
  })

  it('B30, B43: a result before the deadline stays, also if the stream never ends', async () => {
    const onPrompt = async function* (): AsyncGenerator<BridgeEvent> {
      yield { type: 'result', result: answer('in time') }
      await never
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })], { cancelGraceMs: 5000 })
    const run = bridge.delegate({ prompt: 'hi', timeoutMs: 1000 })
    await clock.advance(1000)
    await clock.advance(5000)
    expect(outcomeOf(await run.result())).toMatchObject({ status: 'completed', text: 'in time' })
  })

  it('B54: timeoutMs covers the whole delegation, create and close included', async () => {
    const created = Promise.withResolvers<void>()
    const { trace, agent } = cancelTrace({ onSessionCreate: () => created.promise })
    const { bridge, clock } = await startBridge([agent])
    const slowCreate = bridge.delegate({ prompt: 'hi', timeoutMs: 500 }).result()
    await clock.advance(500)
    expect(failureOf(await slowCreate)).toMatchObject({ code: 'TIMEOUT', details: { stage: 'total' } })
    // If the hook opens the session after all, the session is closed again.
    created.resolve()
    await clock.advance(0)
    expect(trace).toEqual(['close failed'])

    const { bridge: other, clock: otherClock } = await startBridge([testAgent('a', { onSessionClose: () => never })])
    const slowClose = other.delegate({ prompt: 'hi', timeoutMs: 500 }).result()
    await otherClock.advance(500)
    expect(outcomeOf(await slowClose).text).toBe('a: hi')
  })
})

describe('cancel', () => {
  it('B36: a signal aborted before the start gives aborted without calling the agent', async () => {
    const trace: string[] = []
    const { bridge } = await startBridge([
      testAgent('a', {
        onSessionCreate: () => void trace.push('create'),
        onPrompt: () => {
          trace.push('prompt')
          return answer('')
        },
      }),
    ])
    const run = bridge.delegate({ prompt: 'hi', abortSignal: AbortSignal.abort() })
    expect(await run.result()).toMatchObject({ ok: true, status: 'aborted', stopReason: 'cancelled', text: '' })
    expect(trace).toEqual([])
    expect(bridge.health().requests.inFlight).toBe(0)
  })

  it('B48: a cancelled prompt is an outcome with the text so far', async () => {
    const { trace, agent } = cancelTrace({ onPrompt: polite })
    const { bridge, clock } = await startBridge([agent])
    const controller = new AbortController()
    const result = bridge.delegate({ prompt: 'hi', abortSignal: controller.signal }).result()
    await clock.advance(10)
    controller.abort()
    expect(await result).toMatchObject({ ok: true, status: 'aborted', stopReason: 'cancelled', text: 'first last' })
    expect(trace).toEqual(['cancel caller', 'close closed'])
  })

  it('B48: also if the agent does not stop, or fails because of the cancel', async () => {
    const failing = async function* (request: PromptContext): AsyncGenerator<BridgeEvent> {
      yield { type: 'text-delta', delta: 'first ' }
      await aborted(request.abortSignal)
      throw new Error('aborted')
    }
    for (const onPrompt of [stubborn, failing]) {
      const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })], { cancelGraceMs: 100 })
      const controller = new AbortController()
      const result = bridge.delegate({ prompt: 'hi', abortSignal: controller.signal }).result()
      await clock.advance(10)
      controller.abort()
      await clock.advance(100)
      expect(await result).toMatchObject({ ok: true, status: 'aborted', text: 'first ' })
      expect(clock.pendingTimers).toBe(0)
    }
  })

  it('B48: while the session is being created', async () => {
    const { trace, agent } = cancelTrace({ onSessionCreate: () => never })
    const { bridge, clock } = await startBridge([agent])
    const controller = new AbortController()
    const result = bridge.delegate({ prompt: 'hi', abortSignal: controller.signal }).result()
    await clock.advance(10)
    controller.abort()
    expect(await result).toMatchObject({ ok: true, status: 'aborted', text: '' })
    expect(trace).toEqual([])
  })

  it('a cancel that fails in the agent is logged and changes nothing', async () => {
    const agent = testAgent('a', { onPrompt: polite, onCancel: () => Promise.reject(new Error('no')) })
    const { bridge, clock, logger } = await startBridge([agent])
    const controller = new AbortController()
    const result = bridge.delegate({ prompt: 'hi', abortSignal: controller.signal }).result()
    await clock.advance(10)
    controller.abort()
    expect(outcomeOf(await result).status).toBe('aborted')
    expect(logger.lines.map(({ message }) => message)).toContain('onCancel failed')
  })

  it('an abort after the answer has no effect, and no listener stays on the signal', async () => {
    const { trace, agent } = cancelTrace({})
    const { bridge } = await startBridge([agent])
    const controller = new AbortController()
    const run = bridge.delegate({ prompt: 'hi', abortSignal: controller.signal })
    outcomeOf(await run.result())
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    controller.abort()
    expect(outcomeOf(await run.result()).status).toBe('completed')
    expect(trace).toEqual(['close closed'])
  })

  it('a repeat of a finished request leaves no listener on its signal', async () => {
    const { bridge, clock } = await startBridge([testAgent('a')])
    await bridge.delegate({ prompt: 'hi', requestId: 'r1' }).result()
    const { signal } = new AbortController()
    outcomeOf(await bridge.delegate({ prompt: 'hi', requestId: 'r1', abortSignal: signal }).result())
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(clock.pendingTimers).toBe(0)
  })

  it('a repeat can cancel the request that it joined', async () => {
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt: polite })])
    const first = bridge.delegate({ prompt: 'hi', requestId: 'r1' })
    const controller = new AbortController()
    bridge.delegate({ prompt: 'hi', requestId: 'r1', abortSignal: controller.signal })
    await clock.advance(10)
    controller.abort()
    expect(outcomeOf(await first.result()).status).toBe('aborted')
  })
})
