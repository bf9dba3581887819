import { describe, expect, it } from 'vitest'
import { BridgeError } from '../../src/index.ts'
import { answer, testAgent } from '../support.ts'
import { connect, connectTo, contentOf, errorOf, heldAgent } from './support.ts'

const asking = () =>
  testAgent('asking', {
    onPrompt: ({ answers }) =>
      answers
        ? answer('done')
        : { text: '', stopReason: 'needs_input', pending: [{ id: 'q1', kind: 'approval', toolName: 'pay', input: { amount: 5 } }] },
  })

/** Failing calls of a connection that has one idle session. */
const failing: readonly (readonly [string, string, (ids: { sessionId: string }) => object, object])[] = [
  [
    'an unknown agent',
    'tasks_delegate',
    () => ({ prompt: 'hi', agentId: 'nobody' }),
    { code: 'NOT_FOUND', details: { agentId: 'nobody', sessionValid: false } },
  ],
  [
    'an unknown session',
    'sessions_prompt',
    () => ({ sessionId: 'nope', prompt: 'hi' }),
    { code: 'NOT_FOUND', details: { sessionId: 'nope', sessionValid: false } },
  ],
  [
    'invalid input to a session',
    'sessions_prompt',
    ({ sessionId }) => ({ sessionId, prompt: '' }),
    { code: 'PROTOCOL', details: { sessionValid: true } },
  ],
  [
    'invalid input to an unknown session',
    'sessions_prompt',
    () => ({ sessionId: 'nope', prompt: '' }),
    { code: 'PROTOCOL', details: { sessionValid: false } },
  ],
  [
    'an unknown request',
    'tasks_status',
    () => ({ requestId: 'nope' }),
    { code: 'NOT_FOUND', details: { requestId: 'nope', sessionValid: false } },
  ],
  [
    'a pair that does not belong together',
    'sessions_cancel',
    ({ sessionId }) => ({ sessionId, requestId: 'nope' }),
    { code: 'NOT_FOUND', details: { sessionValid: true } },
  ],
  [
    'answers that nobody waits for',
    'sessions_prompt',
    ({ sessionId }) => ({ sessionId, answers: [{ id: 'q', output: 1 }] }),
    { code: 'NOT_FOUND', details: { sessionValid: true } },
  ],
  [
    'too large a prompt',
    'sessions_prompt',
    ({ sessionId }) => ({ sessionId, prompt: 'x'.repeat(2_000_000) }),
    { code: 'CAPACITY', retryable: false, details: { sessionValid: true } },
  ],
  [
    'a failing agent',
    'sessions_prompt',
    ({ sessionId }) => ({ sessionId, prompt: 'fail' }),
    { code: 'UPSTREAM', details: { agentId: 'a', requestId: expect.any(String), sessionValid: false } },
  ],
  [
    'a throttled agent',
    'sessions_prompt',
    ({ sessionId }) => ({ sessionId, prompt: 'wait' }),
    { code: 'CAPACITY', retryable: true, details: { agentId: 'a', requestId: expect.any(String), sessionValid: true } },
  ],
  [
    'a failing delegation',
    'tasks_delegate',
    () => ({ prompt: 'fail' }),
    { code: 'UPSTREAM', details: { agentId: 'a', sessionId: expect.any(String), requestId: expect.any(String), sessionValid: false } },
  ],
]

const failer = () =>
  testAgent('a', {
    onPrompt: ({ prompt }) => {
      if (prompt === 'fail') throw new Error('no')
      if (prompt === 'wait') throw new BridgeError('CAPACITY', 'slow down', { details: { retryAfterMs: 5 } })
      return answer('ok')
    },
  })

describe('B121: errors', () => {
  it.each(failing)('B121: %s: retryable, sessionValid, the ids that exist and what to do next', async (_what, name, input, expected) => {
    const { call } = await connect([failer()])
    const ids = contentOf<{ sessionId: string }>(await call('sessions_create'))
    const error = errorOf(await call(name, input(ids)))
    expect(error).toMatchObject(expected)
    expect(error).toMatchObject({
      retryable: expect.any(Boolean),
      next: expect.stringMatching(/^[A-Z].*\.$/),
      details: { sessionValid: expect.any(Boolean) },
    })
    const { details } = error
    const { sessionId } = details as { sessionId?: string }
    // `sessionValid` must be true to the facts.
    if (details['sessionValid'] === true)
      expect(contentOf(await call('sessions_prompt', { sessionId, prompt: 'more' }))).toMatchObject({ text: 'ok' })
    else if (sessionId !== undefined) expect((await call('sessions_prompt', { sessionId, prompt: 'more' })).isError).toBe(true)
  })

  it('B121: "no such" errors list what there is, of the caller only', async () => {
    const started = await connect([testAgent('a'), testAgent('b')])
    const other = await connectTo(started, { owner: 'other' })
    const { sessionId } = contentOf<{ sessionId: string }>(await started.call('sessions_create'))
    await started.call('sessions_prompt', { sessionId, prompt: 'hi', requestId: 'r1' })
    expect(errorOf(await started.call('sessions_create', { agentId: 'c' })).message).toBe('No agent c; there are a, b')
    expect(errorOf(await started.call('sessions_create', { agentId: 'The A' })).message).toMatch(/must be an id.*; the agents are a, b$/)
    expect(errorOf(await started.call('sessions_status', { sessionId: 'x' })).message).toBe(
      `Session not found; your newest sessions are ${sessionId} (a, idle)`,
    )
    expect(errorOf(await started.call('tasks_status', { requestId: 'x' })).message).toBe(
      'Request not found; your newest requests are r1 (a, completed)',
    )
    expect(errorOf(await other.call('sessions_status', { sessionId: 'x' })).message).toBe('Session not found; you have no sessions')
    expect(errorOf(await other.call('tasks_status', { requestId: 'r1' })).message).toBe('Request not found; you have no requests')
  })

  it('B121, V62: things that the caller may not use are not listed, and look like unknown ones', async () => {
    const started = await connect([testAgent('a'), testAgent('b')])
    const { sessionId } = contentOf<{ sessionId: string }>(await started.call('sessions_create', { agentId: 'a' }))
    await started.call('sessions_prompt', { sessionId, prompt: 'hi', requestId: 'r1' })
    const narrow = await connectTo(started, { mayUse: (id) => id === 'b' })
    for (const [name, input] of [
      ['sessions_status', { sessionId }],
      ['tasks_status', { requestId: 'r1' }],
    ] as const) {
      const text = JSON.stringify(await narrow.call(name, input))
      const never = JSON.stringify(await narrow.call(name, Object.fromEntries(Object.keys(input).map((key) => [key, 'never']))))
      expect(text.replaceAll(/r1|bs_[\w-]+/g, 'never')).toBe(never)
    }
    expect(contentOf(await narrow.call('tasks_list'))).toEqual({ requests: [] })
  })

  it('B121: a session that is over says how to go on', async () => {
    const { call, clock } = await connect([testAgent('a')])
    const { sessionId } = contentOf<{ sessionId: string }>(await call('sessions_create'))
    await clock.advance(20 * 60_000)
    expect(errorOf(await call('sessions_prompt', { sessionId, prompt: 'hi' }))).toMatchObject({
      code: 'EXPIRED',
      details: { sessionValid: false },
      next: 'Create a new session with sessions_create.',
    })
  })

  it('B121, B34: an error of the bridge itself has the same form', async () => {
    const { call, bridge } = await connect([testAgent('a')])
    bridge.createSession = () => Promise.reject(new TypeError('secret /srv/x'))
    const error = errorOf(await call('sessions_create'))
    expect(error).toEqual({
      code: 'INTERNAL',
      message: 'Internal error',
      retryable: false,
      next: expect.stringContaining('operator'),
      details: { sessionValid: false },
    })
  })
})

describe('a prompt while a question is open', () => {
  it('B121, B40: gets the pending question, and its advice helps', async () => {
    const { call } = await connect([asking()])
    const { sessionId } = contentOf<{ sessionId: string }>(await call('sessions_create'))
    const asked = contentOf(await call('sessions_prompt', { sessionId, prompt: 'Pay.' }))
    const pending = [{ id: 'q1', kind: 'approval', toolName: 'pay', input: { amount: 5 } }]
    const error = errorOf(await call('sessions_prompt', { sessionId, prompt: 'Well?' }))
    expect(error).toMatchObject({
      code: 'BUSY',
      retryable: false,
      details: { reason: 'awaiting-input', sessionId, requestId: asked['requestId'], pending, sessionValid: true },
    })
    expect(error.message).toBe('The session has a request that waits for the approval q1 of pay')
    expect(error).toMatchObject({ next: expect.stringMatching(/answers.*sessions_prompt.*sessions_cancel/) })
    expect(errorOf(await call('sessions_prompt', { sessionId, answers: [{ id: 'q2', decision: 'approve' }] })).message).toContain('q1')
    expect(contentOf(await call('sessions_prompt', { sessionId, answers: [{ id: 'q1', decision: 'approve' }] }))).toMatchObject({
      status: 'completed',
    })
    expect(contentOf(await call('sessions_prompt', { sessionId, prompt: 'Again.' }))).toMatchObject({ status: 'awaiting-approval' })
  })

  it('B25: a session with a running request is busy without a question', async () => {
    const { agent, began, finish } = heldAgent('a')
    const { call } = await connect([agent])
    const { sessionId } = contentOf<{ sessionId: string }>(await call('sessions_create'))
    await call('sessions_prompt', { sessionId, prompt: 'hi', waitMs: 0 })
    await began
    const error = errorOf(await call('sessions_prompt', { sessionId, prompt: 'more' }))
    expect(error).toMatchObject({
      code: 'BUSY',
      retryable: true,
      details: { requestId: expect.any(String), sessionValid: true },
      next: expect.stringContaining('tasks_status'),
    })
    expect(error.details).not.toHaveProperty('pending')
    finish('x')
  })
})
