import { memoryStateStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { inProcessExecutor } from '../src/index.ts'
import type { BridgeAgent, PromptContext } from '../src/index.ts'
import { connect } from './mcp/support.ts'
import { answer, codeOf, failureOf, never, outcomeOf, startBridge, testAgent } from './support.ts'

const stuck = (): BridgeAgent => testAgent('a', { onPrompt: () => never })

describe('requests of one owner', () => {
  it('B123: an owner may run half of what the bridge runs, and the other half is for other owners', async () => {
    const { bridge } = await startBridge([stuck()])
    const flood = Array.from({ length: 60 }, () => bridge.delegate({ prompt: 'x', owner: 'ann' }))
    const other = bridge.delegate({ prompt: 'x', owner: 'bob' })
    const accepted = await Promise.all(flood.map((run) => run.accepted()))
    expect(accepted.filter(Boolean)).toHaveLength(25)
    expect(failureOf((await flood.at(-1)?.result()) as never)).toMatchObject({
      code: 'CAPACITY',
      retryable: true,
      message: 'The limit of 25 requests in flight for one owner is reached: retry in 1000 ms, or raise maxInFlightPerOwner',
      details: { reason: 'owner-in-flight', retryAfterMs: 1000 },
    })
    expect(await other.accepted()).toBe(true)
    expect(bridge.health({ owner: 'ann' })).toMatchObject({
      requests: { inFlight: 26, capacity: 50 },
      owner: { requests: { inFlight: 25, capacity: 25, queued: 0, queueCapacity: 0 }, sessions: { active: 25, capacity: 50 } },
    })
  })

  it('B123: the program itself may use all, unless a limit is set: a limit applies to every owner', async () => {
    const { bridge } = await startBridge([stuck()], { maxInFlight: 4 })
    const accepted = (count: number) => Promise.all(Array.from({ length: count }, () => bridge.delegate({ prompt: 'x' }).accepted()))
    expect(await accepted(5)).toEqual([true, true, true, true, false])
    const { bridge: limited } = await startBridge([stuck()], { maxInFlight: 4, maxInFlightPerOwner: 1 })
    expect(await limited.delegate({ prompt: 'x' }).accepted()).toBe(true)
    expect(failureOf(await limited.delegate({ prompt: 'x' }).result()).details.reason).toBe('owner-in-flight')
  })

  it('B123: the error names the limit of the whole bridge if that is the one reached', async () => {
    const { bridge } = await startBridge([stuck()], { maxInFlight: 1 })
    bridge.delegate({ prompt: 'x' })
    expect(failureOf(await bridge.delegate({ prompt: 'x' }).result())).toMatchObject({
      message: 'The limit of 1 request in flight is reached: retry in 1000 ms, or raise maxInFlight or maxQueued',
      details: { reason: 'in-flight' },
    })
  })

  it('B123: the queue skips an owner at its limit, and such an owner cannot fill the queue', async () => {
    const begun: string[] = []
    const gates = new Map<string, () => void>()
    const onPrompt = async ({ prompt }: PromptContext) => {
      begun.push(prompt)
      await new Promise<void>((resolve) => gates.set(prompt, resolve))
      return answer(prompt)
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })], { maxInFlight: 2, maxQueued: 4 })
    const ann = ['a1', 'a2', 'a3', 'a4'].map((prompt) => bridge.delegate({ prompt, owner: 'ann' }))
    const bob = ['b1', 'b2'].map((prompt) => bridge.delegate({ prompt, owner: 'bob' }))
    await clock.advance(0)
    expect(begun).toEqual(['a1', 'b1'])
    expect(failureOf((await ann[3]?.result()) as never).details.reason).toBe('owner-in-flight')
    expect(bridge.health({ owner: 'ann' }).owner.requests).toEqual({ inFlight: 1, capacity: 1, queued: 2, queueCapacity: 2 })
    gates.get('b1')?.()
    await clock.advance(0)
    expect(begun).toEqual(['a1', 'b1', 'b2'])
    gates.get('a1')?.()
    await clock.advance(0)
    expect(begun).toEqual(['a1', 'b1', 'b2', 'a2'])
    for (const next of ['b2', 'a2', 'a3']) {
      gates.get(next)?.()
      await clock.advance(0)
    }
    expect((await Promise.all([...ann.slice(0, 3), ...bob].map((run) => run.result()))).every(({ ok }) => ok)).toBe(true)
    expect(bridge.health()).toMatchObject({ requests: { inFlight: 0, queued: 0 }, sessions: { active: 0 } })
  })

  it('B66, B123: answers are accepted above the limit of their owner, and take no slot from others', async () => {
    const pending = [{ id: 'q', kind: 'approval' as const, toolName: 't', input: {} }]
    const onPrompt = ({ answers, prompt }: PromptContext) =>
      answers || prompt === 'hang' ? never : { text: '', stopReason: 'needs_input' as const, pending }
    const { bridge } = await startBridge([testAgent('a', { onPrompt })], { maxInFlight: 2 })
    const owner = 'ann'
    const asking = await Promise.all([1, 2, 3].map(() => bridge.createSession({ owner })))
    for (const { sessionId } of asking) outcomeOf(await bridge.prompt({ sessionId, prompt: 'ask', owner }).result())
    for (const { sessionId } of asking) await bridge.prompt({ sessionId, owner, answers: [{ id: 'q', decision: 'approve' }] }).accepted()
    expect(bridge.health({ owner }).owner.requests.inFlight).toBe(3)
    expect(await bridge.delegate({ prompt: 'hang', owner: 'bob' }).accepted()).toBe(true)
    expect(await bridge.delegate({ prompt: 'hang', owner: 'bob' }).accepted()).toBe(false)
  })
})

describe('sessions of one owner', () => {
  it('B123: an owner holds at most half of what the executor accepts; closing one session makes room', async () => {
    const { bridge } = await startBridge([], { executors: [inProcessExecutor({ agents: [testAgent('a')], maxSessions: 4 })] })
    const owner = 'ann'
    const sessions = [await bridge.createSession({ owner }), await bridge.createSession({ owner })]
    await expect(bridge.createSession({ owner })).rejects.toMatchObject({
      code: 'CAPACITY',
      message: 'The limit of 2 sessions of the in-process executor for one owner is reached: close one, or raise maxSessionsPerOwner',
      details: { reason: 'owner-sessions', retryAfterMs: 1000 },
    })
    expect(failureOf(await bridge.delegate({ prompt: 'x', owner }).result()).details.reason).toBe('owner-sessions')
    await bridge.createSession({ owner: 'bob' })
    await bridge.close({ sessionId: sessions[0]?.sessionId ?? '', owner })
    await bridge.createSession({ owner })
  })

  it('B15, B16: expired sessions hold no slot, of the executor or of an owner, although the reaper has not come yet', async () => {
    const ends: string[] = []
    const agent = testAgent('a', { onSessionClose: (_session, reason) => void ends.push(reason) })
    const { bridge, clock } = await startBridge([], {
      executors: [inProcessExecutor({ agents: [agent], maxSessions: 4, ttlMs: 1000, idleMs: 0 })],
    })
    const openAll = async (): Promise<void> => {
      for (const owner of ['ann', 'ann', 'bob', 'bob']) await bridge.createSession({ owner })
    }
    for (let round = 1; round <= 3; round++) {
      await openAll()
      for (const owner of ['ann', 'eve']) expect(await codeOf(bridge.createSession({ owner }))).toBe('CAPACITY')
      await clock.advance(1001)
      await bridge.createSession({ owner: 'eve' })
      expect(bridge.health().sessions.active).toBe(1)
      expect(ends).toEqual(Array.from({ length: 5 * round - 1 }, () => 'expired'))
      await clock.advance(1001)
    }
    // Here the owner alone has no room.
    await bridge.createSession({ owner: 'ann' })
    await bridge.createSession({ owner: 'ann' })
    await clock.advance(1001)
    expect(outcomeOf(await bridge.delegate({ prompt: 'hi', owner: 'ann' }).result()).text).toBe('a: hi')
  })

  it('B15, B123: an executor without a limit accepts a thousand', async () => {
    const { limits: _none, ...unlimited } = inProcessExecutor({ agents: [testAgent('a')] })
    const { bridge } = await startBridge([], { executors: [unlimited] })
    expect(bridge.health({ owner: 'ann' })).toMatchObject({ sessions: { capacity: 1000 }, owner: { sessions: { capacity: 500 } } })
    expect(bridge.health({ owner: 'local' })).toMatchObject({ owner: { sessions: { capacity: 1000 } } })
    const { bridge: odd } = await startBridge([stuck()], { maxInFlight: 3, maxInFlightPerOwner: 9 })
    expect(odd.health({ owner: 'ann' }).owner.requests.capacity).toBe(3)
    const { bridge: halved } = await startBridge([stuck()], { maxInFlight: 3 })
    expect(halved.health({ owner: 'ann' }).owner.requests.capacity).toBe(2)
  })

  it('B123: sessions are counted exactly when many are created at once, also with a shared store', async () => {
    const { bridge } = await startBridge([testAgent('a')], { store: memoryStateStore(), maxSessionsPerOwner: 3 })
    const created = await Promise.allSettled(Array.from({ length: 20 }, () => bridge.createSession({ owner: 'ann' })))
    expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect(bridge.health({ owner: 'ann' }).owner.sessions.active).toBe(3)
  })

  it('B123: durable sessions that an earlier bridge left count until they are closed', async () => {
    const store = memoryStateStore()
    const options = { store, maxSessionsPerOwner: 2 }
    const owner = 'ann'
    const durable = (): BridgeAgent => testAgent('a', { durable: true })
    const { bridge: first } = await startBridge([durable()], options)
    const left = [await first.createSession({ owner }), await first.createSession({ owner })]
    await first.stop()
    const { bridge } = await startBridge([durable()], options)
    expect(await codeOf(bridge.createSession({ owner }))).toBe('CAPACITY')
    await bridge.createSession({ owner: 'bob' })
    outcomeOf(await bridge.prompt({ sessionId: left[0]?.sessionId ?? '', prompt: 'hi', owner }).result())
    expect(await codeOf(bridge.createSession({ owner }))).toBe('CAPACITY')
    for (const { sessionId } of left) await bridge.close({ sessionId, owner })
    await bridge.createSession({ owner })
    await bridge.createSession({ owner })
    expect(await codeOf(bridge.createSession({ owner }))).toBe('CAPACITY')
  })

  it('B123: sessions that another bridge on the store has closed do not count', async () => {
    const store = memoryStateStore()
    const options = { store, maxSessionsPerOwner: 1 }
    const owner = 'ann'
    const durable = (): BridgeAgent => testAgent('a', { durable: true })
    const [{ bridge: one }, { bridge: two }] = [await startBridge([durable()], options), await startBridge([durable()], options)]
    const { sessionId } = await one.createSession({ owner })
    expect(await codeOf(two.createSession({ owner }))).toBe('CAPACITY')
    await one.close({ sessionId, owner })
    await two.createSession({ owner })
  })
})

describe('after a crash', () => {
  it('B97, B123: a request that is resumed counts as running', async () => {
    const store = memoryStateStore()
    const durable = (): BridgeAgent => testAgent('a', { durable: true, onPrompt: () => never })
    const { bridge: first } = await startBridge([durable()], { store })
    const run = first.delegate({ prompt: 'x', requestId: 'r1', owner: 'ann' })
    expect(await run.accepted()).toBe(true)
    await first.stop()
    const { bridge } = await startBridge([durable()], { store, maxInFlightPerOwner: 1 })
    expect(await bridge.request('r1', { owner: 'ann' })).toMatchObject({ status: 'running' })
    expect(bridge.health({ owner: 'ann' }).owner.requests.inFlight).toBe(1)
    expect(failureOf(await bridge.delegate({ prompt: 'y', owner: 'ann' }).result()).details.reason).toBe('owner-in-flight')
    await bridge.cancel({ requestId: 'r1', owner: 'ann' })
    expect(bridge.health({ owner: 'ann' }).owner.requests.inFlight).toBe(0)
  })
})

describe('over MCP', () => {
  it('B123: bridge_health reports what the caller uses and may use', async () => {
    const { bridge, call } = await connect([stuck()], { maxInFlight: 8 }, { owner: 'ann', mayUse: () => true })
    await bridge.delegate({ prompt: 'x', owner: 'ann' }).accepted()
    await bridge.delegate({ prompt: 'x', owner: 'bob' }).accepted()
    expect((await call('bridge_health')).structuredContent).toMatchObject({
      requests: { inFlight: 2, capacity: 8 },
      owner: { requests: { inFlight: 1, capacity: 4 }, sessions: { active: 1, capacity: 50 } },
    })
  })
})
