import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { fixture, nodeArgs, startSharedHttpCommand, type HttpCommand } from '../bin/command-support.ts'
import { bridgeTools } from '../../src/mcp/tools.ts'
import { foreignClients, type ForeignClient, type Target } from './foreign-clients.ts'

const config = (): readonly string[] => ['--config', fixture('clients')]

/** One bridge for all HTTP clients and the inspector. */
let http: HttpCommand
beforeAll(async () => {
  http = await startSharedHttpCommand(config())
})
afterAll(() => void http.child.kill('SIGKILL'))

const transports: readonly { readonly transport: 'stdio' | 'http'; readonly target: () => Target }[] = [
  { transport: 'stdio', target: () => ({ args: [...nodeArgs(), ...config()] }) },
  { transport: 'http', target: () => http },
]

const cases = foreignClients.flatMap((kind) => transports.map((way) => ({ ...kind, ...way })))

let lastRequest = 0
const newRequestId = (): string => `r${(lastRequest += 1)}`

type Fields = Readonly<Record<string, unknown>>

/** Calls a tool, checks that text and structured content agree, and returns the content. */
async function ask(client: ForeignClient, name: string, input: object = {}): Promise<Fields> {
  const { text, structured, isError } = await client.call(name, input)
  expect(isError, text).toBe(false)
  if (structured !== undefined) expect(JSON.stringify(structured, null, 2)).toBe(text)
  return JSON.parse(text) as Fields
}

describe.each(cases)('B110: $name over $transport', ({ connect, target, transport, abortTells, hasProgress }) => {
  let client: ForeignClient
  beforeAll(async () => {
    client = await connect(target())
  })
  afterAll(() => client.close())

  it('B107, B110: lists the tools and calls each of them; a failure is the envelope', async () => {
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
    const requestId = newRequestId()
    const done = await ask(client, 'tasks_delegate', { prompt: 'hi', requestId })
    expect(done).toMatchObject({ status: 'completed', requestId, agentId: 'echo', text: 'echo: hi' })
    expect(await ask(client, 'tasks_status', { requestId })).toEqual(done)
    expect(await ask(client, 'tasks_status', { requestIds: [requestId], waitFor: 'any' })).toEqual({ requests: [done] })
    expect(await ask(client, 'tasks_list', { sessionId: done['sessionId'] })).toMatchObject({
      requests: [{ requestId, status: 'completed', prompt: 'hi' }],
    })
    const { isError, text } = await client.call('tasks_delegate', { prompt: 'hi', agentId: 'nobody' })
    expect(isError).toBe(true)
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'NOT_FOUND', retryable: false, details: { agentId: 'nobody' } } })
  })

  it('B50, B61, B62: a cancel reaches the agent, once', async () => {
    const controller = new AbortController()
    const told = abortTells[transport]
    // A lost connection cancels the work only if the client could not find it again. So, if the test aborts, it gives no request
    // id.
    const requestId = newRequestId()
    const input = { prompt: requestId, agentId: 'waiting', ...(!told && { requestId }) }
    const calling = client.call('tasks_delegate', input, { signal: controller.signal })
    calling.catch(() => undefined)
    const witnessed = (what: string) => ask(client, 'tasks_delegate', { agentId: 'witness', prompt: `${what} ${requestId}` })
    expect(await witnessed('begun')).toMatchObject({ text: `begun ${requestId} 1` })
    if (told) controller.abort()
    else await ask(client, 'sessions_cancel', { requestId })
    expect(await witnessed('cancelled')).toMatchObject({ text: `cancelled ${requestId} 1` })
    await calling.then(
      () => expect(told).toBe(false),
      () => expect(told).toBe(true),
    )
  })

  if (!hasProgress) return

  it('B59: progress reaches the client', async () => {
    const requestId = newRequestId()
    const notes: { readonly progress: number; readonly message?: string }[] = []
    const halfWay = Promise.withResolvers<void>()
    const onprogress = (note: (typeof notes)[number]): void => {
      notes.push(note)
      if (note.message === 'half way') halfWay.resolve()
    }
    const calling = client.call('tasks_delegate', { prompt: 'hi', agentId: 'waiting', requestId }, { onprogress })
    await halfWay.promise
    expect(await ask(client, 'sessions_cancel', { requestId })).toMatchObject({ cancelled: true, settled: true })
    expect(JSON.parse((await calling).text)).toMatchObject({ status: 'aborted', stopReason: 'cancelled' })
    expect(notes[0]?.message).toContain(requestId)
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
    const target = [http.url]
    const requestId = newRequestId()
    const { stdout, stderr } = await inspect(target, '--method', 'tools/list', '--strict')
    expect((JSON.parse(stdout) as { tools: object[] }).tools).toHaveLength(bridgeTools.length)
    expect(stderr).not.toMatch(/^(Error|Warning): tool/m)
    expect(await call(target, 'tasks_delegate', { prompt: 'hi', requestId })).toMatchObject({ text: 'echo: hi' })
    // Each call starts a new inspector, so the rest runs only in long tests.
    if (rounds({ short: 0, long: 1 }) === 0) return
    const { sessionId } = (await call(target, 'sessions_create')) as { sessionId: string }
    expect(await call(target, 'sessions_prompt', { sessionId, prompt: 'hi' })).toMatchObject({ text: 'echo: hi' })
    expect(await call(target, 'sessions_close', { sessionId })).toMatchObject({ existed: true })
    const others: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['bridge_health', {}],
      ['agents_discover', {}],
      ['sessions_list', {}],
      ['tasks_status', { requestId }],
    ]
    for (const [name, input] of others) expect(Object.keys(await call(target, name, input)), name).not.toEqual([])
  })

  it('B110: over stdio it delegates', async () => {
    // The inspector would interpret arguments after `--`, and arguments that look like flags, as its own.
    const target = ['-e', `BOWLINE_BRIDGE_CONFIG=${fixture('clients')}`, process.execPath, ...nodeArgs()]
    expect(await call(target, 'tasks_delegate', { prompt: 'hi' })).toMatchObject({ text: 'echo: hi' })
  })
})
