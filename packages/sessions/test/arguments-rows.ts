import { createHash } from 'node:crypto'
import type { Agent, ToolDeclaration } from '@bowline/agent-loop'
import * as sessions from '@bowline/sessions'
import type {
  Orchestration,
  OrchestrationState,
  RunHandle,
  Runtime,
  RuntimeOptions,
  Session,
  SessionStore,
  StepSequencer,
} from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { memoryStore } from '@bowline/sessions/memory'
import * as rowStores from '@bowline/sessions/rows'
import { sqliteStateStore, sqliteStore } from '@bowline/sessions/sqlite'
import { manualClock } from '@bowline/llm/testing'
import {
  anything,
  boolean,
  func,
  json,
  jsonObject,
  list,
  made,
  ms,
  names,
  needed,
  number,
  object,
  oneOf,
  options,
  orNull,
  rowOf,
  someText,
  text,
  whole,
} from '../../../scripts/argument-table.ts'
import type { ArgumentRow, ShapedRow, ValueShape } from '../../../scripts/argument-table.ts'
import { memoryRows } from './memory-argument-rows.ts'
import { requestRows } from './request-argument-rows.ts'
import type { recordingStore } from './recording-store.ts'
import { envRows } from './env-argument-rows.ts'
import { storeRows } from './store-argument-rows.ts'
import { testingRows } from './testing-argument-rows.ts'

const webhookFields = {
  url: needed({
    good: 'https://example.com/',
    accepts: (value) => typeof value === 'string' && URL.canParse(value) && new URL(value).protocol === 'https:',
  }),
  events: needed({ good: ['settled'], accepts: () => false }),
  secret: needed({ good: 'a secret of sixteen characters', accepts: (value) => typeof value === 'string' && value.length >= 16 }),
  headers: {
    good: { 'x-tenant': 'acme' },
    accepts: (value: unknown) => object({}).accepts(value) && Object.keys(value as object).length === 0,
  },
  retentionMs: whole(1, 1, 365 * 86_400_000),
}
const webhook = options(webhookFields)

export interface World {
  readonly store: ReturnType<typeof recordingStore>
  readonly agent: Agent
  readonly runtime: Runtime
  readonly session: Session
  readonly run: RunHandle
  readonly orchestration: Orchestration
  readonly sequencer: StepSequencer
  readonly state: OrchestrationState | null
  readonly approvalId: string
  /** One open store of each kind. */
  readonly stores: readonly SessionStore[]
  newRuntime(options?: Pick<RuntimeOptions, 'tenantBudget'>): Runtime
  end(): Promise<void>
}

const key: ValueShape = { good: 'room:1', accepts: (value) => typeof value === 'string' && /^[A-Za-z0-9._:\-@/+=]{1,256}$/.test(value) }
/** The id of a child run has the run id after the key. */
const stateId: ValueShape = {
  ...key,
  accepts: (value) => key.accepts(typeof value === 'string' && value.isWellFormed() ? value.replace(/#[^]+$/, '') : value),
}
const isSaid = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''
const input: ValueShape = {
  good: 'hello',
  accepts: (value) => isSaid(value) || (Array.isArray(value) && value.every((item) => typeof item === 'string') && value.some(isSaid)),
}
const inputId = someText('input-1')
const page = { limit: whole(1, 10, 1000), page: { ...someText(), good: undefined } }
const tool: ToolDeclaration = { name: 'other', description: 'Another one.', inputSchema: { type: 'object' } }
const signal = made(new AbortController().signal)
const lifeTime: ValueShape = { good: 'never', accepts: (value) => value === 'never' || ms(1).accepts(value) }
const money: ValueShape = {
  good: '2.50',
  accepts: (value) => typeof value === 'function' || (/^(string|number)$/.test(typeof value) && /^\d+(\.\d{1,9})?$/.test(String(value))),
}
const budgetWindow: ValueShape = { good: 'day', accepts: (value) => value === 'day' || ms(1).accepts(value) }
const ttl = options({ maxAgeMs: lifeTime, idleMs: lifeTime })
const sessionRow = { key: 'room:1', agent: 'assistant', settings: {} }
const runRow = { id: 'r', kind: 'prompt', status: 'running', pendingToolCalls: [], pendingApprovals: [] }
const none = (call: () => unknown): ShapedRow => ({ args: [], call })
const runtimeParams = options({
  model: someText('openai:x'),
  temperature: number(0, 2),
  maxTokens: whole(1, 1),
  topP: number(0, 1),
  topK: whole(1, 1),
  stopSequences: list(['x'], (item) => typeof item === 'string'),
  systemPrompt: text,
  reasoning: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  seed: { good: 1, accepts: (value: unknown) => Number.isSafeInteger(value) },
  providerSpecific: jsonObject,
})
const clock = made(manualClock())
const steps = options({ steps: list([{ name: 'a' }], () => false), pick: oneOf('first', 'newest'), description: text })
const functions: ValueShape = {
  good: { ready: () => true },
  accepts: (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((each) => typeof each === 'function'),
}
const usageFields = Object.fromEntries(
  [
    'inputTokens',
    'noCacheTokens',
    'cacheReadTokens',
    'cacheWriteTokens',
    'outputTokens',
    'textTokens',
    'reasoningTokens',
    'totalTokens',
  ].map((name) => [name, whole(0, 1)]),
)
const usage = options(usageFields, false)
const sqliteOptions = { file: needed(someText('data.db')), synchronous: oneOf('full', 'normal'), busyTimeoutMs: whole(0, 1, 2 ** 31 - 1) }

/** Leaves exactly one of `cron`, `every` and `at`. Other combinations are tested elsewhere. */
function withOneRule(given: object): never {
  if (Object.prototype.toString.call(given) !== '[object Object]') return given as never
  const { cron, every, at, timeZone, ...rest } = given as Readonly<Record<string, unknown>>
  const isGood = (value: unknown, least: number): boolean => value === undefined || (Number.isSafeInteger(value) && Number(value) >= least)
  if (!isGood(every, 1000) || (cron === undefined && every !== undefined && isGood(at, 0))) return { ...rest, every } as never
  if (!isGood(at, 0) || (cron === undefined && timeZone === undefined && at !== undefined)) return { ...rest, at } as never
  return { ...rest, cron: cron === undefined ? '@daily' : cron, timeZone } as never
}

/** Returns one row for each exported function and method. */
export function rowsOf(world: World): Readonly<Record<string, ArgumentRow>> {
  const shaped: Readonly<Record<string, ShapedRow>> = {
    ...exportRows(world),
    ...runtimeRows(world),
    ...sessionRows(world),
    ...runRows(world),
    ...orchestrationRows(world),
    ...sequencerRows(world),
    ...memoryRows(),
    ...requestRows(),
    ...testingRows(),
    ...storeRows(world.stores),
  }
  return Object.fromEntries(Object.entries(shaped).map(([name, row]) => [name, rowOf(name, row)]))
}

function exportRows({ agent, stores }: World): Readonly<Record<string, ShapedRow>> {
  const orchestration = {
    args: [
      [
        '',
        options(
          {
            namespace: someText('space'),
            config: steps,
            ttlMs: lifeTime,
            cleanup: options({ enabled: boolean, intervalMs: whole(1), maxSessions: whole(1) }),
            onUnavailable: oneOf('no-tools', 'fail'),
            predicates: functions,
            clock,
            ids: made({ next: () => 'id' }),
            random: func(() => 0),
            environment: object({}),
            onDiagnostic: func(),
          },
          false,
        ),
      ],
    ],
    place: 'createOrchestration',
    // The configuration names its fields itself.
    shown: (path: string) => path.replace(/^createOrchestration\.options\.(config\.)?/, ''),
    call: (given: object) =>
      sessions.createOrchestration(
        Object.prototype.toString.call(given) === '[object Object]' ? { ...given, store: sessions.memoryStateStore() } : given,
      ),
  } satisfies ShapedRow
  return {
    SessionError: none(() => new sessions.SessionError('busy', 'text')),
    createRuntime: {
      args: [
        [
          '',
          options(
            {
              agents: needed(list([agent], (item) => item === agent)),
              store: made(memoryStore()),
              namespace: { good: 'default', accepts: (value: unknown) => typeof value === 'string' && /^[a-z0-9]/.test(value) },
              concurrency: whole(),
              maxRunsPerTenant: whole(1),
              onBusy: oneOf('queue', 'steer', 'interrupt', 'reject'),
              durability: oneOf('boundary', 'turn'),
              onDefinitionChange: {
                good: 'pin',
                accepts: (value) => ['continue', 'pin', 'refuse'].includes(value as string) || typeof value === 'function',
              },
              onUnknownOutcome: oneOf('stop', 'tell-model'),
              onFailedTurn: oneOf('keep', 'rewind'),
              tenantBudget: options({
                maxCost: needed(money),
                window: needed(budgetWindow),
                currency: someText('USD'),
                store: made(sessions.memoryStateStore()),
                tenantOf: func(),
                leaseMs: ms(1),
              }),
              lease: options({ ttlMs: ms(1), heartbeatMs: ms(1) }),
              attempts: options({ withoutProgress: whole(), total: whole() }),
              background: options({ maxActive: whole(), maxRetained: whole(), maxDepth: whole() }, true, (value) => value === false),
              ttl,
              retention: options({ runsMs: ms(), expiredMs: ms() }),
              autoStart: boolean,
              timers: boolean,
              notify: options(
                {
                  ...webhookFields,
                  name: {
                    good: 'audit',
                    accepts: (value) => typeof value === 'string' && /^[a-z0-9][a-z0-9_-]{0,62}$/.test(value) && value !== 'session',
                  },
                },
                true,
                Array.isArray,
              ),
              webhooks: options({ http: boolean, allow: list(['10.0.0.0/8'], () => false), resolve: func(), ca: names, random: func() }),
              placement: oneOf('own', 'host'),
              onWake: func(),
              aroundRun: func(),
              requests: made({ remove: async () => undefined }),
              clock,
              ids: made({ next: () => 'id' }),
              onError: func(),
            },
            false,
          ),
        ],
      ],
      call: (given) => sessions.createRuntime(given),
    },
    createOrchestration: orchestration,
    createOrchestrationStateManager: orchestration,
    createStepSequencer: {
      args: [
        ['config', steps],
        ['', options({ predicates: functions, onDiagnostic: func() })],
      ],
      call: sessions.createStepSequencer,
    },
    simulateOrchestration: {
      args: [
        ['config', steps],
        [
          'uses',
          list(['a', { tool: 'b', message: 'm', turns: 1, usage: { inputTokens: 1 } }], (item) => typeof item === 'string' && item !== ''),
        ],
        [
          '',
          options({ offered: list(['a'], (item) => typeof item === 'string' && item !== ''), predicates: functions, onDiagnostic: func() }),
        ],
      ],
      call: sessions.simulateOrchestration,
    },
    createSessionStore: {
      args: [
        ['rows', made(rowStores.memoryRows())],
        ['', options({ loss: needed(oneOf('lease', 'owner')), state: needed(made(sessions.memoryStateStore())) }, false)],
      ],
      call: rowStores.createSessionStore,
    },
    memoryRows: { args: [], call: () => rowStores.memoryRows() },
    memoryStateStore: {
      args: [
        [
          '',
          options({
            maxRecords: { good: 5, accepts: (value) => value === Infinity || whole(1).accepts(value) },
            clock: made(manualClock()),
          }),
        ],
      ],
      call: sessions.memoryStateStore,
    },
    noticesOfRun: {
      args: [
        ['session', object(sessionRow)],
        ['before', made(runRow)],
        ['after', made(runRow)],
      ],
      call: sessions.noticesOfRun,
    },
    noticesOfEvents: {
      args: [
        ['session', object(sessionRow)],
        ['events', list([{ event: { type: 'settled' } }], () => false)],
      ],
      call: sessions.noticesOfEvents,
    },
    noticeOfExpiry: { args: [['session', object(sessionRow)]], call: sessions.noticeOfExpiry },
    verifyWebhook: {
      args: [
        ['headers', object({})],
        ['body', text],
        [
          'secret',
          {
            good: 'a secret',
            accepts: (value) =>
              (Array.isArray(value) ? value : [value]).every((each) => typeof each === 'string' && each !== '') &&
              !(Array.isArray(value) && value.length === 0),
          },
        ],
        ['', options({ toleranceMs: whole(), clock: made({ now: () => 0 }) })],
      ],
      call: sessions.verifyWebhook,
    },
    inspectSession: {
      args: [
        ['store', made(stores[0])],
        ['key', key],
        ['now', { good: 1, accepts: (value) => value === undefined || ms(0).accepts(value) }],
      ],
      call: sessions.inspectSession,
    },
    removeOrchestrationState: {
      args: [
        ['store', made(sessions.memoryStateStore())],
        ['key', key],
        ['space', { good: 'space', accepts: (value) => value === undefined || someText().accepts(value) }],
      ],
      call: sessions.removeOrchestrationState,
    },
    fileStore: { args: [['', options({ dir: needed(someText('folder')), fsync: boolean }, false)]], call: fileStore },
    sqliteStore: { args: [['', options(sqliteOptions, false)]], call: sqliteStore },
    sqliteStateStore: {
      args: [
        [
          '',
          options(
            {
              ...sqliteOptions,
              namespace: { good: 'default', accepts: (value) => typeof value === 'string' && /^[a-z0-9]/.test(value) },
              clock,
            },
            false,
          ),
        ],
      ],
      call: sqliteStateStore,
    },
    ...envRows,
    memoryStore: { args: [['', { good: undefined, accepts: (value) => value === undefined }]], call: memoryStore },
  }
}

function runtimeRows({ runtime, newRuntime }: World): Readonly<Record<string, ShapedRow>> {
  return {
    'Runtime.start': { args: [['', options({ keepAlive: boolean })]], call: (given) => newRuntime().start(given) },
    'Runtime.stop': { args: [['', options({ graceMs: ms() })]], call: (given) => newRuntime().stop(given) },
    'Runtime.session': {
      args: [
        ['key', key],
        [
          '',
          options({
            agent: { good: 'assistant', accepts: someText().accepts },
            owner: someText(),
            metadata: jsonObject,
            ttl,
            runtimeParams,
            channel: someText(),
            remoteTools: list([tool], () => false),
            history: list([{ role: 'user', content: 'earlier' }], () => false),
            notify: webhook,
          }),
        ],
      ],
      call: runtime.session,
    },
    'Runtime.reader': {
      args: [
        ['key', key],
        ['', options({ owner: someText() })],
      ],
      call: runtime.reader,
    },
    'Runtime.sessions': {
      args: [
        [
          '',
          options({
            ...page,
            agent: someText(),
            status: orNull(list(['queued'], (item) => item === 'queued')),
            expired: boolean,
            keyPrefix: text,
            parent: orNull(someText()),
            activeSince: number(0),
          }),
        ],
      ],
      call: runtime.sessions,
    },
    'Runtime.schedules': { args: [['', options(page)]], call: runtime.schedules },
    'Runtime.inspect': { args: [['key', key]], call: runtime.inspect },
    'Runtime.run': { args: [['runId', someText()]], call: runtime.run },
    'Runtime.tenantSpending': {
      args: [['tenant', someText('acme')]],
      call: (tenant) => newRuntime({ tenantBudget: { maxCost: '1', window: 'day' } }).tenantSpending(tenant),
    },
    'Runtime.resume': { args: [['runId', someText()]], call: runtime.resume },
    'Runtime.drain': { args: [['', options({ untilMs: ms(), maxRuns: whole(0, 0), abortSignal: signal })]], call: runtime.drain },
    'Runtime.work': {
      args: [
        ['key', key],
        ['', options({ untilMs: ms(), abortSignal: signal, takeOver: boolean })],
      ],
      call: runtime.work,
    },
    'Runtime.onWake': { args: [['callback', needed(func())]], call: runtime.onWake },
    'Runtime.notices': {
      args: [['', options({ ...page, key: someText(), state: oneOf('pending', 'delivered', 'failed'), hook: someText() })]],
      call: runtime.notices,
    },
    'Runtime.resendNotice': {
      args: [
        ['key', key],
        ['id', someText()],
      ],
      call: runtime.resendNotice,
    },
    'Runtime.sweep': none(() => runtime.sweep()),
    'Runtime.importSession': {
      args: [
        [
          'lines',
          {
            good: lines,
            accepts: (value) => typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value),
          },
        ],
        ['', options({ key: { ...key, good: 'room:9' }, repair: boolean, owner: someText(), metadata: jsonObject })],
      ],
      call: runtime.importSession,
    },
  }
}

const header = JSON.stringify({
  type: 'header',
  format: 1,
  schemaVersion: 1,
  key: 'room:9',
  agent: 'assistant',
  leaf: null,
  metadata: {},
  settings: {},
})
const sha256 = createHash('sha256').update(header).update('\n').digest('hex')

/** Lines of an export that can be read any number of times. */
const lines: AsyncIterable<string> = {
  async *[Symbol.asyncIterator]() {
    yield* [header, JSON.stringify({ type: 'footer', entries: 0, events: 0, sha256 })]
  },
}

function sessionRows({ session, approvalId }: World): Readonly<Record<string, ShapedRow>> {
  const inputOptions = options({ id: inputId, maxQueued: whole() })
  const amount: ValueShape = {
    good: '2.5',
    accepts: (value) =>
      typeof value === 'number' ? value >= 0 && value <= 1e12 : typeof value === 'string' && /^\d{1,12}(\.\d{1,15})?$/.test(value),
  }
  const grant = options({ tokens: whole(), cost: amount, reason: text, by: text }, false)
  const decision = { inputHash: someText(), reason: text, by: text }
  const results: ValueShape = { good: [{ toolCallId: 'c1', output: 'Oslo' }], accepts: () => false }
  return {
    'Session.open': none(session.open),
    'Session.info': none(session.info),
    'Session.send': {
      args: [
        ['input', input],
        [
          '',
          options({
            id: inputId,
            onBusy: oneOf('queue', 'steer', 'interrupt', 'reject'),
            maxQueued: whole(),
            runtimeParams,
            notBefore: ms(),
            mode: oneOf('live', 'synchronized'),
            driverTimeoutMs: ms(),
          }),
        ],
      ],
      call: session.send,
    },
    'Session.steer': {
      args: [
        ['input', input],
        ['', inputOptions],
      ],
      call: session.steer,
    },
    'Session.run': { args: [['runId', someText()]], call: session.run },
    'Session.followUp': {
      args: [
        ['input', input],
        ['', inputOptions],
      ],
      call: session.followUp,
    },
    'Session.overlay': {
      args: [
        ['input', input],
        ['', options({ id: inputId, turns: whole(1, 1) })],
      ],
      call: session.overlay,
    },
    'Session.schedule': {
      args: [
        [
          '',
          options(
            {
              id: someText('schedule-1'),
              input: needed(input),
              runtimeParams,
              onMissed: oneOf('once', 'skip', 'all'),
              onBusy: oneOf('queue', 'skip'),
              cron: { good: '@daily', accepts: (value) => typeof value === 'string' },
              timeZone: { good: 'Europe/Oslo', accepts: (value) => typeof value === 'string' },
              every: whole(1000, 1000, 4e15),
              at: whole(0, 4e12, 4e15),
            },
            false,
          ),
        ],
      ],
      call: (given) => session.schedule(withOneRule(given)),
    },
    'SessionSchedules.list': none(session.schedules.list),
    'SessionSchedules.pause': { args: [['id', someText()]], call: session.schedules.pause },
    'SessionSchedules.resume': { args: [['id', someText()]], call: session.schedules.resume },
    'SessionSchedules.delete': { args: [['id', someText()]], call: session.schedules.delete },
    'Session.stop': {
      args: [['', options({ runId: someText(), scope: oneOf('active', 'all'), reason: text, waitMs: ms(0, 0) })]],
      call: session.stop,
    },
    'Session.submitToolResults': {
      args: [
        ['results', results],
        ['', options({ unknownOutcomes: boolean })],
      ],
      call: session.submitToolResults,
    },
    'Session.approve': {
      args: [
        ['approvalId', someText(approvalId)],
        ['', options({ ...decision, input: { ...json, good: undefined } })],
      ],
      call: session.approve,
    },
    'Session.grant': {
      args: [
        ['approvalId', someText(approvalId)],
        ['amount', grant],
      ],
      call: session.grant,
    },
    'Session.deny': {
      args: [
        ['approvalId', someText(approvalId)],
        ['', options(decision)],
      ],
      call: session.deny,
    },
    'Session.resolveTool': {
      args: [
        ['toolCallId', someText('c1')],
        ['resolution', { good: { result: 'done' }, accepts: () => false }],
        ['', options({ path: { ...names, good: [] } })],
      ],
      call: session.resolveTool,
    },
    'Session.recover': {
      args: [
        ['runId', someText()],
        ['decision', needed(oneOf('continue', 'stop'))],
      ],
      call: session.recover,
    },
    'Session.kill': { args: [['', options({ reason: text })]], call: session.kill },
    'Session.delete': none(session.delete),
    'Session.usage': none(session.usage),
    'Session.fork': {
      args: [['', options({ entryId: someText(), key: { ...key, good: 'room:8' }, metadata: jsonObject })]],
      call: session.fork,
    },
    'Session.switchTo': {
      args: [
        ['entryId', orNull(someText())],
        ['', options({ summarize: boolean, instructions: text, abortSignal: signal })],
      ],
      call: session.switchTo,
    },
    'Session.branches': { args: [['', options(page)]], call: session.branches },
    'Session.label': {
      args: [
        ['entryId', someText()],
        ['text', orNull(someText())],
      ],
      call: session.label,
    },
    'Session.labels': { args: [['', options({ leaf: someText() })]], call: session.labels },
    'Session.compact': { args: [['', options({ instructions: text })]], call: session.compact },
    'Session.export': { args: [['', options({ events: boolean, allBranches: boolean })]], call: session.export },
    'Session.events': {
      args: [
        [
          '',
          options(
            {
              cursor: { good: '1', accepts: isCursor },
              live: oneOf(true, false, 'so-far'),
              runId: someText(),
              abortSignal: signal,
              bufferBytes: whole(1),
            },
            true,
            (value) => typeof value === 'string',
          ),
        ],
      ],
      call: session.events,
    },
    'Session.messages': {
      args: [['', options({ leaf: someText(), before: someText(), limit: whole(1, 10, 1000) })]],
      call: session.messages,
    },
    'Session.runs': {
      args: [['', options({ ...page, status: list(['queued'], (item) => item === 'queued'), newestFirst: boolean })]],
      call: session.runs,
    },
    'SessionState.get': none(session.state.get),
    'SessionState.set': {
      args: [
        ['value', json],
        ['', options({ version: orNull(whole(1, 1)) })],
      ],
      place: 'state.set',
      call: session.state.set,
    },
    'SessionState.update': {
      args: [['change', func(() => 1)]],
      place: 'state.update',
      call: (change: unknown) => session.state.update(change as never),
    },
  }
}

function isCursor(value: unknown): boolean {
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value)
}

function runRows({ run }: World): Readonly<Record<string, ShapedRow>> {
  return {
    'RunHandle.status': none(run.status),
    'RunHandle.result': { args: [['', options({ waitMs: ms(0, 0) })]], call: run.result },
    'RunHandle.behind': none(run.behind),
    'RunHandle.events': {
      args: [['', options({ cursor: { good: '1', accepts: isCursor }, abortSignal: signal, bufferBytes: whole(1) })]],
      call: run.events,
    },
    'RunHandle.overlay': {
      args: [
        ['input', input],
        ['', options({ id: inputId, turns: whole(1, 1) })],
      ],
      call: run.overlay,
    },
    'RunHandle.stop': { args: [['', options({ reason: text, waitMs: ms(0, 0) })]], call: run.stop },
  }
}

const context = options({ message: text, turns: whole(), state: { ...object({}), good: undefined }, args: anything })

function orchestrationRows({ orchestration: o }: World): Readonly<Record<string, ShapedRow>> {
  const keyed = options({ key: someText() })
  return {
    'Orchestration.getState': { args: [['id', stateId]], call: (id) => o.getState(id) },
    'Orchestration.getOrCreateState': {
      args: [
        ['id', stateId],
        ['config', steps],
      ],
      call: (id, config) => o.getOrCreateState(id, config),
    },
    'Orchestration.updateState': {
      args: [
        ['id', stateId],
        ['patch', { good: { sequenceIndex: 1 }, accepts: (value) => isEmpty(value) || typeof value === 'function' }],
      ],
      call: (id, patch) => o.updateState(id, patch),
    },
    'Orchestration.setActiveStep': {
      args: [
        ['id', stateId],
        ['name', orNull(someText('a'))],
      ],
      call: (id, name) => o.setActiveStep(id, name),
    },
    'Orchestration.addUsedTool': {
      args: [
        ['id', stateId],
        ['tool', someText()],
        ['', keyed],
      ],
      call: (id, name, given) => o.addUsedTool(id, name, given),
    },
    'Orchestration.advanceSequence': {
      args: [
        ['id', stateId],
        ['', keyed],
      ],
      call: (id, given) => o.advanceSequence(id, given),
    },
    'Orchestration.recordToolUse': {
      args: [
        ['id', stateId],
        ['tool', someText()],
        ['', options({ key: someText(), usage: options(usageFields) })],
      ],
      call: (id, name, given) => o.recordToolUse(id, name, given),
    },
    'Orchestration.addTokenUsage': {
      args: [
        ['id', stateId],
        ['usage', usage],
        ['', keyed],
      ],
      call: (id, spent, given) => o.addTokenUsage(id, spent, given),
    },
    'Orchestration.resetState': { args: [['id', stateId]], call: (id) => o.resetState(id) },
    'Orchestration.touch': { args: [['id', stateId]], call: (id) => o.touch(id) },
    'Orchestration.removeState': { args: [['id', stateId]], call: (id) => o.removeState(id) },
    'Orchestration.listStates': { args: [['', options({ ...page, prefix: text })]], call: (query) => o.listStates(query) },
    'Orchestration.cleanupExpiredStates': none(() => o.cleanupExpiredStates()),
    'Orchestration.stopCleanupTimer': none(() => o.stopCleanupTimer()),
    'Orchestration.close': none(() => o.close()),
    'Orchestration.allowedTools': {
      args: [
        ['id', stateId],
        ['offered', list(['a'], (item) => typeof item === 'string')],
        ['context', context],
      ],
      call: (id, offered, given) => o.allowedTools(id, offered, given),
    },
    'Orchestration.extension': { args: [['config', steps]], call: (config) => o.extension(config) },
  }
}

function isEmpty(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as null) &&
    Object.keys(value).length === 0
  )
}

function sequencerRows({ sequencer, state }: World): Readonly<Record<string, ShapedRow>> {
  const wholeState: ValueShape = { good: state, accepts: () => false }
  const offered = list(['a'], (item) => typeof item === 'string')
  const use = options({
    message: text,
    turns: whole(),
    state: { ...object({}), good: undefined },
    args: anything,
    at: number(0),
    key: someText(),
  })
  return {
    'StepSequencer.select': {
      args: [
        ['state', wholeState],
        ['context', context],
      ],
      call: sequencer.select,
    },
    'StepSequencer.allowed': {
      args: [
        ['state', wholeState],
        ['offered', offered],
        ['context', context],
      ],
      call: sequencer.allowed,
    },
    'StepSequencer.applyToolUse': {
      args: [
        ['state', wholeState],
        ['tool', someText()],
        ['context', use],
      ],
      call: sequencer.applyToolUse,
    },
    'StepSequencer.expected': { args: [['state', wholeState]], call: sequencer.expected },
    'StepSequencer.explain': none(sequencer.explain),
  }
}
