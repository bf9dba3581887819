import { defineTool } from '@bowline/agent-loop'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { textRun } from './support/events.ts'
import { connect, startServer } from './support/setup.ts'
import { json } from './support/wire-server.ts'

describe('requests', () => {
  it('reads state, messages, agents and sessions', async () => {
    const server = await startServer()
    server.exists = true
    server.add(textRun({ runId: 'r1', turn: 1 }, 'hello', ['hi']))
    const client = connect(server)
    expect((await client.session('s1').state()).messages).toHaveLength(2)
    expect(await client.session('s1').messages({ limit: 10, before: 'm1' })).toMatchObject({ hasMore: false, cursor: '10' })
    server.intercept = ({ path }, response) => {
      json(response, path.endsWith('/agents') ? { agents: [{ id: 'demo' }] } : { sessions: [], nextCursor: 'n' })
      return 'handled'
    }
    expect(await client.agents()).toEqual([{ id: 'demo' }])
    expect(await client.sessions({ agent: 'demo', parent: 's1', limit: 5 })).toEqual({ sessions: [], nextCursor: 'n' })
    expect(server.seen.map(({ path, query }) => `${path}?${query.toString()}`)).toEqual([
      '/api/agent/session/s1?',
      '/api/agent/session/s1?limit=10&before=m1',
      '/api/agents?',
      '/api/agent/sessions?agent=demo&parent=s1&limit=5',
    ])
  })

  it('C22: stop, submitToolResults and resolveTool are retried when the connection is lost', async () => {
    const server = await startServer()
    const session = connect(server).session('s1')
    let losses = 1
    server.intercept = (_seen, response) => {
      if (losses-- > 0) response.destroy()
      else json(response, { accepted: [], repeated: ['c1'], missing: [], runId: 'r1' })
      return 'handled'
    }
    expect(await session.stop({ waitMs: 0 })).toMatchObject({ runId: 'r1' })
    losses = 1
    expect(await session.submitToolResults([{ toolCallId: 'c1', output: 1 }])).toMatchObject({ repeated: ['c1'] })
    losses = 1
    expect(await session.resolveTool('c/1', { runAgain: true })).toMatchObject({ runId: 'r1' })
    expect(server.seen.map(({ method, path, body }) => [method, path, body])).toEqual([
      ...[1, 2].map(() => ['POST', '/api/agent/session/s1/stop', { waitMs: 0 }]),
      ...[1, 2].map(() => ['POST', '/api/agent/session/s1/tool-results', { results: [{ toolCallId: 'c1', output: 1 }] }]),
      ...[1, 2].map(() => ['POST', '/api/agent/session/s1/tool-calls/c%2F1/resolve', { runAgain: true }]),
    ])
  })

  it('C5, C9: a truncated refusal is no answer: the request is made again', async () => {
    const server = await startServer()
    let losses = 2
    server.intercept = (_seen, response) => {
      if (losses-- <= 0) return undefined
      response.writeHead(400, { 'content-type': 'application/problem+json', 'content-length': '200' })
      response.write('{"code":"context-re', () => response.destroy())
      return 'handled'
    }
    const client = connect(server)
    const session = client.session('s1')
    server.onRun = () => server.add(textRun({ runId: 'r1', turn: 1 }, 'hello', ['hi']))
    expect(await session.send('hello').result()).toMatchObject({ status: 'completed' })
    losses = 1
    expect((await session.state()).messages).toHaveLength(2)
  })

  it('C22: steer, followUp, approve, deny, switchTo and delete are retried, each as the same request', async () => {
    const server = await startServer()
    const session = connect(server).session('s1')
    let losses = 0
    server.intercept = ({ method }, response) => {
      if (losses-- > 0) response.destroy()
      else if (method === 'DELETE') response.writeHead(204).end()
      else json(response, { runId: 'r1', accepted: 'queued' }, 202)
      return 'handled'
    }
    const calls = [
      () => session.steer('now'),
      () => session.followUp({ role: 'user', content: 'then' }, { id: 'mine' }),
      () => session.approve('a/1', { input: { x: 1 }, inputHash: 'h', reason: 'Fine.' }),
      () => session.deny('a2', { reason: 'No.' }),
      () => session.switchTo(null),
      () => session.delete(),
    ]
    for (const call of calls) {
      losses = 1
      await call()
    }
    const seen = server.seen.map(({ method, path, body }) => [method, path, body])
    const once = seen.filter((_, place) => place % 2 === 0)
    expect(seen.filter((_, place) => place % 2 === 1)).toEqual(once)
    expect(once).toEqual([
      ['POST', '/api/agent/session/s1/steer', { input: 'now', id: 'id1' }],
      ['POST', '/api/agent/session/s1/follow-up', { input: { role: 'user', content: 'then' }, id: 'mine' }],
      ['POST', '/api/agent/session/s1/approvals/a%2F1', { decision: 'approve', input: { x: 1 }, inputHash: 'h', reason: 'Fine.' }],
      ['POST', '/api/agent/session/s1/approvals/a2', { decision: 'deny', reason: 'No.' }],
      ['POST', '/api/agent/session/s1/switch', { entryId: null }],
      ['DELETE', '/api/agent/session/s1', undefined],
    ])
  })

  it('C22: a fork whose answer was lost is found; a compaction is not retried', async () => {
    const server = await startServer()
    const session = connect(server).session('s1')
    let losses = 1
    let exists = false
    server.intercept = ({ path }, response) => {
      if (losses-- > 0) {
        exists = true
        response.destroy()
        return 'handled'
      }
      if (path.endsWith('/fork') && exists) return { status: 409, code: 'session-exists' }
      json(response, {}, 201)
      return 'handled'
    }
    expect((await session.fork({ entryId: 'm1' })).id).toBe('s_id1')
    expect(server.seen.map(({ body }) => body)).toEqual([1, 2].map(() => ({ entryId: 'm1', newSessionId: 's_id1' })))
    await expect(session.fork({ newSessionId: 'taken' })).rejects.toMatchObject({ code: 'session-exists' })
    losses = 1
    await expect(session.compact({ instructions: 'Short.' })).rejects.toMatchObject({ code: 'network' })
    expect(server.requests('POST', '/compact')).toHaveLength(1)
  })

  it('a deleted session is created again by its next input, with the context', async () => {
    const server = await startServer()
    server.exists = true
    server.onRun = (runId) => server.play(textRun({ runId, turn: 1 }, 'hello', ['hi']))
    server.intercept = ({ method }, response) => {
      if (method !== 'DELETE') return undefined
      server.exists = false
      response.writeHead(204).end()
      return 'handled'
    }
    const session = connect(server).session('s1')
    await session.delete()
    // The client still asks the server: another client may have created the session again.
    await expect(session.state()).rejects.toMatchObject({ code: 'session-missing', status: 404 })
    const declarations = [{ name: 'paint', description: 'Paints.', inputSchema: { type: 'object' } }] as const
    const options = {
      agent: 'demo',
      history: [{ role: 'user', content: 'before' }],
      declarations,
      model: 'm',
      onBusy: 'interrupt',
    } as const
    expect((await session.send('hello', options).result()).status).toBe('completed')
    // The first request learns that the session is gone.
    expect(
      server
        .requests('POST', '/execute')
        .map(({ body }) => body)
        .slice(1),
    ).toEqual([
      {
        sessionId: 's1',
        input: 'hello',
        context: { agent: 'demo', messages: options.history, tools: declarations },
        options: { model: 'm', onBusy: 'interrupt', deltas: 'short' },
      },
    ])
  })

  it('C5: a tool made by defineTool is a declaration, and so is its JSON form, or one with parameters', async () => {
    const server = await startServer()
    server.onRun = (runId) => server.play(textRun({ runId, turn: 1 }, 'hello', ['hi']))
    const tool = defineTool({
      name: 'paint',
      description: 'Paints.',
      label: 'Paints',
      effect: 'pure',
      timeoutMs: 5,
      inputSchema: z.object({ at: z.string() }),
    })
    const form = { name: 'draw', description: 'Draws.', parameters: { type: 'object' } } as const
    await connect(server)
      .session('s1')
      .send('hello', { declarations: [tool, { ...tool.toJSON(), name: 'again' }, form] })
      .result()
    const inputSchema = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }
    const declared = { name: 'paint', description: 'Paints.', label: 'Paints', effect: 'pure', inputSchema }
    const bodies = server
      .requests('POST', '/execute')
      .map(({ body }) => body as { readonly context?: { readonly tools: readonly object[] } })
    expect(bodies.at(-1)?.context?.tools).toMatchObject([declared, { ...declared, name: 'again' }, form])
    expect(Object.keys(bodies.at(-1)?.context?.tools[0] ?? {}).toSorted()).toEqual([
      'description',
      'effect',
      'inputSchema',
      'label',
      'name',
    ])
  })

  it('C21: the token is sent to baseUrl only: a redirect is not followed', async () => {
    const elsewhere = createServer((_request, response) => response.end('{}'))
    let reached = 0
    elsewhere.on('request', () => reached++)
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
    const target = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`
    const server = await startServer()
    server.intercept = (_seen, response) => {
      response.writeHead(307, { location: target }).end()
      return 'handled'
    }
    const client = connect(server, { token: 'secret' })
    await expect(client.agents()).rejects.toMatchObject({ code: 'redirect-refused', status: 307 })
    expect((await client.session('s1').send('hi').result()).error).toMatchObject({ code: 'redirect-refused' })
    expect(server.seen.every(({ headers }) => headers.authorization === 'Bearer secret')).toBe(true)
    expect(reached).toBe(0)
    await new Promise((resolve) => elsewhere.close(resolve))
  })

  it('C21: every request has a path below baseUrl, with the token or with cookies', async () => {
    const asked: [string, RequestInit | undefined][] = []
    const noting: typeof fetch = (input, init) => {
      asked.push([input as string, init])
      return Promise.resolve(Response.json({ agents: [] }))
    }
    await connect({ url: 'https://host.example/base/' }, { fetch: noting, token: () => Promise.resolve('t') }).agents()
    await connect({ url: '' }, { fetch: noting }).agents()
    expect(asked.map(([url]) => url)).toEqual(['https://host.example/base/api/agents', '/api/agents'])
    expect(asked.map(([, init]) => init?.credentials)).toEqual(['same-origin', 'include'])
    expect(asked.map(([, init]) => init?.redirect)).toEqual(['manual', 'manual'])
    expect(asked[1]?.[1]?.headers).not.toHaveProperty('authorization')
  })

  it('a token function that fails has an error code of its own', async () => {
    const client = connect({ url: 'http://127.0.0.1:1' }, { token: () => Promise.reject(new Error('no keychain')) })
    await expect(client.agents()).rejects.toMatchObject({ code: 'token-failed', retryable: false })
  })

  it('a request can be aborted', async () => {
    const server = await startServer()
    server.intercept = () => 'handled'
    const leaving = new AbortController()
    const state = connect(server).session('s1').state({ abortSignal: leaving.signal })
    setImmediate(() => leaving.abort())
    await expect(state).rejects.toMatchObject({ code: 'reading-aborted' })
  })
})
