import { createBridge, defineBridgeAgent, inProcessExecutor, type SessionContext } from '@bowline/bridge'
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client'
import { createToken, type AuditRecord } from '@bowline/server'
import { manualClock } from '@bowline/llm/testing'
import { createNodeServer } from '@bowline/server/node'
import { McpServer } from '@modelcontextprotocol/server'
import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished } from 'vitest'
import { bench, refusal, type BenchOptions } from '../support/bench.ts'

const eras: readonly { readonly era: string; readonly options: ClientOptions }[] = [
  { era: 'of 2025', options: { versionNegotiation: { mode: 'legacy' } } },
  { era: 'of 2026', options: { versionNegotiation: { mode: { pin: '2026-07-28' } } } },
]

/** Creates a server with a bridge to two agents, which repeat the prompt and name its owner. */
async function bridged(options: BenchOptions = {}) {
  const owners: string[] = []
  const agents = ['echo', 'other'].map((id) =>
    defineBridgeAgent({
      specificationVersion: 'v1',
      info: { id },
      onSessionCreate: ({ owner }: SessionContext) => void owners.push(owner),
      onPrompt: async ({ prompt, abortSignal }) => {
        if (prompt === 'wait') await once(abortSignal, 'abort')
        return { text: `${id}: ${prompt}`, stopReason: 'end_turn' }
      },
    }),
  )
  const executor = inProcessExecutor({ agents })
  const bridge = createBridge({ executors: [executor] })
  await bridge.start()
  onTestFinished(() => bridge.stop())
  const { token, config } = await createToken({ id: 'ci', tenant: 'acme', scopes: ['mcp'] })
  const started = await bench({ bridge, auth: { tokens: [config] }, ...options })
  const authorization = { authorization: `Bearer ${token}` }
  async function connect(clientOptions: ClientOptions = {}): Promise<Client> {
    const client = new Client({ name: 'test', version: '1.0.0' }, clientOptions)
    await client.connect(new StreamableHTTPClientTransport(new URL(`${started.url}/mcp`), { requestInit: { headers: authorization } }))
    onTestFinished(() => client.close())
    return client
  }
  return { ...started, bridge, executor, owners, authorization, connect }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const delegate = (client: Client, prompt: string, agentId?: string) =>
  client.callTool({ name: 'tasks_delegate', arguments: { prompt, ...(agentId !== undefined && { agentId }) } })

const listMessage = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const accept = { accept: 'application/json, text/event-stream' }

it.each(eras)('V53, V55: a client $era lists the tools of the bridge and delegates', async ({ options }) => {
  const { connect } = await bridged()
  const client = await connect(options)
  expect((await client.listTools()).tools).toHaveLength(11)
  expect((await delegate(client, 'hi')).structuredContent).toMatchObject({ status: 'completed', agentId: 'echo', text: 'echo: hi' })
})

it.each(eras)('V53: nothing of an answered request $era stays in memory', async ({ options }) => {
  const { connect } = await bridged()
  const client = await connect(options)
  const servers: WeakRef<McpServer>[] = []
  const { connect: connectServer } = McpServer.prototype
  onTestFinished(() => void (McpServer.prototype.connect = connectServer))
  McpServer.prototype.connect = function (this: McpServer, transport) {
    servers.push(new WeakRef(this))
    return connectServer.call(this, transport)
  }
  for (let n = 0; n < 10; n++) await client.listTools()
  expect(servers.length).toBeGreaterThanOrEqual(10)
  await expect.poll(() => (collect(), servers.filter((server) => server.deref()).length)).toBeLessThan(3)
})

it('V62, B125: a client of 2026 that listens is told of the agents that its caller may use', async () => {
  const { executor, connect } = await bridged({ mayUse: (_principal, agentId) => agentId !== 'hidden' })
  const client = await connect({ versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.listen({ toolsListChanged: true })
  let notices = 0
  const told = Promise.withResolvers<void>()
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    notices += 1
    told.resolve()
  })
  const onPrompt = () => ({ text: 'hi', stopReason: 'end_turn' }) as const
  for (const id of ['hidden', 'third']) executor.add(defineBridgeAgent({ specificationVersion: 'v1', info: { id }, onPrompt }))
  await told.promise
  expect(notices).toBe(1)
})

it('V105: the answer begins before the agent does', async () => {
  const { post, authorization } = await bridged({ make: createNodeServer, heartbeatMs: 1000 })
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'tasks_delegate', arguments: { prompt: 'wait' } } }
  const reader = (await post('/mcp', call, { ...accept, ...authorization })).body!.getReader()
  const { value } = await reader.read()
  expect(new TextDecoder().decode(value as Uint8Array)).toMatch(/^retry: 2000\n: open\n\n/)
  await reader.cancel()
})

it.each(eras)('V53: a client $era keeps a session, and finds its work again', async ({ options }) => {
  const { connect } = await bridged()
  const client = await connect(options)
  const ask = async (name: string, input: object) =>
    (await client.callTool({ name, arguments: input as Record<string, unknown> })).structuredContent as Record<string, unknown>
  const { sessionId } = await ask('sessions_create', { agentId: 'other' })
  const { requestId } = await ask('sessions_prompt', { sessionId, prompt: 'hi', waitMs: 0 })
  expect(await ask('tasks_status', { requestId, waitMs: 10_000 })).toMatchObject({ status: 'completed', text: 'other: hi' })
  expect(await ask('sessions_list', {})).toMatchObject({ sessions: [{ sessionId, status: 'idle' }] })
  expect(await ask('sessions_status', { sessionId })).toMatchObject({ sessionId, agentId: 'other' })
  expect(await ask('sessions_cancel', { sessionId })).toMatchObject({ cancelled: false, reason: 'not-running' })
  expect(await ask('sessions_close', { sessionId })).toEqual({ closed: true, sessionId, existed: true })
  expect(await ask('bridge_health', {})).toMatchObject({ healthy: true, agents: { total: 2 } })
})

it('V53: without a bridge, or if it is switched off, the route does not exist', async () => {
  const { post } = await bench()
  await refusal(post('/mcp', listMessage, accept), 404, 'route-not-found')
  const off = await bridged({ routes: { mcp: false } })
  await refusal(off.post('/mcp', listMessage, { ...accept, ...off.authorization }), 404, 'route-not-found')
})

it('V54: work belongs to the tenant and the principal', async () => {
  const { connect, owners } = await bridged()
  await delegate(await connect(), 'hi')
  expect(owners).toEqual(['acme/ci'])
})

it('V54: agents that the principal may not use are not listed', async () => {
  const { connect } = await bridged({ mayUse: ({ tenant, id }, agentId) => tenant === 'acme' && id === 'ci' && agentId === 'other' })
  const client = await connect()
  const found = await client.callTool({ name: 'agents_discover', arguments: {} })
  expect((found.structuredContent as { agents: { id: string }[] }).agents.map(({ id }) => id)).toEqual(['other'])
  expect((await delegate(client, 'hi')).structuredContent).toMatchObject({ agentId: 'other' })
  const hidden = await delegate(client, 'hi', 'echo')
  const unknown = await delegate(client, 'hi', 'nobody')
  expect(hidden.isError).toBe(true)
  expect(JSON.stringify(hidden).replaceAll('echo', 'nobody')).toBe(JSON.stringify(unknown))
})

it('V55: credentials, Host, Origin and body are checked as on the other routes', async () => {
  const records: AuditRecord[] = []
  const reader = await createToken({ id: 'reader', tenant: 'acme', scopes: ['sessions:read'] })
  const { post, authorization } = await bridged({ limits: { bodyBytes: 2000 }, onAudit: (record) => records.push(record) })
  await refusal(post('/mcp', listMessage, accept), 401, 'unauthenticated')
  await refusal(post('/mcp', listMessage, { ...accept, authorization: `Bearer ${reader.token}` }), 401, 'unauthenticated')
  await refusal(post('/mcp', listMessage, { ...accept, ...authorization, origin: 'https://evil.example' }), 403, 'origin-not-allowed')
  await refusal(
    post('/mcp', { ...listMessage, params: { text: 'x'.repeat(3000) } }, { ...accept, ...authorization }),
    413,
    'body-too-large',
  )
  await refusal(post('/mcp', '{', { ...accept, ...authorization }), 400, 'invalid-body')
  const answer = await post('/mcp', listMessage, { ...accept, ...authorization })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(records.map(({ action }) => action)).toEqual(['refusal', 'refusal', 'refusal', 'token', 'token', 'token'])
})

it('V62: MCP needs its scope', async () => {
  const { token, config } = await createToken({ id: 'reader', tenant: 'acme', scopes: ['sessions:read', 'sessions:write'] })
  const { post } = await bridged({ auth: { tokens: [config] } })
  await refusal(post('/mcp', listMessage, { ...accept, authorization: `Bearer ${token}` }), 403, 'scope-missing')
})

it('V56: requests that start work count as work; reads are accepted when that limit is reached', async () => {
  const { connect } = await bridged({ make: createNodeServer, limits: { workPerMinute: 1 } })
  const client = await connect()
  await delegate(client, 'one')
  await expect(delegate(client, 'two')).rejects.toThrow(/429|rate-limited/)
  for (let call = 0; call < 5; call++) expect((await client.callTool({ name: 'agents_discover', arguments: {} })).isError).toBeFalsy()
  const answers = { name: 'sessions_prompt', arguments: { sessionId: 'none', answers: [{ id: 'x', output: 1 }] } }
  expect(JSON.stringify(await client.callTool(answers))).toContain('NOT_FOUND')
  await expect(client.callTool({ name: 'sessions_prompt', arguments: { sessionId: 'none', prompt: 'hi' } })).rejects.toThrow(
    /429|rate-limited/,
  )
})

const waiting = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'tasks_delegate', arguments: { prompt: 'wait' } } }
const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } }

it('V78: an answer of MCP takes a stream slot, and a client that leaves frees it', async () => {
  const { post, authorization } = await bridged({ limits: { streamsPerPrincipal: 1 } })
  const headers = { ...accept, ...authorization }
  const answer = await post('/mcp', waiting, headers)
  expect(answer.headers.get('content-type')).toContain('text/event-stream')
  await refusal(post('/mcp', listMessage, headers), 429, 'too-many-streams')
  expect((await post('/mcp', cancelled, headers)).status).toBe(202)
  await answer.body?.cancel()
  await expect.poll(async () => (await post('/mcp', listMessage, headers)).status).toBe(200)
})

it('V65: an answer of MCP ends when the credentials of its reader are removed', async () => {
  const { post, authorization, server } = await bridged()
  const answer = await post('/mcp', waiting, { ...accept, ...authorization })
  const cut = expect(answer.text()).rejects.toThrow()
  await server.reload({ tokens: [] })
  await cut
})

it('V42: an answer of MCP ends when it has reached the maximum age', async () => {
  const clock = manualClock(Date.now())
  const { post, authorization } = await bridged({ clock, limits: { streamMaxAgeMs: 60_000, slowReaderMs: 600_000 } })
  const cut = expect((await post('/mcp', waiting, { ...accept, ...authorization })).text()).rejects.toThrow()
  await clock.advance(60_000)
  await cut
})

it('V16: over MCP a client cannot set runtimeParams of an agent', async () => {
  const { connect, owners } = await bridged()
  const client = await connect()
  const refused = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi', runtimeParams: { temperature: 1 } } })
  expect(refused.isError).toBe(true)
  expect(JSON.stringify(refused)).toContain('runtimeParams.temperature')
  expect(owners).toEqual([])
  const empty = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi', runtimeParams: {} } })
  expect(empty.isError).toBeFalsy()
})
