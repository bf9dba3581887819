import type { RunView } from '@bowline/agent-loop/events'
import { emptyView } from '@bowline/agent-loop/events'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { argumentProblems, unlistedNames, type ArgumentRow, type Kind } from '../../../scripts/argument-table.ts'
import * as admin from '../src/admin.ts'
import * as chat from '../src/chat.ts'
import * as client from '../src/index.ts'
import * as react from '../src/react.ts'
import { SessionStore } from '../src/react/session-store.ts'
import { JumpingClock } from './support/jumping-clock.ts'

const isRefusal = (error: unknown): error is Error => client.ClientError.isInstance(error) && error.code.startsWith('invalid-')

const none: readonly Kind[] = []
const anyText: readonly Kind[] = ['text', 'empty']
const amount: readonly Kind[] = ['number', 'fraction']
const jsonKinds: readonly Kind[] = ['null', 'true', 'number', 'negative', 'fraction', 'empty', 'text', 'list', 'object']
const places = (kinds: readonly Kind[], ...paths: string[]): Record<string, readonly Kind[]> =>
  Object.fromEntries(paths.map((path) => [path, kinds]))

/** Answers every request with the fields that all answers have in common. */
const fetch: typeof globalThis.fetch = () =>
  Promise.resolve(Response.json({ agents: [], sessions: [], messages: [], labels: [], schedules: [] }))
const session = (): client.ClientSession => connect().session('s1')
const chats = (): chat.ChatClient => chat.createChatClient({ baseUrl: 'http://127.0.0.1:1', clock: new JumpingClock(0), fetch })
const admins = (): admin.Admin => admin.createAdmin({ baseUrl: 'http://127.0.0.1:1', clock: new JumpingClock(0), fetch })
const sessionAdmin = (): admin.SessionAdmin => admins().session('s1')
const connect = (): client.Client => client.createClient({ baseUrl: 'http://127.0.0.1:1', clock: new JumpingClock(0), fetch })
const store = (): SessionStore => new SessionStore(session())
const { signal } = new AbortController()
const schema = { '~standard': { validate: (value: unknown) => ({ value }) } }
const tools = (): client.ClientTools => ({ where: { execute: () => 'here', inputSchema: schema, effect: 'pure' } })
const toolTakes = (path: string): Record<string, readonly Kind[]> => ({
  ...places(none, `${path}.where.effect`, `${path}.where.inputSchema`),
})

const message = (): client.UserMessageInput => ({ role: 'user', content: [{ type: 'text', text: 'hello' }] })
const messageTakes = {
  input: ['text'],
  ...places(none, 'input.role', 'input.content[0].type'),
  'input.content': ['text', 'list'],
  ...places(anyText, 'input.content[0].text'),
} as const

const call = { toolName: 'where', path: ['p'], input: 1, deadlineAt: 5, agent: ['a'] }
const callTakes = (path: string): Record<string, readonly Kind[]> => ({
  ...places(anyText, `${path}.path[0]`, `${path}.agent[0]`),
  ...places(jsonKinds, `${path}.input`, `${path}.output`, `${path}.details`),
  [`${path}.deadlineAt`]: amount,
})
const results = (): client.ToolResultInput[] => [
  { ...call, toolCallId: 'c', role: 'tool-result', output: 'here', details: 1, isError: true },
]
const resultTakes = (path: string): Record<string, readonly Kind[]> => ({ ...callTakes(`${path}[0]`), ...places(none, `${path}[0].role`) })

const sendOptions = () => ({
  agent: 'a',
  metadata: { a: 1 },
  history: [{ role: 'user', content: 'before' }],
  model: 'm',
  onBusy: 'queue',
  id: 'i',
  headers: { 'x-a': 'b' },
  declarations: [{ name: 'where', description: 'Where.', inputSchema: { type: 'object' } }],
  runtimeParams: {
    model: 'm',
    temperature: 1,
    maxTokens: 5,
    topP: 1,
    topK: 5,
    stopSequences: ['a'],
    systemPrompt: 'x',
    reasoning: 'low',
    seed: 5,
    providerSpecific: { a: 1 },
  },
})
const sendTakes: Record<string, readonly Kind[]> = {
  ...places(jsonKinds, 'options.metadata.a', 'options.runtimeParams.providerSpecific.a'),
  ...places(
    none,
    'options.declarations[0].inputSchema.type',
    'options.history[0].role',
    'options.onBusy',
    'options.runtimeParams.reasoning',
  ),
  ...places(anyText, 'options.declarations[0].description', 'options.runtimeParams.stopSequences[0]', 'options.runtimeParams.systemPrompt'),
  ...places(amount, 'options.runtimeParams.temperature', 'options.runtimeParams.topP'),
  'options.runtimeParams.seed': ['number', 'negative'],
  'options.history[0].content': ['text', 'list'],
}
const sendOpen = {
  open: [
    'options.metadata',
    'options.headers',
    'options.declarations[0].inputSchema',
    'options.runtimeParams.providerSpecific',
    'input.content[0]',
  ],
  // Headers are accepted or refused as a whole.
  whole: ['options.headers', 'options.tools.where.inputSchema'],
}

const rendered = (hook: () => unknown): string =>
  renderToString(
    createElement(() => {
      hook()
      return null
    }),
  )

/** Makes a row for a method whose last argument is options. */
const method = (
  names: readonly string[],
  good: () => readonly unknown[],
  make: (...given: never[]) => unknown,
  takes: Record<string, readonly Kind[]> = {},
): ArgumentRow => ({
  names,
  good,
  call: make,
  takes,
})
const options = (good: object, make: (...given: never[]) => unknown, takes?: Record<string, readonly Kind[]>): ArgumentRow =>
  method(['options'], () => [{ abortSignal: signal, ...good }], make, takes)

const given = { abortSignal: signal }

const methods: Readonly<Record<string, ArgumentRow>> = {
  'client.session': method(
    ['id'],
    () => ['s1'],
    (id) => connect().session(id),
  ),
  'client.agents': options({}, (given) => connect().agents(given)),
  'client.sessions': options(
    { agent: 'a', status: 'queued', expired: false, parent: 's1', limit: 5, cursor: 'c' },
    (given) => connect().sessions(given),
    places(none, 'options.status'),
  ),
  'session.send': {
    ...method(
      ['input', 'options'],
      () => [message(), { ...sendOptions(), ...given, tools: tools() }],
      (input, options) => session().send(input, options),
      {
        ...messageTakes,
        ...sendTakes,
        ...toolTakes('options.tools'),
      },
    ),
    ...sendOpen,
    open: [...sendOpen.open, 'options.tools'],
    records: ['options.tools'],
  },
  'session.send of results': method(
    ['input'],
    () => [results()],
    (input) => session().send(input),
    { ...resultTakes('input'), input: ['text'] },
  ),
  'session.attach': options(
    { cursor: '1', from: 'run', until: 'settled', onConnection: () => undefined },
    (given) => session().attach(given),
    {
      ...places(none, 'options.from', 'options.until'),
    },
  ),
  'session.state': options({ limit: 5, before: 'm' }, (given) => session().state(given)),
  'session.messages': options({ limit: 5, before: 'm' }, (given) => session().messages(given)),
  'session.stop': options(
    { runId: 'r', mode: 'stop', scope: 'all', waitMs: 5 },
    (given) => session().stop(given),
    places(none, 'options.mode', 'options.scope'),
  ),
  'session.submitToolResults': method(
    ['results', 'options'],
    () => [results(), given],
    (results, options) => session().submitToolResults(results, options),
    {
      ...resultTakes('results'),
      results: none,
    },
  ),
  'session.resolveTool': method(
    ['toolCallId', 'resolution', 'options'],
    () => ['c', { ...call, toolCallId: 'c', output: 'here', details: 1, isError: true }, given],
    (id, resolution, options) => session().resolveTool(id, resolution, options),
    callTakes('resolution'),
  ),
  'session.steer': {
    ...method(
      ['input', 'options'],
      () => [message(), { ...given, id: 'i' }],
      (input, options) => session().steer(input, options),
      messageTakes,
    ),
    open: ['input.content[0]'],
  },
  'session.followUp': {
    ...method(
      ['input', 'options'],
      () => [message(), { ...given, id: 'i' }],
      (input, options) => session().followUp(input, options),
      messageTakes,
    ),
    open: ['input.content[0]'],
  },
  'session.overlay': {
    ...method(
      ['input', 'options'],
      () => [message(), { ...given, id: 'i', turns: 2 }],
      (input, options) => session().overlay(input, options),
      messageTakes,
    ),
    open: ['input.content[0]'],
  },
  'session.approve': method(
    ['approvalId', 'options'],
    () => ['a', { ...given, input: 1, inputHash: 'h', reason: 'r' }],
    (id, options) => session().approve(id, options),
    {
      ...places(anyText, 'options.reason'),
      'options.input': jsonKinds,
    },
  ),
  'session.deny': method(
    ['approvalId', 'options'],
    () => ['a', { ...given, inputHash: 'h', reason: 'r' }],
    (id, options) => session().deny(id, options),
    places(anyText, 'options.reason'),
  ),
  'session.fork': options({ entryId: 'e', newSessionId: 's2' }, (given) => session().fork(given)),
  'session.switchTo': method(
    ['entryId', 'options'],
    () => ['e', { ...given, summarize: true, instructions: 'i' }],
    (id, options) => session().switchTo(id, options),
    {
      entryId: ['null', 'text'],
      ...places(anyText, 'options.instructions'),
    },
  ),
  'session.label': method(
    ['entryId', 'text', 'options'],
    () => ['e', 'Start', given],
    (id, text, options) => session().label(id, text, options),
    { text: ['null', 'text'] },
  ),
  'session.unlabel': method(
    ['entryId', 'options'],
    () => ['e', given],
    (id, options) => session().unlabel(id, options),
  ),
  'session.branches': options({ limit: 5, cursor: 'c' }, (given) => session().branches(given)),
  'session.compact': options({ instructions: 'i' }, (given) => session().compact(given), places(anyText, 'options.instructions')),
  'session.export': options({ events: true, allBranches: true }, (given) => session().export(given)),
  'session.delete': options({}, (given) => session().delete(given)),
}

const scheduled = { id: 'i', input: message(), onMissed: 'once', onBusy: 'queue', abortSignal: signal }
const scheduleRow = (rule: object, takes: Record<string, readonly Kind[]> = {}): ArgumentRow => ({
  ...method(
    ['schedule'],
    () => [{ ...scheduled, ...rule, input: message() }],
    (schedule) => sessionAdmin().schedules.create(schedule),
    {
      ...places(none, 'schedule.onMissed', 'schedule.onBusy', 'schedule.input.role', 'schedule.input.content[0].type'),
      'schedule.input': ['text'],
      'schedule.input.content': ['text', 'list'],
      ...places(anyText, 'schedule.input.content[0].text'),
      ...takes,
    },
  ),
  open: ['schedule.input.content[0]'],
})
const scheduleMethod = (act: 'pause' | 'resume' | 'delete'): ArgumentRow =>
  method(
    ['scheduleId', 'options'],
    () => ['i', given],
    (id, options) => sessionAdmin().schedules[act](id, options),
  )

const adminRows: Readonly<Record<string, ArgumentRow>> = {
  createAdmin: {
    names: ['options'],
    good: () => [
      {
        baseUrl: 'http://127.0.0.1:1',
        token: 'bwl',
        fetch,
        clock: new JumpingClock(0),
        random: () => 0.5,
        ids: () => 'id',
        reconnect: { baseMs: 1, maxMs: 1, maxDownMs: 1, silenceMs: 1 },
      },
    ],
    call: admin.createAdmin,
    takes: { 'options.baseUrl': ['empty'], 'options.token': ['text', 'empty', 'function'] },
  },
  'admin.session': method(
    ['id'],
    () => ['s1'],
    (id) => admins().session(id),
  ),
  'admin.me': options({}, (given) => admins().me(given)),
  'admin.tenantSpending': options({}, (given) => admins().tenantSpending(given)),
  'sessionAdmin.labels': options({ leaf: 'e' }, (given) => sessionAdmin().labels(given)),
  'sessionAdmin.recover': method(
    ['runId', 'decision', 'options'],
    () => ['r', 'stop', given],
    (id, decision, options) => sessionAdmin().recover(id, decision, options),
    places(none, 'decision'),
  ),
  'sessionAdmin.ticket': options({}, (given) => sessionAdmin().ticket(given)),
  'schedules.create': scheduleRow({ cron: '@daily', timeZone: 'UTC' }),
  'schedules.create of every': scheduleRow({ every: 60_000 }),
  'schedules.create of at': scheduleRow({ at: 60_000 }),
  'schedules.list': options({}, (given) => sessionAdmin().schedules.list(given)),
  'schedules.pause': scheduleMethod('pause'),
  'schedules.resume': scheduleMethod('resume'),
  'schedules.delete': scheduleMethod('delete'),
  'notices.list': options(
    { state: 'failed', limit: 5, cursor: 'c' },
    (given) => sessionAdmin().notices.list(given),
    places(none, 'options.state'),
  ),
  'requests.list': options({ limit: 5, cursor: 'c' }, (given) => sessionAdmin().requests.list(given)),
  'requests.get': method(
    ['id', 'options'],
    () => ['m', given],
    (id, options) => sessionAdmin().requests.get(id, options),
  ),
  'notices.resend': method(
    ['noticeId', 'options'],
    () => ['n', given],
    (id, options) => sessionAdmin().notices.resend(id, options),
  ),
}

const rows: Readonly<Record<string, ArgumentRow>> = {
  ...adminRows,
  createClient: {
    names: ['options'],
    good: () => [
      {
        baseUrl: 'http://127.0.0.1:1',
        token: 'bwl',
        fetch,
        tools: tools(),
        clock: new JumpingClock(0),
        random: () => 0.5,
        ids: () => 'id',
        reconnect: { baseMs: 1, maxMs: 1, maxDownMs: 1, silenceMs: 1 },
      },
    ],
    call: client.createClient,
    open: ['options.tools'],
    records: ['options.tools'],
    whole: ['options.tools.where.inputSchema'],
    // An empty text is the origin of the page.
    takes: { ...toolTakes('options.tools'), 'options.baseUrl': ['empty'], 'options.token': ['text', 'empty', 'function'] },
  },
  foldEvent: {
    names: ['view', 'event'],
    good: () => [emptyView, { type: 'turn-start', runId: 'r', seq: 1 }],
    call: (view: RunView, event: client.ClientEvent) => client.foldEvent(view, event),
    whole: ['view', 'event'],
  },
  createChatClient: {
    names: ['options'],
    good: () => [
      {
        baseUrl: 'http://127.0.0.1:1',
        token: 'bwl',
        fetch,
        clock: new JumpingClock(0),
        random: () => 0.5,
        reconnect: { baseMs: 1, maxMs: 1, maxDownMs: 1, silenceMs: 1 },
      },
    ],
    call: chat.createChatClient,
    takes: { 'options.baseUrl': ['empty'], 'options.token': ['text', 'empty', 'function'] },
  },
  'chat.load': method(
    ['id', 'options'],
    () => ['s1', { abortSignal: signal, limit: 5, before: 'm' }],
    (id, options) => chats().load(id, options),
  ),
  'chat.stop': method(
    ['id', 'options'],
    () => ['s1', { abortSignal: signal }],
    (id, options) => chats().stop(id, options),
  ),
  useSession: {
    names: ['options'],
    good: () => [{ client: connect(), sessionId: 's1', tools: tools() }],
    call: (options: react.UseSessionOptions) => rendered(() => react.useSession(options)),
    open: ['options.tools'],
    records: ['options.tools'],
    whole: ['options.client', 'options.tools.where.inputSchema'],
    takes: toolTakes('options.tools'),
  },
  useEvents: { names: ['session'], good: () => [session()], call: (given: client.ClientSession) => rendered(() => react.useEvents(given)) },
  ...methods,
}

const withoutRow: Readonly<Record<string, string>> = {
  ClientError: 'the error itself',
}

describe('the arguments of every export', () => {
  it('S206: every export and every method has a row, or a reason why it needs none', () => {
    const methodsOf = (name: string, value: object): string[] => {
      const keys = [...Object.keys(value), ...Object.getOwnPropertyNames(Object.getPrototypeOf(value))]
      return keys
        .filter((key) => key !== 'constructor' && typeof Reflect.get(value, key) === 'function' && !(key in Object.prototype))
        .map((key) => `${name}.${key}`)
    }
    const ofAdmin = [
      ...methodsOf('admin', admins()),
      ...methodsOf('sessionAdmin', sessionAdmin()),
      ...methodsOf('schedules', sessionAdmin().schedules),
      ...methodsOf('notices', sessionAdmin().notices),
      ...methodsOf('requests', sessionAdmin().requests),
    ]
    const exported = [
      ...ofAdmin,
      ...Object.keys(admin),
      ...Object.keys(client),
      ...Object.keys(react),
      ...methodsOf('client', connect()),
      ...methodsOf('session', session()),
      ...Object.keys(chat),
      ...methodsOf('chat', chats()),
    ]
    const listed = Object.keys(rows).filter((name) => !name.includes(' '))
    expect(unlistedNames(exported, [...listed, ...Object.keys(withoutRow)])).toEqual([])
  })

  it.each(Object.entries(rows))(
    'S206, S208: %s accepts what its row lists and refuses everything else, naming its path',
    async (_name, row) => {
      expect(await argumentProblems(row, { isRefusal })).toEqual([])
    },
  )

  it.each([
    [
      'a misspelled option',
      () => session().send('go', { onBussy: 'queue' } as never),
      'options has no option "onBussy"; did you mean onBusy?',
    ],
    [
      'a misspelled option of the client',
      () => client.createClient({ baseURL: 'http://x' } as never),
      'options has no option "baseURL"; did you mean baseUrl?',
    ],
    [
      'a value that is none of a few',
      () => session().send('go', { onBusy: 'que' as never }),
      'onBusy must be one of queue, steer, interrupt, reject; received "que"; did you mean queue?',
    ],
    [
      'an unknown field of a result',
      () => session().send([{ toolCallId: 'c', resut: 1 } as never]),
      'input[0] has no option "resut"; did you mean result?',
    ],
    [
      'a result without an answer',
      () => session().send([{ toolCallId: 'c' } as never]),
      'input[0] must be an object with output or error or unknown; received an object',
    ],
    [
      'what JSON would leave out',
      () => session().send('go', { metadata: { at: (() => 1) as never } }),
      'metadata.at must be JSON; received a function',
    ],
    [
      'an id that no header carries',
      () => session().send('go', { id: 'ü€' }),
      'id must be a text with at least one character, valid in a header; received a text of 2 characters',
    ],
  ])('S206, S208: %s is refused', (_name, run, message) => {
    expect(run).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(message.split('; did')[0] ?? '') as string,
        code: expect.stringMatching(/^invalid-/) as string,
      }),
    )
  })

  it.each<[string, () => unknown]>([
    ['options', () => client.createClient(undefined as never)],
    ['tools.where', () => client.createClient({ baseUrl: '', tools: { where: undefined } } as never)],
    ['tools.where.execute', () => client.createClient({ baseUrl: '', tools: { where: {} } } as never)],
    ['options', () => rendered(() => react.useSession(undefined as never))],
    ['client', () => rendered(() => react.useSession({ sessionId: 's1' } as never))],
    ['session', () => rendered(() => react.useEvents(undefined as never))],
    ['declarations[0].inputSchema', () => session().send('go', { declarations: [{ name: 'a', description: 'b' }] } as never)],
  ])('S208: %s that is missing is refused as undefined', (path, run) => {
    expect(run).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(new RegExp(`^${path.replaceAll(/[.[\]]/g, '\\$&')} must be .*; received undefined$`)) as string,
      }),
    )
  })

  it.each([['string'], [['string', 'null']]])('S208: refuses a declared tool whose input has the type %j', (type) => {
    const declare = (inputSchema: object) => session().send('go', { declarations: [{ name: 'where', description: 'Where.', inputSchema }] })
    expect(() => declare({ type })).toThrow(
      expect.objectContaining({
        code: 'invalid-input',
        message: expect.stringContaining('declarations[0].inputSchema.type must be object; received') as string,
      }),
    )
    for (const inputSchema of [{}, { type: ['object', 'null'] }, { anyOf: [] }]) expect(() => declare(inputSchema)).not.toThrow()
  })

  it.each([
    [
      'both schemas',
      { inputSchema: {}, parameters: {} },
      'declarations[0] has no option "inputSchema"; known are name, description, label, effect, parameters',
    ],
    ['parameters of a text', { parameters: { type: 'string' } }, 'declarations[0].parameters.type must be object; received'],
    ['an effect that is no text', { parameters: {}, effect: 2 }, 'declarations[0].effect must be'],
    ['another key', { parameters: {}, sequential: true }, 'declarations[0] has no option "sequential"'],
    [
      'a schema that has no JSON form',
      { toJSON: () => ({ name: 'where', description: 'Where.', inputSchema: undefined }) },
      'declarations[0].inputSchema must be',
    ],
  ])('S208: refuses a declared tool with %s', (_fault, fields, message) => {
    const declare = () => session().send('go', { declarations: [{ name: 'where', description: 'Where.', ...fields }] } as never)
    expect(declare).toThrow(expect.objectContaining({ code: 'invalid-input', message: expect.stringContaining(message) as string }))
  })

  it.each([{}, { cron: '@daily', every: 60_000 }, { cron: undefined, at: undefined }])(
    'S208: a schedule with the rule %j makes no request',
    async (rule) => {
      const refused = sessionAdmin().schedules.create({ input: 'x', ...rule } as never)
      await expect(refused).rejects.toMatchObject({
        code: 'invalid-input',
        message: expect.stringContaining('schedule must be an object with exactly one of cron, every and at') as string,
      })
    },
  )

  it('S206: undefined counts as absent in the options of the connection', async () => {
    let tries = 0
    const failing = (): Promise<Response> => Promise.reject(new Error(`try ${++tries}`))
    const lone = client.createClient({
      baseUrl: '',
      clock: new JumpingClock(20_000),
      random: () => 1,
      fetch: failing,
      reconnect: { baseMs: undefined, maxMs: undefined, maxDownMs: undefined, silenceMs: undefined } as never,
    })
    await expect(lone.agents()).rejects.toMatchObject({ code: 'disconnected', message: 'The server was not reachable for 120000 ms.' })
  })

  it('S208: no action of the hook rejects for a wrong argument: the answer and the error report it', async () => {
    const { send, stop } = store().actions
    expect(await send('go', { tools: {} } as never)).toMatchObject({
      ok: false,
      error: { code: 'invalid-input', message: expect.stringContaining('options has no option "tools"; known are agent, ') as string },
    })
    expect(await send('', undefined)).toMatchObject({ ok: false, error: { code: 'invalid-input' } })
    expect(await stop({ scope: 'everything' } as never)).toBeUndefined()
  })

  it('S209: a pending call as the hook shows it is accepted with an answer beside it', async () => {
    const bodies: unknown[] = []
    const seeing: typeof globalThis.fetch = (_url, init) => {
      bodies.push(JSON.parse(init?.body as string))
      return Promise.resolve(Response.json({ accepted: ['c'], repeated: [], missing: [], runId: 'r' }))
    }
    const { actions } = new SessionStore(client.createClient({ baseUrl: '', fetch: seeing }).session('s1'))
    const pending: react.PendingCall = { toolCallId: 'c', toolName: 'where', input: {}, path: [], agent: ['a'], local: 'needs-confirm' }
    const { local: _local, ...sent } = pending
    expect(await actions.submitToolResults([{ ...pending, output: 'here' }])).toMatchObject({ accepted: ['c'] })
    expect(await actions.resolveTool('c', { ...pending, output: 'here' })).toMatchObject({ runId: 'r' })
    expect(bodies).toEqual([{ results: [{ ...sent, output: 'here' }] }, { ...sent, output: 'here' }])
  })

  it.each([
    ['no text', () => null as never],
    ['a text that no header carries', () => 'two\nlines'],
  ])('S208: a token function that returns %s fails at once, without minutes of retries', async (_name, token) => {
    const lone = client.createClient({ baseUrl: '', fetch, token })
    await expect(lone.agents()).rejects.toMatchObject({ code: 'token-failed', retryable: false })
  })
})
