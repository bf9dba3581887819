import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Client, InMemoryTransport, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server'
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OlderStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { inProcessExecutor, type Bridge } from '../../src/index.ts'
import { createBridgeMcpHandler, createBridgeMcpServer } from '../../src/mcp/index.ts'
import { fixture, nodeArgs } from '../bin/command-support.ts'
import { startBridgeOf, testAgent } from '../support.ts'
import { heldAgent } from './support.ts'

const info = { name: 'test', version: '1.0.0' }
const of2025: ClientOptions = { versionNegotiation: { mode: 'legacy' } }
const of2026: ClientOptions = { versionNegotiation: { mode: { pin: '2026-07-28' } } }

/** Serves a bridge over HTTP. Callers are users by their header `x-user`; `hidden` is visible only to `all`. */
async function serve(ids: readonly string[] = ['a'], make = createBridgeMcpHandler) {
  const executor = inProcessExecutor({ agents: ids.map((id) => testAgent(id)) })
  const started = await startBridgeOf(executor)
  const { bridge } = started
  const listeners = countListeners(bridge)
  const handler = make((context) => {
    const user = context.requestInfo?.headers.get('x-user') ?? 'all'
    return createBridgeMcpServer(bridge, { owner: user, mayUse: (id) => user === 'all' || id !== 'hidden' })(context)
  })
  const answer = toNodeHandler(handler)
  const sockets: Socket[] = []
  const server = createServer((request: IncomingMessage, response) => {
    sockets.push(request.socket)
    void answer(request as IncomingMessage & { method: string; url: string }, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    await handler.close()
    server.close()
    server.closeAllConnections()
  })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
  async function connect(options: ClientOptions, user = 'all', fetch = globalThis.fetch): Promise<Client> {
    const client = new Client(info, options)
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { 'x-user': user } }, fetch }))
    onTestFinished(() => client.close())
    return client
  }
  return { ...started, url, executor, handler, listeners, sockets, connect }
}

/** Counts the listeners that a bridge has now. */
function countListeners(bridge: Bridge): { readonly current: number } {
  const counted = new Set<object>()
  const listen = bridge.onAgentsChanged.bind(bridge)
  vi.spyOn(bridge, 'onAgentsChanged').mockImplementation((listener) => {
    const entry = {}
    counted.add(entry)
    const stop = listen(listener)
    return () => {
      counted.delete(entry)
      stop()
    }
  })
  return {
    get current() {
      return counted.size
    },
  }
}

/** Counts the notices that a client gets. `next` resolves with the next one. */
function countNotices(client: Client) {
  let count = 0
  let waiting = Promise.withResolvers<void>()
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    count += 1
    waiting.resolve()
    waiting = Promise.withResolvers()
  })
  return {
    get count() {
      return count
    },
    next: () => waiting.promise,
  }
}

const namedAgents = async (client: { listTools(): Promise<{ tools: readonly { name: string; description?: string | undefined }[] }> }) =>
  (await client.listTools()).tools.find(({ name }) => name === 'agents_discover')?.description?.split('Call it first. ')[1]

describe('B125: streams that listen over HTTP', () => {
  it('B125: a client of 2026 is told once of each change, and the list of tools names the agents', async () => {
    const { executor, bridge, clock, connect } = await serve()
    const client = await connect(of2026)
    expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true })
    const { honoredFilter } = await client.listen({ toolsListChanged: true })
    expect(honoredFilter).toEqual({ toolsListChanged: true })
    const notices = countNotices(client)
    expect(await namedAgents(client)).toBe('There are now: a.')
    // Nothing has changed.
    await clock.advance(2000)
    await bridge.refresh()
    for (const [id, names] of [
      ['b', 'a, b'],
      ['c', 'a, b, c'],
    ] as const) {
      const told = notices.next()
      executor.add(testAgent(id))
      await told
      expect(await namedAgents(client)).toBe(`There are now: ${names}.`)
    }
    expect(notices.count).toBe(2)
  })

  it('B125, V62: a user who may not use an agent is not told of it, also if several listen', async () => {
    const { executor, connect } = await serve()
    const [all, limited] = [await connect(of2026), await connect(of2026, 'limited')]
    const told = [countNotices(all), countNotices(limited)] as const
    await Promise.all([all.listen({ toolsListChanged: true }), limited.listen({ toolsListChanged: true })])
    for (const id of ['b', 'hidden', 'c']) {
      const next = (id === 'hidden' ? told.slice(0, 1) : told).map((each) => each.next())
      executor.add(testAgent(id))
      await Promise.all(next)
    }
    expect(told.map(({ count }) => count)).toEqual([3, 2])
    expect(await namedAgents(all)).toBe('There are now: a, b, hidden, c.')
    expect(await namedAgents(limited)).toBe('There are now: a, b, c.')
  })

  it('B125: a listener is released when it ends its stream, when its connection is lost, and when the server closes', async () => {
    const { connect, listeners, handler } = await serve()
    const leaving = new AbortController()
    const client = await connect(of2026)
    const lost = await connect(of2026, 'all', (url, init) => {
      const signals = init?.signal ? [init.signal, leaving.signal] : [leaving.signal]
      return fetch(url, { ...init, signal: AbortSignal.any(signals) })
    })
    const staying = await connect(of2026)
    const own = await client.listen({ toolsListChanged: true })
    await lost.listen({ toolsListChanged: true })
    const kept = await staying.listen({ toolsListChanged: true })
    expect(listeners.current).toBe(3)
    await own.close()
    await expect.poll(() => listeners.current).toBe(2)
    leaving.abort()
    await expect.poll(() => listeners.current).toBe(1)
    await handler.close()
    expect(await kept.closed).toBe('graceful')
    expect(listeners.current).toBe(0)
  })

  it('B125: a request that is answered leaves no listener', async () => {
    const { connect, listeners } = await serve()
    for (const era of [of2025, of2026]) await (await connect(era)).listTools()
    expect(listeners.current).toBe(0)
  })

  it('B125: no notice is promised where none can be sent: to a client of 2025, and by a handler without the bus', async () => {
    const ours = await serve()
    expect((await ours.connect(of2025)).getServerCapabilities()?.tools).toEqual({ listChanged: false })
    const plain = await serve(['a'], createMcpHandler)
    const client = await plain.connect(of2026)
    expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: false })
    expect((await client.listen({ toolsListChanged: true })).honoredFilter).toEqual({})
  })

  it('B125: notices that the program publishes reach the listeners as before', async () => {
    const { handler, connect } = await serve()
    const client = await connect(of2026)
    await client.listen({ toolsListChanged: true })
    const told = countNotices(client).next()
    handler.notify.toolsChanged()
    await told
  })
})

describe('B125: connections', () => {
  const stdio = () => ({
    command: process.execPath,
    args: [...nodeArgs(), '--config', fixture('growing')],
    env: process.env as Record<string, string>,
    stderr: 'ignore' as const,
  })
  const grow = (prompt: string) => ({ name: 'tasks_delegate', arguments: { agentId: 'grower', prompt } })

  it.each([
    ['2025', of2025],
    ['2026', of2026],
  ] as const)('B125: a client of %s is told over stdio', async (_era, options) => {
    const lists: (readonly string[])[] = []
    let changed = Promise.withResolvers<void>()
    const onChanged = (): void => changed.resolve()
    const client = new Client(info, { ...options, listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } } })
    await client.connect(new StdioClientTransport(stdio()))
    onTestFinished(() => client.close())
    expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true })
    for (const id of ['b', 'c']) {
      changed = Promise.withResolvers()
      await client.callTool(grow(id))
      await changed.promise
      lists.push([(await namedAgents(client)) ?? ''])
    }
    expect(lists).toEqual([['There are now: grower, b.'], ['There are now: grower, b, c.']])
  })

  it('B125: a client of the first SDK is told over stdio', async () => {
    const client = new OlderClient(info)
    await client.connect(new OlderStdioTransport(stdio()))
    onTestFinished(() => client.close())
    const changed = new Promise<void>((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()))
    await client.callTool(grow('b'))
    await changed
    expect(await namedAgents(client)).toBe('There are now: grower, b.')
  })

  it('B125: a connection listens from its start to its end, sees what changed before it, and only what its user may see', async () => {
    const executor = inProcessExecutor({ agents: [testAgent('a')] })
    const { bridge } = await startBridgeOf(executor)
    const listeners = countListeners(bridge)
    const factory = createBridgeMcpServer(bridge, { mayUse: (id) => id !== 'hidden' })
    const server = (await factory({ era: 'legacy' })) as McpServer
    expect(listeners.current).toBe(0)
    executor.add(testAgent('b'))
    const [near, far] = InMemoryTransport.createLinkedPair()
    const client = new Client(info, of2025)
    await Promise.all([server.connect(far as never), client.connect(near)])
    expect(listeners.current).toBe(1)
    expect(await namedAgents(client)).toBe('There are now: a, b.')
    const notices = countNotices(client)
    executor.add(testAgent('hidden'))
    const told = notices.next()
    executor.add(testAgent('c'))
    await told
    expect(notices.count).toBe(1)
    expect(await namedAgents(client)).toBe('There are now: a, b, c.')
    await client.close()
    expect(listeners.current).toBe(0)
  })

  it('B125: a connection that fails to begin leaves no listener', async () => {
    const { bridge } = await startBridgeOf(inProcessExecutor({ agents: [testAgent('a')] }))
    const listeners = countListeners(bridge)
    const server = (await createBridgeMcpServer(bridge)({ era: 'legacy' })) as McpServer
    const broken = { start: () => Promise.reject(new Error('no transport')), send: async () => {}, close: async () => {} }
    await expect(server.connect(broken)).rejects.toThrow('no transport')
    expect(listeners.current).toBe(0)
  })
})

describe.each([
  ['2025', of2025],
  ['2026', of2026],
] as const)('B126: the streams of a client of %s', (_era, options) => {
  it('B126, V105: begin with retry and have no event ids, because a lost stream cannot be resumed', async () => {
    const { agent, began } = heldAgent('held')
    const { executor, url, sockets, connect } = await serve()
    executor.add(agent)
    const bodies: Promise<string>[] = []
    const answered = Promise.withResolvers<void>()
    const client = await connect(options, 'all', async (url, init) => {
      const response = await fetch(url, init)
      if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) return response
      const [read, kept] = response.body.tee()
      bodies.push(textOf(read))
      if (typeof init?.body === 'string' && init.body.includes('r1')) answered.resolve()
      return new Response(kept, response)
    })
    await client.listTools()
    const calling = client.callTool({ name: 'tasks_delegate', arguments: { agentId: 'held', prompt: 'hi', requestId: 'r1' } })
    calling.catch(() => undefined)
    await Promise.all([began, answered.promise])
    sockets.at(-1)?.destroy()
    const texts = await Promise.all(bodies)
    expect(texts.length).toBeGreaterThanOrEqual(2)
    for (const text of texts) {
      expect(text.startsWith('retry: 2000\n: open\n\n')).toBe(true)
      expect(text).not.toMatch(/^id:/m)
    }
    // The work is found by its request id.
    const { structuredContent } = await client.callTool({ name: 'tasks_status', arguments: { requestId: 'r1' } })
    expect(structuredContent).toMatchObject({ requestId: 'r1', status: 'running' })
    const resumption = await fetch(url, { headers: { accept: 'text/event-stream', 'last-event-id': '1' } })
    expect(resumption.status).toBe(405)
  })
})

/** Returns what a stream holds until it ends or breaks. */
async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  try {
    for await (const part of body.pipeThrough(new TextDecoderStream())) text += part
  } catch {
    // The connection was lost.
  }
  return text
}
