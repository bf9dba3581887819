import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { fixture, nodeArgs, startHttpCommand } from '../bin/command-support.ts'
import { bridgeTools } from '../../src/mcp/tools.ts'
import { foreignClients, type ForeignClient, type Target } from './foreign-clients.ts'

const config = (): readonly string[] => ['--config', fixture('clients')]

const transports: readonly { readonly transport: 'stdio' | 'http'; readonly target: () => Promise<Target> }[] = [
  { transport: 'stdio', target: async () => ({ args: [...nodeArgs(), ...config()] }) },
  { transport: 'http', target: () => startHttpCommand(config()) },
]

const cases = foreignClients.flatMap((kind) => transports.map((way) => ({ ...kind, ...way })))

type Fields = Readonly<Record<string, unknown>>

/** What a client makes of a success: both forms say the same. */
async function ask(client: ForeignClient, name: string, input: object = {}): Promise<Fields> {
  const { text, structured, isError } = await client.call(name, input)
  expect(isError, text).toBe(false)
  if (structured !== undefined) expect(JSON.stringify(structured, null, 2)).toBe(text)
  return JSON.parse(text) as Fields
}

describe.each(cases)('B110: $name over $transport', ({ connect, target, transport, abortTells }) => {
  async function open(): Promise<ForeignClient> {
    const client = await connect(await target())
    onTestFinished(() => client.close())
    return client
  }

  it('B107, B110: lists the ten tools and calls each of them; a failure is the envelope', async () => {
    const client = await open()
    expect(await client.tools()).toEqual(bridgeTools.map(({ name }) => name))
    expect(await ask(client, 'bridge_health')).toMatchObject({ healthy: true, agents: { total: 4, ready: 4 } })
    expect(await ask(client, 'agents_discover', { capability: 'repeat' })).toMatchObject({ agents: [{ id: 'echo' }] })
    const session = await ask(client, 'sessions_create', { agentId: 'asking', metadata: { a: [null] } })
    const { sessionId } = session
    const asked = await ask(client, 'sessions_prompt', { sessionId, prompt: 'hi' })
    expect(asked).toMatchObject({ status: 'awaiting-approval', pending: [{ id: 'ask', kind: 'approval', toolName: 'rm' }] })
    const answered = await ask(client, 'sessions_prompt', { sessionId, answers: [{ id: 'ask', decision: 'deny' }] })
    expect(answered).toMatchObject({ status: 'completed', requestId: asked['requestId'] })
    expect(await ask(client, 'sessions_status', { sessionId })).toMatchObject({ status: 'idle', metadata: { a: [null] } })
    expect(await ask(client, 'sessions_list')).toMatchObject({ sessions: [{ sessionId }] })
    expect(await ask(client, 'sessions_cancel', { sessionId })).toMatchObject({ cancelled: false, reason: 'not-running' })
    expect(await ask(client, 'sessions_close', { sessionId })).toEqual({ closed: true, sessionId, existed: true })
    const done = await ask(client, 'tasks_delegate', { prompt: 'hi', requestId: 'r1' })
    expect(done).toMatchObject({ status: 'completed', requestId: 'r1', agentId: 'echo', text: 'echo: hi' })
    expect(await ask(client, 'tasks_status', { requestId: 'r1' })).toEqual(done)
    const { isError, text } = await client.call('tasks_delegate', { prompt: 'hi', agentId: 'nobody' })
    expect(isError).toBe(true)
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'NOT_FOUND', retryable: false, details: { agentId: 'nobody' } } })
  })

  it('B50, B61, B62: a cancel reaches the agent, once', async () => {
    const client = await open()
    const controller = new AbortController()
    const told = abortTells[transport]
    // Who loses its connection to work that it could find again only detaches.
    const input = { prompt: 'hi', agentId: 'waiting', ...(!told && { requestId: 'r1' }) }
    const calling = client.call('tasks_delegate', input, { signal: controller.signal })
    calling.catch(() => undefined)
    expect(await ask(client, 'tasks_delegate', { agentId: 'witness', prompt: 'begun 1' })).toMatchObject({ text: 'begun 1' })
    if (told) controller.abort()
    else await ask(client, 'sessions_cancel', { requestId: 'r1' })
    expect(await ask(client, 'tasks_delegate', { agentId: 'witness', prompt: 'cancelled 1' })).toMatchObject({ text: 'cancelled 1' })
    await calling.then(
      () => expect(told).toBe(false),
      () => expect(told).toBe(true),
    )
  })
})

describe.each(cases.filter(({ hasProgress }) => hasProgress))('B110: $name over $transport', ({ connect, target }) => {
  it('B59: progress reaches the client', async () => {
    const client = await connect(await target())
    onTestFinished(() => client.close())
    const notes: { readonly progress: number; readonly message?: string }[] = []
    const halfWay = Promise.withResolvers<void>()
    const onprogress = (note: (typeof notes)[number]): void => {
      notes.push(note)
      if (note.message === 'half way') halfWay.resolve()
    }
    const calling = client.call('tasks_delegate', { prompt: 'hi', agentId: 'waiting', requestId: 'r1' }, { onprogress })
    await halfWay.promise
    expect(await ask(client, 'sessions_cancel', { requestId: 'r1' })).toMatchObject({ cancelled: true, settled: true })
    expect(JSON.parse((await calling).text)).toMatchObject({ status: 'aborted', stopReason: 'cancelled' })
    expect(notes[0]?.message).toContain('r1')
    expect(notes.map(({ progress }) => progress)).toEqual([...new Set(notes.map(({ progress }) => progress))].sort((a, b) => a - b))
  })
})

describe('the command line of the inspector', () => {
  const inspector = join(import.meta.dirname, '../../node_modules/.bin/mcp-inspector')

  async function inspect(target: readonly string[], ...flags: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const home = await mkdtemp(join(tmpdir(), 'bowline-inspector-'))
    onTestFinished(() => rm(home, { recursive: true }))
    const environment = { ...process.env, HOME: home, MCP_CATALOG_PATH: join(home, 'mcp.json') }
    return promisify(execFile)(inspector, ['--cli', ...target, ...flags], { env: environment, cwd: home })
  }

  async function call(target: readonly string[], name: string, input: Readonly<Record<string, string>> = {}): Promise<Fields> {
    const pairs = Object.entries(input).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`])
    const { stdout } = await inspect(target, '--method', 'tools/call', '--tool-name', name, ...pairs)
    const { structuredContent, isError } = JSON.parse(stdout) as { structuredContent: Fields; isError?: boolean }
    expect(isError ?? false, stdout).toBe(false)
    return structuredContent
  }

  it('B110: over Streamable HTTP it lists the tools, finds no fault in their schemas, and calls them', async () => {
    const { url } = await startHttpCommand(config())
    const target = [url]
    const { stdout, stderr } = await inspect(target, '--method', 'tools/list', '--strict')
    expect((JSON.parse(stdout) as { tools: object[] }).tools).toHaveLength(10)
    expect(stderr).not.toMatch(/^(Error|Warning): tool/m)
    const { sessionId } = (await call(target, 'sessions_create')) as { sessionId: string }
    expect(await call(target, 'sessions_prompt', { sessionId, prompt: 'hi', requestId: 'r1' })).toMatchObject({ text: 'echo: hi' })
    expect(await call(target, 'sessions_close', { sessionId })).toMatchObject({ existed: true })
    // Each call is a start of the inspector.
    const others: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['tasks_delegate', { prompt: 'hi' }],
      ['bridge_health', {}],
      ['agents_discover', {}],
      ['sessions_list', {}],
      ['tasks_status', { requestId: 'r1' }],
    ]
    for (const [name, input] of others.slice(0, rounds({ short: 0, long: others.length }))) {
      expect(Object.keys(await call(target, name, input)), name).not.toEqual([])
    }
  })

  it('B110: over stdio it lists the tools and delegates', async () => {
    // What stands behind -- or looks like a flag would be the inspector's own.
    const target = ['-e', `BOWLINE_BRIDGE_CONFIG=${fixture('clients')}`, process.execPath, ...nodeArgs()]
    const { stdout } = await inspect(target, '--method', 'tools/list')
    expect((JSON.parse(stdout) as { tools: object[] }).tools).toHaveLength(10)
    expect(await call(target, 'tasks_delegate', { prompt: 'hi' })).toMatchObject({ text: 'echo: hi' })
  })
})
