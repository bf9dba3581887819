import { createToken } from '@bowline/server'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/bench.ts'
import { agentsFile, commandResult } from '../support/command.ts'
import { runHere } from '../support/in-process.ts'
import { describeFailure } from '../../src/bin/describe-failure.ts'
import { hashToken } from '../../src/auth/token.ts'

const usual = ['--agents', agentsFile, '--auth', 'none']

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}

describe('help', () => {
  it('lists the commands, and its version is that of the package', async () => {
    const folder = temporaryFolder()
    const overview = await commandResult(['--help'], { folder })
    expect(overview).toMatchObject({ code: 0, stderr: '' })
    for (const name of ['start', 'check', 'migrate', 'log', 'doctor', 'token create', 'openapi']) expect(overview.stdout).toContain(name)
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
    expect(await commandResult(['--version'], { folder })).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
  })

  it('help of start has every flag with its default, in lines that fit', async () => {
    const { stdout } = await runHere(['start', '--help'], temporaryFolder())
    expect(stdout).toContain('--limits.body-bytes BYTES')
    expect(stdout).toContain('(1048576)')
    expect(stdout).toContain('Limits of a caller')
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120)
  })

  it('help of a command is its own', async () => {
    const { stdout } = await runHere(['token', 'create', '--help'], temporaryFolder())
    expect(stdout).toContain('--expires 90d')
    expect(stdout).not.toContain('--port')
  })
})

/** Returns a module with objects that `check` and `start` accept as agents. */
function agentsNamed(...names: readonly (string | undefined)[]): string {
  return `const like = { run() {}, compact() {}, fingerprint() {}, tools: [] }
export const agents = [${names.map((name) => `{ ...like, name: ${JSON.stringify(name)} }`).join(', ')}]`
}

describe('wrong usage', () => {
  it.each([
    [
      ['chek'],
      'bowline-server: chek: there is no such command; there are start, check, migrate, log, doctor, token create, openapi. Did you mean check?\n',
    ],
    [['token'], '--tenant: is required'],
    [['check', 'now', ...usual], 'bowline-server: now: is not an argument of this command\n'],
    [['start', ...usual, '--prot', '1'], '--prot: there is no such flag; did you mean --port?'],
    [
      ['token', 'create', '--tenant', 'a', '--scopes', 'sesions:read', '--expires', 'soon'],
      'there is no scope sesions:read; did you mean sessions:read?',
    ],
  ])('%j exits with 2', async (argv, fault) => {
    const { code, stdout, stderr } = await runHere(argv, temporaryFolder())
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(fault)
  })

  it('V57: without any option it says what is missing, and starts nothing', async () => {
    const { code, stderr } = await runHere([], temporaryFolder())
    expect(code).toBe(2)
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^bowline-server: agents: is required/),
      expect.stringMatching(/^bowline-server: auth: is required.*bowline-server token create.*--auth none/),
    ])
  })

  it.each([
    ['that is not there', {}, /^bowline-server: agents: there is no file \S+agents\.ts\n$/],
    ['that throws', { 'agents.ts': '\nthrow new Error("MODEL_KEY is not set")' }, /cannot be loaded: MODEL_KEY is not set \(line 2\)\n$/],
    ['without agents', { 'agents.ts': 'export const name = "assistant"' }, /exports no agent: export the result of defineAgent\n$/],
    ['with an agent without a name', { 'agents.ts': agentsNamed(undefined) }, /an agent has no name: set name in defineAgent/],
    ['with two agents of one name', { 'agents.ts': agentsNamed('a', 'a') }, /Two agents have the name a/],
    ['of other things', { 'agents.ts': 'export const agents = [{}]' }, /the export agents must be an agent of defineAgent/],
  ])('a module %s gives one line, and no stack', async (_what, files, fault) => {
    const { code, stderr } = await runHere(['--agents', 'agents.ts', '--auth', 'none'], folderWith(files))
    expect(code).toBe(2)
    expect(stderr).toMatch(fault)
  })

  it('a mistake in a module gives one line with its place', async () => {
    const folder = folderWith({ 'agents.ts': '\nexport const a = [1,, }' })
    const { code, stderr } = await commandResult(['--agents', 'agents.ts', '--auth', 'none'], { folder })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^bowline-server: agents: \S+agents\.ts cannot be loaded: .+ \(line 2\)\n$/)
  })

  it.each([
    ['import', 'import { basename } from "node:path"\nexport const a = basename'],
    ['export', 'export const a = 1'],
  ])('explains a module that Node loads as CommonJS because of package.json: %s', async (_word, code) => {
    const folder = folderWith({ 'agents.ts': code, 'package.json': '{ "type": "commonjs" }' })
    const { code: exit, stderr } = await commandResult(['--agents', 'agents.ts', '--auth', 'none'], { folder })
    expect(exit).toBe(2)
    expect(stderr).toMatch(
      /agents\.ts cannot be loaded: .+ \(line 1\): Node reads it as CommonJS, as package\.json says\. Run npm pkg set type=module\n$/,
    )
  })

  it('a mistake in the file gives one line with its place, and a stack only with the option for details', async () => {
    const folder = folderWith({ 'bowline.config.ts': '\nthrow new Error("not today")' })
    const short = await commandResult(['check'], { folder })
    expect(short).toEqual({ code: 2, stdout: '', stderr: 'bowline-server: bowline.config.ts: cannot be loaded: not today (line 2)\n' })
    const long = await runHere(['check', '--log.level', 'debug'], folder)
    expect(long.code).toBe(2)
    expect(long.stderr).toMatch(/Caused by Error: not today\n +at /)
  })

  it.each([
    ['EADDRNOTAVAIL', 'this machine does not have the address 192.0.2.1: choose another address with --host'],
    ['EACCES', 'port 80 may not be used by this user: choose a port above 1023 with --port'],
  ])('explains in words why it cannot listen on an address: %s', (code, text) => {
    const error = Object.assign(new Error('listen'), { code, address: '192.0.2.1', port: 80 })
    expect(describeFailure(error, false)).toBe(`bowline-server: ${text}`)
  })

  it('reports an agent that is configured and does not exist', async () => {
    const folder = folderWith({ 'bowline.config.json': '{ "access": { "assistent": {} }, "defaultAgent": "nobody" }' })
    const { code, stderr } = await runHere(['check', ...usual], folder)
    expect(code).toBe(2)
    expect(stderr).toContain('defaultAgent: there is no agent nobody; there are assistant\n')
    expect(stderr).toContain('access: there is no agent assistent; there are assistant\n')
  })
})

describe('token create', () => {
  it('V58: prints a token and the line for the file, which a server accepts', async () => {
    const argv = ['token', 'create', '--tenant', 'acme', '--scopes', 'sessions:read, sessions:write', '--expires', '90d', '--id', 'ci']
    const { code, stdout } = await runHere(argv, temporaryFolder())
    const [token = '', line = '', ...rest] = stdout.split('\n')
    expect({ code, rest }).toEqual({ code: 0, rest: [''] })
    const config = JSON.parse(line) as Awaited<ReturnType<typeof createToken>>['config']
    expect(token).toMatch(/^bwl_ci_[\w-]{43}$/)
    expect(config).toMatchObject({ id: 'ci', tenant: 'acme', scopes: ['sessions:read', 'sessions:write'], hash: await hashToken(token) })
    const days = (Date.parse(config.expiresAt ?? '') - Date.now()) / 86_400_000
    expect(Math.round(days)).toBe(90)
    const folder = folderWith({ 'bowline.config.json': `{ "auth": { "tokens": [${line}] } }` })
    expect((await runHere(['check', '--agents', agentsFile], folder)).code).toBe(0)
  })

  it('creates ids by itself', async () => {
    const { stdout } = await runHere(['token', 'create', '--tenant', 'acme', '--scopes', 'admin'], temporaryFolder())
    expect(stdout).toMatch(/^bwl_[0-9a-f]{12}_/)
    expect(stdout).not.toContain('expiresAt')
  })
})

it('check prints the values in use and their origin, and no secret', async () => {
  const { config } = await createToken({ id: 'ci', tenant: 'acme', scopes: ['admin'] })
  const folder = folderWith({ 'bowline.config.json': JSON.stringify({ auth: { tokens: [config] }, port: 1234 }) })
  const environment = { BOWLINE_LIMITS_BODY_BYTES: '77', BOWLINE_LIMIT_JSON_DEPTH: '1' }
  const { code, stdout, stderr } = await runHere(['check', '--agents', agentsFile], folder, environment)
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'BOWLINE_LIMIT_JSON_DEPTH is ignored; did you mean BOWLINE_LIMITS_JSON_DEPTH?\n' })
  expect(stdout).toMatch(/agents +\S+agents\.ts \(assistant\) +--agents/)
  expect(stdout).toMatch(/port +1234 +bowline\.config\.json/)
  expect(stdout).toMatch(/limits\.bodyBytes +77 +BOWLINE_LIMITS_BODY_BYTES/)
  expect(stdout).toMatch(/auth +tokens ci \(acme\) +bowline\.config\.json/)
  expect(stdout).toContain(join(folder, '.bowline', 'data.db'))
  expect(stdout).not.toContain(config.hash.slice(7))
})

it('V94: openapi prints the document of the server, without agents or a store', async () => {
  const { code, stdout } = await runHere(['openapi', '--base-path', '/bowline'], temporaryFolder())
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0', paths: { '/bowline/api/agent/execute': { post: {} } } })
})
