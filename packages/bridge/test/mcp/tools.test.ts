import { describe, expect, it } from 'vitest'
import { BridgeError } from '../../src/index.ts'
import { answer, testAgent } from '../support.ts'
import { connect, connectTo, contentOf, errorOf, heldAgent, textOf } from './support.ts'

const looks = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
const givesWork = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }
const ends = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false }

const hints = {
  bridge_health: looks,
  agents_discover: looks,
  sessions_create: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  sessions_prompt: givesWork,
  sessions_status: looks,
  sessions_list: looks,
  sessions_cancel: ends,
  sessions_close: ends,
  tasks_delegate: givesWork,
  tasks_status: looks,
  tasks_list: looks,
}

const inputs: Readonly<Record<string, { readonly all: readonly string[]; readonly required?: readonly string[] }>> = {
  bridge_health: { all: [] },
  agents_discover: { all: ['capability', 'refresh'] },
  sessions_create: { all: ['agentId', 'workerId', 'metadata', 'resumeSessionId', 'idempotencyKey'] },
  sessions_prompt: {
    all: ['sessionId', 'prompt', 'answers', 'runtimeParams', 'requestId', 'idempotencyKey', 'timeoutMs', 'waitMs'],
    required: ['sessionId'],
  },
  sessions_status: { all: ['sessionId'], required: ['sessionId'] },
  sessions_list: { all: ['agentId', 'status', 'limit', 'cursor'] },
  sessions_cancel: { all: ['sessionId', 'requestId'] },
  sessions_close: { all: ['sessionId', 'reason'], required: ['sessionId'] },
  tasks_delegate: {
    all: ['prompt', 'agentId', 'metadata', 'runtimeParams', 'requestId', 'idempotencyKey', 'timeoutMs', 'waitMs', 'mode'],
    required: ['prompt'],
  },
  tasks_status: { all: ['requestId', 'requestIds', 'waitFor', 'waitMs'] },
  tasks_list: { all: ['sessionId', 'status', 'limit', 'cursor'] },
}

describe('tools/list', () => {
  it('B107, B120: exactly these tools, each with hints, description, schemas and annotations', async () => {
    const { client } = await connect([testAgent('a')])
    const { tools } = await client.listTools()
    expect(Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations ?? {}]))).toEqual(hints)
    for (const { name, title, description, inputSchema, outputSchema } of tools) {
      expect([title, description]).toEqual([expect.any(String), expect.any(String)])
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect([...Object.keys(inputSchema.properties ?? {})].sort()).toEqual([...(inputs[name]?.all ?? [])].sort())
      expect(inputSchema.required).toEqual(inputs[name]?.required)
      // Output schemas must allow further fields.
      expect({ additionalProperties: true, ...outputSchema }).toMatchObject({ type: 'object', additionalProperties: true })
    }
  })
})

describe('shapes of answers', () => {
  it('B107, B108: a success has structured content that the client accepts, and the same as indented JSON text', async () => {
    const usage = { inputTokens: 3, raw: { a: null } }
    const cost = { currency: 'USD', total: '0.3', input: '0.1', cacheRead: '0', cacheWrite: '0', output: '0.2' }
    const onPrompt = () => ({ ...answer('hello'), structured: { list: [1, null] }, usage, cost })
    const { call } = await connect([testAgent('a', { onPrompt })])
    const result = await call('tasks_delegate', { prompt: 'hi' })
    expect(contentOf(result)).toEqual({
      status: 'completed',
      sessionId: expect.any(String),
      agentId: 'a',
      requestId: expect.any(String),
      text: 'hello',
      stopReason: 'end_turn',
      structured: { list: [1, null] },
      usage: { ...usage, outputTokens: 0, totalTokens: 3 },
      cost,
    })
    expect(textOf(result)).toBe(JSON.stringify(result.structuredContent, null, 2))
    expect(result.isError).toBeFalsy()
  })

  it('B106: empty usage is absent', async () => {
    const { call } = await connect([testAgent('a', { onPrompt: () => ({ ...answer('hello'), usage: {} }) })])
    expect(contentOf(await call('tasks_delegate', { prompt: 'hi' }))).not.toHaveProperty('usage')
  })

  it('B107: every tool answers in the shape that it advertises', async () => {
    const { call, clock } = await connect([testAgent('a')])
    expect(contentOf(await call('bridge_health'))).toMatchObject({
      healthy: true,
      version: expect.any(String),
      uptimeMs: expect.any(Number),
      agents: { total: 1, ready: 1 },
      sessions: { active: 0, capacity: expect.any(Number) },
      requests: { inFlight: 0, capacity: 50, queued: 0 },
      executors: [{ kind: 'in-process', healthy: true }],
    })
    const session = contentOf<{ sessionId: string }>(await call('sessions_create', { metadata: { tag: 'x' } }))
    const { sessionId } = session
    expect(session).toMatchObject({
      agentId: 'a',
      status: 'active',
      createdAt: clock.now(),
      lastActivityAt: clock.now(),
      metadata: { tag: 'x' },
    })
    expect(contentOf(await call('sessions_status', { sessionId }))).toEqual(session)
    const outcome = contentOf<{ requestId: string }>(await call('sessions_prompt', { sessionId, prompt: 'hi' }))
    expect(outcome).toMatchObject({ status: 'completed', sessionId, agentId: 'a', text: 'a: hi', stopReason: 'end_turn' })
    expect(contentOf(await call('tasks_status', { requestId: outcome.requestId }))).toEqual(outcome)
    expect(contentOf(await call('sessions_cancel', { sessionId }))).toMatchObject({ cancelled: false, sessionId, reason: 'not-running' })
    expect(contentOf(await call('sessions_list'))).toMatchObject({ sessions: [{ sessionId, status: 'idle' }] })
    expect(contentOf(await call('sessions_close', { sessionId, reason: 'enough' }))).toEqual({ closed: true, sessionId, existed: true })
    expect(contentOf(await call('sessions_close', { sessionId }))).toEqual({ closed: true, sessionId, existed: false })
  })

  it('B5: optional fields of agents appear only if they were declared and are not empty', async () => {
    const providers = [{ id: 'p', models: ['m'], kind: 'local' }]
    const agents = [testAgent('a', { capabilities: ['greet'], providers }), testAgent('b', { providers: [] })]
    const { call } = await connect(agents)
    const plain = { capabilities: [], status: 'ready', durable: false, executor: 'in-process', default: false }
    expect(contentOf(await call('agents_discover', { refresh: true }))).toEqual({
      agents: [
        { ...plain, id: 'a', capabilities: ['greet'], default: true, providers },
        { ...plain, id: 'b' },
      ],
    })
    expect(contentOf(await call('agents_discover', { capability: 'greet' }))).toMatchObject({ agents: [{ id: 'a' }] })
  })

  it('B12: status and list return the same fields', async () => {
    const { call } = await connect([testAgent('a')])
    const { sessionId } = contentOf<{ sessionId: string }>(await call('sessions_create'))
    const status = contentOf(await call('sessions_status', { sessionId }))
    expect(contentOf(await call('sessions_list'))).toEqual({ sessions: [status] })
  })

  it('B24: sessions are listed by page, newest first', async () => {
    const { call, clock } = await connect([testAgent('a')])
    const ids: string[] = []
    for (let index = 0; index < 3; index++) {
      ids.push(contentOf<{ sessionId: string }>(await call('sessions_create')).sessionId)
      await clock.advance(1)
    }
    type Page = { sessions: { sessionId: string }[]; nextCursor: string }
    const first = contentOf<Page>(await call('sessions_list', { limit: 2 }))
    await call('sessions_create')
    const second = contentOf<Page>(await call('sessions_list', { limit: 2, cursor: first.nextCursor }))
    expect([...first.sessions, ...second.sessions].map(({ sessionId }) => sessionId)).toEqual(ids.reverse())
    expect(second.nextCursor).toBeUndefined()
  })

  it('B107, B108: a failure has the envelope as text and in _meta, and no structured content', async () => {
    const thrown = new BridgeError('AUTH', 'key refused', { details: { upstreamCode: 401 } })
    const { call } = await connect([testAgent('a', { onPrompt: () => Promise.reject(thrown) })])
    const result = await call('tasks_delegate', { prompt: 'hi' })
    expect(errorOf(result)).toMatchObject({ code: 'AUTH', message: 'key refused', retryable: false, details: { upstreamCode: 401 } })
    expect(result).not.toHaveProperty('structuredContent')
    expect(textOf(result)).toBe(JSON.stringify({ error: result._meta?.['bowline/error'] }, null, 2))
  })

  it('B107: a result that breaks the contract of agents gives the envelope, not a broken success', async () => {
    const { call } = await connect([testAgent('a', { onPrompt: () => ({ ...answer('x'), usage: { inputTokens: -1 } }) })])
    expect(errorOf(await call('tasks_delegate', { prompt: 'hi' })).code).toBe('PROTOCOL')
  })

  it('B115: the envelope is redacted, and so is the error that a session keeps', async () => {
    const thrown = new BridgeError('UPSTREAM', 'no /srv/agents/key.pem for sk-abcdefghijklmnop', { details: { sessionValid: false } })
    const { call } = await connect([testAgent('a', { onPrompt: () => Promise.reject(thrown) })])
    const { sessionId } = contentOf<{ sessionId: string }>(await call('sessions_create'))
    const message = 'no [path] for [redacted]'
    expect(errorOf(await call('sessions_prompt', { sessionId, prompt: 'hi' }))).toMatchObject({ message })
    expect(contentOf(await call('sessions_status', { sessionId }))).toMatchObject({ status: 'failed', lastError: { message } })
    expect(contentOf(await call('sessions_list'))).toMatchObject({ sessions: [{ lastError: { message } }] })
  })
})

describe('arguments of tools', () => {
  const nested = JSON.parse(`${'['.repeat(9000)}${']'.repeat(9000)}`) as unknown

  it.each<[string, string, object, string]>([
    ['no prompt', 'tasks_delegate', {}, 'prompt'],
    ['an empty prompt', 'tasks_delegate', { prompt: '' }, 'prompt'],
    ['an unknown mode', 'tasks_delegate', { prompt: 'hi', mode: 'later' }, 'mode'],
    ['another owner', 'tasks_delegate', { prompt: 'hi', owner: 'somebody' }, ''],
    ['a wrong type inside', 'tasks_delegate', { prompt: 'hi', runtimeParams: { seed: 'x' } }, 'runtimeParams.seed'],
    ['both names of one key', 'tasks_delegate', { prompt: 'hi', timeout: 1, timeoutMs: 1 }, ''],
    ['what is nested too deeply', 'tasks_delegate', { prompt: 'hi', metadata: { nested } }, ''],
    ['an id with other characters', 'sessions_create', { agentId: 'a b' }, 'agentId'],
    ['an unknown key', 'agents_discover', { colour: 'red' }, ''],
    ['neither prompt nor answers', 'sessions_prompt', { sessionId: 's' }, ''],
    ['both prompt and answers', 'sessions_prompt', { sessionId: 's', prompt: 'hi', answers: [{ id: 'x', output: 1 }] }, ''],
    ['an answer of no kind', 'sessions_prompt', { sessionId: 's', answers: [{ id: 'x' }] }, 'answers[0]'],
    ['a negative waitMs', 'sessions_prompt', { sessionId: 's', prompt: 'hi', waitMs: -1 }, 'waitMs'],
    ['a broken timeoutMs', 'sessions_prompt', { sessionId: 's', prompt: 'hi', timeoutMs: 1.5 }, 'timeoutMs'],
    ['more than a page', 'sessions_list', { limit: 201 }, 'limit'],
    ['an unknown state', 'sessions_list', { status: 'asleep' }, 'status'],
    ['neither id', 'sessions_cancel', {}, ''],
    ['no session', 'sessions_close', {}, 'sessionId'],
    ['a wait over ten minutes', 'tasks_status', { requestId: 'r', waitMs: 600_001 }, 'waitMs'],
    ['anything at all', 'bridge_health', { verbose: true }, ''],
  ])('B109: %s for %s gives the envelope with PROTOCOL and issues', async (_what, name, input, path) => {
    const { call } = await connect([testAgent('a')])
    const { code, details } = errorOf(await call(name, input))
    expect(code).toBe('PROTOCOL')
    expect((details['issues'] as { path: string }[]).map((issue) => issue.path)).toContain(path)
  })

  it('B109, S208: issues name fields as the caller writes them, in the words of all checks', async () => {
    const { call } = await connect([testAgent('a')])
    const answers = [{ id: 'x', decision: 'maybe' }]
    const { message, details } = errorOf(
      await call('sessions_prompt', {
        sessionId: 'a b',
        answers,
        timeoutMs: 10 ** 9,
        waitMs: -1,
        requestId: 'r',
        idempotencyKey: 'k',
        colour: 1,
      }),
    )
    expect(details['issues']).toEqual([
      {
        path: 'sessionId',
        message: 'must be an id: a letter or digit, then up to 127 of those and . _ : -; received a text of 3 characters',
      },
      { path: 'answers[0]', message: 'must be { id, decision } with approve or deny, { id, output } or { id, error }; received an object' },
      { path: 'waitMs', message: 'must be a whole number from 0; received -1' },
      {
        path: '',
        message:
          'has no option "colour"; known are sessionId, prompt, answers, runtimeParams, requestId, idempotencyKey, timeoutMs, waitMs',
      },
      { path: 'timeoutMs', message: 'must be a whole number up to 86400000; received 1000000000' },
      { path: 'idempotencyKey', message: 'must be absent if there is a requestId' },
    ])
    expect(message).toMatch(
      /^Invalid input: sessionId must be an id: .*; the input has no option "colour"; .*; idempotencyKey must be absent/,
    )
    const page = errorOf(await call('sessions_list', { cursor: 'x', limit: 201, status: 'asleep' }))
    expect(page.details['issues']).toEqual([
      { path: 'status', message: 'must be one of active, busy, idle, failed; received a text of 6 characters' },
      { path: 'limit', message: 'must be a whole number up to 200; received 201' },
      { path: 'cursor', message: 'must be a nextCursor of an earlier page' },
    ])
    expect(errorOf(await call('tasks_delegate', { prompt: 'hi', metadata: 'x' })).details['issues']).toEqual([
      { path: 'metadata', message: 'must be an object; received a text of 1 character' },
    ])
  })

  it('B109: a tool that does not exist is an error of the protocol itself', async () => {
    const { call } = await connect([testAgent('a')])
    await expect(call('sessions_fly')).rejects.toThrow(/sessions_fly/)
  })

  it('B8: workerId counts as agentId if that is absent', async () => {
    const { call } = await connect([testAgent('a'), testAgent('b')])
    expect(contentOf(await call('sessions_create', { workerId: 'b' }))).toMatchObject({ agentId: 'b' })
    expect(contentOf(await call('sessions_create', { workerId: 'b', agentId: 'a' }))).toMatchObject({ agentId: 'a' })
    expect(contentOf(await call('tasks_delegate', { prompt: 'hi', workerId: 'b' }))).toMatchObject({ agentId: 'b' })
    expect(errorOf(await call('sessions_create', { workerId: 'c' }))).toMatchObject({ code: 'NOT_FOUND', details: { agentId: 'c' } })
  })

  it.each(['tasks_delegate', 'sessions_prompt'])('timeout is an old name of timeoutMs of %s', async (name) => {
    const { call, clock } = await connect([heldAgent('a').agent])
    const { sessionId } = contentOf<{ sessionId: string }>(await call('sessions_create'))
    const calling = call(name, { prompt: 'hi', timeout: 100, ...(name === 'sessions_prompt' && { sessionId }) })
    await clock.advance(0)
    await clock.advance(100)
    expect(errorOf(await calling)).toMatchObject({ code: 'TIMEOUT', details: { stage: 'total' } })
  })

  it('B13: metadata reaches the agent and the status as it was given', async () => {
    const metadata = JSON.parse('{"b":1,"a":[null,{"__proto__":{"x":1}}],"c":1.50}') as object
    const seen: unknown[] = []
    const { call } = await connect([testAgent('a', { onSessionCreate: (session) => void seen.push(session.metadata) })])
    const { sessionId } = contentOf<{ sessionId: string }>(await call('sessions_create', { metadata }))
    const { metadata: told } = contentOf<{ metadata: unknown }>(await call('sessions_status', { sessionId }))
    expect([...seen, told].map((each) => JSON.stringify(each))).toEqual([JSON.stringify(metadata), JSON.stringify(metadata)])
  })
})

describe('a bridge at its limit of requests', () => {
  it('B66: reads, closes and answers are never refused for load', async () => {
    const { agent, began, cancelled } = heldAgent('a')
    const { call } = await connect([agent], { maxInFlight: 1 })
    const { sessionId } = contentOf<{ sessionId: string }>(await call('sessions_create'))
    const { requestId } = contentOf<{ requestId: string }>(await call('sessions_prompt', { sessionId, prompt: 'hi', waitMs: 0 }))
    await began
    expect(errorOf(await call('tasks_delegate', { prompt: 'hi' }))).toMatchObject({
      code: 'CAPACITY',
      retryable: true,
      details: { retryAfterMs: expect.any(Number) },
    })
    expect(contentOf(await call('bridge_health'))).toMatchObject({ requests: { inFlight: 1, capacity: 1 } })
    for (const [name, input] of [
      ['agents_discover', { refresh: true }],
      ['sessions_status', { sessionId }],
      ['sessions_list', {}],
      ['tasks_status', { requestId }],
      ['sessions_cancel', { requestId }],
      ['sessions_close', { sessionId }],
    ] as const) {
      expect((await call(name, input)).isError, name).toBeFalsy()
    }
    await cancelled
  })

  it('B66: answers are accepted when there is no slot for new work', async () => {
    const pending = [{ id: 'ask', kind: 'approval' as const, toolName: 'rm', input: {} }]
    const asking = testAgent('asking', {
      onPrompt: ({ answers }) => (answers ? answer(JSON.stringify(answers)) : { text: '', stopReason: 'needs_input', pending }),
    })
    const held = heldAgent('held')
    const { call } = await connect([asking, held.agent], { maxInFlight: 1 })
    const { sessionId } = contentOf<{ sessionId: string }>(await call('sessions_create'))
    const asked = contentOf(await call('sessions_prompt', { sessionId, prompt: 'hi' }))
    expect(asked).toMatchObject({ status: 'awaiting-approval', stopReason: 'needs_input', pending })
    await call('tasks_delegate', { prompt: 'hi', agentId: 'held', mode: 'background' })
    await held.began
    const answers = [{ id: 'ask', decision: 'approve', input: { force: true } }]
    const done = contentOf(await call('sessions_prompt', { sessionId, answers }))
    expect(done).toMatchObject({ status: 'completed', requestId: asked['requestId'], text: JSON.stringify(answers) })
  })
})

it('B14: resources of another owner are refused in the words for unknown ones', async () => {
  const started = await connect([testAgent('a')])
  const other = await connectTo(started, { owner: 'other' })
  const { sessionId } = contentOf<{ sessionId: string }>(await started.call('sessions_create'))
  const strange = await other.call('sessions_status', { sessionId })
  const never = await other.call('sessions_status', { sessionId: 'never' })
  expect(errorOf(strange).code).toBe('NOT_FOUND')
  expect(JSON.stringify(strange).replaceAll(sessionId, 'never')).toBe(JSON.stringify(never))
  expect(contentOf(await other.call('sessions_list'))).toEqual({ sessions: [] })
})
