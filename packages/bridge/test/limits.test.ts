import { manualClock } from '@bowline/llm/testing'
import { memoryStateStore, type StateStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { createBridge, inProcessExecutor } from '../src/index.ts'
import type { BridgeEvent, BridgeExecutor, PromptContext } from '../src/index.ts'
import { aborted, answer, failureOf, never, outcomeOf, recordingLogger, startBridge, testAgent } from './support.ts'

describe('requests in flight', () => {
  it('B65: one more than maxInFlight is CAPACITY with retryAfterMs, and the next free slot accepts work again', async () => {
    const gate = Promise.withResolvers<void>()
    const onPrompt = async () => {
      await gate.promise
      return answer('done')
    }
    const { bridge } = await startBridge([testAgent('a', { onPrompt })], { maxInFlight: 2 })
    const running = [bridge.delegate({ prompt: 'one' }), bridge.delegate({ prompt: 'two' })]
    expect(bridge.health().requests).toEqual({ inFlight: 2, capacity: 2, queued: 0 })
    const refused = failureOf(await bridge.delegate({ prompt: 'three' }).result())
    expect(refused).toMatchObject({ code: 'CAPACITY', retryable: true, details: { retryAfterMs: expect.any(Number) } })
    expect(bridge.discover()).toHaveLength(1)
    gate.resolve()
    await Promise.all(running.map((run) => run.result()))
    outcomeOf(await bridge.delegate({ prompt: 'three' }).result())
  })

  it('B67: after any load inFlight is 0 and no timer is left', async () => {
    const kinds: ((request: PromptContext) => AsyncIterable<BridgeEvent> | Promise<ReturnType<typeof answer>>)[] = [
      async () => answer('fine'),
      () => Promise.reject(new Error('broken')),
      () => {
        throw new Error('broken at once')
      },
      async () => never,
      async function* ({ abortSignal }) {
        yield { type: 'text-delta', delta: 'x' }
        await aborted(abortSignal)
      },
      async () => answer('x'.repeat(100)),
    ]
    const { bridge, clock } = await startBridge(
      [
        testAgent('a', {
          onSessionCreate: ({ metadata }) => (metadata['create'] === 'fails' ? Promise.reject(new Error('no')) : undefined),
          onPrompt: (request) => (kinds[Number(request.prompt) % kinds.length] as (typeof kinds)[number])(request),
          onSessionClose: ({ metadata }) => (metadata['close'] === 'hangs' ? never : undefined),
        }),
      ],
      { maxInFlight: 1000, maxResultBytes: 50, cancelGraceMs: 100 },
    )
    const controllers = Array.from({ length: 300 }, () => new AbortController())
    const results = controllers.map(({ signal: abortSignal }, n) => {
      const metadata = { create: n % 7 === 0 ? 'fails' : 'works', close: n % 11 === 0 ? 'hangs' : 'works' }
      return bridge.delegate({ prompt: `${n}`, metadata, abortSignal, timeoutMs: 1000 + n }).result()
    })
    expect(bridge.health().requests.inFlight).toBe(300)
    await clock.advance(500)
    for (const [n, controller] of controllers.entries()) if (n % 3 === 0) controller.abort()
    await clock.advance(20_000)
    expect((await Promise.all(results)).length).toBe(300)
    expect(bridge.health().requests.inFlight).toBe(0)
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('repeats', () => {
  it('B27: the same requestId with the same payload joins the first call', async () => {
    let prompts = 0
    const onPrompt = async ({ prompt }: PromptContext) => answer(`${prompt} ${++prompts}`)
    const { bridge } = await startBridge([testAgent('a', { onPrompt })])
    const input = { prompt: 'hi', requestId: 'r1', metadata: { a: 1, b: { c: 2, d: 3 } } }
    const first = bridge.delegate(input)
    const second = bridge.delegate({ metadata: { b: { d: 3, c: 2 }, a: 1 }, requestId: 'r1', prompt: 'hi' })
    expect(second.sessionId).toBe(first.sessionId)
    expect(await second.result()).toBe(await first.result())
    expect(outcomeOf(await bridge.delegate(input).result()).text).toBe('hi 1')
    expect(prompts).toBe(1)
  })

  it('B27: with another payload it is PROTOCOL, id-reused; another owner has separate ids', async () => {
    const { bridge } = await startBridge([testAgent('a')])
    await bridge.delegate({ prompt: 'hi', requestId: 'r1' }).result()
    const reused = failureOf(await bridge.delegate({ prompt: 'ho', requestId: 'r1' }).result())
    expect(reused).toMatchObject({ code: 'PROTOCOL', details: { reason: 'id-reused', requestId: 'r1' } })
    expect(outcomeOf(await bridge.delegate({ prompt: 'ho', requestId: 'r1', owner: 'ann' }).result()).text).toBe('a: ho')
  })

  it('B69: finished records beyond the limit or the age are removed oldest first, running ones never', async () => {
    const gate = Promise.withResolvers<void>()
    const onPrompt = async ({ prompt }: PromptContext) => {
      if (prompt === 'wait') await gate.promise
      return answer(prompt)
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })], {
      maxRequestRecords: 2,
      requestRetentionMs: 1000,
      inactivityMs: 0,
    })
    const [first, second] = [await bridge.createSession(), await bridge.createSession()]
    bridge.prompt({ sessionId: first.sessionId, prompt: 'wait', requestId: 'running' })
    for (const id of ['one', 'two', 'three']) await bridge.prompt({ sessionId: second.sessionId, prompt: id, requestId: id }).result()
    const known = async () => {
      const results = await Promise.all(['one', 'two', 'three', 'running'].map((id) => bridge.request(id)))
      return results.map((result) => (result.ok ? result.status : result.error.code))
    }
    expect(await known()).toEqual(['NOT_FOUND', 'completed', 'completed', 'running'])
    await clock.advance(1001)
    expect(await known()).toEqual(['NOT_FOUND', 'NOT_FOUND', 'NOT_FOUND', 'running'])
    gate.resolve()
  })
})

describe('stop', () => {
  const traced = (kind: string, trace: string[], agents: Parameters<typeof inProcessExecutor>[0]['agents']): BridgeExecutor => {
    const executor = inProcessExecutor({ agents })
    const stop: BridgeExecutor['stop'] = (options) => {
      trace.push(`stop ${kind}`)
      return executor.stop(options)
    }
    return { ...executor, kind, stop }
  }

  it('B71: refuses new work, cancels and awaits running requests, hooks get shutdown, executors stop in reverse order', async () => {
    const trace: string[] = []
    const polite = testAgent('polite', {
      onPrompt: async function* ({ abortSignal }): AsyncGenerator<BridgeEvent> {
        yield { type: 'text-delta', delta: 'some' }
        await aborted(abortSignal)
      },
      onCancel: ({ reason }) => void trace.push(`cancel ${reason}`),
      onSessionClose: (_session, reason) => void trace.push(`close ${reason}`),
    })
    const executors = [traced('one', trace, [polite]), traced('two', trace, [])]
    const { bridge, clock } = await startBridge([], { executors })
    const running = bridge.delegate({ prompt: 'hi' })
    await clock.advance(10)
    const stopping = bridge.stop({ deadlineMs: 1000 })
    expect(failureOf(await bridge.delegate({ prompt: 'hi' }).result()).code).toBe('INTERNAL')
    await stopping
    expect(await running.result()).toMatchObject({ ok: true, status: 'aborted', text: 'some' })
    expect(trace).toEqual(['cancel shutdown', 'close shutdown', 'stop two', 'stop one'])
    expect(clock.pendingTimers).toBe(0)
  })

  it('B71: resolves within the deadline plus one second, whatever agents, hooks and executors do', async () => {
    const stuck = testAgent('stuck', { onPrompt: () => never, onCancel: () => never, onSessionClose: () => never })
    const executor: BridgeExecutor = { ...inProcessExecutor({ agents: [stuck] }), stop: () => never }
    const { bridge, clock } = await startBridge([], { executors: [executor] })
    const running = bridge.delegate({ prompt: 'hi' })
    await clock.advance(10)
    let stopped = false
    const stopping = bridge.stop({ deadlineMs: 1000 }).then(() => (stopped = true))
    await clock.advance(999)
    expect(stopped).toBe(false)
    await clock.advance(1001)
    await stopping
    await clock.advance(20_000)
    expect(outcomeOf(await running.result()).status).toBe('aborted')
  })

  it('B72: a durable agent goes on, without cancel and without close hook', async () => {
    const trace: string[] = []
    const durable = testAgent('durable', {
      durable: true,
      onPrompt: () => never,
      onCancel: () => void trace.push('cancel'),
      onSessionClose: () => void trace.push('close'),
    })
    const { bridge, clock } = await startBridge([durable])
    const running = bridge.delegate({ prompt: 'hi' })
    await clock.advance(10)
    await bridge.stop({ deadlineMs: 1000 })
    const error = failureOf(await running.result())
    expect(error).toMatchObject({ code: 'TRANSPORT', retryable: true, details: { reason: 'shutdown', outcome: 'unknown' } })
    expect(trace).toEqual([])
  })

  it('a stop during the start lets nothing run', async () => {
    const trace: string[] = []
    const gate = Promise.withResolvers<void>()
    const slow: BridgeExecutor = { ...traced('slow', trace, []), start: () => gate.promise }
    const bridge = createBridge({ executors: [slow], logger: recordingLogger() })
    const starting = bridge.start()
    const stopping = bridge.stop()
    gate.resolve()
    await expect(starting).rejects.toMatchObject({ code: 'INTERNAL', message: 'The bridge is stopped: create another one' })
    await stopping
    expect(trace).toEqual(['stop slow'])
  })

  it('B99: a stop during the start leaves no record of the bridge', async () => {
    const written = Promise.withResolvers<void>()
    const memory = memoryStateStore()
    const store: StateStore = { ...memory, compareAndSet: async (...given) => (await written.promise, memory.compareAndSet(...given)) }
    const clock = manualClock(1000)
    const bridge = createBridge({ executors: [inProcessExecutor({ agents: [testAgent('a')] })], store, clock, logger: recordingLogger() })
    const starting = bridge.start()
    const stopping = bridge.stop()
    written.resolve()
    await expect(starting).rejects.toMatchObject({ code: 'INTERNAL', message: 'The bridge is stopped: create another one' })
    await stopping
    expect([(await memory.list('bridge-process', {})).items, clock.pendingTimers]).toEqual([[], 0])
  })

  it('a stop before the start, and a second stop, do nothing', async () => {
    const trace: string[] = []
    const fresh = createBridge({ executors: [traced('one', trace, [])], logger: recordingLogger() })
    await fresh.stop()
    const { bridge } = await startBridge([], { executors: [traced('two', trace, [])] })
    await bridge.stop()
    await bridge.stop()
    expect(trace).toEqual(['stop two'])
  })
})

describe('health', () => {
  it('reports what runs and whether the bridge can take work', async () => {
    const { bridge, clock } = await startBridge([testAgent('a'), testAgent('b')])
    await clock.advance(250)
    expect(bridge.health()).toEqual({
      healthy: true,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      uptimeMs: 250,
      agents: { total: 2, ready: 2 },
      sessions: { active: 0, capacity: 100 },
      requests: { inFlight: 0, capacity: 50, queued: 0 },
      owner: { sessions: { active: 0, capacity: 100 }, requests: { inFlight: 0, capacity: 50, queued: 0, queueCapacity: 0 } },
      executors: [{ kind: 'in-process', healthy: true }],
    })
    await bridge.stop()
    expect(bridge.health()).toMatchObject({ healthy: false, uptimeMs: 0, executors: [{ healthy: false }] })
  })

  it('B114: without agents it has healthy: false, and discovery is an empty list', async () => {
    const { bridge } = await startBridge([])
    expect(bridge.health()).toMatchObject({ healthy: false, agents: { total: 0, ready: 0 } })
    expect(bridge.discover()).toEqual([])
  })
})

describe('a store that does not answer', () => {
  it('every call reports TRANSPORT, without the words of the store', async () => {
    const store = memoryStateStore()
    const { bridge } = await startBridge([testAgent('a')], { store })
    const { sessionId } = await bridge.createSession()
    await store.close()
    const told = { code: 'TRANSPORT', retryable: true, message: 'The store does not answer' }
    expect(failureOf(await bridge.delegate({ prompt: 'hi' }).result())).toMatchObject(told)
    expect(failureOf(await bridge.request('r1'))).toMatchObject(told)
    const calls = [
      bridge.createSession({ idempotencyKey: 'k' }),
      bridge.session('bs_other'),
      bridge.sessions(),
      bridge.cancel({ requestId: 'r1' }),
      bridge.close({ sessionId }),
    ]
    for (const call of calls) await expect(call).rejects.toMatchObject(told)
  })
})
