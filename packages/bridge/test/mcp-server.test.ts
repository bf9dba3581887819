import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import type { McpServer } from '@modelcontextprotocol/server'
import { BridgeError } from '../src/index.ts'
import type { BridgeAgent, BridgeOptions } from '../src/index.ts'
import { createBridgeMcpServer } from '../src/mcp/index.ts'
import { aborted, answer, startBridge, testAgent } from './support.ts'

const open: Client[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()))
})

async function connect(agents: readonly BridgeAgent[], options: BridgeOptions = {}) {
  const started = await startBridge(agents, options)
  const server = (await createBridgeMcpServer(started.bridge)({ era: 'legacy' })) as McpServer
  const [near, far] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'test', version: '1.0.0' })
  await Promise.all([server.connect(far as never), client.connect(near)])
  open.push(client)
  return { ...started, client }
}

function textOf(result: CallToolResult): string {
  const [block, ...more] = result.content
  if (block?.type !== 'text' || more.length > 0) throw new Error('expected one text block')
  return block.text
}

describe('tools', () => {
  it('B107: tools/list has exactly the two tools, each with schemas, description and annotations', async () => {
    const { client } = await connect([testAgent('a')])
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['agents_discover', 'tasks_delegate'])
    for (const tool of tools) {
      expect(tool.description).toEqual(expect.any(String))
      expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(tool.outputSchema?.type).toBe('object')
      expect(tool.outputSchema?.['additionalProperties']).not.toBe(false)
    }
    const [discover, delegate] = tools
    expect(discover?.annotations).toEqual({ readOnlyHint: true })
    expect(delegate?.annotations).toEqual({ openWorldHint: true })
    expect(Object.keys(delegate?.inputSchema.properties ?? {})).toEqual([
      ...['prompt', 'agentId', 'metadata', 'runtimeParams', 'requestId', 'idempotencyKey', 'timeoutMs'],
    ])
    expect(delegate?.inputSchema.required).toEqual(['prompt'])
  })

  it('B107, B108: a success has structured content that the client accepts, and the same as indented JSON text', async () => {
    const usage = { inputTokens: 3, raw: { a: null } }
    const onPrompt = () => ({ ...answer('hello'), structured: { list: [1, null] }, usage })
    const { client } = await connect([testAgent('a', { onPrompt, capabilities: ['greet'] })])
    const delegated = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    expect(delegated.structuredContent).toEqual({
      status: 'completed',
      sessionId: expect.any(String),
      agentId: 'a',
      requestId: expect.any(String),
      text: 'hello',
      stopReason: 'end_turn',
      structured: { list: [1, null] },
      usage: { ...usage, outputTokens: 0 },
    })
    const discovered = await client.callTool({ name: 'agents_discover', arguments: { capability: 'greet' } })
    expect(discovered.structuredContent).toEqual({
      agents: [{ id: 'a', capabilities: ['greet'], status: 'ready', durable: false, executor: 'in-process', default: true }],
    })
    for (const result of [delegated, discovered]) {
      expect(textOf(result)).toBe(JSON.stringify(result.structuredContent, null, 2))
      expect(result.isError).toBeFalsy()
    }
  })

  it('B107, B108: a failure has the envelope as text and in _meta, and no structured content', async () => {
    const thrown = new BridgeError('AUTH', 'key refused', { details: { upstreamCode: 401 } })
    const { client } = await connect([testAgent('a', { onPrompt: () => Promise.reject(thrown) })])
    const result = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    const error = { code: 'AUTH', message: 'key refused', retryable: false, details: { upstreamCode: 401 } }
    expect(result.isError).toBe(true)
    expect(result).not.toHaveProperty('structuredContent')
    expect(textOf(result)).toBe(JSON.stringify({ error }, null, 2))
    expect(result._meta?.['bowline/error']).toEqual(error)
  })

  it.each<[string, string, object, string]>([
    ['no prompt', 'tasks_delegate', {}, 'prompt'],
    ['an empty prompt', 'tasks_delegate', { prompt: '' }, 'prompt'],
    ['an unknown key', 'tasks_delegate', { prompt: 'hi', mode: 'background' }, ''],
    ['another owner', 'tasks_delegate', { prompt: 'hi', owner: 'somebody' }, ''],
    ['a wrong type inside', 'tasks_delegate', { prompt: 'hi', runtimeParams: { seed: 'x' } }, 'runtimeParams.seed'],
    ['both names of one key', 'tasks_delegate', { prompt: 'hi', timeout: 1, timeoutMs: 1 }, ''],
    ['an unknown key', 'agents_discover', { colour: 'red' }, ''],
  ])('B109: %s for %s is the envelope with PROTOCOL and issues', async (_what, name, input, path) => {
    const { client } = await connect([testAgent('a')])
    const result = await client.callTool({ name, arguments: input as Record<string, unknown> })
    expect(result.isError).toBe(true)
    const { error } = JSON.parse(textOf(result)) as { error: { code: string; details: { issues: { path: string }[] } } }
    expect(error.code).toBe('PROTOCOL')
    expect(error.details.issues.map((issue) => issue.path)).toContain(path)
  })

  it('B109: a tool that does not exist is an error of the protocol itself', async () => {
    const { client } = await connect([testAgent('a')])
    await expect(client.callTool({ name: 'sessions_fly', arguments: {} })).rejects.toThrow(/sessions_fly/)
  })

  it('timeout is taken as an old name of timeoutMs', async () => {
    const onPrompt = () => new Promise<never>(() => {})
    const { client, clock } = await connect([testAgent('a', { onPrompt })], { cancelGraceMs: 0 })
    const calling = client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi', timeout: 100 } })
    await clock.advance(0)
    await clock.advance(100)
    expect(textOf(await calling)).toContain('"TIMEOUT"')
  })

  it('B107: what an agent gives beside its contract is the envelope, not a broken success', async () => {
    const onPrompt = () => ({ ...answer('x'), usage: { inputTokens: -1 } })
    const { client } = await connect([testAgent('a', { onPrompt })])
    const result = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('"PROTOCOL"')
  })

  it('B61: an MCP cancel of an open call cancels the request', async () => {
    const cancelled = Promise.withResolvers<string>()
    const started = Promise.withResolvers<void>()
    const agent = testAgent('a', {
      onPrompt: async ({ abortSignal }) => {
        started.resolve()
        await aborted(abortSignal)
        return answer('')
      },
      onCancel: ({ reason }) => cancelled.resolve(reason),
    })
    const { client, bridge, clock } = await connect([agent])
    const controller = new AbortController()
    const calling = client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } }, { signal: controller.signal })
    await started.promise
    controller.abort()
    await expect(calling).rejects.toThrow()
    expect(await cancelled.promise).toBe('caller')
    await clock.advance(10)
    expect(bridge.health().requests.inFlight).toBe(0)
  })

  it('B115: the envelope is redacted', async () => {
    const thrown = new BridgeError('UPSTREAM', 'no /srv/agents/key.pem for sk-abcdefghijklmnop')
    const { client } = await connect([testAgent('a', { onPrompt: () => Promise.reject(thrown) })])
    const result = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    expect(result._meta?.['bowline/error']).toMatchObject({ message: 'no [path] for [redacted]' })
  })
})
