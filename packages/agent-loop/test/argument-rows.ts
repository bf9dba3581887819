import { createModels, systemClock } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import fc from 'fast-check'
import type { ArgumentRow, Kind } from '../../../scripts/argument-table.ts'
import * as events from '../src/events/index.ts'
import * as loop from '../src/index.ts'
import * as node from '../src/node/index.ts'
import * as repair from '../src/repair.ts'
import * as testing from '@bowline/testing'

const anyText: readonly Kind[] = ['text', 'empty']
const amount: readonly Kind[] = ['number', 'fraction']
const none: readonly Kind[] = []
const anything: readonly Kind[] = [
  ...(['null', 'true', 'number', 'negative', 'NaN', 'fraction', 'empty', 'text', 'list', 'object', 'function'] as const),
  ...(['date', 'map', 'symbol', 'bigint', 'promise'] as const),
]
/** Kinds that `canonicalJson` and `hashJson` accept: everything that `JSON.stringify` can write. */
const asJson = anything.filter((kind) => kind !== 'NaN' && kind !== 'bigint')
const schemaTakes = (path: string): Record<string, readonly Kind[]> => ({ [path]: ['object', 'function'], [`${path}.type`]: none })
const places = (kinds: readonly Kind[], ...paths: string[]): Record<string, readonly Kind[]> =>
  Object.fromEntries(paths.map((path) => [path, kinds]))

const model = () => scriptedModel(() => ({ text: 'ok' }))
const agent = () => loop.defineAgent({ model: model() })
const journal = () => loop.createMemoryJournal()
const tool = () => loop.defineTool({ name: 'look', description: 'x', inputSchema: { type: 'object' }, execute: () => 'x' })
const child = () => loop.defineAgent({ name: 'child', description: 'x', model: model() })
const hook = () => undefined
const limits = () => ({ maxSteps: 5, maxToolCalls: 5, maxTotalTokens: 5000000, maxDurationMs: 50000, maxDepth: 5, maxQueuedInputs: 5 })
const params = () => ({ temperature: 1, maxTokens: 5 })
const user = { role: 'user', content: 'x' } as const

const agentOptions = () => ({
  name: 'a',
  description: 'x',
  model: model(),
  models: createModels({ providers: { acme: model } }),
  runtimeParams: params(),
  toolChoice: { toolName: 'look' },
  tools: [tool()],
  toolConcurrency: 2,
  subagents: [child()],
  instructions: {
    system: 'x',
    docs: { folder: 'x', topics: ['y'] },
    append: 'x',
    skills: [{ name: 'x', description: 'y', location: 'z' }],
    footer: { date: true, workingFolder: '/', lines: ['x'], sessionKey: true },
  },
  extensions: [{ name: 'x', hooks: { onTurnStart: hook }, timeoutMs: 5, onError: 'fail', deltas: true }],
  guardrails: [{ name: 'g', description: 'x', onError: 'allow', beforeCall: hook }],
  retry: {
    maxRetries: 1,
    baseDelayMs: 1,
    maxDelayMs: 1,
    jitter: 0.5,
    maxServerDelayMs: 1,
    maxTotalDelayMs: 1,
    rewind: 'turn',
    isRetryable: hook,
  },
  fallback: [model()],
  limits: limits(),
  stopWhen: [() => false],
  prepareStep: hook,
  steering: 'one-at-a-time',
  abortGraceMs: 5,
  compaction: {
    reserveTokens: 1,
    keepRecentTokens: 1,
    triggerRatio: 0.5,
    model: model(),
    instructions: 'x',
    maxFailures: 1,
    minShrink: 0.5,
    facts: () => [],
    automatic: true,
  },
  onUnknownOutcome: 'stop',
  onFailedTurn: 'keep',
  ephemeral: () => [],
})

const never = () => new Promise<never>(() => undefined)

const runOptions = () => ({
  messages: [user],
  overlays: ['x'],
  runtimeParams: params(),
  channel: 'c',
  sessionKey: 's',
  source: 'me',
  context: { a: 1 },
  runId: 'r',
  remoteTools: [{ name: 'far', description: 'x', inputSchema: { type: 'object' } }],
  mode: 'live',
  onBreak: 'continue',
  driverTimeoutMs: 5,
  onInputWhilePending: 'refuse',
  onUnknownOutcome: 'stop',
  onFailedTurn: 'keep',
  limits: limits(),
  session: { fork: never, switchTo: never, compact: never, send: never },
  budget: loop.createBudget({}),
  abortSignal: new AbortController().signal,
  clock: systemClock,
  ids: loop.systemIds,
  random: () => 0.5,
  onApproval: () => Promise.resolve(undefined),
})

/** Exports that no caller calls as a function, with the reason. */
export const withoutRow: Readonly<Record<string, string>> = {
  AgentError: 'the error itself',
  eventTypes: 'a list',
  grantSchema: 'a schema',
  emptyView: 'a value',
  fakeClock: '`manualClock` of `@bowline/llm/testing`, which has its row there',
  nullCompaction: 'a compactor that looks at nothing',
  progressCharacters: 'a number',
  statuses: 'a list',
}

export const exported = [
  ...Object.keys(loop),
  ...Object.keys(events),
  ...Object.keys(node),
  ...Object.keys(repair),
  ...Object.keys(testing),
]

export const rows: Readonly<Record<string, ArgumentRow>> = {
  isBoundary: { names: ['event'], good: () => [{}], call: loop.isBoundary, open: ['event'], takes: { event: anything } },
  isDelta: { names: ['event'], good: () => [{}], call: loop.isDelta, open: ['event'], takes: { event: anything } },
  isDurable: { names: ['event'], good: () => [{}], call: loop.isDurable, open: ['event'], takes: { event: anything } },
  commitsOf: { names: ['event'], good: () => [{}], call: events.commitsOf, open: ['event'], takes: { event: anything } },
  reduceEvents: {
    names: ['view', 'event'],
    good: () => [loop.emptyView, {}],
    call: loop.reduceEvents,
    whole: ['view'],
    open: ['event'],
    takes: { view: anything, event: anything },
  },
  missingDeltas: {
    names: ['event', 'had'],
    good: () => [{}, []],
    call: events.missingDeltas,
    open: ['event'],
    takes: { event: anything, had: anything },
  },
  lookForOutput: { names: ['messages'], good: () => [[user]], call: loop.lookForOutput, whole: ['messages[0]'] },
  statusOf: { names: ['status'], good: () => ['completed'], call: loop.statusOf, takes: { status: anything } },
  isEnded: { names: ['status'], good: () => ['completed'], call: loop.isEnded, takes: { status: anything } },
  isSuspended: { names: ['status'], good: () => ['completed'], call: loop.isSuspended, takes: { status: anything } },
  toolCallOf: {
    names: ['view', 'toolCallId'],
    good: () => [loop.emptyView, 'c'],
    call: loop.toolCallOf,
    whole: ['view'],
    takes: { view: anything, toolCallId: anything },
  },
  transcriptArbitrary: {
    names: ['fc', 'options'],
    good: () => [fc, { maxTurns: 1, maxCalls: 1 }],
    call: testing.transcriptArbitrary,
    whole: ['fc'],
    takes: { fc: none },
  },
  'createMemoryJournal().commit': {
    names: ['records'],
    good: () => [[]],
    call: (records: readonly loop.JournalRecord[]) => journal().commit(records),
  },
  'recordingJournal().publish': {
    names: ['deltas'],
    good: () => [[]],
    call: (deltas: never[]) => testing.recordingJournal(journal()).publish?.(deltas),
  },
  canonicalJson: {
    names: ['value'],
    good: () => [{ a: 1 }],
    call: loop.canonicalJson,
    open: ['value'],
    takes: { value: asJson, 'value.a': asJson },
  },
  hashJson: { names: ['value'], good: () => [{ a: 1 }], call: loop.hashJson, open: ['value'], takes: { value: asJson, 'value.a': asJson } },
  createBudget: {
    names: ['limits'],
    good: () => [{ maxTotalTokens: 5, maxCost: '5' }],
    call: loop.createBudget,
    takes: { 'limits.maxCost': amount },
  },
  'createBudget().reserve': {
    names: ['estimate'],
    good: () => [{ tokens: 5, cost: { total: '1' } }],
    call: (estimate: loop.BudgetEstimate) => loop.createBudget({}).reserve(estimate),
    open: ['estimate', 'estimate.cost'],
    takes: { 'estimate.tokens': amount, 'estimate.cost.total': none },
  },
  'createBudget().charge': {
    names: ['actual'],
    good: () => [{ usage: {}, cost: { total: '1' } }],
    call: (actual: loop.Spending) => loop.createBudget({}).charge(actual),
    open: ['actual', 'actual.usage', 'actual.cost'],
    takes: { 'actual.cost.total': none },
  },
  createMemoryJournal: {
    names: ['options'],
    good: () => [{ messages: [user] }],
    call: loop.createMemoryJournal,
    data: ['options.messages[0]'],
  },
  defineAgent: {
    names: ['options'],
    good: () => [agentOptions()],
    call: loop.defineAgent,
    // Extensions and guardrails have their own rows.
    whole: [
      'options.model',
      'options.models',
      'options.compaction.model',
      'options.fallback[0]',
      'options.tools[0]',
      'options.subagents[0]',
      'options.extensions[0]',
      'options.guardrails[0]',
    ],
    takes: {
      'options.model': ['text', 'function'],
      'options.fallback[0]': ['text'],
      'options.compaction.model': ['text'],
      'options.tools': ['list', 'object'],
      ...places(anyText, 'options.name', 'options.description', 'options.compaction.instructions'),
      'options.runtimeParams.temperature': ['fraction'],
      'options.retry.jitter': amount,
      'options.stopWhen': ['list', 'function'],
      ...places([...anyText, 'function', 'object'], 'options.instructions'),
      ...places([...anyText, 'function'], 'options.instructions.system', 'options.instructions.append'),
      ...places(
        anyText,
        'options.instructions.docs.folder',
        'options.instructions.docs.topics[0]',
        'options.instructions.footer.workingFolder',
        'options.instructions.footer.lines[0]',
      ),
      'options.instructions.skills[0]': ['list'],
      ...places(anyText, ...['name', 'description', 'location'].map((part) => `options.instructions.skills[0].${part}`)),
      ...places(none, 'options.retry.rewind', 'options.steering', 'options.onUnknownOutcome', 'options.onFailedTurn'),
      ...places(none, 'options.compaction.triggerRatio', 'options.compaction.minShrink'),
    },
  },
  'agent.run': {
    names: ['input', 'run.options'],
    good: () => ['x', runOptions()],
    async call(input: loop.AgentInput, options: loop.RunOptions) {
      await agent().run(input, options).result()
    },
    whole: ['run.options.session', 'run.options.budget', 'run.options.clock', 'run.options.ids'],
    data: ['run.options.messages[0]', 'run.options.context'],
    open: ['run.options.remoteTools[0].inputSchema'],
    takes: {
      ...places(['text'], 'input', 'run.options.overlays[0]'),
      'run.options.runtimeParams.temperature': ['fraction'],
      ...places(
        anyText,
        'run.options.channel',
        'run.options.sessionKey',
        'run.options.source',
        'run.options.runId',
        'run.options.remoteTools[0].description',
      ),
      ...schemaTakes('run.options.remoteTools[0].inputSchema'),
      ...places(
        none,
        ...['mode', 'onBreak', 'onInputWhilePending', 'onUnknownOutcome', 'onFailedTurn'].map((name) => `run.options.${name}`),
      ),
    },
  },
  'agent.compact': {
    names: ['options'],
    good: () => [
      {
        journal: journal(),
        runId: 'r',
        trigger: 'manual',
        instructions: 'x',
        sessionKey: 's',
        budget: loop.createBudget({}),
        abortSignal: new AbortController().signal,
        clock: systemClock,
        ids: loop.systemIds,
      },
    ],
    call: (options: loop.CompactOptions) => agent().compact(options),
    whole: ['options.journal', 'options.budget', 'options.clock', 'options.ids'],
    takes: { ...places(anyText, 'options.runId', 'options.instructions', 'options.sessionKey'), 'options.trigger': none },
  },
  'agent.spawnChild': {
    names: ['options'],
    good: () => [{ tools: [], channel: 'c', sessionKey: 's' }],
    call: (options: loop.SpawnChildOptions) => agent().spawnChild(options),
    takes: places(anyText, 'options.channel', 'options.sessionKey'),
  },
  'agent.invalidatePrompt': {
    names: ['channel'],
    good: () => ['c'],
    call: (channel: string) => agent().invalidatePrompt(channel),
    takes: { channel: anyText },
  },
  'run.events': {
    names: ['options'],
    good: () => [{ deltas: true, afterSeq: 5 }],
    call: (options: loop.ReaderOptions) => agent().run('x').events(options),
  },
  'run.steer': {
    names: ['input'],
    good: () => ['x'],
    call: (input: loop.AgentInput) => agent().run('x').steer(input),
    takes: { input: ['text'] },
  },
  'run.followUp': {
    names: ['input'],
    good: () => ['x'],
    call: (input: loop.AgentInput) => agent().run('x').followUp(input),
    takes: { input: ['text'] },
  },
  'run.overlay': {
    names: ['input'],
    good: () => ['x'],
    call: (input: loop.AgentInput) => agent().run('x').overlay(input),
    takes: { input: ['text'] },
  },
  defineExtension: {
    names: ['options'],
    good: () => [
      {
        name: 'x',
        tools: [tool()],
        guardrails: [],
        promptSections: { append: 'x' },
        timeoutMs: 5,
        onError: 'fail',
        deltas: true,
        hooks: { onTurnStart: hook },
      },
    ],
    call: loop.defineExtension,
    whole: ['options.tools[0]'],
    takes: { 'options.tools': ['list', 'object'], 'options.promptSections.append': [...anyText, 'function'], 'options.onError': none },
  },
  defineGuardrail: {
    names: ['options'],
    good: () => [{ name: 'g', description: 'x', onError: 'allow', beforeCall: hook, afterCall: hook, onTurnStart: hook, onTurnEnd: hook }],
    call: loop.defineGuardrail,
    takes: { 'options.description': anyText, 'options.onError': none },
  },
  adoptTool: {
    names: ['options'],
    good: () => [
      {
        from: { inputSchema: { type: 'object' }, execute: () => 'x' },
        name: 'look',
        label: 'x',
        description: 'x',
        effect: 'pure',
        reconcile: hook,
        onUnknownOutcome: 'stop',
        timeoutMs: 5,
        sequential: true,
        concurrency: 5,
        needsApproval: true,
        approvalTimeoutMs: 5,
        recheck: true,
        maxOutputCharacters: 5,
        strict: true,
        inputExamples: [{ input: {} }],
        providerOptions: { acme: { a: 1 } },
      },
    ],
    call: loop.adoptTool,
    data: ['options.providerOptions.acme', 'options.inputExamples[0].input'],
    whole: ['options.from'],
    takes: {
      ...places(anyText, 'options.label', 'options.description'),
      'options.needsApproval': ['true', 'function'],
      ...places(['number', 'null'], 'options.timeoutMs', 'options.approvalTimeoutMs'),
      ...places(none, 'options.effect', 'options.onUnknownOutcome'),
    },
  },
  defineTool: {
    names: ['options'],
    good: () => [
      {
        name: 'look',
        label: 'x',
        description: 'x',
        inputSchema: { type: 'object' },
        execute: () => 'x',
        effect: 'pure',
        reconcile: hook,
        onUnknownOutcome: 'stop',
        timeoutMs: 5,
        sequential: true,
        concurrency: 5,
        needsApproval: true,
        approvalTimeoutMs: 5,
        recheck: true,
        maxOutputCharacters: 5,
        strict: true,
        inputExamples: [{ input: {} }],
        providerOptions: { acme: { a: 1 } },
        toModelOutput: hook,
      },
    ],
    call: loop.defineTool,
    data: ['options.providerOptions.acme', 'options.inputExamples[0].input'],
    open: ['options.inputSchema'],
    takes: {
      ...places(anyText, 'options.label', 'options.description'),
      ...schemaTakes('options.inputSchema'),
      'options.needsApproval': ['true', 'function'],
      ...places(['number', 'null'], 'options.timeoutMs', 'options.approvalTimeoutMs'),
      ...places(none, 'options.effect', 'options.onUnknownOutcome'),
    },
  },
  loopGuard: {
    names: ['options'],
    good: () => [
      { sameFailure: { warn: 1, block: 2 }, sameTool: { warn: 1, halt: 2 }, sameResult: { warn: 1, block: 2 }, blocked: { halt: 2 } },
    ],
    call: loop.loopGuard,
  },
  parseInput: {
    names: ['input'],
    good: () => [
      {
        toolResults: [
          { toolCallId: 'a', path: ['b'], toolName: 'c', input: {}, deadlineAt: 1, agent: ['d'], output: 1, details: 1, isError: true },
        ],
        approvals: [{ approvalId: 'a', decision: 'approve', inputHash: 'h', reason: 'r', by: 'b', input: {} }],
      },
    ],
    call: loop.parseInput,
    data: ['input.toolResults[0].input', 'input.toolResults[0].output', 'input.toolResults[0].details', 'input.approvals[0].input'],
    takes: {
      input: ['text'],
      'input.toolResults[0].deadlineAt': amount,
      'input.approvals[0].decision': none,
      ...places(
        anyText,
        'input.toolResults[0].toolName',
        'input.approvals[0].inputHash',
        'input.approvals[0].reason',
        'input.approvals[0].by',
      ),
    },
  },
  phaseOf: { names: ['journal'], good: () => [journal()], call: loop.phaseOf, whole: ['journal'] },
  repairTranscript: { names: ['messages'], good: () => [[user]], call: repair.repairTranscript, data: ['messages[0]'] },
  subagentsOf: { names: ['agent'], good: () => [agent()], call: loop.subagentsOf, whole: ['agent'] },
  summarizeMessages: {
    names: ['agent', 'options'],
    good: () => [
      agent(),
      {
        messages: [user],
        instructions: 'x',
        abortSignal: new AbortController().signal,
        clock: systemClock,
        hooks: { id: 'x', sessionKey: 'x', turn: 1, onError: () => undefined },
      },
    ],
    call: loop.summarizeMessages,
    whole: ['agent', 'options.clock'],
    data: ['options.messages[0]'],
    takes: { 'options.instructions': anyText },
  },
  withExtensions: {
    names: ['agent', 'extensions'],
    good: () => [agent(), [{ name: 'x', hooks: {} }]],
    call: loop.withExtensions,
    whole: ['agent', 'extensions[0]'],
  },
  systemIds: { names: ['kind'], good: () => ['x'], call: (kind: string) => loop.systemIds.next(kind) },
  loadGuardrails: { names: ['options'], good: () => [{ folders: ['/none'] }], call: node.loadGuardrails },
  loadSkills: { names: ['options'], good: () => [{ folders: ['/none'] }], call: node.loadSkills },
  checkEvents: { names: ['events', 'options'], good: () => [[], { allDeltas: true, unfinished: true }], call: testing.checkEvents },
  checkTranscript: { names: ['messages', 'options'], good: () => [[], { openCalls: true }], call: testing.checkTranscript },
  crashingJournal: {
    names: ['journal', 'point'],
    good: () => [journal(), { commit: 1, when: 'before' }],
    call: testing.crashingJournal,
    whole: ['journal'],
    takes: { 'point.when': none },
  },
  fakeIds: { names: [], good: () => [], call: testing.fakeIds },
  recordingJournal: { names: ['journal'], good: () => [journal()], call: testing.recordingJournal, whole: ['journal'] },
}
