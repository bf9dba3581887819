import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAccess } from '@bowline/server'
import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/config-error.ts'
import { readFlags } from '../../src/config/read-flags.ts'
import { misspelledVariables } from '../../src/config/read-variables.ts'
import { resolveConfig, type ResolvedConfig } from '../../src/config/resolve-config.ts'
import { flagOf, settingKeys, settings, splitKey, variableOf, type SettingKey } from '../../src/config/settings.ts'
import type { Setting } from '../../src/config/setting.ts'
import { configFlag } from '../../src/bin/flags.ts'
import { temporaryFolder } from '../support/bench.ts'

interface Asked {
  readonly argv?: readonly string[]
  readonly environment?: Record<string, string>
  readonly folder?: string
  readonly required?: readonly ('agents' | 'auth')[]
}

function resolve({ argv = [], environment = {}, folder = temporaryFolder(), required = [] }: Asked): Promise<ResolvedConfig> {
  return resolveConfig({ flags: readFlags(argv, configFlag, { base: folder }), environment, folder, required })
}

async function faultsOf(asked: Asked): Promise<readonly string[]> {
  const error = await resolve(asked).then(
    () => expect.fail('It was taken.'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof ConfigError)) throw error
  return error.message.split('\n')
}

function folderWith(content: object | string, name = 'bowline.config.json'): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  return folder
}

it('S206: a file may set everything about the access to an agent that createServer accepts', async () => {
  const access = {
    description: 'd',
    capabilities: ['c'],
    clientTools: 'any',
    models: ['m'],
    runtimeParams: ['seed'],
    clientHistory: true,
    clientOutput: true,
    onBusy: ['queue'],
  } as const satisfies Required<AgentAccess>
  expect((await resolve({ folder: folderWith({ access: { assistant: access } }) })).access).toEqual({ assistant: access })
})

/** Returns a value of a key that is not its default, as text and parsed. */
function otherValue(key: SettingKey): { readonly text: string; readonly value: unknown } {
  const special: Partial<Record<SettingKey, string>> = {
    auth: 'none',
    store: 'memory:',
    directConnectionString: 'postgres://one@database/agents',
    basePath: '/here',
    placement: 'restate',
    'restate.url': 'http://restate:8080',
    'log.level': 'warn',
    agents: '/there/agents.ts',
  }
  const { default: value, placeholder = '' }: Setting = settings[key]
  const text = special[key]
  if (text !== undefined) return { text, value: text }
  if (typeof value === 'number') return { text: String(value + 1), value: value + 1 }
  if (typeof value === 'boolean') return { text: String(!value), value: !value }
  if (key === 'trustedProxies') return { text: '10.0.0.0/8', value: ['10.0.0.0/8'] }
  return placeholder.endsWith('…') ? { text: 'one, two', value: ['one', 'two'] } : { text: 'other', value: 'other' }
}

function nested(key: SettingKey, value: unknown): object {
  const [section, name] = splitKey(key)
  return section === undefined ? { [name]: value } : { [section]: { [name]: value } }
}

describe('the origin of a value', () => {
  it('V81: every key has a flag, a variable and a path in the file, and each one is read', async () => {
    expect(flagOf('limits.bodyBytes')).toBe('--limits.body-bytes')
    expect(variableOf('limits.bodyBytes')).toBe('BOWLINE_LIMITS_BODY_BYTES')
    for (const key of settingKeys) {
      const { text, value } = otherValue(key)
      const variable = variableOf(key)
      // A second address belongs to a store that has one, and an engine to a store for many servers.
      const needed = key === 'directConnectionString' || key === 'placement' ? ['--store=postgres://one@pooler/agents'] : []
      const byFlag = await resolve({ argv: [...needed, `${flagOf(key)}=${text}`] })
      const byVariable = await resolve({ argv: needed, environment: { [variable]: text } })
      const byFile = await resolve({ argv: needed, folder: folderWith(nested(key, value)) })
      expect([key, byFlag.values[key], byVariable.values[key], byFile.values[key]]).toEqual([key, value, value, value])
      expect([byFlag, byVariable, byFile].map((config) => config.originOf(key))).toEqual([flagOf(key), variable, 'bowline.config.json'])
      expect((await resolve({})).values[key]).toEqual(settings[key].default)
    }
  })

  it('V81: a flag wins over a variable, a variable over the file, the file over the default', async () => {
    const folder = folderWith({ port: 3, heartbeatMs: 3, drainMs: 3 })
    const { values } = await resolve({
      argv: ['--port', '1'],
      environment: { BOWLINE_PORT: '2', BOWLINE_HEARTBEAT_MS: '2' },
      folder,
    })
    expect(values).toMatchObject({ port: 1, heartbeatMs: 2, drainMs: 3, host: '127.0.0.1' })
  })

  it('an empty variable counts as not set', async () => {
    expect((await resolve({ environment: { BOWLINE_PORT: '' } })).values.port).toBe(8787)
  })

  it('a toggle is true by its flag alone, a list adds up, and of any other value the last one counts', async () => {
    const { values } = await resolve({ argv: ['--log.content', '--hosts', 'a,b', '--hosts=c', '--port', '1', '--port', '2'] })
    expect(values).toMatchObject({ 'log.content': true, hosts: ['a', 'b', 'c'], port: 2 })
  })

  it('D55: model requests are recorded only when configured, and the records have bounds', async () => {
    expect((await resolve({})).values).toMatchObject({
      'requests.record': false,
      'requests.maxRequests': 200,
      'requests.maxBytes': 4_194_304,
      'requests.ttlMs': 2_592_000_000,
    })
    const { values } = await resolve({
      argv: ['--requests.record'],
      environment: { BOWLINE_REQUESTS_TTL_MS: '2592000000' },
      folder: folderWith({ requests: { maxRequests: 2 } }),
    })
    expect(values).toMatchObject({ 'requests.record': true, 'requests.maxRequests': 2, 'requests.ttlMs': 2_592_000_000 })
    const faults = await faultsOf({
      folder: folderWith({ requests: { record: 'yes', maxRequests: 1, maxBytes: 16_383, ttlMs: 0, redact: true } }),
    })
    expect(faults.map((fault) => fault.replace(/ \(.*/, ''))).toEqual([
      'requests.record',
      'requests.maxRequests',
      'requests.maxBytes',
      'requests.ttlMs',
      'requests.redact',
    ])
  })

  it('paths of the file start from its folder, others from the working folder', async () => {
    const folder = folderWith({ agents: './in-file.ts', store: 'file:./data' })
    const inFile = await resolve({ argv: ['--config', join(folder, 'bowline.config.json')] })
    expect(inFile).toMatchObject({ agents: join(folder, 'in-file.ts'), store: { kind: 'file', folder: join(folder, 'data') } })
    const elsewhere = temporaryFolder()
    const byFlag = await resolve({ argv: ['--agents', 'a.ts', '--store', 'sqlite:b.db'], folder: elsewhere })
    expect(byFlag).toMatchObject({ agents: join(elsewhere, 'a.ts'), store: { kind: 'sqlite', file: join(elsewhere, 'b.db') } })
  })

  it.each(['ts', 'mjs', 'js'])('the file may be a module: .%s', async (extension) => {
    const folder = temporaryFolder()
    const type = extension === 'ts' ? ' as { port: number }' : ''
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, `bowline.config.${extension}`), `export default { port: 5, auth: async () => null }${type}\n`)
    const config = await resolve({ folder, required: ['auth'] })
    expect([config.values.port, typeof config.auth]).toEqual([5, 'function'])
  })

  it('the file is named by a flag or a variable, and the flag wins', async () => {
    const one = join(folderWith({ port: 1 }), 'bowline.config.json')
    const two = join(folderWith({ port: 2 }), 'bowline.config.json')
    expect((await resolve({ environment: { BOWLINE_CONFIG: two } })).values.port).toBe(2)
    expect((await resolve({ argv: ['--config', one], environment: { BOWLINE_CONFIG: two } })).values.port).toBe(1)
  })

  it('V57: none as a flag wins over the tokens of the file', async () => {
    const tokens = [{ id: 'ci', hash: `sha256:${'0'.repeat(64)}`, tenant: 'acme', scopes: ['admin'] }]
    const folder = folderWith({ auth: { tokens } })
    expect((await resolve({ folder })).auth).toEqual({ tokens })
    expect((await resolve({ folder, argv: ['--auth', 'none'] })).auth).toBe('none')
  })
})

describe('mistakes', () => {
  it('V103, S212: webhooks are configured in the file, and each fault has its path', async () => {
    const notify = { url: 'https://example.com/', events: ['settled'], secret: 'a secret of sixteen characters' }
    const { webhooks } = await resolve({ folder: folderWith({ notify, webhooks: { http: true } }) })
    expect(webhooks).toEqual({ notify, webhooks: { http: true } })
    expect((await resolve({ folder: folderWith({}) })).webhooks).toEqual({})
    const faults = await faultsOf({
      folder: folderWith({ notify: { ...notify, events: [], secret: 'short', other: 1 }, webhooks: { https: true } }),
    })
    expect(faults.map((fault) => fault.replace(/:.*/, ''))).toEqual([
      'notify.events (bowline.config.json)',
      'notify.secret (bowline.config.json)',
      'notify.other (bowline.config.json)',
      'webhooks.https (bowline.config.json)',
    ])
    expect(faults.join()).not.toContain('short')
  })

  it('V81: all mistakes are reported at once, each with its path and its origin', async () => {
    const folder = folderWith({ port: 'x', limits: { bodyBytes: -1, bodyBites: 1 }, auth: { tokens: [{ id: 'ci' }] } })
    const faults = await faultsOf({
      argv: ['--drain-ms', 'soon', '--limits.bodybytes', '--host'],
      environment: { BOWLINE_LOG_LEVEL: 'loud' },
      folder,
      required: ['agents', 'auth'],
    })
    expect(faults).toEqual([
      '--limits.bodybytes: there is no such flag; did you mean --limits.body-bytes?',
      '--host: needs a value',
      'drainMs (--drain-ms): must be a whole number from 0 to 2147483647',
      'log.level (BOWLINE_LOG_LEVEL): must be one of trace, debug, info, warn, error, fatal, silent',
      'port (bowline.config.json): must be a whole number from 0 to 65535',
      'auth.tokens.0.hash (bowline.config.json): Invalid input: expected string, received undefined',
      'auth.tokens.0.tenant (bowline.config.json): Invalid input: expected string, received undefined',
      'auth.tokens.0.scopes (bowline.config.json): Invalid input: expected array, received undefined',
      'limits.bodyBytes (bowline.config.json): must be a whole number from 1 to 2147483647',
      'limits.bodyBites (bowline.config.json): there is no such key; did you mean limits.bodyBytes?',
      'agents: is required: name the module with --agents, BOWLINE_AGENTS or agents in bowline.config.ts',
    ])
  })

  it('V57: without auth it explains how to create a token, and how to go without one on this machine', async () => {
    const [fault = ''] = await faultsOf({ required: ['auth'] })
    expect(fault).toMatch(/^auth: is required.*bowline-server token create.*--auth none/)
  })

  it('V57: without authentication it does not listen to other machines', async () => {
    const faults = await faultsOf({ argv: ['--auth', 'none', '--host', '0.0.0.0'] })
    expect(faults).toEqual(['host (--host): with auth none every caller could use the server on 0.0.0.0: use 127.0.0.1, or set tokens'])
  })

  it('V58: tokens cannot be given by flag, and the given value is not repeated', async () => {
    const secret = 'bwl_ci_s3cret'
    const faults = await faultsOf({ argv: ['--auth', secret, '--store', `redis://bowline:${secret}@db/x`] })
    expect(faults).toEqual([
      'auth (--auth): can only be none here: tokens and JWT are set in the file',
      'store (--store): redis: keeps state records only, no sessions; must be sqlite:<file>, file:<folder>, postgres://<user>@<host>/<database> or memory:',
    ])
  })

  it.each([
    ['redis://db', 'redis: keeps state records only, no sessions'],
    ['postgres:db', 'must be an address of a Postgres server: postgres://<user>:<password>@<host>:<port>/<database>'],
    ['postgresql://', 'must be an address of a Postgres server: postgresql://'],
    ['postgresql:///db', 'must be an address of a Postgres server: postgresql://'],
    ['postgres:///db?host=', 'must be an address of a Postgres server: postgres://'],
    ['sqlite:', 'must name a file'],
    ['data.db', 'must be sqlite:<file>'],
    ['memory:x', 'must be sqlite:<file>'],
  ])('refuses the store %s', async (store, fault) => {
    expect(await faultsOf({ argv: ['--store', store] })).toEqual([expect.stringContaining(`store (--store): ${fault}`)])
  })

  it('S189: the direct connection to the database needs a store on Postgres and an address of Postgres', async () => {
    const direct = 'postgres://bowline@db/agents'
    expect(
      (await resolve({ argv: ['--store', 'postgres://bowline@pooler/agents'], environment: { BOWLINE_DIRECT_CONNECTION_STRING: direct } }))
        .store,
    ).toEqual({
      kind: 'postgres',
      connectionString: 'postgres://bowline@pooler/agents',
      directConnectionString: direct,
    })
    const ofOthers = await faultsOf({ argv: ['--store', 'memory:', '--direct-connection-string', direct] })
    expect(ofOthers).toEqual(['directConnectionString (--direct-connection-string): is for a store on Postgres, and the store is memory:'])
    const wrong = await faultsOf({
      argv: ['--store', 'postgres://bowline@pooler/agents', '--direct-connection-string', 'http://db:s3cret@x'],
    })
    expect(wrong).toEqual([
      expect.stringMatching(/^directConnectionString \(--direct-connection-string\): must be an address of a Postgres server/),
    ])
  })

  it('V69: refuses a trusted proxy that is no address or range', async () => {
    const faults = await faultsOf({ argv: ['--trusted-proxies', '10.0.0.0/8,anybody'] })
    expect(faults).toEqual(['trustedProxies (--trusted-proxies): the list: "anybody" must be an IP address or a range such as 10.0.0.0/8'])
  })

  it('V58: refuses an empty list of tokens, and explains how to create one', async () => {
    const faults = await faultsOf({ folder: folderWith({ auth: { tokens: [] } }) })
    expect(faults).toEqual([expect.stringMatching(/^auth \(bowline\.config\.json\): .*auth\.tokens is empty.*bowline-server token create/)])
  })

  it('tokens in the file are checked as the server checks them', async () => {
    const token = { id: 'ci', hash: 'sha256:1', tenant: 'no tenant', scopes: [] }
    const faults = await faultsOf({ folder: folderWith({ auth: { tokens: [token] } }) })
    expect(faults.join()).toMatch(/^auth \(bowline\.config\.json\): .*hash must match.*is not a valid tenant name/)
  })

  it.each([
    ['bowline.config.json', '{ "port": 1,, }', /bowline\.config\.json: cannot be loaded: .*position/],
    ['bowline.config.mjs', 'export const port = 1', /bowline\.config\.mjs: must export the result of defineServerConfig as its default/],
  ])('a file that cannot be read gives one line: %s, %s', async (name, content, fault) => {
    const folder = folderWith(content, name)
    const faults = await faultsOf({ folder, argv: ['--port', 'x'] })
    expect(faults).toEqual([expect.stringContaining('port (--port)'), expect.stringMatching(fault)])
  })

  it('a missing file, and two candidate files, are errors', async () => {
    expect(await faultsOf({ argv: ['--config', 'none.json'] })).toEqual([
      expect.stringMatching(/^--config: there is no file .*none\.json$/),
    ])
    const folder = folderWith({})
    writeFileSync(join(folder, 'bowline.config.ts'), 'export default {}')
    expect(await faultsOf({ folder })).toEqual(['--config: there are bowline.config.ts and bowline.config.json: name one of them'])
    mkdirSync(join(folder, 'empty'))
    expect((await resolve({ folder: join(folder, 'empty') })).file).toBeUndefined()
  })

  it('reports a variable with a probable typing mistake, and ignores variables of other programs', () => {
    const environment = {
      BOWLINE_LIMITS_BODYBYTES: '1',
      BOWLINE_PORT: '1',
      BOWLINE_SERVICE_HOST: '10.0.0.1',
      BOWLINE_PORT_8787_TCP_PROTO: 'tcp',
    }
    expect(misspelledVariables(environment)).toEqual([{ name: 'BOWLINE_LIMITS_BODYBYTES', meant: 'BOWLINE_LIMITS_BODY_BYTES' }])
  })
})
