import { defineAgent, defineExtension } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createToken } from '@bowline/server'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it } from 'vitest'
import { bench, refusal, say } from '../support/bench.ts'
import { allFrames } from '../support/frames.ts'
import { logs } from '../support/logs.ts'
import { ask } from '../support/request.ts'

const secret = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG'

it('V88: a valid request id is used, any other is replaced, and it is in the answer, the problem and the log', async () => {
  const { logger, lines } = logs()
  const { server } = await bench({ logger })
  for (const given of ['mine', 'A.b_c-1', 'x'.repeat(64)]) {
    const answer = await ask(server, '/api/agents', { headers: { 'x-request-id': given } })
    expect(answer.headers.get('x-request-id')).toBe(given)
    expect(lines.at(-1)).toMatchObject({ message: 'request', requestId: given })
  }
  for (const given of ['x'.repeat(65), 'a b', 'a/b', 'ü', '{}']) {
    const answer = await ask(server, '/nothing', { headers: { 'x-request-id': given } })
    const made = answer.headers.get('x-request-id') ?? ''
    expect(made).toMatch(/^[A-Za-z0-9._-]{1,64}$/)
    expect(made).not.toBe(given)
    expect(await refusal(answer, 404, 'route-not-found')).toMatchObject({ requestId: made })
    expect(lines.at(-1)).toMatchObject({ message: 'request', requestId: made, code: 'route-not-found' })
  }
})

it('V89: a request is one line at its end, with its target and without its content', async () => {
  const { logger, lines } = logs()
  const { token, config } = await createToken({ id: 'ci', tenant: 'demo', scopes: ['sessions:write', 'sessions:read'] })
  const { post, get } = await bench({ logger, auth: { tokens: [config] }, steps: [{ text: 'A private answer.' }] })
  const headers = { authorization: `Bearer ${token}` }
  const body = { sessionId: 'mine', input: say('a private question'), context: { metadata: { note: 'private too' } } }
  const answer = await post('/api/agent/execute', body, headers)
  await allFrames(answer)
  const requests = () => lines.filter(({ message }) => message === 'request')
  expect(requests()).toEqual([
    {
      level: 'info',
      message: 'request',
      requestId: answer.headers.get('x-request-id'),
      method: 'POST',
      route: '/api/agent/execute',
      status: 200,
      durationMs: expect.any(Number),
      tenant: 'demo',
      principal: 'ci',
      sessionId: 'mine',
      runId: answer.headers.get('x-run-id'),
    },
  ])
  await get('/api/agent/session/none?before=private', headers)
  await get('/private/path?token=private')
  expect(requests().slice(1)).toMatchObject([
    { route: '/api/agent/session/{id}', sessionId: 'none', status: 404, code: 'session-missing', principal: 'ci' },
    { status: 404, code: 'route-not-found' },
  ])
  expect(requests()[2]).not.toHaveProperty('route')
  expect(JSON.stringify(lines)).not.toContain('private')
})

it('V89: a stream is one line at its close, with its outcome', async () => {
  const { logger, lines } = logs()
  const { execute, get } = await bench({ logger, steps: [{ text: 'A private answer.' }] })
  const answer = await execute({ sessionId: 'mine', input: say('private'), context: {} })
  const text = await answer.text()
  const streams = () => lines.filter(({ message }) => message === 'stream')
  await expect.poll(streams).toEqual([
    {
      level: 'info',
      message: 'stream',
      requestId: answer.headers.get('x-request-id'),
      route: '/api/agent/execute',
      tenant: 'local',
      principal: 'local',
      sessionId: 'mine',
      runId: answer.headers.get('x-run-id'),
      endReason: 'complete',
      durationMs: expect.any(Number),
      frames: text.match(/^data:/gm)?.length,
      bytes: new TextEncoder().encode(text).length,
    },
  ])
  const reader = await get('/api/agent/session/mine/events?from=start')
  await reader.body?.cancel()
  await expect.poll(() => streams()[1]).toMatchObject({ route: '/api/agent/session/{id}/events', sessionId: 'mine', endReason: 'left' })
  expect(JSON.stringify(lines)).not.toContain('private')
})

it('V90: the failure in an event contains no secret', async () => {
  const { logger } = logs()
  const failing = defineExtension({ name: 'audit', hooks: { onTurnStart: () => Promise.reject(new Error(`refused sk-${secret}`)) } })
  const model = scriptedModel([{ error: new Error(`Incorrect API key sk-${secret}`) }])
  const agent = defineAgent({ name: 'failing', model, tools: [], extensions: [failing] })
  const { execute } = await bench({ logger, otherAgents: [agent] })
  const text = await (await execute({ input: say('hi'), context: { agent: 'failing' } })).text()
  expect(text).toContain('"type":"execute-complete"')
  expect(text).toContain('"message":"refused [redacted]"')
  expect(text).not.toContain(secret)
})

it('V89: the input of a client is logged only on request', async () => {
  const { logger, lines } = logs()
  const { execute } = await bench({ logger, log: { content: true }, steps: [{ text: 'Hi.' }] })
  await allFrames(await execute({ input: say(`my key is sk-${secret}`), context: { metadata: { apiKey: 'plain', note: 'kept' } } }))
  expect(lines.find(({ message }) => message === 'request')).toMatchObject({
    content: { input: { content: 'my key is [redacted]' }, context: { metadata: { apiKey: '[redacted]', note: 'kept' } } },
  })
})

it('V89: a failure is an error in the log, with its place', async () => {
  const { logger, lines } = logs()
  const store = memoryStore()
  const { get } = await bench({
    logger,
    store: Object.assign(store, { listSessions: () => Promise.reject(new TypeError(`no ${secret}`)) }),
  })
  await refusal(get('/api/agent/sessions'), 500, 'internal')
  const failure = lines.find(({ level }) => level === 'error')
  expect(failure).toMatchObject({ message: 'request', status: 500, code: 'internal', fault: { name: 'TypeError', at: expect.any(Array) } })
  expect(JSON.stringify(lines)).not.toContain(secret)
})

it('V90: no secret is in a log or a problem, wherever it came from', async () => {
  const { logger, lines } = logs()
  const { token, config } = await createToken({ id: 'ci', tenant: 'demo', scopes: ['admin'] })
  const { server } = await bench({
    logger,
    auth: { tokens: [config] },
    redact: { patterns: [/card-\d+/], fields: ['pin'] },
    log: { content: true },
  })
  const json = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const problems = [
    await ask(server, `/${token}`, { headers: json }),
    await ask(server, `/api/agent/session/sk-${secret}?token=${token}`, { headers: json }),
    await ask(server, '/api/agent/execute', { method: 'POST', headers: json, body: JSON.stringify({ [`sk-${secret}`]: 1, 'card-77': 1 }) }),
    await ask(server, '/api/agent/session/card-77/stop', { method: 'POST', headers: json, body: '{"reason":"card-77"}' }),
    await ask(server, '/api/agents', { headers: { authorization: `Bearer bwl_ci_${secret}` } }),
  ]
  const texts = await Promise.all(problems.map((answer) => answer.text()))
  expect(problems.map(({ status }) => status)).toEqual([404, 400, 400, 400, 401])
  const all = JSON.stringify([texts, lines])
  for (const each of [token, secret, 'card-77']) expect(all).not.toContain(each)
  expect(texts[0]).toContain('"instance":"/[redacted]"')
})

it('an observer that fails does not change the answer', async () => {
  const { logger, lines } = logs()
  const onAudit = () => {
    throw new TypeError('no')
  }
  const { post } = await bench({ logger, onAudit })
  await refusal(post('/api/agent/session/none/stop', {}), 404, 'session-missing')
  expect(lines).toContainEqual(expect.objectContaining({ level: 'error', message: 'an observer failed', name: 'TypeError' }))
})
