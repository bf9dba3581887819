import { memoryStateStore } from '@bowline/sessions'
import { describe, expect, it, vi } from 'vitest'
import { BridgeError, inProcessExecutor } from '../src/index.ts'
import type { PromptContext } from '../src/index.ts'
import { answer, codeOf, failureOf, never, outcomeOf, startBridge, startBridgeOf, testAgent } from './support.ts'
import type { AgentParts } from './support.ts'

/** An agent that records every session hook and answers when told to. */
function gatedAgent(parts: AgentParts = {}) {
  const trace: string[] = []
  const gates: PromiseWithResolvers<void>[] = []
  const agent = testAgent('a', {
    onSessionCreate: () => void trace.push('create'),
    onPrompt: async ({ prompt, abortSignal }: PromptContext) => {
      const gate = Promise.withResolvers<void>()
      gates.push(gate)
      abortSignal.addEventListener('abort', () => gate.resolve())
      await gate.promise
      return answer(prompt)
    },
    onCancel: ({ reason }) => void trace.push(`cancel ${reason}`),
    onSessionClose: (_session, reason) => void trace.push(`close ${reason}`),
    ...parts,
  })
  return { agent, trace, finish: () => gates.splice(0).forEach(({ resolve }) => resolve()) }
}

describe('a new session', () => {
  it('B12: is active with createdAt equal to lastActivityAt; status and list say the same', async () => {
    const { bridge, clock } = await startBridge([testAgent('a')])
    const session = await bridge.createSession({ metadata: { team: 'red' } })
    expect(session).toEqual({
      sessionId: expect.stringMatching(/^bs_/),
      agentId: 'a',
      status: 'active',
      createdAt: 1000,
      lastActivityAt: 1000,
      expiresAt: 1000 + 600_000,
      metadata: { team: 'red' },
    })
    expect(await bridge.session(session.sessionId)).toEqual(session)
    expect((await bridge.sessions()).sessions).toEqual([session])
    await clock.advance(10)
    outcomeOf(await bridge.prompt({ sessionId: session.sessionId, prompt: 'hi' }).result())
    const after = await bridge.session(session.sessionId)
    expect(after).toMatchObject({ status: 'idle', createdAt: 1000, lastActivityAt: 1010 })
    expect((await bridge.sessions()).sessions).toEqual([after])
  })

  it('B12: status and prompt agree', async () => {
    const { agent, finish } = gatedAgent()
    const { bridge, clock } = await startBridge([agent])
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'one' })
    expect(await run.accepted()).toBe(true)
    expect(await bridge.session(sessionId)).toMatchObject({ status: 'busy', currentRequestId: run.requestId })
    expect(failureOf(await bridge.prompt({ sessionId, prompt: 'two' }).result()).code).toBe('BUSY')
    await clock.advance(0)
    finish()
    outcomeOf(await run.result())
    expect(await bridge.session(sessionId)).toMatchObject({ status: 'idle' })
    const second = bridge.prompt({ sessionId, prompt: 'two' })
    expect(await second.accepted()).toBe(true)
    await clock.advance(0)
    finish()
    expect(outcomeOf(await second.result()).text).toBe('two')
  })

  it('B14: is not found for another owner, in the words for an unknown session', async () => {
    const { bridge } = await startBridge([testAgent('a')])
    const { sessionId } = await bridge.createSession({ owner: 'ann' })
    const run = bridge.prompt({ sessionId, prompt: 'hi', owner: 'ann' })
    outcomeOf(await run.result())
    for (const id of [sessionId, 'bs_never']) {
      const texts = await Promise.all([
        bridge.session(id, { owner: 'bob' }).catch((error: Error) => error.message),
        bridge.cancel({ sessionId: id, owner: 'bob' }).catch((error: Error) => error.message),
        bridge
          .prompt({ sessionId: id, prompt: 'hi', owner: 'bob' })
          .result()
          .then((result) => failureOf(result).message),
        bridge.createSession({ resumeSessionId: id, owner: 'bob' }).catch((error: Error) => error.message),
      ])
      expect(texts).toEqual(Array.from({ length: 4 }, () => 'Session not found'))
      expect(await bridge.close({ sessionId: id, owner: 'bob' })).toEqual({ closed: true, sessionId: id, existed: false })
    }
    expect(failureOf(await bridge.request(run.requestId, { owner: 'bob' })).code).toBe('NOT_FOUND')
    expect((await bridge.sessions({ owner: 'bob' })).sessions).toEqual([])
    expect(await bridge.session(sessionId, { owner: 'ann' })).toMatchObject({ status: 'idle' })
  })

  it('B15: one more than maxSessions is CAPACITY; ending one frees its slot at once', async () => {
    const { bridge } = await startBridgeOf(inProcessExecutor({ agents: [testAgent('a')], maxSessions: 2 }))
    const sessions = [await bridge.createSession(), await bridge.createSession()]
    expect(bridge.health().sessions).toEqual({ active: 2, capacity: 2 })
    await expect(bridge.createSession()).rejects.toMatchObject({
      code: 'CAPACITY',
      retryable: true,
      details: { retryAfterMs: expect.any(Number) },
    })
    expect(failureOf(await bridge.delegate({ prompt: 'hi' }).result()).code).toBe('CAPACITY')
    await bridge.close({ sessionId: sessions[0]?.sessionId ?? '' })
    await bridge.createSession()
    expect(bridge.health().sessions.active).toBe(2)
  })

  it('B15: a create that fails frees its slot', async () => {
    const agent = testAgent('a', { onSessionCreate: () => Promise.reject(new Error('no')) })
    const { bridge } = await startBridgeOf(inProcessExecutor({ agents: [agent], maxSessions: 1 }))
    for (let time = 0; time < 3; time++) expect(await codeOf(bridge.createSession())).toBe('UPSTREAM')
    expect(bridge.health().sessions.active).toBe(0)
  })

  it('B28: the same idempotencyKey gives the same session, also at the same time, and another payload is refused', async () => {
    let created = 0
    const { bridge } = await startBridge([testAgent('a', { onSessionCreate: () => void (created += 1) })])
    const input = { metadata: { a: 1, b: 2 }, idempotencyKey: 'k1' }
    const [one, two] = await Promise.all([
      bridge.createSession(input),
      bridge.createSession({ idempotencyKey: 'k1', metadata: { b: 2, a: 1 } }),
    ])
    expect(two).toEqual(one)
    expect(await bridge.createSession(input)).toEqual(one)
    expect(created).toBe(1)
    await expect(bridge.createSession({ idempotencyKey: 'k1' })).rejects.toMatchObject({
      code: 'PROTOCOL',
      details: { reason: 'id-reused' },
    })
    expect((await bridge.createSession({ ...input, owner: 'ann' })).sessionId).not.toBe(one.sessionId)
  })

  it('B28: a create that failed can be tried again under its key', async () => {
    let fails = true
    const onSessionCreate = () => {
      if (fails) throw new BridgeError('UPSTREAM', 'not yet', { retryable: true })
    }
    const { bridge } = await startBridge([testAgent('a', { onSessionCreate })])
    await expect(bridge.createSession({ idempotencyKey: 'k1' })).rejects.toMatchObject({ message: 'not yet' })
    fails = false
    expect(await bridge.createSession({ idempotencyKey: 'k1' })).toMatchObject({ status: 'active' })
  })
})

describe('agents that are added later', () => {
  it('B9: an added agent is listed and used; one that is refused breaks nothing', async () => {
    const executor = inProcessExecutor({ agents: [testAgent('a')] })
    const { bridge } = await startBridgeOf(executor)
    executor.add(testAgent('b'))
    expect(() => executor.add({ ...testAgent('c'), onPrompt: undefined as never })).toThrow(/onPrompt/)
    expect(() => executor.add(testAgent('a'))).toThrow(/Two agents/)
    expect(bridge.discover().map(({ id }) => id)).toEqual(['a', 'b'])
    expect(outcomeOf(await bridge.delegate({ prompt: 'hi', agentId: 'b' }).result()).text).toBe('b: hi')
  })

  it('B9: an executor whose listing fails hides only its own agents', async () => {
    const broken = inProcessExecutor({ agents: [testAgent('x')] })
    const agents = () => {
      throw new Error('no listing')
    }
    const { bridge, logger } = await startBridgeOf({ ...broken, agents }, inProcessExecutor({ agents: [testAgent('a')] }))
    expect(bridge.discover().map(({ id }) => id)).toEqual(['a'])
    expect(logger.lines.some(({ message }) => message === 'the agents of an executor cannot be listed')).toBe(true)
  })
})

describe('expiry', () => {
  const limits = { ttlMs: 10_000, idleMs: 4000 }

  it('B16: idle time counts from the last end of a prompt, and must exceed the limit', async () => {
    const { agent, trace, finish } = gatedAgent()
    const { bridge, clock } = await startBridgeOf(inProcessExecutor({ agents: [agent], ...limits }))
    const { sessionId } = await bridge.createSession()
    await clock.advance(3000)
    const run = bridge.prompt({ sessionId, prompt: 'hi' })
    await clock.advance(1000)
    finish()
    outcomeOf(await run.result())
    await clock.advance(4000)
    expect(await bridge.session(sessionId)).toMatchObject({ status: 'idle', expiresAt: 1000 + 8000 })
    await clock.advance(1)
    await expect(bridge.session(sessionId)).rejects.toMatchObject({
      code: 'EXPIRED',
      message: expect.stringMatching(/^Session not found/),
      details: { reason: 'expired' },
    })
    await clock.advance(0)
    expect(trace).toEqual(['create', 'close expired'])
  })

  it('B16: the time to live counts from creation, on access and by the reaper', async () => {
    const { agent, trace } = gatedAgent()
    const { bridge, clock } = await startBridgeOf(inProcessExecutor({ agents: [agent], ttlMs: 59_000, idleMs: 0 }))
    const { sessionId } = await bridge.createSession()
    await clock.advance(59_000)
    expect((await bridge.session(sessionId)).status).toBe('active')
    expect(trace).toEqual(['create'])
    await clock.advance(1000)
    // No call was made: the reaper closed it.
    expect(trace).toEqual(['create', 'close expired'])
    expect(bridge.health().sessions.active).toBe(0)
    expect(clock.pendingTimers).toBe(0)
  })

  it('B17: a busy session stays, and is removed once its outcome is recorded', async () => {
    const { agent, trace, finish } = gatedAgent()
    const { bridge, clock } = await startBridgeOf(inProcessExecutor({ agents: [agent], ...limits }))
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'hi', timeoutMs: 500_000 })
    await clock.advance(200_000)
    expect(await bridge.session(sessionId)).toMatchObject({ status: 'busy' })
    finish()
    expect(outcomeOf(await run.result()).text).toBe('hi')
    expect(await codeOf(bridge.session(sessionId))).toBe('EXPIRED')
    await clock.advance(0)
    expect(trace).toEqual(['create', 'close expired'])
  })

  it('B17: hooks of one sweep run in parallel, each for ten seconds at most', async () => {
    const begun: number[] = []
    const agent = testAgent('a', { onSessionClose: () => (begun.push(1), never) })
    const { bridge, clock } = await startBridgeOf(inProcessExecutor({ agents: [agent], ttlMs: 1000, idleMs: 0 }))
    for (let n = 0; n < 3; n++) await bridge.createSession()
    await clock.advance(60_000)
    expect(begun).toHaveLength(3)
    await clock.advance(200_000)
    expect(begun).toHaveLength(3)
    expect(clock.pendingTimers).toBe(0)
  })

  it('B17: ten seconds after a sweep began it stops waiting for its hooks, and the next sweep is scheduled', async () => {
    const begun: unknown[] = []
    const agent = testAgent('a', { onSessionClose: ({ metadata }) => (begun.push(metadata['name']), never) })
    const { bridge, clock } = await startBridgeOf(inProcessExecutor({ agents: [agent], ttlMs: 1000, idleMs: 0 }))
    await bridge.createSession({ metadata: { name: 'first' } })
    await clock.advance(60_000)
    await bridge.createSession({ metadata: { name: 'second' } })
    await clock.advance(10_000 + 59_999)
    expect(begun).toEqual(['first'])
    await clock.advance(1)
    expect(begun).toEqual(['first', 'second'])
  })

  it('B17: sweeps do not overlap: a session that expires during a sweep is closed by the next one', async () => {
    const store = memoryStateStore()
    const write = store.compareAndSet.bind(store)
    const hold = Promise.withResolvers<void>()
    const held = new Set<string>()
    let heldWrites = 0
    store.compareAndSet = async (space, id, ...rest) => {
      if ([...held].some((sessionId) => id.includes(sessionId))) {
        heldWrites += 1
        await hold.promise
      }
      return write(space, id, ...rest)
    }
    const { agent, trace } = gatedAgent()
    const { bridge, clock } = await startBridgeOf({ store }, inProcessExecutor({ agents: [agent], ttlMs: 1000, idleMs: 0 }))
    held.add((await bridge.createSession()).sessionId)
    await clock.advance(60_000)
    expect(heldWrites).toBe(1)
    await bridge.createSession()
    await clock.advance(300_000)
    expect({ heldWrites, trace }).toEqual({ heldWrites: 1, trace: ['create', 'create'] })
    hold.resolve()
    await clock.advance(0)
    expect(trace).toEqual(['create', 'create', 'close expired'])
    await clock.advance(60_000)
    expect(trace).toEqual(['create', 'create', 'close expired', 'close expired'])
  })

  it('B21: a tombstone lasts requestRetentionMs; then the session is unknown', async () => {
    const { bridge, clock } = await startBridgeOf({ requestRetentionMs: 5000 }, inProcessExecutor({ agents: [testAgent('a')], ...limits }))
    const { sessionId } = await bridge.createSession()
    await clock.advance(4001)
    expect(await codeOf(bridge.session(sessionId))).toBe('EXPIRED')
    expect(failureOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result()).code).toBe('EXPIRED')
    await clock.advance(5001)
    expect(await codeOf(bridge.session(sessionId))).toBe('NOT_FOUND')
  })
})

describe('close', () => {
  it('B18: the hook runs once, over any mix of close, expiry and shutdown at the same time', async () => {
    const { agent, trace } = gatedAgent()
    const { bridge, clock } = await startBridgeOf(inProcessExecutor({ agents: [agent], ttlMs: 1000, idleMs: 0 }))
    const { sessionId } = await bridge.createSession()
    await clock.advance(1001)
    const calls = [
      ...[1, 2, 3].map(() => bridge.close({ sessionId })),
      bridge.session(sessionId),
      bridge.prompt({ sessionId, prompt: 'hi' }).result(),
      bridge.stop({ deadlineMs: 100 }),
    ]
    await Promise.allSettled(calls)
    await clock.advance(0)
    expect(trace.filter((line) => line.startsWith('close'))).toHaveLength(1)
  })

  it('B18: a throwing hook is logged and changes nothing', async () => {
    const agent = testAgent('a', { onSessionClose: () => Promise.reject(new Error('disk full')) })
    const { bridge, logger } = await startBridge([agent])
    const { sessionId } = await bridge.createSession()
    expect(await bridge.close({ sessionId })).toEqual({ closed: true, sessionId, existed: true })
    expect(logger.lines.map(({ message }) => message)).toContain('onSessionClose failed')
    expect(bridge.health().sessions.active).toBe(0)
  })

  it('B19: closing a busy session cancels first', async () => {
    const { agent, trace } = gatedAgent()
    const { bridge, clock } = await startBridge([agent])
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'hi' })
    await clock.advance(0)
    const closing = bridge.close({ sessionId })
    expect(await closing).toMatchObject({ existed: true })
    expect(await run.result()).toMatchObject({ ok: true, status: 'aborted', stopReason: 'cancelled' })
    expect(trace).toEqual(['create', 'cancel closing', 'close closed'])
  })

  it('B19: once a close has begun the session accepts no prompt, and the bridge waits for an agent no longer than the grace period', async () => {
    const { agent, trace } = gatedAgent({ onPrompt: () => never })
    const { bridge, clock } = await startBridge([agent], { cancelGraceMs: 300 })
    const { sessionId } = await bridge.createSession()
    bridge.prompt({ sessionId, prompt: 'hi' })
    await clock.advance(0)
    const closing = bridge.close({ sessionId })
    await clock.advance(299)
    expect(failureOf(await bridge.prompt({ sessionId, prompt: 'more' }).result()).code).toBe('NOT_FOUND')
    expect(trace).toEqual(['create', 'cancel closing'])
    await clock.advance(1)
    await closing
    expect(trace).toEqual(['create', 'cancel closing', 'close closed'])
    expect(bridge.health()).toMatchObject({ sessions: { active: 0 }, requests: { inFlight: 0 } })
  })

  it('B20: is idempotent: the session is closed once, and only one caller sees that it existed', async () => {
    const { agent, trace } = gatedAgent()
    const executor = inProcessExecutor({ agents: [agent] })
    const close = vi.fn(executor.close)
    const { bridge } = await startBridgeOf({ ...executor, close })
    const { sessionId } = await bridge.createSession()
    const receipts = await Promise.all([1, 2, 3, 4].map(() => bridge.close({ sessionId })))
    expect(receipts.map(({ closed, existed }) => [closed, existed]).sort()).toEqual([
      [true, false],
      [true, false],
      [true, false],
      [true, true],
    ])
    expect(close).toHaveBeenCalledTimes(1)
    expect(trace).toEqual(['create', 'close closed'])
    expect((await bridge.sessions()).sessions).toEqual([])
    expect(bridge.health().sessions.active).toBe(0)
    expect(await bridge.close({ sessionId })).toEqual({ closed: true, sessionId, existed: false })
    expect(await bridge.close({ sessionId: 'bs_never' })).toEqual({ closed: true, sessionId: 'bs_never', existed: false })
  })

  it('B21: afterwards any call is NOT_FOUND', async () => {
    const { bridge } = await startBridge([testAgent('a')])
    const { sessionId } = await bridge.createSession()
    await bridge.close({ sessionId })
    expect(await codeOf(bridge.session(sessionId))).toBe('NOT_FOUND')
    expect(await codeOf(bridge.cancel({ sessionId }))).toBe('NOT_FOUND')
    expect(failureOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result())).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(/^Session not found/),
    })
    expect((await bridge.sessions()).sessions).toEqual([])
  })
})

describe('a session that has failed', () => {
  it.each<[string, () => never, 'idle' | 'failed']>([
    [
      'an untyped throw',
      () => {
        throw new Error('broken')
      },
      'failed',
    ],
    [
      'UPSTREAM',
      () => {
        throw new BridgeError('UPSTREAM', 'no')
      },
      'failed',
    ],
    [
      'UPSTREAM that may be tried again',
      () => {
        throw new BridgeError('UPSTREAM', 'no', { retryable: true })
      },
      'idle',
    ],
    [
      'AUTH',
      () => {
        throw new BridgeError('AUTH', 'no')
      },
      'idle',
    ],
    [
      'CONFIG',
      () => {
        throw new BridgeError('CONFIG', 'no')
      },
      'idle',
    ],
    [
      'CAPACITY',
      () => {
        throw new BridgeError('CAPACITY', 'no', { retryable: false })
      },
      'idle',
    ],
    [
      'an agent that says the session is fine',
      () => {
        throw new BridgeError('UPSTREAM', 'no', { details: { sessionValid: true } })
      },
      'idle',
    ],
    [
      'an agent that says the session is not',
      () => {
        throw new BridgeError('AUTH', 'no', { details: { sessionValid: false } })
      },
      'failed',
    ],
  ])('B22: after %s', async (_what, onPrompt, status) => {
    const { bridge } = await startBridge([testAgent('a', { onPrompt })])
    const { sessionId } = await bridge.createSession()
    const error = failureOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result())
    expect(await bridge.session(sessionId)).toMatchObject({ status, lastError: { code: error.code } })
  })

  it('B22: answers status and close, refuses prompts, and does not become active again', async () => {
    const { agent, trace } = gatedAgent({ onPrompt: () => Promise.reject(new Error('broken')) })
    const { bridge } = await startBridge([agent])
    const { sessionId } = await bridge.createSession()
    failureOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result())
    for (let time = 0; time < 2; time++) {
      const refused = failureOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result())
      expect(refused).toMatchObject({ code: 'UPSTREAM', retryable: false, details: { reason: 'session-failed' } })
    }
    expect(await bridge.session(sessionId)).toMatchObject({ status: 'failed', lastError: { code: 'UPSTREAM' } })
    expect(await bridge.close({ sessionId })).toMatchObject({ existed: true })
    expect(trace).toEqual(['create', 'close closed'])
  })

  it('B22: the hook of a failed session that expires gets failed as the reason', async () => {
    const { agent, trace } = gatedAgent({ onPrompt: () => Promise.reject(new Error('broken')) })
    const { bridge, clock } = await startBridgeOf(inProcessExecutor({ agents: [agent], ttlMs: 1000, idleMs: 0 }))
    const { sessionId } = await bridge.createSession()
    failureOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result())
    await clock.advance(60_000)
    expect(trace).toEqual(['create', 'close failed'])
    expect(await codeOf(bridge.session(sessionId))).toBe('EXPIRED')
  })
})

it('B12: a session is as old as its last activity, however long its agent took to open it', async () => {
  const opened = Promise.withResolvers<void>()
  const { bridge, clock } = await startBridge([testAgent('a', { onSessionCreate: () => opened.promise })])
  const creating = bridge.createSession()
  await clock.advance(5000)
  opened.resolve()
  const session = await creating
  expect(session).toMatchObject({ status: 'active', createdAt: 1000, lastActivityAt: 1000 })
  // The idle time starts when the create hook has finished.
  await clock.advance(600_000)
  expect(await bridge.session(session.sessionId)).toMatchObject({ status: 'active' })
  await bridge.stop()
})
