import { memoryStateStore } from '@bowline/sessions'
import type { StateStore } from '@bowline/sessions'
import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { Processes } from '../src/records/processes.ts'
import { inProcessExecutor } from '../src/index.ts'
import type { PromptContext } from '../src/index.ts'
import { aborted, answer, codeOf, failureOf, outcomeOf, startBridge, startBridgeOf, testAgent } from './support.ts'

/** An agent that runs until it is cancelled. */
function cancellable(id: string) {
  return testAgent(id, {
    onPrompt: async ({ abortSignal }: PromptContext) => {
      await aborted(abortSignal)
      return answer('too late')
    },
  })
}

/** A store whose next write to this space fails once requested: before it is made, or after it, so that its answer is lost. */
function failingStore(space: string): { readonly store: StateStore; failOnce(when?: 'before' | 'after'): void } {
  const store = memoryStateStore()
  let fails: 'before' | 'after' | undefined
  return {
    failOnce: (when = 'before') => void (fails = when),
    store: {
      ...store,
      compareAndSet: async (...given) => {
        if (!fails || given[0] !== space) return store.compareAndSet(...given)
        if (fails === 'after') await store.compareAndSet(...given)
        fails = undefined
        throw new Error('the disk is full')
      },
    },
  }
}

describe('a close and a prompt at once', () => {
  it('B19: whichever comes first, nothing runs in the session afterwards', async () => {
    const ends = new Set<string>()
    for (let ticks = 0; ticks < 40; ticks++) {
      const { bridge } = await startBridge([cancellable('a')])
      const { sessionId } = await bridge.createSession()
      const run = bridge.prompt({ sessionId, prompt: 'hi' })
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
      expect(await bridge.close({ sessionId })).toMatchObject({ existed: true })
      const result = await run.result()
      ends.add(result.ok ? result.status : result.error.code)
      expect(bridge.health()).toMatchObject({ requests: { inFlight: 0 }, sessions: { active: 0 } })
    }
    expect([...ends].sort()).toEqual(['NOT_FOUND', 'aborted'])
  })
})

describe('a stop while a session is being opened', () => {
  it.each(['with', 'without'])('B18, B71: the session ends with its hook, and the caller gets an error, %s a key', async (kind) => {
    const opened = Promise.withResolvers<void>()
    const closed: string[] = []
    const agent = testAgent('a', { onSessionCreate: () => opened.promise, onSessionClose: (_session, reason) => void closed.push(reason) })
    const { bridge, clock } = await startBridge([agent])
    const refused = codeOf(bridge.createSession(kind === 'with' ? { idempotencyKey: 'k' } : {}))
    const stopping = bridge.stop({ deadlineMs: 1000 })
    await clock.advance(5000)
    await stopping
    opened.resolve()
    expect(await refused).toBe('INTERNAL')
    expect(closed).toEqual(['shutdown'])
    expect(bridge.health().sessions.active).toBe(0)
  })
})

describe('durable sessions of several bridges on one store', () => {
  const durable = () => testAgent('a', { durable: true })
  const small = () => inProcessExecutor({ agents: [durable()], maxSessions: 1 })

  it('B66: when all its session slots are in use, a bridge still serves, closes and reports sessions of other bridges', async () => {
    const store = memoryStateStore()
    const { bridge: first } = await startBridgeOf({ store }, small())
    const { bridge: second } = await startBridgeOf({ store }, small())
    const { sessionId } = await first.createSession()
    await second.createSession()
    expect(await codeOf(second.createSession())).toBe('CAPACITY')
    expect(outcomeOf(await second.prompt({ sessionId, prompt: 'hi' }).result()).text).toBe('a: hi')
    expect(await second.close({ sessionId })).toMatchObject({ existed: true })
  })

  it.each(['first', 'second'] as const)(
    'B97, B98: each reports the end that the %s has recorded, also the one whose agent is still running',
    async (ending) => {
      const ends = { first: Promise.withResolvers<void>(), second: Promise.withResolvers<void>() }
      const store = memoryStateStore()
      const start = (name: 'first' | 'second') =>
        startBridge([testAgent('a', { durable: true, onPrompt: () => ends[name].promise.then(() => answer('done')) })], { store })
      const bridges = { first: (await start('first')).bridge, second: (await start('second')).bridge }
      const { sessionId } = await bridges.first.createSession()
      await bridges.first.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).accepted()
      expect(await bridges.second.request('r1')).toMatchObject({ status: 'running' })
      ends[ending].resolve()
      const end = await bridges[ending].request('r1', { waitMs: 20_000 })
      expect(end).toMatchObject({ status: 'completed', text: 'done' })
      for (const bridge of [bridges.first, bridges.second]) expect(await bridge.request('r1')).toEqual(end)
      ends.first.resolve()
      ends.second.resolve()
    },
  )

  it('B15, B98: a session that another bridge closed takes no slot any longer', async () => {
    const store = memoryStateStore()
    const { bridge: first, clock } = await startBridgeOf({ store }, small())
    const { bridge: second } = await startBridgeOf({ store }, small())
    const { sessionId } = await first.createSession()
    await second.close({ sessionId })
    expect(await codeOf(first.session(sessionId))).toBe('NOT_FOUND')
    await clock.advance(0)
    expect(first.health().sessions.active).toBe(0)
    const next = await first.createSession()
    await second.close({ sessionId: next.sessionId })
    await clock.advance(700_000)
    expect(first.health().sessions.active).toBe(0)
  })
})

describe('a store that fails in the middle', () => {
  it('B67, B97: an end that could not be recorded is reported as unknown, and no caller waits for it', async () => {
    const { store, failOnce } = failingStore('bridge-request')
    const end = Promise.withResolvers<void>()
    const { bridge } = await startBridge([testAgent('a', { onPrompt: async () => (await end.promise, answer('done')) })], { store })
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' })
    await run.accepted()
    failOnce()
    end.resolve()
    expect(outcomeOf(await run.result()).text).toBe('done')
    expect(failureOf(await bridge.request('r1', { waitMs: 60_000 }))).toMatchObject({ code: 'TRANSPORT', details: { outcome: 'unknown' } })
    expect((await bridge.session(sessionId)).status).toBe('idle')
  })

  it('B67, B97: a request that goes on is reported as running while the store is away', async () => {
    const inner = memoryStateStore()
    let isAway = false
    const store: StateStore = { ...inner, get: (...args) => (isAway ? Promise.reject(new Error('away')) : inner.get(...args)) }
    const end = Promise.withResolvers<void>()
    const { bridge } = await startBridge([testAgent('a', { durable: true, onPrompt: async () => (await end.promise, answer('done')) })], {
      store,
    })
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' })
    await run.accepted()
    isAway = true
    expect(await bridge.request('r1')).toMatchObject({ ok: true, status: 'running' })
    isAway = false
    end.resolve()
    expect(outcomeOf(await run.result()).text).toBe('done')
  })

  it('B67: a session that could not be freed is freed by its next prompt', async () => {
    const { store, failOnce } = failingStore('bridge-session')
    const end = Promise.withResolvers<void>()
    const { bridge } = await startBridge([testAgent('a', { onPrompt: async () => (await end.promise, answer('done')) })], { store })
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'hi' })
    await run.accepted()
    failOnce()
    end.resolve()
    outcomeOf(await run.result())
    expect(outcomeOf(await bridge.prompt({ sessionId, prompt: 'more' }).result()).text).toBe('done')
  })

  it.each(['before', 'after'] as const)(
    'B15, B67: a delegation frees its slot if the store fails %s the end of its session',
    async (when) => {
      const { store, failOnce } = failingStore('bridge-session')
      const closed: string[] = []
      const agent = testAgent('a', {
        onPrompt: () => (failOnce(when), answer('done')),
        onSessionClose: (_session, reason) => void closed.push(reason),
      })
      const { bridge } = await startBridgeOf({ store }, inProcessExecutor({ agents: [agent], maxSessions: 1 }))
      expect(outcomeOf(await bridge.delegate({ prompt: 'hi' }).result()).text).toBe('done')
      expect([closed, bridge.health().sessions.active, (await bridge.sessions()).sessions]).toEqual([['closed'], 0, []])
      expect(outcomeOf(await bridge.delegate({ prompt: 'hi' }).result()).text).toBe('done')
    },
  )

  it('B15, B67: a session whose end lost its answer is taken down by the next call', async () => {
    const { store, failOnce } = failingStore('bridge-session')
    const closed: string[] = []
    const { bridge, clock } = await startBridge([testAgent('a', { onSessionClose: (_session, reason) => void closed.push(reason) })], {
      store,
    })
    const { sessionId } = await bridge.createSession()
    failOnce('after')
    expect(await codeOf(bridge.close({ sessionId }))).toBe('INTERNAL')
    expect(await bridge.close({ sessionId })).toMatchObject({ existed: false })
    await clock.advance(0)
    expect([closed, bridge.health().sessions.active]).toEqual([['closed'], 0])
  })

  it.each([
    ['before', false],
    ['before', true],
    ['after', false],
    ['after', true],
  ] as const)('B67: a prompt that the store failed %s accepting does not keep the session busy (durable: %s)', async (when, isDurable) => {
    const { store, failOnce } = failingStore('bridge-session')
    const { bridge } = await startBridge([testAgent('a', { durable: isDurable })], { store })
    const { sessionId } = await bridge.createSession()
    failOnce(when)
    expect(failureOf(await bridge.prompt({ sessionId, prompt: 'one' }).result()).code).toBe('INTERNAL')
    expect(outcomeOf(await bridge.prompt({ sessionId, prompt: 'two' }).result()).text).toBe('a: two')
  })

  it('B15, B98: a session that could not be closed here and was closed by another bridge takes no slot any longer', async () => {
    const { store, failOnce } = failingStore('bridge-session')
    const small = () => inProcessExecutor({ agents: [testAgent('a', { durable: true })], maxSessions: 1, idleMs: 1000 })
    const { bridge: first, clock } = await startBridgeOf({ store }, small())
    const { bridge: second } = await startBridgeOf({ store }, small())
    const fail: Readonly<Record<string, (sessionId: string) => Promise<unknown>>> = {
      close: (sessionId) => first.close({ sessionId }),
      expire: async (sessionId) => (await clock.advance(1001), first.session(sessionId)),
    }
    for (const [name, attempt] of Object.entries(fail)) {
      const { sessionId } = await first.createSession()
      failOnce()
      expect([name, await codeOf(attempt(sessionId))]).toEqual([name, 'INTERNAL'])
      await second.close({ sessionId })
      expect(await codeOf(first.session(sessionId))).toBe('NOT_FOUND')
      await clock.advance(0)
      expect([name, first.health().sessions.active]).toEqual([name, 0])
    }
  })

  it.each(['before', 'after'] as const)('B18, B67: a stop runs the close hook of a session if the store fails %s its end', async (when) => {
    const { store, failOnce } = failingStore('bridge-session')
    const closed: string[] = []
    const agents = [testAgent('a', { onSessionClose: (_session, reason) => void closed.push(reason) })]
    const { bridge } = await startBridge(agents, { store })
    await bridge.createSession()
    failOnce(when)
    await bridge.stop()
    expect([closed, bridge.health().sessions.active]).toEqual([['shutdown'], 0])
  })
})

describe('the record of a process', () => {
  it('B99: a process that slept longer than the TTL of its record registers again', async () => {
    const clock = manualClock(1000)
    const store = memoryStateStore({ clock })
    const options = { store, clock, isShared: true, onError: () => {} }
    const [slept, other] = [new Processes(options), new Processes(options)]
    await slept.start()
    await store.delete('bridge-process', slept.id)
    expect(await other.isAlive(slept.id)).toBe(false)
    await clock.advance(10_000)
    expect(await other.isAlive(slept.id)).toBe(true)
    await slept.stop()
    await clock.advance(60_000)
    expect(await other.isAlive(slept.id)).toBe(false)
  })
})
