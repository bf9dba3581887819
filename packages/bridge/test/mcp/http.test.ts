import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { BridgeAgent } from '../../src/index.ts'
import { startHttpServer, type HttpOptions } from '../../src/mcp/http-server.ts'
import { startBridge, testAgent } from '../support.ts'
import { contentOf, heldAgent } from './support.ts'

async function serve(agents: readonly BridgeAgent[], options: Partial<HttpOptions> = {}) {
  const started = await startBridge(agents)
  const errors: unknown[] = []
  const settings = { host: '127.0.0.1', port: 0, allowedHosts: [], token: undefined, onerror: (error: unknown) => void errors.push(error) }
  const server = await startHttpServer(started.bridge, { ...settings, ...options })
  // Advances the bridge's clock, which limits how long `close` waits for kept-alive connections.
  onTestFinished(async () => {
    let isClosed = false
    const closing = server.close().finally(() => (isClosed = true))
    for (; !isClosed; await started.clock.advance(100)) await setImmediate()
    await closing
  })
  async function connect(
    clientOptions: ClientOptions = {},
    headers: Record<string, string> = {},
    fetch = globalThis.fetch,
  ): Promise<Client> {
    const client = new Client({ name: 'test', version: '1.0.0' }, clientOptions)
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers }, fetch }))
    onTestFinished(() => client.close())
    return client
  }
  return { ...started, ...server, errors, connect }
}

/** Returns the status of a request with headers that `fetch` would not send. */
async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
  const standard = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const sent = request(url, { method: 'POST', headers: { ...standard, ...headers } })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response.statusCode
}

/** Returns a `fetch` for a client, and a promise of the first bytes of the response to a tool call, as text. */
function firstBytes() {
  const first = Promise.withResolvers<string>()
  const recording: typeof fetch = async (url, init) => {
    const answer = await fetch(url, init)
    if (typeof init?.body !== 'string' || !init.body.includes('tools/call') || !answer.body) return answer
    const [seen, handedOn] = answer.body.tee()
    const reading = seen.pipeThrough(new TextDecoderStream()).getReader().read()
    reading.then(({ value = '' }) => first.resolve(value), first.reject)
    return new Response(handedOn, answer)
  }
  return { fetch: recording, first: first.promise }
}

const eras: readonly (readonly [string, ClientOptions])[] = [
  ['of 2025', { versionNegotiation: { mode: 'legacy' } }],
  ['of 2026', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
]

describe('admission over HTTP', () => {
  it('B113: Host and Origin must name this machine', async () => {
    const { url } = await serve([testAgent('a')])
    const { port } = new URL(url)
    expect(await statusOf(url)).toBe(200)
    expect(await statusOf(url, { host: `localhost:${port}`, origin: 'http://localhost:3000' })).toBe(200)
    expect(await statusOf(url, { host: 'evil.example' })).toBe(403)
    expect(await statusOf(url, { origin: 'https://evil.example' })).toBe(403)
    expect(await statusOf(url, { origin: 'null' })).toBe(403)
    expect(await statusOf(url, { host: 'box.lan' })).toBe(403)
  })

  it('B113: the options may allow further names', async () => {
    const { url } = await serve([testAgent('a')], { allowedHosts: ['Box.lan'] })
    expect(await statusOf(url, { host: 'box.lan:80', origin: 'https://box.lan' })).toBe(200)
    expect(await statusOf(url, { host: 'other.lan' })).toBe(403)
  })

  it('B113: with a token no caller gets in without it', async () => {
    const { url, connect } = await serve([testAgent('a')], { token: 'right-token' })
    for (const authorization of [undefined, 'right-token', 'Bearer', 'Bearer wrong-token', 'Bearer right-token2', 'Basic right-token']) {
      expect(await statusOf(url, authorization === undefined ? {} : { authorization }), authorization).toBe(401)
    }
    expect(await statusOf(url, { authorization: 'Bearer right-token' })).toBe(200)
    expect(await statusOf(url, { authorization: 'Bearer right-token', host: 'evil.example' })).toBe(403)
    await expect(connect()).rejects.toThrow()
    expect((await (await connect({}, { authorization: 'Bearer right-token' })).listTools()).tools).toHaveLength(11)
  })

  it('B113: the principal becomes the owner: a caller with a token differs from a caller that needs none', async () => {
    const owners: string[] = []
    const agent = testAgent('a', { onSessionCreate: ({ owner }) => void owners.push(owner) })
    const open = await serve([agent])
    await (await open.connect()).callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    const closed = await serve([agent], { token: 't' })
    await (await closed.connect({}, { authorization: 'Bearer t' })).callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    expect(owners).toEqual(['local', 'token'])
  })

  it('any other path is not found', async () => {
    const { url } = await serve([testAgent('a')])
    expect(await statusOf(new URL('/', url).href)).toBe(404)
    expect(await statusOf(`${url}?x=1`)).toBe(200)
  })
})

describe.each(eras)('clients %s over HTTP', (_era, options) => {
  it('B62: a lost connection cancels work that no caller could find again, and leaves all other work', async () => {
    const nameless = heldAgent('nameless')
    const named = heldAgent('named')
    const kept = heldAgent('kept')
    const { connect, bridge } = await serve([nameless.agent, named.agent, kept.agent])
    const client = await connect(options)
    const { sessionId } = contentOf<{ sessionId: string }>(
      await client.callTool({ name: 'sessions_create', arguments: { agentId: 'kept' } }),
    )
    const leaving = await connect(options)
    const calls = [
      leaving.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi', agentId: 'nameless' } }),
      leaving.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi', agentId: 'named', requestId: 'r1' } }),
      leaving.callTool({ name: 'sessions_prompt', arguments: { prompt: 'hi', sessionId, requestId: 'r2' } }),
    ]
    for (const each of calls) each.catch(() => undefined)
    await Promise.all([nameless.began, named.began, kept.began])
    await leaving.close()
    await nameless.cancelled
    named.finish('done')
    kept.finish('done too')
    expect(await bridge.request('r1', { waitMs: 1000 })).toMatchObject({ status: 'completed', text: 'done' })
    expect(await bridge.request('r2', { waitMs: 1000 })).toMatchObject({ status: 'completed', text: 'done too' })
    expect([nameless.cancels, named.cancels, kept.cancels]).toEqual([['caller'], [], []])
  })

  it('B61: the end of the exchange after the answer has no effect, also on work without a name', async () => {
    const { agent, began, finish, cancels } = heldAgent('a')
    const { connect, bridge } = await serve([agent])
    const client = await connect(options)
    const call = { name: 'tasks_delegate', arguments: { prompt: 'hi', mode: 'background' } }
    const { requestId } = contentOf<{ requestId: string }>(await client.callTool(call))
    await began
    await client.close()
    finish('done')
    expect(await bridge.request(requestId, { waitMs: 1000 })).toMatchObject({ status: 'completed', text: 'done' })
    expect(cancels).toEqual([])
  })

  it('V105: the answer begins before the agent does', async () => {
    const { agent, began, finish } = heldAgent('a')
    const { connect } = await serve([agent])
    const { fetch, first } = firstBytes()
    const client = await connect(options, {}, fetch)
    const calling = client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    await began
    expect(await first).toBe('retry: 2000\n: open\n\n')
    finish('done')
    expect(contentOf(await calling)).toMatchObject({ status: 'completed', text: 'done' })
  })

  it('B59: progress reaches the client', async () => {
    const { agent, began, finish } = heldAgent('a')
    const { connect } = await serve([agent])
    const client = await connect(options)
    const noted = Promise.withResolvers<string>()
    const calling = client.callTool(
      { name: 'tasks_delegate', arguments: { prompt: 'hi', requestId: 'r1' } },
      { onprogress: ({ message = '' }) => noted.resolve(message) },
    )
    await began
    expect(await noted.promise).toContain('r1')
    finish('done')
    expect(contentOf(await calling)).toMatchObject({ status: 'completed', text: 'done' })
  })

  it('sessions outlive the connection that created them', async () => {
    const { connect } = await serve([testAgent('a')])
    const { sessionId } = contentOf<{ sessionId: string }>(
      await (await connect(options)).callTool({ name: 'sessions_create', arguments: {} }),
    )
    const prompt = { name: 'sessions_prompt', arguments: { sessionId, prompt: 'hi' } }
    expect(contentOf(await (await connect(options)).callTool(prompt))).toMatchObject({ text: 'a: hi', sessionId })
  })
})

it('B61: with the protocol of 2025 a cancel notice reaches no handler; sessions_cancel does', async () => {
  const { agent, began, cancels, cancelled } = heldAgent('a')
  const { connect, bridge } = await serve([agent])
  const client = await connect({ versionNegotiation: { mode: 'legacy' } })
  const controller = new AbortController()
  const call = { name: 'tasks_delegate', arguments: { prompt: 'hi', requestId: 'r1' } }
  const calling = client.callTool(call, { signal: controller.signal })
  await began
  controller.abort()
  await expect(calling).rejects.toThrow()
  expect(contentOf(await client.callTool({ name: 'tasks_status', arguments: { requestId: 'r1' } }))).toMatchObject({ status: 'running' })
  expect(cancels).toEqual([])
  const stopped = await client.callTool({ name: 'sessions_cancel', arguments: { requestId: 'r1' } })
  expect(contentOf(stopped)).toMatchObject({ cancelled: true, settled: true, requestId: 'r1' })
  await cancelled
  expect(await bridge.request('r1', { waitMs: 1000 })).toMatchObject({ status: 'aborted' })
})

it('a server that closes answers every open call', async () => {
  const { agent, began } = heldAgent('a')
  const { connect, bridge, close } = await serve([agent])
  const client = await connect()
  const calling = client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
  await began
  await bridge.stop()
  await close()
  expect(contentOf(await calling)).toMatchObject({ status: 'aborted', stopReason: 'cancelled' })
})
