import type { Problem } from '@bowline/client'
import { systemClock } from '@bowline/llm'
import { versionMark } from '@bowline/llm/arguments'
import * as root from '@bowline/server'
import * as config from '@bowline/server/config'
import * as node from '@bowline/server/node'
import * as pino from '@bowline/server/pino'
import * as prometheus from '@bowline/server/prometheus'
import * as rateLimits from '@bowline/server/rate-limits'
import { createOrchestration } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { recordRequests } from '@bowline/sessions/requests'
import { Registry } from 'prom-client'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { describe, expect, it } from 'vitest'
import { argumentProblems, unlistedNames, type ArgumentRow, type Kind } from '../../../scripts/argument-table.ts'
import sessions from '../../sessions/package.json' with { type: 'json' }
import { bench, idleRuntime } from './support/bench.ts'

const isRefusal = (error: unknown): error is Error => root.ServerError.isInstance(error) && error.code.startsWith('invalid-')

const none: readonly Kind[] = []
const anyText: readonly Kind[] = ['text', 'empty']
const amount: readonly Kind[] = ['number', 'fraction']
const places = (kinds: readonly Kind[], ...paths: string[]): Record<string, readonly Kind[]> =>
  Object.fromEntries(paths.map((path) => [path, kinds]))

const token = () => ({
  id: 'ci',
  hash: `sha256:${'0'.repeat(64)}` as const,
  tenant: 'demo',
  scopes: ['admin' as const],
  expiresAt: '2030-01-01',
  disabled: true,
})
const jwt = () => ({ secret: 'x'.repeat(32), issuer: 'i', audience: 'a', tenantClaim: 't', scopeClaim: 's', algorithms: ['HS256'] })
const auth = (): root.Auth => ({ tokens: [token()], jwt: jwt() })
const authTakes = (path: string): Record<string, readonly Kind[]> => ({
  [path]: ['function'],
  ...places(['text'], `${path}.tokens[0].tenant`, `${path}.tokens[0].id`),
  ...places(
    none,
    `${path}.tokens[0].hash`,
    `${path}.tokens[0].scopes[0]`,
    `${path}.tokens[0].expiresAt`,
    `${path}.jwt.secret`,
    `${path}.jwt.algorithms[0]`,
  ),
})
const limits = (): Required<root.Limits> => ({
  bodyBytes: 7,
  headerBytes: 7,
  headersTimeoutMs: 7,
  bodyTimeoutMs: 7,
  jsonDepth: 7,
  jsonKeys: 7,
  requestsPerMinute: 7,
  workPerMinute: 7,
  authFailuresPerMinute: 7,
  runsPerTenant: 7,
  streams: 7,
  streamsPerPrincipal: 7,
  streamsPerSession: 7,
  streamBufferBytes: 7,
  slowReaderMs: 7,
  streamMaxAgeMs: 7,
  queuedRunsPerSession: 7,
})
const logger = (): root.Logger => ({ info: () => undefined, warn: () => undefined, error: () => undefined })
const metrics = (): root.Metrics => ({ contentType: 'text/plain', text: () => Promise.resolve('') })
const limiter: root.CreateRateLimiter = () => ({ take: () => Promise.reject(new Error('no')), look: () => Promise.reject(new Error('no')) })

const serverOptions = (): root.ServerOptions => ({
  runtime: idleRuntime(),
  orchestration: createOrchestration({ store: memoryStore().state }),
  auth: auth(),
  defaultAgent: 'assistant',
  mayUse: () => true,
  requests: recordRequests({ store: memoryStore() }),
  limits: limits(),
  agents: {
    assistant: {
      description: 'd',
      capabilities: ['c'],
      clientTools: 'any',
      models: ['m'],
      runtimeParams: ['seed'],
      clientHistory: true,
      clientOutput: true,
      onBusy: ['queue'],
    },
  },
  download: () => Promise.reject(new Error('no')),
  rateLimiter: limiter,
  cors: { origins: ['https://app.example'], credentials: true },
  hosts: ['app.example'],
  trustedProxies: ['10.0.0.0/8'],
  routes: { chat: true, openapi: true, metrics: true, mcp: true },
  basePath: '/b',
  heartbeatMs: 7,
  clock: systemClock,
  ids: { next: () => 'id' },
  logger: logger(),
  log: { content: true },
  metrics: metrics(),
  redact: { fields: ['pin'], patterns: [/x/] },
  onAudit: () => undefined,
})
const serverTakes: Record<string, readonly Kind[]> = {
  ...authTakes('options.auth'),
  ...places(none, 'options.defaultAgent', 'options.trustedProxies[0]', 'options.cors.origins[0]', 'options.agents.assistant.clientTools'),
  ...places(none, 'options.agents.assistant.runtimeParams[0]', 'options.agents.assistant.onBusy[0]', 'options.redact.patterns[0]'),
  ...places(anyText, 'options.agents.assistant.description'),
  'options.basePath': ['empty'],
}
const serverRow = {
  whole: [
    'options.runtime',
    'options.orchestration',
    'options.requests',
    'options.clock',
    'options.ids',
    'options.logger',
    'options.metrics',
    'options.redact.patterns[0]',
  ],
  open: ['options.agents'],
  records: ['options.agents'],
}

const server = (): root.Server => root.createServer({ runtime: idleRuntime(), auth: 'none', logger: logger() })
const on = <Result>(work: (server: root.Server) => Result): Result => work(server())

/** Replaces the file by one that the test need not delete. */
const logTo = (options: pino.PinoLoggerOptions): unknown => pino.pinoLogger(options?.to === 'x' ? { ...options, to: '/dev/null' } : options)

const rows: Readonly<Record<string, ArgumentRow>> = {
  createServer: { names: ['options'], good: () => [serverOptions()], call: root.createServer, takes: serverTakes, ...serverRow },
  'server.fetch': {
    names: ['request', 'peer'],
    good: () => [new Request('http://localhost/healthz'), { remoteAddress: '127.0.0.1', localAddress: '127.0.0.1' }],
    call: (request: Request, peer: root.Peer) => on((server) => server.fetch(request, peer)),
    takes: places(anyText, 'peer.remoteAddress', 'peer.localAddress'),
  },
  'server.close': {
    names: ['options'],
    good: () => [{ drainMs: 0 }],
    call: (options: root.CloseOptions) => on((server) => server.close(options)),
    takes: { 'options.drainMs': amount },
  },
  'server.reload': {
    names: ['auth'],
    good: () => [auth()],
    call: (next: root.Auth) => root.createServer({ runtime: idleRuntime(), auth: auth(), logger: logger() }).reload(next),
    takes: authTakes('auth'),
  },
  createToken: {
    names: ['options'],
    good: () => [{ id: 'ci', tenant: 'demo', scopes: ['admin'], expiresAt: '2030-01-01' }],
    call: root.createToken,
    takes: { ...places(['text'], 'options.id', 'options.tenant'), ...places(none, 'options.scopes[0]', 'options.expiresAt') },
  },
  // The command checks keys and values when it reads the file, and names the file.
  defineServerConfig: { names: ['config'], good: () => [{}], call: config.defineServerConfig, open: ['config'] },
  createNodeServer: {
    names: ['options'],
    good: () => [{ ...serverOptions(), registry: new Registry() }],
    call: node.createNodeServer,
    takes: { ...serverTakes, 'options.download': ['function'] },
    ...serverRow,
  },
  serve: {
    names: ['server', 'options'],
    good: () => [
      server(),
      { host: '127.0.0.1', port: 0, signals: false, headerBytes: 9000, headersTimeoutMs: 9, bodyTimeoutMs: 9, slowReaderMs: 9, drainMs: 9 },
    ],
    call: async (server: root.Server, options: node.ServeOptions) => {
      const { port, signals } = options ?? {}
      // Uses a free port and no signals: the process is that of the test.
      const given = port === 7 || signals === true ? { ...options, port: 0, signals: false } : options
      const running = await node.serve(server, given)
      await running.close({ drainMs: 0 })
    },
    whole: ['server'],
    takes: { 'options.host': none },
  },
  stateRateLimiter: {
    names: ['store', 'options'],
    good: () => [memoryStore().state, { clock: systemClock }],
    call: root.stateRateLimiter,
    whole: ['store', 'options.clock'],
  },
  flexibleRateLimiter: {
    names: ['make'],
    good: () => [(options: rateLimits.FlexibleLimiterOptions) => new RateLimiterMemory(options)],
    call: rateLimits.flexibleRateLimiter,
  },
  postgresRateLimiter: {
    names: ['options'],
    good: () => [
      { pool: { query: () => Promise.reject(new Error('no')), on: () => undefined, removeListener: () => undefined }, schema: 'limits' },
    ],
    call: rateLimits.postgresRateLimiter,
    whole: ['options.pool'],
    takes: { 'options.schema': ['text'] },
  },
  guardedDownload: {
    names: ['options'],
    good: () => [
      {
        http: true,
        allow: ['10.0.0.0/8'],
        maxBytes: 7,
        timeoutMs: 7,
        maxRedirects: 7,
        resolve: () => Promise.resolve([]),
        ca: ['x'],
        clock: systemClock,
      },
    ],
    call: node.guardedDownload,
    whole: ['options.clock'],
    takes: { 'options.allow[0]': none },
  },
  pinoLogger: {
    names: ['options'],
    good: () => [{ level: 'info', to: 1 }],
    call: logTo,
    takes: { 'options.level': none, 'options.to': ['number', 'text'] },
  },
  prometheusMetrics: {
    names: ['options'],
    good: () => [{ registry: new Registry(), tenants: true }],
    call: (options: prometheus.PrometheusOptions) => prometheus.prometheusMetrics(options).close(),
  },
  'prometheusMetrics.measure': {
    names: ['store'],
    good: () => [memoryStore()],
    call: (store: never) => {
      const metrics = prometheus.prometheusMetrics()
      metrics.close()
      metrics.measure(store)
    },
    whole: ['store'],
  },
  // The runtime checks its own options.
  tracedRuns: {
    names: ['options'],
    good: () => [{ store: memoryStore() }],
    call: node.tracedRuns,
    whole: ['options.store'],
    open: ['options'],
  },
}

const withoutRow: Readonly<Record<string, string>> = { ServerError: 'the error itself', problemCodes: 'a list' }

describe('the arguments of every export', () => {
  it('S206: every export has a row, or a reason why it needs none', () => {
    const methods = Object.entries(server()).filter(([, value]) => typeof value === 'function')
    const exported = [root, config, node, pino, prometheus, rateLimits].flatMap(Object.keys)
    const listed = Object.keys(rows).filter((name) => name !== 'prometheusMetrics.measure')
    expect(unlistedNames([...exported, ...methods.map(([name]) => `server.${name}`)], [...listed, ...Object.keys(withoutRow)])).toEqual([])
  })

  it.each(Object.entries(rows))(
    'S206, S208: %s accepts what its row lists and refuses everything else, naming its path',
    async (_name, row) => {
      expect(await argumentProblems(row, { isRefusal })).toEqual([])
    },
  )

  const make = (options: object) => () => root.createServer({ runtime: idleRuntime(), auth: 'none', ...options })

  it.each([
    ['an option', make({ limts: {} }), 'options has no option "limts"; did you mean limits?'],
    ['a limit', make({ limits: { bodyByte: 1 } }), 'limits has no option "bodyByte"; did you mean bodyBytes?'],
    ['an agent', make({ agents: { asistant: {} } }), 'agents has no option "asistant"; did you mean assistant?'],
    [
      'the default agent',
      make({ defaultAgent: 'asistant' }),
      'defaultAgent must be one of assistant; received "asistant"; did you mean assistant?',
    ],
    [
      'a field of a token',
      make({ auth: { tokens: [{ ...token(), scope: [] }] } }),
      'auth.tokens[0] has no option "scope"; did you mean scopes?',
    ],
    ['a field of redact', make({ redact: { field: [] } }), 'redact has no option "field"; did you mean fields?'],
    [
      'an option of the Node server',
      () => node.createNodeServer({ runtime: idleRuntime(), auth: 'none', registery: 1 } as never),
      'options has no option "registery"; did you mean registry?',
    ],
  ])('S206: the misspelled name of %s is refused with a hint to the right name', async (_name, run, message) => {
    await expect((async () => run())()).rejects.toThrow(new root.ServerError('invalid-config', message))
  })

  it('S208: refuses a runtime of another version of sessions, and names both versions', () => {
    const { name, version } = sessions
    const runtime = { ...idleRuntime(), ...versionMark({ name, version: '99.1.2' }) }
    const message = `runtime was made with ${name} 99.1.2, but ${name} ${version} is used here; install one version (npm ls ${name} shows where they come from)`
    expect(make({ runtime })).toThrow(new root.ServerError('invalid-config', message))
  })

  it('S206: refuses an origin that no browser sends', () => {
    expect(make({ cors: { origins: ['https://app.example/'] } })).toThrow(
      /cors\.origins\[0\] must be an origin .*received a text of 20 characters/,
    )
  })

  it.each<[string, () => unknown]>([
    ['options', () => root.createServer(undefined as never)],
    ['runtime', () => root.createServer({ auth: 'none' } as never)],
    ['agents.assistant', () => root.createServer({ runtime: idleRuntime(), auth: 'none', agents: { assistant: undefined } } as never)],
    [
      'agents.assistant.onBusy[0]',
      () => root.createServer({ runtime: idleRuntime(), auth: 'none', agents: { assistant: { onBusy: [undefined] } } } as never),
    ],
    ['auth.tokens[0]', () => root.createServer({ runtime: idleRuntime(), auth: { tokens: [undefined] } } as never)],
    ['cors.origins', () => root.createServer({ runtime: idleRuntime(), auth: 'none', cors: {} } as never)],
    ['options', () => root.createToken(undefined as never)],
    ['scopes', () => root.createToken({ id: 'ci', tenant: 'demo' } as never)],
    ['server', () => node.serve(undefined as never)],
  ])('S208: %s that is missing is refused as undefined', async (path, run) => {
    const message = expect.stringMatching(new RegExp(`^${path.replaceAll(/[.[\]]/g, '\\$&')} must be .*; received undefined$`)) as string
    await expect((async () => run())()).rejects.toMatchObject({ code: 'invalid-config', message })
  })

  it('S206: undefined counts as absent: limits keep their defaults, and the rate limiter of Node counts', async () => {
    const { config, token } = await root.createToken({ id: 'ci', tenant: 'demo', scopes: ['admin'] })
    const options = {
      runtime: idleRuntime(),
      auth: { tokens: [config] },
      logger: logger(),
      limits: { requestsPerMinute: 1, bodyBytes: undefined },
      rateLimiter: undefined,
      metrics: undefined,
    }
    const counting = await node.createNodeServer(options as never)
    const get = () => counting.fetch(new Request('http://localhost/api/agents', { headers: { authorization: `Bearer ${token}` } }))
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
    const post = {
      method: 'POST',
      body: '{"input":{"role":"user","content":"Hi"},"context":{"agent":"none"}}',
      headers: { 'content-type': 'application/json' },
    }
    const open = root.createServer({ runtime: idleRuntime(), auth: 'none', limits: { bodyBytes: undefined }, logger: logger() } as never)
    expect(
      await (await open.fetch(new Request('http://localhost/api/agent/execute', post), { remoteAddress: '127.0.0.1' })).json(),
    ).toMatchObject({ code: 'unknown-agent' })
  })
})

describe('the fields of requests', () => {
  const user = { role: 'user', content: 'Hi' }

  it.each([
    ['POST', '/api/agent/execute', { inptu: user, input: user }, 'inptu', 'input'],
    ['POST', '/api/agent/execute', { input: user, options: { onBussy: 'queue' } }, 'options.onBussy', 'onBusy'],
    [
      'POST',
      '/api/agent/execute',
      { input: user, options: { runtimeParams: { temprature: 1 } } },
      'options.runtimeParams.temprature',
      'temperature',
    ],
    ['POST', '/api/agent/execute', { input: [{ toolCallId: 'c', output: 1, isErorr: true }] }, 'input[0].isErorr', 'isError'],
    ['POST', '/api/agent/session/s1/steer', { input: user, ID: 'i' }, 'ID', 'id'],
    ['POST', '/api/agent/session/s1/stop', { scop: 'all' }, 'scop', 'scope'],
    ['POST', '/api/agent/session/s1/tool-results', { result: [] }, 'result', 'results'],
    ['POST', '/api/agent/session/s1/tool-calls/c/resolve', { output: 1, isErorr: true }, 'isErorr', 'isError'],
    ['POST', '/api/agent/session/s1/approvals/a', { decision: 'approve', raeson: 'r' }, 'raeson', 'reason'],
    ['POST', '/api/agent/session/s1/fork', { entryID: 'e' }, 'entryID', 'entryId'],
    ['POST', '/api/agent/session/s1/switch', { entryId: null, entry: 1 }, 'entry', 'entryId'],
    ['POST', '/api/agent/session/s1/compact', { instruction: 'i' }, 'instruction', 'instructions'],
    ['GET', '/api/agent/sessions?limt=5', undefined, 'limt', 'limit'],
    ['GET', '/api/agent/session/s1/export?event', undefined, 'event', 'events'],
    ['GET', '/api/agent/session/s1/branches?limits=5', undefined, 'limits', 'limit'],
  ])('S206: %s %s refuses an unknown key by its path, with a hint to the right key', async (method, path, body, unknown, meant) => {
    const { get, post } = await bench()
    const answer = method === 'GET' ? await get(path) : await post(path, body)
    expect(answer.status).toBe(400)
    const { code, errors } = (await answer.json()) as Problem
    expect(code).toBe(method === 'GET' ? 'invalid-query' : 'invalid-body')
    expect(errors).toContainEqual({ path: unknown, message: `This key is not known here; did you mean ${meant}?` })
  })
})
