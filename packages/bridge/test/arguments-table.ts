import { defineAgent } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import type * as root from '../src/index.ts'
import { createBridge, defineBridgeAgent, defineBridgeConfig, delegateTool, inProcessExecutor } from '../src/index.ts'
import { multiProviderAgent, remoteExecutor, runtimeAgent, workerExecutor } from '../src/index.ts'
import type { Bridge } from '../src/index.ts'
import { createBridgeMcpHandler, createBridgeMcpServer } from '../src/mcp/index.ts'
import type { BridgeMcpHandlerOptions, BridgeUser } from '../src/mcp/index.ts'
import { kitAgent, testBridgeExecutor } from '@bowline/testing/executors'
import type { ExecutorKitOptions, KitAgentOptions } from '@bowline/testing/executors'
import { serveWorker } from '../src/worker/index.ts'
import type { ServeWorkerOptions } from '../src/worker/index.ts'
import { needed, options as optionsOf, rowOf } from '../../../scripts/argument-table.ts'
import type { ArgumentRow, Shape, ValueShape } from '../../../scripts/argument-table.ts'
import { failureOf, recordingLogger, testAgent } from './support.ts'

const isNumber = (value: unknown): value is number => typeof value === 'number'
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Kinds of values. A `list` contains texts only. */
const kinds = {
  boolean: (value) => typeof value === 'boolean',
  whole: (value) => isNumber(value) && Number.isSafeInteger(value) && value >= 0,
  text: (value) => typeof value === 'string' && value !== '',
  blank: (value) => value === '',
  list: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  object: isObject,
  function: (value) => typeof value === 'function',
} satisfies Record<string, (value: unknown) => boolean>

type Kind = keyof typeof kinds

/** The kinds that a field accepts. `!` means that the field is required. */
type Fields<Options> = { readonly [Name in keyof Options]-?: readonly (Kind | '!')[] }

interface Argument {
  /** Path of the argument in errors. */
  readonly path: string
  /** Kinds that it accepts besides `valid`. */
  readonly kinds?: readonly (Kind | '!')[]
  readonly valid: unknown
  readonly fields?: Readonly<Record<string, readonly (Kind | '!')[]>>
}

export interface Row {
  readonly name: string
  readonly arguments: readonly Argument[]
  readonly call: (...given: never[]) => unknown
  /** Reason why it is not called with valid arguments. */
  readonly notCalled?: string
}

/**
 * Returns the path as an error shows it. An error about `prompt` and `answers` together names the input, because one of them is
 * required.
 */
const shown = (path: string): string =>
  path === 'prompt.input.prompt' || path === 'prompt.input.answers' ? 'prompt.input' : path.replace(/^\w+\.options\./, '')

/** Converts a row for the kit. A failed result is thrown, so that it counts as a refusal. */
export function tableRow({ name, arguments: given, call }: Row): ArgumentRow {
  return rowOf(name, {
    args: given.map((argument) => [argument.path, shapeOf(argument)]),
    call: (...values) => failing(() => call(...values)),
    shown,
  })
}

async function failing(call: () => unknown): Promise<void> {
  const given = await call()
  const result = typeof given === 'object' && given !== null && 'result' in given ? await (given as root.BridgeRun).result() : given
  if (typeof result === 'object' && result !== null && 'ok' in result && result.ok === false)
    throw failureOf(result as unknown as root.BridgeResult)
}

function shapeOf({ kinds: taken = [], valid, fields }: Argument): Shape {
  if (fields === undefined || !isObject(valid)) {
    const shape = valueOf(valid, taken)
    return taken.includes('!') ? shape : { ...shape, accepts: (value) => value === undefined || shape.accepts(value) }
  }
  // Fields without kinds keep their valid value.
  const others = Object.entries(valid as Readonly<Record<string, unknown>>).map(([name, good]): readonly [string, Shape] => [
    name,
    needed({ good, accepts: (value) => value !== undefined }),
  ])
  const own = Object.entries(fields).map(([name, each]): readonly [string, Shape] => [name, valueOf(Reflect.get(valid, name), each)])
  return optionsOf(Object.fromEntries([...others, ...own]), !taken.includes('!'))
}

function valueOf(good: unknown, taken: readonly (Kind | '!')[]): ValueShape {
  const shape: ValueShape = {
    good,
    accepts: (value) => (value === good && value !== undefined) || taken.some((kind) => kind !== '!' && kinds[kind](value)),
  }
  return taken.includes('!') ? needed(shape) : shape
}

const any: readonly Kind[] = []
const text: readonly Kind[] = ['text']
const texts: readonly Kind[] = ['text', 'blank']
const whole: readonly Kind[] = ['whole']
const list: readonly Kind[] = ['list']
const truth: readonly Kind[] = ['boolean']
const made: readonly Kind[] = ['function']
const must = (...kinds: readonly Kind[]): readonly (Kind | '!')[] => ['!', ...kinds]

const limits: Fields<root.ExecutorLimits> = { ttlMs: whole, idleMs: whole, maxSessions: whole, inactivityMs: whole }
const info: Fields<root.AgentInfo> = { id: must('text'), name: texts, description: texts, version: texts }

const bridgeOptions: Fields<root.BridgeOptions> = {
  executors: list,
  defaultAgentId: text,
  store: any,
  clock: any,
  ids: any,
  logger: any,
  redact: ['object'],
  maxInFlight: whole,
  maxQueued: whole,
  maxInFlightPerOwner: whole,
  maxQueuedPerOwner: whole,
  maxSessionsPerOwner: whole,
  maxPromptBytes: whole,
  maxMetadataBytes: whole,
  maxResultBytes: whole,
  timeoutMs: whole,
  maxTimeoutMs: whole,
  inactivityMs: whole,
  cancelGraceMs: whole,
  waitMs: whole,
  heartbeatMs: whole,
  requestRetentionMs: whole,
  maxRequestRecords: whole,
  maxDepth: whole,
  allowLoops: truth,
  authorize: made,
  onEvent: made,
}

const agentFields: Fields<root.BridgeAgent> = {
  specificationVersion: must(),
  info: must(),
  capabilities: list,
  providers: list,
  durable: truth,
  stateStore: any,
  onSessionCreate: made,
  onPrompt: must('function'),
  onAnswers: made,
  onCancel: made,
  onSessionClose: made,
}

const workerFields: Fields<root.CommandWorkerOptions & root.EntryWorkerOptions> = {
  id: must('text'),
  command: text,
  entry: text,
  args: list,
  cwd: text,
  env: ['object'],
  inheritEnv: truth,
  capabilities: list,
  instances: whole,
  maxConcurrentSessions: whole,
  handshake: any,
  guard: truth,
  startTimeoutMs: whole,
  permissions: any,
  restart: ['object'],
}

const serverFields: Fields<root.RemoteServerOptions> = {
  id: must('text'),
  baseUrl: must('text'),
  token: [...texts, 'function'],
  agents: list,
  agentIdPrefix: texts,
  onClose: any,
  durable: truth,
  reconnect: ['object'],
  fetch: made,
}

const multiProviderFields: Fields<root.MultiProviderAgentOptions> = {
  ...info,
  models: must(),
  providers: must('list'),
  defaultProviderId: must('text'),
  instructions: texts,
  defaults: ['object'],
  history: ['object'],
}

/** Adds a required option if several others are given. A single option is left alone, because it may replace the required one. */
function withDefault<Given extends object>(given: Given, name: string, value: unknown): Given {
  return isObject(given) && Object.keys(given).length > 1 && Reflect.get(given, name) === undefined ? { ...given, [name]: value } : given
}

/** One row for each function that the package exports. */
export function exportedFunctions(bridge: Bridge): readonly Row[] {
  const agent = testAgent('a')
  const options = (name: string, valid: object, fields: Argument['fields'] = {}, kinds?: Argument['kinds']): Argument => ({
    path: `${name}.options`,
    valid,
    fields,
    ...(kinds && { kinds }),
  })
  const inside = (path: string, valid: object, fields: Argument['fields'] = {}): Argument => ({ path, valid, fields })
  const worker = { id: 'w', command: 'x' }
  const server = { id: 's', baseUrl: 'http://127.0.0.1:9' }
  const models = createModels({ providers: { red: () => scriptedModel([]) } })
  const provider = { id: 'red', models: ['crimson'] }
  const talker = { id: 'talker', models, providers: [provider], defaultProviderId: 'red' }
  const writer = defineAgent({ name: 'writer', model: scriptedModel([]), instructions: 'Write.' })
  const runtime = createRuntime({ agents: [writer], store: memoryStore() })
  const providerFields: Fields<root.ProviderChoice> = {
    id: must('text'),
    models: must('list'),
    kind: texts,
    displayName: texts,
    description: texts,
    capabilities: list,
    defaults: ['object'],
    allowOtherModels: truth,
  }
  const skip = (): void => {}
  const runner = { describe: skip, it: Object.assign(skip, { skip }) }
  return [
    { name: 'createBridge', call: createBridge, arguments: [options('createBridge', {}, bridgeOptions)] },
    {
      name: 'defineBridgeAgent',
      call: defineBridgeAgent,
      arguments: [{ path: 'defineBridgeAgent.agent', valid: agent, kinds: ['!'], fields: agentFields }],
    },
    {
      name: 'defineBridgeAgent',
      call: (given: object) => defineBridgeAgent({ ...agent, info: given as root.AgentInfo }),
      arguments: [{ path: 'defineBridgeAgent.agent.info', valid: { id: 'a' }, kinds: ['!'], fields: info }],
    },
    {
      name: 'defineBridgeConfig',
      call: defineBridgeConfig,
      arguments: [
        {
          path: 'defineBridgeConfig.config',
          valid: {},
          kinds: ['!'],
          fields: { ...bridgeOptions, runtimes: list, workers: list, servers: list } satisfies Fields<root.BridgeConfig>,
        },
      ],
    },
    {
      name: 'delegateTool',
      call: delegateTool,
      arguments: [
        { path: 'delegateTool.bridge', valid: bridge, kinds: ['!'] },
        options('delegateTool', {}, { agents: list, name: text, description: texts } satisfies Fields<root.DelegateToolOptions>),
      ],
    },
    {
      name: 'inProcessExecutor',
      call: inProcessExecutor,
      arguments: [
        options(
          'inProcessExecutor',
          { agents: [agent] },
          { agents: must('list'), ttlMs: whole, idleMs: whole, maxSessions: whole } satisfies Fields<root.InProcessExecutorOptions>,
          ['!'],
        ),
      ],
    },
    {
      name: 'inProcessExecutor',
      call: (given: object) => inProcessExecutor({ agents: [given as root.BridgeAgent] }),
      arguments: [inside('agents[0]', agent, agentFields)],
    },
    {
      name: 'inProcessExecutor',
      call: (given: root.BridgeAgent) => inProcessExecutor({ agents: [] }).add(given),
      arguments: [{ path: 'add.agent', valid: agent, kinds: ['!'], fields: agentFields }],
    },
    {
      name: 'multiProviderAgent',
      call: multiProviderAgent,
      arguments: [options('multiProviderAgent', talker, multiProviderFields, ['!'])],
    },
    {
      name: 'multiProviderAgent',
      call: (given: object) => multiProviderAgent({ ...talker, providers: [given as root.ProviderChoice] }),
      arguments: [inside('providers[0]', provider, providerFields)],
    },
    {
      name: 'multiProviderAgent',
      call: (history: object) => multiProviderAgent({ ...talker, history }),
      arguments: [inside('history', {}, { maxMessages: whole, maxBytes: whole } satisfies Fields<root.HistoryLimits>)],
    },
    {
      name: 'remoteExecutor',
      call: remoteExecutor,
      arguments: [
        options(
          'remoteExecutor',
          { servers: [server] },
          { ...limits, servers: must('list') } satisfies Fields<root.RemoteExecutorOptions>,
          ['!'],
        ),
      ],
    },
    {
      name: 'remoteExecutor',
      call: (given: object) => remoteExecutor({ servers: [given as root.RemoteServerOptions] }),
      arguments: [inside('servers[0]', server, serverFields)],
    },
    {
      name: 'remoteExecutor',
      call: (reconnect: object) => remoteExecutor({ servers: [{ ...server, reconnect }] }),
      arguments: [inside('servers[0].reconnect', {}, { baseMs: whole, maxMs: whole, maxDownMs: whole, silenceMs: whole })],
    },
    {
      name: 'runtimeAgent',
      call: runtimeAgent,
      arguments: [
        { path: 'runtimeAgent.runtime', valid: runtime, kinds: ['!'] },
        options(
          'runtimeAgent',
          { agent: 'writer' },
          { agent: must('text'), id: text, onClose: any } satisfies Fields<root.RuntimeAgentOptions>,
          ['!'],
        ),
      ],
    },
    {
      name: 'workerExecutor',
      call: workerExecutor,
      arguments: [
        options(
          'workerExecutor',
          { workers: [worker] },
          { ...limits, workers: must('list'), cancelGraceMs: whole } satisfies Fields<root.WorkerExecutorOptions>,
          ['!'],
        ),
      ],
    },
    {
      name: 'workerExecutor',
      call: (given: object) => workerExecutor({ workers: [withDefault(given, 'command', 'x') as root.WorkerOptions] }),
      arguments: [inside('workers[0]', worker, workerFields)],
    },
    {
      name: 'workerExecutor',
      call: (restart: object) => workerExecutor({ workers: [{ ...worker, restart }] }),
      arguments: [
        inside('workers[0].restart', {}, {
          maxRestarts: whole,
          windowMs: whole,
          backoffMs: whole,
          maxBackoffMs: whole,
        } satisfies Fields<root.RestartLimits>),
      ],
    },
    {
      name: 'createBridgeMcpServer',
      call: createBridgeMcpServer,
      arguments: [
        { path: 'createBridgeMcpServer.bridge', valid: bridge, kinds: ['!'] },
        {
          path: 'createBridgeMcpServer.user',
          valid: {},
          kinds: ['object'],
          fields: { owner: text, mayUse: made, runtimeParams: list } satisfies Fields<BridgeUser>,
        },
        { path: 'createBridgeMcpServer.onerror', valid: skip, kinds: made },
      ],
    },
    {
      name: 'createBridgeMcpHandler',
      call: createBridgeMcpHandler,
      arguments: [
        { path: 'createBridgeMcpHandler.factory', valid: createBridgeMcpServer(bridge), kinds: must('function') },
        {
          path: 'createBridgeMcpHandler.options',
          valid: {},
          kinds: ['object'],
          fields: { keepAliveMs: whole, onerror: made } satisfies Fields<BridgeMcpHandlerOptions>,
        },
      ],
    },
    {
      name: 'serveWorker',
      call: serveWorker,
      notCalled: 'it takes stdin and stdout, and ends the process',
      arguments: [
        { path: 'serveWorker.agent', valid: agent, kinds: ['!'], fields: agentFields },
        options('serveWorker', {}, { maxConcurrentSessions: whole } satisfies Fields<ServeWorkerOptions>),
      ],
    },
    {
      name: 'kitAgent',
      call: kitAgent,
      arguments: [options('kitAgent', { note: skip }, { id: text, note: must('function') } satisfies Fields<KitAgentOptions>, ['!'])],
    },
    {
      name: 'testBridgeExecutor',
      call: (given: ExecutorKitOptions) => testBridgeExecutor(withDefault(given, 'runner', runner)),
      arguments: [
        options(
          'testBridgeExecutor',
          { name: 'x', executor: skip, runner },
          { name: must('text'), executor: must('function'), cannot: ['object'], runner: any } satisfies Fields<ExecutorKitOptions>,
          ['!'],
        ),
      ],
    },
  ]
}

/** One row for each method of a bridge. `sessionId`: id of an open session. */
export function bridgeMethods(bridge: Bridge, sessionId: string): readonly Row[] {
  const input = (path: string, valid: object, fields: Argument['fields'] = {}, kinds: Argument['kinds'] = ['!']): Argument => ({
    path,
    valid,
    fields,
    kinds,
  })
  const request: Fields<root.RequestOptions> = {
    owner: text,
    runtimeParams: ['object'],
    requestId: text,
    idempotencyKey: text,
    timeoutMs: whole,
    abortSignal: any,
  }
  const depth: Fields<root.DepthOption> = { depth: whole, path: list }
  const owner: Fields<root.OwnerOption> = { owner: text }
  const row = (name: keyof Bridge, ...given: readonly Argument[]): Row => ({
    name,
    call: (...values) => (bridge[name] as (...all: unknown[]) => unknown)(...values),
    arguments: given,
  })
  return [
    row('start'),
    {
      ...row('stop', { path: 'stop.options', valid: {}, fields: { deadlineMs: whole } }),
      notCalled: 'the bridge is of use for the other rows',
    },
    row('counters'),
    row('refresh', { path: 'refresh.options', valid: {}, fields: { waitMs: whole } }),
    row('health', { path: 'health.options', valid: {}, fields: owner }),
    row('discover', { path: 'discover.query', valid: {}, fields: { ...owner, capability: text } }),
    row('onAgentsChanged', { path: 'onAgentsChanged.listener', valid: () => {}, kinds: must('function') }),
    row(
      'createSession',
      input(
        'createSession.input',
        {},
        {
          ...owner,
          ...depth,
          agentId: text,
          metadata: ['object'],
          resumeSessionId: text,
          idempotencyKey: text,
        } satisfies Fields<root.CreateSessionInput>,
        [],
      ),
    ),
    row('prompt', input('prompt.input', { sessionId, prompt: 'hi' }, { ...request, sessionId: must('text'), prompt: must('text') })),
    row('prompt', input('prompt.input', { sessionId, answers: [{ id: 'q', output: 1 }] }, { answers: must() })),
    row(
      'delegate',
      input('delegate.input', { prompt: 'hi' }, {
        ...request,
        ...depth,
        prompt: must('text'),
        agentId: text,
        metadata: ['object'],
      } satisfies Fields<root.DelegateInput>),
    ),
    row(
      'session',
      { path: 'session.sessionId', valid: sessionId, kinds: must('text') },
      { path: 'session.options', valid: {}, fields: owner },
    ),
    row(
      'sessions',
      input(
        'sessions.filter',
        {},
        { ...owner, agentId: text, status: any, limit: whole, cursor: texts } satisfies Fields<root.SessionFilter>,
        [],
      ),
    ),
    row(
      'requests',
      input(
        'requests.filter',
        {},
        { ...owner, sessionId: text, status: any, limit: whole, cursor: texts } satisfies Fields<root.RequestFilter>,
        [],
      ),
    ),
    row(
      'request',
      { path: 'request.requestId', valid: 'r1', kinds: must('text') },
      { path: 'request.options', valid: {}, fields: { ...owner, waitMs: whole, abortSignal: any } satisfies Fields<root.RequestQuery> },
    ),
    row(
      'cancel',
      input('cancel.input', { sessionId, requestId: 'r1' }, {
        ...owner,
        sessionId: text,
        requestId: text,
      } satisfies Fields<root.CancelInput>),
    ),
    row(
      'close',
      input('close.input', { sessionId: 'bs_other' }, {
        ...owner,
        sessionId: must('text'),
        reason: texts,
      } satisfies Fields<root.CloseInput>),
    ),
  ]
}

export async function startedBridge(): Promise<Bridge> {
  const bridge = createBridge({
    executors: [inProcessExecutor({ agents: [testAgent('a')], maxSessions: 1000 })],
    logger: recordingLogger(),
  })
  await bridge.start()
  return bridge
}
