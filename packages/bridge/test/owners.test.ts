import { memoryStateStore } from '@bowline/sessions'
import type { StateStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { BridgeError } from '../src/index.ts'
import type { Bridge, BridgeAgent, BridgeEvent, BridgeResult, PromptContext } from '../src/index.ts'
import { ownerKey } from '../src/owner-key.ts'
import { aborted, answer, failureOf, never, outcomeOf, startBridge, testAgent } from './support.ts'

/** An agent that runs until it is cancelled. For the prompt `ask`, it waits for a decision. */
const busy = testAgent('a', {
  onPrompt: async ({ prompt, abortSignal }: PromptContext) => {
    if (prompt === 'ask')
      return { text: 'wait', stopReason: 'needs_input', pending: [{ id: 'p1', kind: 'approval', toolName: 'pay', input: {} }] }
    await aborted(abortSignal)
    return answer('')
  },
})

/** Returns a refusal without the id that was asked for, to compare refusals. */
async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  const error = (await work.then(
    (value) => Promise.reject(new Error(`it was answered: ${JSON.stringify(value)}`)),
    (thrown: unknown) => thrown,
  )) as { code: string; message: string; details: object }
  return { code: error.code, message: error.message, details: Object.keys(error.details) }
}

describe('B14: a session and its requests belong to their owner', () => {
  async function withRequestOfAnn(): Promise<{ bridge: Bridge; sessionId: string; requestId: string }> {
    const { bridge, clock } = await startBridge([busy])
    const { sessionId } = await bridge.createSession({ owner: 'ann' })
    const { requestId } = bridge.prompt({ sessionId, prompt: 'hi', owner: 'ann' })
    await clock.advance(0)
    return { bridge, sessionId, requestId }
  }

  it('B14: cancel by the session of another owner is refused like an unknown one, and stops nothing', async () => {
    const { bridge, sessionId, requestId } = await withRequestOfAnn()
    for (const owner of ['bob', undefined]) {
      const asked = owner === undefined ? {} : { owner }
      expect(await refusalOf(bridge.cancel({ sessionId, ...asked }))).toEqual(
        await refusalOf(bridge.cancel({ sessionId: 'bs_never', ...asked })),
      )
      expect(await refusalOf(bridge.cancel({ requestId, ...asked }))).toEqual(
        await refusalOf(bridge.cancel({ requestId: 'never', ...asked })),
      )
    }
    expect(outcomeOf(await bridge.request(requestId, { owner: 'ann' })).status).toBe('running')
    expect(await bridge.cancel({ sessionId, owner: 'ann' })).toMatchObject({ cancelled: true, requestId })
  })

  it('B14: the outcome of the request of another owner is not returned', async () => {
    const { bridge, requestId } = await withRequestOfAnn()
    expect(failureOf(await bridge.request(requestId, { owner: 'bob' })).code).toBe('NOT_FOUND')
    expect(failureOf(await bridge.request(requestId)).code).toBe('NOT_FOUND')
  })

  it('B14: session, prompt and close of another owner are refused, and the session goes on', async () => {
    const { bridge, sessionId } = await withRequestOfAnn()
    const missing = { code: 'NOT_FOUND' }
    await expect(bridge.session(sessionId, { owner: 'bob' })).rejects.toMatchObject(missing)
    expect(failureOf(await bridge.prompt({ sessionId, prompt: 'hi', owner: 'bob' }).result())).toMatchObject(missing)
    expect(await bridge.close({ sessionId, owner: 'bob' })).toMatchObject({ existed: false })
    expect((await bridge.session(sessionId, { owner: 'ann' })).status).toBe('busy')
    expect((await bridge.sessions({ owner: 'bob' })).sessions).toEqual([])
  })

  it('B14, B40: answers of another owner are refused, by session and by request', async () => {
    const { bridge, clock } = await startBridge([busy])
    const { sessionId } = await bridge.createSession({ owner: 'ann' })
    const { requestId } = bridge.prompt({ sessionId, prompt: 'ask', owner: 'ann' })
    await clock.advance(0)
    expect(outcomeOf(await bridge.request(requestId, { owner: 'ann' })).status).toMatch(/^awaiting/)
    const answers = [{ id: 'p1', decision: 'approve' as const }]
    expect(failureOf(await bridge.prompt({ sessionId, requestId, owner: 'bob', answers }).result()).code).toBe('NOT_FOUND')
    const run = bridge.prompt({ sessionId, owner: 'bob', answers })
    const refusal = failureOf(await run.result())
    expect(refusal.code).toBe('NOT_FOUND')
    expect(JSON.stringify([run.requestId, refusal.message, refusal.details])).not.toContain(requestId)
    expect(outcomeOf(await bridge.request(requestId, { owner: 'ann' })).status).toMatch(/^awaiting/)
  })

  it.each(['ann', 'Ann_1@x-y', 'a'.repeat(64)])('S46: an owner of plain characters is a part of keys unchanged: %s', (owner) => {
    expect(ownerKey(owner)).toBe(owner)
  })

  it.each(['', 'a'.repeat(65), 'a/b', 'a b', '=ann', 'änn', 'ann\n'])(
    'S46: any other owner is hashed, so that no two share a key: %j',
    (owner) => {
      expect(ownerKey(owner)).toMatch(/^=[\w-]{43}$/)
      expect(ownerKey(owner)).not.toBe(ownerKey(`${owner}x`))
    },
  )
})

describe('the outcome of a request', () => {
  it('B58: a call that is being checked is reported once accepted, and NOT_FOUND if it is refused', async () => {
    const { bridge } = await startBridge([busy])
    const { sessionId } = await bridge.createSession()
    const [taken, refused] = [bridge.prompt({ sessionId, prompt: 'hi' }), bridge.prompt({ sessionId, prompt: 'ho' })]
    const [of, ofRefused] = await Promise.all([taken, refused].map(({ requestId }) => bridge.request(requestId)))
    expect(of).toMatchObject({ ok: true, status: 'running', sessionId })
    expect(failureOf(ofRefused as BridgeResult)).toMatchObject({ code: 'NOT_FOUND', details: { requestId: refused.requestId } })
  })

  it.each([true, false])('B58: the progress of a running request is reported, with durable %s', async (durable) => {
    const onPrompt = async function* (): AsyncGenerator<BridgeEvent> {
      yield { type: 'progress', message: 'half' }
      await never
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt, durable })])
    const { sessionId } = await bridge.createSession()
    const { requestId } = bridge.prompt({ sessionId, prompt: 'hi' })
    await clock.advance(0)
    expect(outcomeOf(await bridge.request(requestId))).toMatchObject({ status: 'running', progress: { message: 'half' } })
  })

  it('B58: a query of a wrong kind is refused by its path', async () => {
    const { bridge } = await startBridge([busy])
    const refusedAt = (path: string) => ({ code: 'PROTOCOL', details: { issues: [{ path }] } })
    expect(failureOf(await bridge.request(''))).toMatchObject(refusedAt('request.requestId'))
    expect(failureOf(await bridge.request('r1', 5 as never))).toMatchObject(refusedAt('request.options'))
    await expect(bridge.close({ sessionId: 5 as never })).rejects.toMatchObject(refusedAt('close.input.sessionId'))
  })

  it('V62: a failed request names the agent that was asked, whatever its error says', async () => {
    const onPrompt = () => Promise.reject(new BridgeError('UPSTREAM', 'no', { details: { agentId: 'other' } }))
    const { bridge } = await startBridge([testAgent('a', { onPrompt })])
    const run = bridge.delegate({ prompt: 'hi' })
    const looking = bridge.request(run.requestId, { waitMs: 1000 })
    failureOf(await run.result())
    for (const result of [await looking, await bridge.request(run.requestId)]) expect(result).toMatchObject({ ok: false, agentId: 'a' })
    expect(await bridge.request('never')).not.toHaveProperty('agentId')
  })
})

describe('a session in which an earlier bridge left a prompt of a durable agent', () => {
  function tracing(name: string, trace: string[] = []): BridgeAgent {
    return testAgent('a', {
      durable: true,
      onPrompt: async ({ abortSignal }) => {
        trace.push(`${name} asked`)
        await aborted(abortSignal)
        return answer('')
      },
      onCancel: ({ reason }) => void trace.push(`${name} cancelled, ${reason}`),
      onSessionClose: (_session, reason) => void trace.push(`${name} session ${reason}`),
    })
  }

  it('B19, B97: a close cancels the prompt first, and its end is recorded', async () => {
    const store = memoryStateStore()
    const trace: string[] = []
    const { bridge: first } = await startBridge([tracing('first')], { store })
    const { sessionId } = await first.createSession({ owner: 'ann' })
    expect(await first.prompt({ sessionId, prompt: 'hi', requestId: 'r1', owner: 'ann' }).accepted()).toBe(true)
    await first.stop()
    const { bridge } = await startBridge([tracing('second', trace)], { store })
    expect(await bridge.close({ sessionId, owner: 'ann' })).toEqual({ closed: true, sessionId, existed: true })
    expect(trace).toEqual(['second cancelled, closing', 'second session closed'])
    expect(await bridge.request('r1', { owner: 'ann' })).toMatchObject({ status: 'aborted' })
    expect(bridge.health()).toMatchObject({ sessions: { active: 0 }, requests: { inFlight: 0 } })
  })

  it('B97: if that bridge ended in the middle of a close, the outcome of the prompt is unknown, and reported so', async () => {
    const store = memoryStateStore()
    let isClosing = false
    const dying: StateStore = {
      ...store,
      compareAndSet: (space, ...given) => (isClosing && space === 'bridge-request' ? never : store.compareAndSet(space, ...given)),
    }
    const { bridge: first, clock } = await startBridge([tracing('first')], { store: dying })
    const { sessionId } = await first.createSession()
    expect(await first.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).accepted()).toBe(true)
    isClosing = true
    void first.close({ sessionId })
    await clock.advance(0)
    const trace: string[] = []
    const { bridge } = await startBridge([tracing('second', trace)], { store })
    // While the first bridge is alive, others wait for it to record the end.
    expect(outcomeOf(await bridge.request('r1')).status).toBe('running')
    for (const { id } of (await store.list('bridge-process', {})).items) await store.delete('bridge-process', id)
    const { bridge: third } = await startBridge([tracing('third', trace)], { store })
    for (const repeat of [1, 2])
      expect(failureOf(await third.request('r1')), String(repeat)).toMatchObject({ code: 'TRANSPORT', details: { outcome: 'unknown' } })
    expect(third.health().requests.inFlight).toBe(0)
    expect(trace).toEqual([])
  })
})

describe('B27, B28: when a repeat counts as the same request', () => {
  const reused = { code: 'PROTOCOL', details: { reason: 'id-reused' } }
  const agents = [testAgent('a', { onPrompt: ({ prompt }) => answer(prompt) }), testAgent('b')]
  const params = { temperature: 0.5 }

  it.each([
    ['prompt', { prompt: 'ho' }],
    ['params', { runtimeParams: { temperature: 0.7 } }],
    ['no params', { runtimeParams: undefined }],
    ['session', { session: 'other' }],
  ] as const)('B27: a prompt with another %s is no repeat', async (_what, change) => {
    const { bridge } = await startBridge(agents)
    const [one, other] = [await bridge.createSession({ agentId: 'a' }), await bridge.createSession({ agentId: 'a' })]
    const first = { sessionId: one.sessionId, prompt: 'hi', runtimeParams: params }
    const { session, ...fields } = { session: 'one', ...change }
    const second = { ...first, ...fields, sessionId: session === 'other' ? other.sessionId : one.sessionId } as typeof first
    for (const name of [{ requestId: 'r1' }, { idempotencyKey: 'k1' }]) {
      const running = bridge.prompt({ ...first, ...name })
      expect(failureOf(await bridge.prompt({ ...second, ...name }).result())).toMatchObject(reused)
      outcomeOf(await running.result())
      expect(failureOf(await bridge.prompt({ ...second, ...name }).result())).toMatchObject(reused)
      expect(outcomeOf(await bridge.prompt({ ...first, ...name }).result()).text).toBe('hi')
    }
  })

  it.each([
    ['prompt', { prompt: 'ho' }],
    ['agent', { agentId: 'b' }],
    ['metadata', { metadata: { a: 2 } }],
    ['params', { runtimeParams: { temperature: 0.7 } }],
  ])('B27: a delegation with another %s is no repeat', async (_what, change) => {
    const { bridge } = await startBridge(agents)
    const first = { prompt: 'hi', agentId: 'a', metadata: { a: 1 }, runtimeParams: params }
    for (const name of [{ requestId: 'r1' }, { idempotencyKey: 'k1' }]) {
      outcomeOf(await bridge.delegate({ ...first, ...name }).result())
      expect(failureOf(await bridge.delegate({ ...first, ...change, ...name }).result())).toMatchObject(reused)
    }
  })

  it.each([
    ['agent', { agentId: 'b' }],
    ['metadata', { metadata: { a: 2 } }],
    ['conversation', { resumeSessionId: 'earlier' }],
  ])('B28: a new session with another %s is no repeat', async (_what, change) => {
    const { bridge } = await startBridge([testAgent('a', { durable: true }), testAgent('b')])
    const earlier = await bridge.createSession({ agentId: 'a' })
    const first = { agentId: 'a', metadata: { a: 1 }, idempotencyKey: 'k' }
    const { sessionId } = await bridge.createSession(first)
    const second = { ...first, ...change, ...('resumeSessionId' in change && { resumeSessionId: earlier.sessionId }) }
    await expect(bridge.createSession(second)).rejects.toMatchObject(reused)
    expect((await bridge.createSession(first)).sessionId).toBe(sessionId)
  })

  it('B28: a key of one tool is not a key of another, and not a request id', async () => {
    const { bridge } = await startBridge(agents)
    const { sessionId } = await bridge.createSession({ agentId: 'a', idempotencyKey: 'k' })
    const prompted = bridge.prompt({ sessionId, prompt: 'hi', idempotencyKey: 'k' })
    outcomeOf(await prompted.result())
    expect(failureOf(await bridge.request('k')).code).toBe('NOT_FOUND')
    outcomeOf(await bridge.delegate({ prompt: 'hi', agentId: 'a', idempotencyKey: 'k' }).result())
  })
})
