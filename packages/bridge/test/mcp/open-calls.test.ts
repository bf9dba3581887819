import { describe, expect, it } from 'vitest'
import type { BridgeEvent } from '../../src/index.ts'
import { aborted, answer, testAgent } from '../support.ts'
import { connect, contentOf, errorOf, heldAgent, type Connected, type WireMessage } from './support.ts'

const running = { status: 'running', sessionId: expect.any(String), requestId: expect.any(String) }

/** Lets sent messages arrive on both sides. */
async function settle({ clock }: Connected): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await clock.advance(0)
}

async function sessionOf({ call }: Connected): Promise<string> {
  return contentOf<{ sessionId: string }>(await call('sessions_create')).sessionId
}

const progressOf = (wire: readonly WireMessage[]) =>
  wire.flatMap(({ method, params }) => (method === 'notifications/progress' && params ? [params] : []))

describe('how long a call stays open', () => {
  it.each(['tasks_delegate', 'sessions_prompt'])('B58: %s answers running after waitMs, and the work goes on', async (name) => {
    const { agent, began, finish } = heldAgent('a')
    const connected = await connect([agent], { waitMs: 5000 })
    const { call, clock } = connected
    const input = name === 'sessions_prompt' ? { sessionId: await sessionOf(connected), prompt: 'hi' } : { prompt: 'hi' }
    const calling = call(name, input)
    await began
    let isOpen = true
    void calling.then(() => (isOpen = false))
    await clock.advance(4999)
    expect(isOpen).toBe(true)
    await clock.advance(1)
    const first = contentOf<{ requestId: string }>(await calling)
    expect(first).toMatchObject({ ...running, agentId: 'a' })
    expect(first).not.toHaveProperty('text')
    const waiting = call('tasks_status', { requestId: first.requestId, waitMs: 600_000 })
    await settle(connected)
    finish('done')
    expect(contentOf(await waiting)).toMatchObject({ ...first, status: 'completed', text: 'done' })
  })

  it('B58: the caller may choose another waitMs; 0 answers at acceptance', async () => {
    const { agent, began } = heldAgent('a')
    const { call, clock } = await connect([agent])
    const atOnce = contentOf(await call('tasks_delegate', { prompt: 'hi', waitMs: 0 }))
    expect(atOnce).toMatchObject({ ...running, status: expect.stringMatching(/^(queued|running)$/) })
    await began
    const later = call('tasks_delegate', { prompt: 'hi', waitMs: 70_000 })
    await clock.advance(0)
    await clock.advance(70_000)
    expect(contentOf(await later)).toMatchObject(running)
  })

  it('B58: a request that waits for its turn is reported as queued', async () => {
    const { agent, began } = heldAgent('a')
    const { call } = await connect([agent], { maxInFlight: 1, maxQueued: 1 })
    await call('tasks_delegate', { prompt: 'one', mode: 'background' })
    await began
    expect(contentOf(await call('tasks_delegate', { prompt: 'two', mode: 'background' }))).toMatchObject({ status: 'queued' })
  })

  it('B55: background answers at acceptance, whatever onSessionCreate does', async () => {
    const opened = Promise.withResolvers<void>()
    const { call } = await connect([testAgent('a', { onSessionCreate: () => opened.promise })])
    const { requestId } = contentOf<{ requestId: string }>(await call('tasks_delegate', { prompt: 'hi', mode: 'background' }))
    opened.resolve()
    expect(contentOf(await call('tasks_status', { requestId, waitMs: 1000 }))).toMatchObject({ status: 'completed', text: 'a: hi' })
  })

  it('B64: a client that waits at most 60 s for an answer still completes ten minutes of work', async () => {
    const { agent, began, finish } = heldAgent('a')
    const connected = await connect([agent], { inactivityMs: 0 })
    const { call, clock } = connected
    clock.setTimer(clock.now() + 600_000, () => finish('ten minutes later'))
    const clientTimeoutMs = 60_000
    /** Makes one call of such a client and advances the clock until it is answered. */
    const patientCall = async (name: string, input: object) => {
      const limit = new AbortController()
      const cancelTimer = clock.setTimer(clock.now() + clientTimeoutMs, () => limit.abort())
      let isOpen = true
      const calling = call(name, input, { signal: limit.signal }).finally(() => (isOpen = false))
      calling.catch(() => undefined)
      await settle(connected)
      while (isOpen) await clock.advance(1000)
      cancelTimer()
      return contentOf<{ status: string; requestId: string }>(await calling)
    }
    const startedAt = clock.now()
    let outcome = await patientCall('tasks_delegate', { prompt: 'take your time' })
    await began
    let calls = 1
    for (; outcome.status === 'running'; calls++) {
      outcome = await patientCall('tasks_status', { requestId: outcome.requestId, waitMs: 50_000 })
    }
    expect(outcome).toMatchObject({ status: 'completed', text: 'ten minutes later' })
    expect(clock.now() - startedAt).toBeGreaterThanOrEqual(600_000)
    expect(calls).toBeGreaterThanOrEqual(12)
  })

  it('a refused call is answered with its error, without progress', async () => {
    const { call, wire } = await connect([testAgent('a')])
    const result = await call('tasks_delegate', { prompt: 'hi', agentId: 'nobody' }, { onprogress: () => {} })
    expect(errorOf(result).code).toBe('NOT_FOUND')
    expect(progressOf(wire)).toEqual([])
  })
})

describe('progress', () => {
  /** An agent whose events the test supplies. */
  function toldAgent() {
    const events: BridgeEvent[] = []
    let more = Promise.withResolvers<void>()
    async function* onPrompt(): AsyncGenerator<BridgeEvent> {
      for (;;) {
        while (events.length > 0) {
          const event = events.shift() as BridgeEvent
          yield event
          if (event.type === 'result') return
        }
        await more.promise
        more = Promise.withResolvers<void>()
      }
    }
    return {
      agent: testAgent('a', { onPrompt }),
      say(...given: readonly BridgeEvent[]) {
        events.push(...given)
        more.resolve()
      },
    }
  }

  async function open(options: object = {}) {
    const told = toldAgent()
    const connected = await connect([told.agent], { inactivityMs: 0, ...options })
    const calling = connected.call('tasks_delegate', { prompt: 'hi', requestId: 'r1', waitMs: 600_000 }, { onprogress: () => {} })
    await settle(connected)
    const say = async (...events: readonly BridgeEvent[]) => {
      told.say(...events)
      await settle(connected)
    }
    return { ...connected, calling, say, notes: () => progressOf(connected.wire) }
  }

  const finished: BridgeEvent = { type: 'result', result: answer('done') }

  it('B59: the first note comes at acceptance and names the request and the session', async () => {
    const { notes, say, calling } = await open()
    expect(notes()).toHaveLength(1)
    await say(finished)
    const { sessionId } = contentOf<{ sessionId: string }>(await calling)
    expect(notes()[0]?.message).toContain('r1')
    expect(notes()[0]?.message).toContain(sessionId)
  })

  it('B59: a note comes every heartbeatMs; progress strictly increases, whatever an agent reports', async () => {
    const { notes, say, clock, calling } = await open({ heartbeatMs: 1000 })
    await clock.advance(3000)
    expect(notes()).toHaveLength(4)
    for (const progress of [5, 5, 2, Number.NaN, -1, 1e300, 5.5]) {
      await say({ type: 'progress', message: `at ${progress}`, progress, total: 10 })
      await clock.advance(300)
    }
    await say(finished)
    await calling
    const values = notes().map(({ progress }) => progress)
    expect(values.every((value, index) => index === 0 || value > (values[index - 1] as number))).toBe(true)
    expect(notes().find(({ message }) => message === 'at 5')).toMatchObject({ progress: 5, total: 10 })
    expect(values.at(-1)).toBeLessThan(10)
  })

  it('B59: at most four notes of an agent come per second; the last one is not lost', async () => {
    const { notes, say, clock, calling } = await open({ heartbeatMs: 600_000 })
    for (let step = 1; step <= 100; step++) {
      await say({ type: 'progress', message: `step ${step}`, progress: step })
      await clock.advance(10)
    }
    const within = notes().length - 1
    expect(within).toBeGreaterThanOrEqual(4)
    expect(within).toBeLessThanOrEqual(5)
    await clock.advance(250)
    expect(notes().at(-1)).toMatchObject({ message: 'step 100', progress: 100 })
    await say(finished)
    await calling
  })

  it('B59: without a progress token no note is sent', async () => {
    const { agent, began, finish } = heldAgent('a')
    const { call, clock, wire } = await connect([agent], { heartbeatMs: 100 })
    const calling = call('tasks_delegate', { prompt: 'hi' })
    await began
    await clock.advance(1000)
    finish('done')
    await calling
    expect(progressOf(wire)).toEqual([])
  })

  it('B60: no note is sent after the answer of a call, while the work goes on and when it ends', async () => {
    const { agent, began, finish } = heldAgent('a')
    const connected = await connect([agent], { heartbeatMs: 1000, waitMs: 2500, inactivityMs: 0 })
    const { call, clock, wire } = connected
    const calling = call('tasks_delegate', { prompt: 'hi' }, { onprogress: () => {} })
    await began
    await clock.advance(2500)
    const { requestId } = contentOf<{ requestId: string }>(await calling)
    const answered = wire.length
    expect(progressOf(wire)).toHaveLength(3)
    await clock.advance(10_000)
    finish('done')
    await settle(connected)
    expect(wire).toHaveLength(answered)
    expect(contentOf(await call('tasks_status', { requestId, waitMs: 1000 }))).toMatchObject({ status: 'completed' })
    expect(clock.pendingTimers).toBeLessThanOrEqual(2)
  })
})

describe('callers that leave', () => {
  it.each(['tasks_delegate', 'sessions_prompt'])('B61: an MCP cancel of an open %s cancels the request', async (name) => {
    const { agent, began, cancels, cancelled } = heldAgent('a')
    const connected = await connect([agent])
    const { call, bridge } = connected
    const input = name === 'sessions_prompt' ? { sessionId: await sessionOf(connected), prompt: 'hi' } : { prompt: 'hi' }
    const controller = new AbortController()
    const calling = call(name, { ...input, requestId: 'r1' }, { signal: controller.signal })
    await began
    controller.abort('enough')
    await expect(calling).rejects.toThrow()
    await cancelled
    expect(cancels).toEqual(['caller'])
    expect(contentOf(await call('tasks_status', { requestId: 'r1', waitMs: 1000 }))).toMatchObject({
      status: 'aborted',
      stopReason: 'cancelled',
    })
    expect(bridge.health().requests.inFlight).toBe(0)
  })

  it('B61: an abort after the answer has no effect', async () => {
    const { agent, began, finish, cancels } = heldAgent('a')
    const connected = await connect([agent])
    const { call, client, bridge } = connected
    const { requestId } = contentOf<{ requestId: string }>(await call('tasks_delegate', { prompt: 'hi', mode: 'background' }))
    await began
    await client.close()
    await settle(connected)
    finish('done')
    expect(await bridge.request(requestId, { waitMs: 1000 })).toMatchObject({ ok: true, status: 'completed', text: 'done' })
    expect(cancels).toEqual([])
  })

  it('B61: cancelling tasks_status ends the wait, not the request', async () => {
    const { agent, began, finish, cancels } = heldAgent('a')
    const connected = await connect([agent])
    const { call, bridge, clock } = connected
    await call('tasks_delegate', { prompt: 'hi', requestId: 'r1', mode: 'background' })
    await began
    await settle(connected)
    const timers = clock.pendingTimers
    const controller = new AbortController()
    const waiting = call('tasks_status', { requestId: 'r1', waitMs: 60_000 }, { signal: controller.signal })
    await settle(connected)
    controller.abort()
    await expect(waiting).rejects.toThrow()
    await settle(connected)
    expect(clock.pendingTimers).toBe(timers)
    finish('done')
    expect(await bridge.request('r1', { waitMs: 1000 })).toMatchObject({ ok: true, status: 'completed' })
    expect(cancels).toEqual([])
  })

  it('a call that is cancelled before its request begins calls no agent', async () => {
    const prompts: string[] = []
    const connected = await connect([testAgent('a', { onPrompt: ({ prompt }) => (prompts.push(prompt), answer(prompt)) })])
    const controller = new AbortController()
    const calling = connected.call('tasks_delegate', { prompt: 'hi' }, { signal: controller.signal })
    controller.abort()
    await expect(calling).rejects.toThrow()
    await settle(connected)
    expect(prompts).toEqual([])
  })
})

it('B62: a caller that is lost and cannot find its work again cancels it; any other caller detaches', async () => {
  const signals: Record<string, AbortSignal> = {}
  const agent = testAgent('a', {
    onPrompt: async ({ prompt, abortSignal }) => {
      signals[prompt] = abortSignal
      await aborted(abortSignal)
      return answer('')
    },
  })
  const connected = await connect([agent])
  const { call, client } = connected
  const sessionId = await sessionOf(connected)
  const calls = [
    call('tasks_delegate', { prompt: 'nameless' }),
    call('tasks_delegate', { prompt: 'named', requestId: 'r1' }),
    call('tasks_delegate', { prompt: 'keyed', idempotencyKey: 'k1' }),
    call('sessions_prompt', { prompt: 'in a session', sessionId }),
  ]
  for (const each of calls) each.catch(() => undefined)
  await settle(connected)
  expect(Object.keys(signals).sort()).toEqual(['in a session', 'keyed', 'named', 'nameless'])
  await client.close()
  await settle(connected)
  expect(
    Object.entries(signals)
      .filter(([, signal]) => signal.aborted)
      .map(([prompt]) => prompt),
  ).toEqual(['nameless'])
})
