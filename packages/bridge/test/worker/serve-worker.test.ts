import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { client, ndJsonStream } from '@agentclientprotocol/sdk'
import type { ClientConnection, RequestPermissionRequest } from '@agentclientprotocol/sdk'
import { describe, expect, it } from 'vitest'
import { nodeFlags } from '../../../../scripts/programs.ts'
import { fixtureFile } from '../programs.ts'
import { atEnd, eventually, toldFile } from './support.ts'

interface PlainClient {
  readonly agent: ClientConnection['agent']
  readonly updates: { sessionUpdate: string; content?: unknown }[]
  readonly permissions: RequestPermissionRequest[]
  readonly stdout: () => string
  readonly stderr: () => string
  /** Closes stdin and returns the exit code. */
  end(): Promise<unknown>
  text(): string
}

/** Starts the worker as any ACP client would: with the SDK on the other end, without a bridge. */
async function startPlain(name: string, options: { env?: Record<string, string>; choose?: string } = {}): Promise<PlainClient> {
  const child = spawn(process.execPath, [...nodeFlags, fixtureFile(`worker/fixtures/${name}`)], { env: { ...process.env, ...options.env } })
  const exit = once(child, 'exit')
  atEnd(async () => void child.kill('SIGKILL'))
  let stdout = ''
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()))
  let stderr = ''
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
  const updates: PlainClient['updates'] = []
  const permissions: RequestPermissionRequest[] = []
  const { agent } = client({ name: 'plain' })
    .onNotification('session/update', ({ params }) => void updates.push(params.update))
    .onRequest('session/request_permission', ({ params }) => {
      permissions.push(params)
      return { outcome: options.choose ? { outcome: 'selected', optionId: options.choose } : { outcome: 'cancelled' } }
    })
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>))
  await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  const text = (): string =>
    updates
      .map(({ sessionUpdate, content }) => (sessionUpdate === 'agent_message_chunk' ? (content as { text: string }).text : ''))
      .join('')
  const end = async (): Promise<unknown> => {
    child.stdin.end()
    return (await exit)[0]
  }
  return { agent, updates, permissions, stdout: () => stdout, stderr: () => stderr, text, end }
}

const ask = (text: string) => ({ prompt: [{ type: 'text' as const, text }] })

async function open({ agent }: PlainClient): Promise<string> {
  return (await agent.request('session/new', { cwd: '/', mcpServers: [] })).sessionId
}

describe('serveWorker, for a client of the plain protocol', () => {
  it('B73: reports its name and its abilities', async () => {
    const { agent } = await startPlain('served-agent')
    const hello = await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
    expect(hello).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: 'served', title: 'Served', version: '1.2.3' },
      agentCapabilities: { sessionCapabilities: { close: {} } },
    })
    expect(hello.agentCapabilities?.sessionCapabilities).not.toHaveProperty('resume')
  })

  it('B30: deltas are message chunks; the text of a promised result is one', async () => {
    const plain = await startPlain('served-agent')
    const sessionId = await open(plain)
    expect(await plain.agent.request('session/prompt', { sessionId, ...ask('stream') })).toEqual({ stopReason: 'end_turn' })
    expect(plain.text()).toBe('one two three')
    plain.updates.length = 0
    expect(await plain.agent.request('session/prompt', { sessionId, ...ask('hello') })).toEqual({ stopReason: 'end_turn' })
    expect(plain.text()).toBe('echo: hello')
    plain.updates.length = 0
    expect(await plain.agent.request('session/prompt', { sessionId, ...ask('everything') })).toEqual({ stopReason: 'max_tokens' })
    expect(plain.updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual(['agent_message_chunk', 'agent_thought_chunk'])
  })

  it.each([
    ['approve', '"decision":"approve"'],
    ['deny', '"decision":"deny"'],
  ])('B88: an approval becomes a request for permission: %s', async (choose, said) => {
    const plain = await startPlain('served-agent', { choose })
    const sessionId = await open(plain)
    await plain.agent.request('session/prompt', { sessionId, ...ask('ask') })
    expect(plain.permissions[0]).toMatchObject({ sessionId, toolCall: { toolCallId: 'a1', title: 'pay', rawInput: { amount: 5 } } })
    expect(plain.text()).toContain(said)
    plain.updates.length = 0
    await plain.agent.request('session/prompt', { sessionId, ...ask('askOpen') })
    expect(plain.text()).toContain(said)
  })

  it('B46: a cancel is answered "cancelled", and the session goes on', async () => {
    const { env, told } = await toldFile()
    const plain = await startPlain('served-agent', { env })
    const sessionId = await open(plain)
    const prompt = plain.agent.request('session/prompt', { sessionId, ...ask('wait') })
    await eventually('it waits', () => plain.text() === 'waiting')
    await expect(plain.agent.request('session/prompt', { sessionId, ...ask('hello') })).rejects.toMatchObject({ code: -32600 })
    await plain.agent.notify('session/cancel', { sessionId })
    expect(await prompt).toEqual({ stopReason: 'cancelled' })
    expect(told().find((each) => 'cancel' in each)).toMatchObject({ reason: 'caller' })
    expect(await plain.agent.request('session/prompt', { sessionId, ...ask('hello') })).toEqual({ stopReason: 'end_turn' })
  })

  it('B18: B91: close runs the hook; the end of stdin ends the rest and the process', async () => {
    const { env, told } = await toldFile()
    const plain = await startPlain('served-agent', { env })
    const [first, second] = [await open(plain), await open(plain)]
    await plain.agent.request('session/close', { sessionId: first })
    await expect(plain.agent.request('session/prompt', { sessionId: first, ...ask('hello') })).rejects.toMatchObject({ code: -32002 })
    expect(await plain.end()).toBe(0)
    expect(told().filter((each) => 'close' in each)).toEqual([
      { close: first, reason: 'closed' },
      { close: second, reason: 'shutdown' },
    ])
  })

  it('B34: B111: an error reveals nothing of the inside, and stdout carries the protocol only', async () => {
    const plain = await startPlain('served-agent')
    const sessionId = await open(plain)
    await expect(plain.agent.request('session/prompt', { sessionId, ...ask('plainError') })).rejects.toMatchObject({
      code: -32603,
      message: 'Agent failed',
    })
    expect(plain.stderr()).toContain('secret of the inside')
    expect(plain.stderr()).toContain('not of the protocol')
    const lines = plain.stdout().trim().split('\n')
    expect(lines.every((line) => (JSON.parse(line) as { jsonrpc: string }).jsonrpc === '2.0')).toBe(true)
    expect(plain.stdout()).not.toMatch(/secret of the inside|not of the protocol/)
  })

  it('B97: a durable agent resumes a session of another process', async () => {
    const { env, told } = await toldFile()
    const plain = await startPlain('durable-agent', { env })
    const { agentCapabilities } = await plain.agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
    expect(agentCapabilities?.sessionCapabilities).toHaveProperty('resume')
    await plain.agent.request('session/resume', { sessionId: 'earlier', cwd: '/' })
    await plain.agent.request('session/prompt', { sessionId: 'earlier', ...ask('go') })
    expect(plain.text()).toContain('begun')
    await plain.end()
    expect(told().filter((each) => !('prompt' in each))).toEqual([])
  })
})
