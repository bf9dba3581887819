import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

// Every test starts processes.
vi.setConfig({ testTimeout: 30_000 })

const bin = join(import.meta.dirname, '../src/bin/bowline-bridge.ts')
const fixture = (name: string): string => join(import.meta.dirname, 'fixtures', `${name}.config.ts`)

let folder: string
const children: ChildProcessWithoutNullStreams[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bowline-bridge-'))
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

interface Command {
  readonly child: ChildProcessWithoutNullStreams
  /** What stderr said so far. */
  stderr(): string
  stdout(): string
  /** Resolves when stderr has said it. */
  says(text: string): Promise<void>
  /** The next line of stdout. */
  line(): Promise<string>
  readonly lines: readonly string[]
  readonly exit: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

function start(...args: string[]): Command {
  const env = { ...process.env, STORE_FILE: join(folder, 'sessions.db') }
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', bin, ...args], { env })
  children.push(child)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  const iterator = reader[Symbol.asyncIterator]()
  return {
    child,
    stderr: () => stderr,
    stdout: () => stdout,
    says: async (text) => {
      while (!stderr.includes(text)) await once(child.stderr, 'data')
    },
    line: async () => {
      const { value } = await iterator.next()
      lines.push(value as string)
      return value as string
    },
    lines,
    exit: once(child, 'close') as Command['exit'],
  }
}

function send({ child }: Command, message: object): void {
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

async function initialize(command: Command): Promise<void> {
  const clientInfo = { name: 'test', version: '1.0.0' }
  send(command, { id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
  await command.line()
  send(command, { method: 'notifications/initialized' })
}

function call(id: number, name: string, input: object): object {
  return { id, method: 'tools/call', params: { name, arguments: input } }
}

async function connected(...args: string[]) {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const env = { ...process.env, STORE_FILE: join(folder, 'sessions.db') } as Record<string, string>
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [bin, ...args], env, stderr: 'ignore' }))
  return client
}

describe('bowline-bridge', () => {
  it('a client over stdio delegates to an agent with a tool on a runtime with SQLite', async () => {
    const client = await connected('--config', fixture('bridge'))
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['agents_discover', 'tasks_delegate'])
    const found = await client.callTool({ name: 'agents_discover', arguments: {} })
    expect(found.structuredContent).toMatchObject({
      agents: [{ id: 'sailor', durable: true, default: true }, { id: 'slow', durable: false }, { id: 'stuck' }, { id: 'dreamer' }],
    })
    const result = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'Shout ahoy.', requestId: 'r1' } })
    expect(result.structuredContent).toMatchObject({
      ...{ status: 'completed', agentId: 'sailor', requestId: 'r1', text: 'They shouted AHOY.', stopReason: 'end_turn' },
      usage: { inputTokens: 20, outputTokens: 10 },
    })
    const repeat = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'Shout ahoy.', requestId: 'r1' } })
    expect(repeat.structuredContent).toEqual(result.structuredContent)
    const unknown = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi', agentId: 'nobody' } })
    expect(unknown._meta?.['bowline/error']).toMatchObject({ code: 'NOT_FOUND', details: { agentId: 'nobody' } })
    await client.close()
  })

  it('B111: stdout carries protocol only; console.log and direct writes of agents go to stderr', async () => {
    const command = start('--config', fixture('bridge'))
    await initialize(command)
    send(command, call(1, 'tasks_delegate', { prompt: 'Shout ahoy.' }))
    await command.line()
    command.child.stdin.end()
    expect(await command.exit).toEqual([0, null])
    expect(command.lines.map((line) => (JSON.parse(line) as { id: number }).id)).toEqual([0, 1])
    for (const text of ['the configuration is being read', 'this is no protocol', 'the tool was called']) {
      expect(command.stderr()).toContain(text)
    }
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('B112: %s ends the bridge by stop: work is cancelled and answered, the exit code is 0', async (signal) => {
    const command = start('--config', fixture('bridge'))
    await initialize(command)
    send(command, call(1, 'tasks_delegate', { prompt: 'hi', agentId: 'slow' }))
    await command.says('slow has begun')
    command.child.kill(signal)
    const { result } = JSON.parse(await command.line()) as { result: { structuredContent: object } }
    expect(result.structuredContent).toMatchObject({ status: 'aborted', stopReason: 'cancelled' })
    expect(await command.exit).toEqual([0, null])
  })

  it('B112: the end of stdin and a broken stdout end it too', async () => {
    const atEnd = start('--config', fixture('bridge'))
    await initialize(atEnd)
    atEnd.child.stdin.end()
    expect(await atEnd.exit).toEqual([0, null])

    const broken = start('--config', fixture('bridge'))
    await initialize(broken)
    broken.child.stdout.destroy()
    send(broken, call(1, 'agents_discover', {}))
    expect(await broken.exit).toEqual([0, null])
  })

  it('B112: a second signal exits at once with 130', async () => {
    const command = start('--config', fixture('bridge'))
    await initialize(command)
    send(command, call(1, 'tasks_delegate', { prompt: 'hi', agentId: 'stuck' }))
    await command.says('stuck has begun')
    command.child.kill('SIGINT')
    await command.says('the bridge stops')
    command.child.kill('SIGTERM')
    expect(await command.exit).toEqual([130, null])
  })

  it('B72: at the end of stdin a durable run is left, and whoever opens the store next finishes it', async () => {
    const command = start('--config', fixture('bridge'))
    await initialize(command)
    send(command, call(1, 'tasks_delegate', { prompt: 'Dream on.', agentId: 'dreamer', requestId: 'r1' }))
    await command.says('dreamer has begun')
    command.child.stdin.end()
    expect(await command.exit).toEqual([0, null])

    const model = scriptedModel([{ text: 'Awake.' }])
    const dreamer = defineAgent({ name: 'dreamer', model, instructions: 'Dream.' })
    const runtime = createRuntime({ agents: [dreamer], store: sqliteStore({ file: join(folder, 'sessions.db') }) })
    await runtime.start()
    const [session] = (await runtime.sessions()).items
    const run = await runtime.session(session?.key ?? '').send('Dream on.', { id: 'r1' })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Awake.' })
    expect(run.accepted).toBe('duplicate')
    await runtime.stop()
  })

  it('B114: without agents the server still starts, and discovery is an empty list', async () => {
    const client = await connected()
    const found = await client.callTool({ name: 'agents_discover', arguments: {} })
    expect(found.structuredContent).toEqual({ agents: [] })
    const refused = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    expect(refused._meta?.['bowline/error']).toMatchObject({ code: 'CONFIG', message: 'No agents registered' })
    await client.close()
  })

  it.each<[string, string[], RegExp]>([
    ['an unknown flag', ['--colour', 'red'], /--colour/],
    ['a file that is not there', ['--config', 'nowhere.config.ts'], /nowhere\.config\.ts cannot be loaded/],
    ['a file without default export', ['--config', fixture('no-default')], /must export the result of defineBridgeConfig/],
    ['a default agent that does not exist', ['--config', fixture('bad-default')], /no default agent nobody/],
  ])('exit code 2 for bad configuration: %s', async (_what, args, text) => {
    const command = start(...args)
    expect(await command.exit).toEqual([2, null])
    expect(command.stderr()).toMatch(text)
    expect(command.stdout()).toBe('')
  })

  it('exit code 1 for a failure: a store that is no store', async () => {
    await writeFile(join(folder, 'sessions.db'), 'this is no database, but long enough to be looked at as one'.repeat(20))
    const command = start('--config', fixture('bridge'))
    expect(await command.exit).toEqual([1, null])
    expect(command.stderr()).toContain('sessions.db')
  })
})
