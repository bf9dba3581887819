import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { fixtureFile } from '../programs.ts'
import { fixture, nodeArgs, runHere, startCommand, startHttpCommand, type Command, type Outcome } from './command-support.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bowline-bridge-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

function start(...args: string[]): Command {
  return startCommand(args, { environment: { STORE_FILE: join(folder, 'sessions.db') }, folder })
}

/** Runs the command in this process. */
function run(...args: string[]): Promise<Outcome> {
  return runHere(args, { folder })
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
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [...nodeArgs(), ...args], env, cwd: folder, stderr: 'ignore' }),
  )
  return client
}

describe('bowline-bridge', () => {
  it('a client over stdio delegates to an agent with a tool on a runtime with SQLite', async () => {
    const client = await connected('--config', fixture('bridge'))
    const { tools } = await client.listTools()
    expect(tools).toHaveLength(11)
    const found = await client.callTool({ name: 'agents_discover', arguments: {} })
    expect(found.structuredContent).toMatchObject({
      agents: [{ id: 'sailor', durable: true, default: true }, { id: 'slow', durable: false }, { id: 'stuck' }, { id: 'dreamer' }],
    })
    const result = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'Shout ahoy.', requestId: 'r1' } })
    expect(result.structuredContent).toMatchObject({
      status: 'completed',
      agentId: 'sailor',
      requestId: 'r1',
      text: 'They shouted AHOY.',
      stopReason: 'end_turn',
      usage: { inputTokens: 20, outputTokens: 10 },
    })
    const repeat = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'Shout ahoy.', requestId: 'r1' } })
    expect(repeat.structuredContent).toEqual(result.structuredContent)
    const unknown = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi', agentId: 'nobody' } })
    expect(unknown._meta?.['bowline/error']).toMatchObject({ code: 'NOT_FOUND', details: { agentId: 'nobody' } })
    await client.close()
  })

  it('B111, B112: stdout carries protocol only; console.log and direct writes of agents go to stderr; the end of stdin ends it', async () => {
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

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'B112: %s stops the bridge: work is cancelled and answered, the exit code is 0',
    async (signal) => {
      const command = start('--config', fixture('bridge'))
      await initialize(command)
      send(command, call(1, 'tasks_delegate', { prompt: 'hi', agentId: 'slow' }))
      await command.says('slow has begun')
      command.child.kill(signal)
      const { result } = JSON.parse(await command.line()) as { result: { structuredContent: object } }
      expect(result.structuredContent).toMatchObject({ status: 'aborted', stopReason: 'cancelled' })
      expect(await command.exit).toEqual([0, null])
    },
  )

  it('B112: a broken stdout ends it too', async () => {
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

  it('B72: at the end of stdin a durable run is left, and the next bridge on the store finishes it', async () => {
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

  it('B114: without agents the server still starts: discovery is an empty list, and health says so', async () => {
    const client = await connected()
    const found = await client.callTool({ name: 'agents_discover', arguments: {} })
    expect(found.structuredContent).toEqual({ agents: [] })
    const refused = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    expect(refused._meta?.['bowline/error']).toMatchObject({ code: 'CONFIG', message: 'No agents registered' })
    const health = await client.callTool({ name: 'bridge_health', arguments: {} })
    expect(health.structuredContent).toMatchObject({ healthy: false, agents: { total: 0, ready: 0 }, executors: [] })
    await client.close()
  })

  it('exit code 2 for bad configuration, with nothing on stdout', async () => {
    const command = start('--config', fixture('bad-default'))
    expect(await command.exit).toEqual([2, null])
    expect(command.stderr()).toMatch(/default agent nobody does not exist; registered: \w+/)
    expect(command.stdout()).toBe('')
  })

  it.each<[string, string[], RegExp]>([
    ['an unknown flag', ['--defalt-agent', 'red'], /There is no --defalt-agent; did you mean --default-agent\?/],
    ['a file that is not there', ['--config', 'nowhere.config.ts'], /nowhere\.config\.ts cannot be loaded/],
    ['a file without default export', ['--config', fixture('no-default')], /must export the result of defineBridgeConfig/],
  ])('exit code 2 for bad configuration: %s', async (_what, args, text) => {
    const { exitCode, stderr, stdout } = await run(...args, 'check')
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(text)
  })

  it.each<[string, string, RegExp]>([
    ['a list', '[]', /must be an object/],
    ['workers that are no list', '{ "workers": {} }', /bowline\.bridge\.json\.workers must be a list; received an object/],
    ['a worker that is none', '{ "workers": [null] }', /workers\[0\] must be an object; received null/],
    ['runtimes in JSON', '{ "runtimes": ["main"] }', /runtimes\[0\] must be an object with start and stop; received a text/],
    ['a word that is none', '{ "worker": [] }', /bowline\.bridge\.json has no option "worker"; did you mean workers\?/],
  ])('exit code 2 for a configuration in JSON: %s', async (_what, text, message) => {
    await writeFile(join(folder, 'bowline.bridge.json'), text)
    const { exitCode, stderr } = await run('check')
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(message)
  })

  it('exit code 2 for a file that Node loads as CommonJS because of package.json', async () => {
    await writeFile(join(folder, 'package.json'), '{ "type": "commonjs" }')
    await writeFile(join(folder, 'bowline.bridge.ts'), 'import { basename } from "node:path"\nexport default { name: basename }')
    const command = start('check')
    expect(await command.exit).toEqual([2, null])
    expect(command.stderr()).toMatch(
      /bowline\.bridge\.ts cannot be loaded: .+: Node reads it as CommonJS, as package\.json says\. Run npm pkg set type=module\n$/,
    )
  })

  it('exit code 1 for a failure: a store that cannot be opened as one', async () => {
    await writeFile(join(folder, 'sessions.db'), 'this is no database, but long enough to be looked at as one'.repeat(20))
    const command = start('--config', fixture('bridge'))
    expect(await command.exit).toEqual([1, null])
    expect(command.stderr()).toContain('sessions.db')
  })

  it('exit code 1 for a failure: an address that is in use is reported in one line', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const address = `127.0.0.1:${(other.address() as AddressInfo).port}`
    const command = start('--http', address, '--log-level', 'silent')
    expect(await command.exit).toEqual([1, null])
    expect(command.stderr()).toBe(`bowline-bridge: listen EADDRINUSE: address already in use ${address}\n`)
  })

  it('B122: check prints a line for each agent and stops', async () => {
    const command = start('--config', fixture('clients'), '--default-agent', 'asking', 'check')
    expect(await command.exit).toEqual([0, null])
    expect(command.stdout()).toBe(
      'ready echo (in-process)\nready waiting (in-process)\nready witness (in-process)\nready asking (in-process, default)\n',
    )
    expect(command.stderr()).toContain('"level":"info"')
  })

  it('B122: check says so if there are no agents, exit code 1', async () => {
    const { exitCode, stdout } = await run('check')
    expect([exitCode, stdout]).toEqual([1, 'There are no agents\n'])
  })

  it('exit code 2 for a default agent of the command line that does not exist', async () => {
    const { exitCode, stderr } = await run('--config', fixture('clients'), '--default-agent', 'nobody', 'check')
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(/default agent nobody does not exist/)
  })

  it('help and version go to stdout', async () => {
    const help = await run('--help')
    const version = await run('--version')
    expect([help.exitCode, version.exitCode]).toEqual([0, 0])
    for (const flag of ['--config', '--worker', '--default-agent', '--http', '--allow-host', '--log-level'])
      expect(help.stdout).toContain(flag)
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('uses the configuration file in the folder', async () => {
    await writeFile(join(folder, 'bowline.bridge.json'), JSON.stringify({ defaultAgentId: 'from-json' }))
    const json = await run('check')
    expect(json.exitCode).toBe(2)
    expect(json.stderr).toContain('from-json')
    await writeFile(join(folder, 'bowline.bridge.ts'), `export { default } from ${JSON.stringify(pathToFileURL(fixture('clients')).href)}`)
    const both = await run('check')
    expect(both.exitCode).toBe(2)
    expect(both.stderr).toContain('Found bowline.bridge.ts and bowline.bridge.json: name one of them with --config')
    await rm(join(folder, 'bowline.bridge.json'))
    const module = start('check')
    expect(await module.exit).toEqual([0, null])
    expect(module.stdout()).toContain('ready echo')
  })

  it('uses the configuration that BOWLINE_BRIDGE_CONFIG names, after a flag; logs no more than BOWLINE_LOG_LEVEL allows', async () => {
    const environment = { BOWLINE_BRIDGE_CONFIG: fixture('clients'), BOWLINE_LOG_LEVEL: 'silent' }
    const named = startCommand(['check'], { environment, folder })
    const flag = runHere(['--config', fixture('bad-default'), 'check'], { environment, folder })
    expect([await named.exit, (await flag).exitCode]).toEqual([[0, null], 2])
    expect(named.stdout()).toContain('ready waiting')
    expect(named.stderr()).toBe('')
  })
})

describe('bowline-bridge with workers', () => {
  const foreignAgent = fixtureFile('worker/fixtures/foreign-agent')
  const agentCommand = `'${process.execPath}' --disable-warning=ExperimentalWarning '${foreignAgent}'`

  it('--worker ID=COMMAND is an agent in a process of its own, which ends with the bridge', async () => {
    const client = await connected('--worker', `one=${agentCommand}`, '--worker', `two=${agentCommand}`, '--default-agent', 'two')
    const result = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'stream' } })
    expect(result.structuredContent).toMatchObject({ status: 'completed', agentId: 'two', text: 'one two three' })
    const health = await client.callTool({ name: 'bridge_health', arguments: {} })
    expect(health.structuredContent).toMatchObject({
      agents: { total: 2 },
      executors: [{ kind: 'worker', workers: [{ id: 'one' }, { id: 'two', state: 'ready', restarts: 0 }] }],
    })
    await client.close()
  })

  it('a file in JSON names workers, whose folder is that of the file', async () => {
    await mkdir(join(folder, 'agents'))
    await writeFile(join(folder, 'agents', 'agent.ts'), `import ${JSON.stringify(pathToFileURL(foreignAgent).href)}`)
    const workers = [{ id: 'local', command: process.execPath, args: ['--disable-warning=ExperimentalWarning', 'agent.ts'] }]
    const file = join(folder, 'agents', 'workers.json')
    await writeFile(file, JSON.stringify({ workers, defaultAgentId: 'local' }))
    const { exitCode, stdout } = await run('--config', file, 'check')
    expect([exitCode, stdout]).toEqual([0, 'ready local (worker, default)\n'])
  })

  it('B122: a server that cannot be reached is not a fault of the configuration: check prints why, exit code 1', async () => {
    const file = join(folder, 'servers.json')
    const named = { id: 'away', baseUrl: 'http://127.0.0.1:9', agents: ['writer'] }
    await writeFile(file, JSON.stringify({ servers: [named, { id: 'far', baseUrl: 'http://127.0.0.1:9' }] }))
    const { exitCode, stdout } = await run('--config', file, 'check')
    expect(exitCode).toBe(1)
    expect(stdout).toBe(
      'unavailable writer (remote, default): the server away is not reachable: disconnected\nunavailable remote: the server far is not reachable: disconnected\n',
    )
  })

  it('B122: check waits for each start and prints why a worker cannot be used, exit code 1', async () => {
    const entry = async (name: string, code: string): Promise<object> => {
      await writeFile(join(folder, `${name}.mjs`), code)
      return { id: name, entry: `./${name}.mjs`, startTimeoutMs: 15_000 }
    }
    const workers = [
      { id: 'program', command: 'no-such-program-anywhere' },
      { id: 'folder', command: process.execPath, cwd: './nowhere' },
      { id: 'entry', entry: './nowhere.ts' },
      { id: 'home', entry: './agent.ts', cwd: './nowhere' },
      await entry('throws', "console.error('token=abcdefghijkl')\nthrow new TypeError('no key in /home/me/keys.json')"),
      await entry('silent', 'export const agent = 1'),
      { ...(await entry('hangs', 'setInterval(() => {}, 1000)')), startTimeoutMs: 1000 },
      {
        id: 'slow',
        command: process.execPath,
        args: [
          '--disable-warning=ExperimentalWarning',
          '-e',
          `setTimeout(() => import(${JSON.stringify(pathToFileURL(foreignAgent).href)}), 2500)`,
        ],
        startTimeoutMs: 20_000,
      },
    ]
    await writeFile(join(folder, 'bowline.bridge.json'), JSON.stringify({ workers }))
    const { exitCode, stdout } = await run('check')
    expect(exitCode).toBe(1)
    expect(stdout.trim().split('\n')).toEqual([
      'unavailable program (worker, default): could not be started: there is no program "no-such-program-anywhere"',
      'unavailable folder (worker): could not be started: there is no folder "./nowhere"',
      'unavailable entry (worker): could not be started: there is no entry "./nowhere.ts"',
      'unavailable home (worker): could not be started: there is no folder "./nowhere"',
      'unavailable throws (worker): exited with 1: TypeError: no key in [path]',
      'unavailable silent (worker): exited with 0: does the entry call serveWorker?',
      'unavailable hangs (worker): was not ready within 1000 ms: does the entry call serveWorker?',
      'ready slow (worker)',
    ])
  })

  it('exit code 2 if two workers have one id, or a worker has nothing to run', async () => {
    const twice = await run('--worker', 'one=true', '--worker', 'one=true', 'check')
    await writeFile(join(folder, 'bowline.bridge.json'), JSON.stringify({ workers: [{ id: 'none' }] }))
    const none = await run('check')
    expect([twice.exitCode, none.exitCode]).toEqual([2, 2])
    expect(none.stderr).toContain('bowline.bridge.json.workers[0] must have either a command or an entry')
  })
})

describe('bowline-bridge --http', () => {
  it('B113: prints its address, on loopback, and ends cleanly by a signal while a client waits', async () => {
    const command = await startHttpCommand(['--config', fixture('clients')])
    expect(command.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
    const client = new Client({ name: 'test', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(command.url)))
    const calling = client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi', agentId: 'waiting', requestId: 'r1' } })
    await command.says('waiting has begun r1')
    command.child.kill('SIGTERM')
    expect((await calling).structuredContent).toMatchObject({ status: 'aborted', stopReason: 'cancelled' })
    expect(await command.exit).toEqual([0, null])
    expect(command.stdout()).toBe('')
  })

  it('B112: the end of stdin does not end it: scripts may start it in the background', async () => {
    const command = await startHttpCommand(['--config', fixture('clients')])
    command.child.stdin.end()
    command.child.stdout.destroy()
    expect((await fetch(command.url)).status).toBe(405)
    command.child.kill('SIGINT')
    expect(await command.exit).toEqual([0, null])
  })

  it('exit code 2 if any caller could use the agents', async () => {
    const { exitCode, stderr } = await run('--http', '0.0.0.0:0')
    expect(exitCode).toBe(2)
    expect(stderr).toContain('BOWLINE_BRIDGE_TOKEN')
  })

  it('B113: the token of BOWLINE_BRIDGE_TOKEN is required, and is in no line of the log', async () => {
    const environment = { BOWLINE_BRIDGE_TOKEN: 'a-token-of-this-test' }
    const command = await startHttpCommand(['--config', fixture('clients')], { environment })
    expect((await fetch(command.url, { method: 'POST' })).status).toBe(401)
    const headers = { authorization: 'Bearer a-token-of-this-test' }
    const client = new Client({ name: 'test', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(command.url), { requestInit: { headers } }))
    const result = await client.callTool({ name: 'tasks_delegate', arguments: { prompt: 'hi' } })
    expect(result.structuredContent).toMatchObject({ status: 'completed', text: 'echo: hi' })
    expect(command.stderr()).not.toContain('a-token-of-this-test')
    // The command has a single owner, which may use the whole capacity.
    const health = (await client.callTool({ name: 'bridge_health', arguments: {} })).structuredContent
    expect(health).toMatchObject({ requests: { capacity: 50 }, owner: { requests: { capacity: 50 }, sessions: { capacity: 100 } } })
  })
})
