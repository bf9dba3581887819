import { z } from 'zod'
import type { ArgumentRow, Kind } from '../../../scripts/argument-table.ts'
import * as checks from '../src/arguments.ts'
import * as llm from '../src/index.ts'
import * as testing from '../src/testing/index.ts'

const anyText: readonly Kind[] = ['text', 'empty']
const amount: readonly Kind[] = ['number', 'fraction']
/** A timer whose time has passed runs at once, so any number is accepted. */
const anyTime: readonly Kind[] = ['number', 'negative', 'fraction']
const anything: readonly Kind[] = [
  ...(['null', 'true', 'number', 'negative', 'NaN', 'fraction', 'empty', 'text', 'list', 'object', 'function'] as const),
  ...(['date', 'map', 'symbol', 'bigint', 'promise'] as const),
]
const none: readonly Kind[] = []
const places = (kinds: readonly Kind[], ...paths: string[]): Record<string, readonly Kind[]> =>
  Object.fromEntries(paths.map((path) => [path, kinds]))
const historyTakes = (path: string) => places(none, `${path}.foreignReasoning`, `${path}.aborted`, `${path}.errored`)
/** A type is a known word or a list of them. A schema may be `true`. */
const schemaTakes = (path: string) => ({
  ...places(['list'], `${path}.type`, `${path}.properties.city.type`),
  ...places(['true', 'object'], `${path}.properties.city`),
  ...places(anyText, `${path}.required[0]`),
})

/** The input schema of a tool must describe an object. */
const inputSchemaTakes = (path: string) => ({ ...schemaTakes(path), [`${path}.type`]: none })

const params = (): llm.RuntimeParams => ({
  temperature: 1,
  maxTokens: 5,
  topP: 1,
  topK: 5,
  stopSequences: ['a'],
  systemPrompt: 'x',
  reasoning: 'low',
  seed: 5,
  providerSpecific: { a: 1 },
})
/** Kinds that runtime params accept at a path. */
const paramsTake = (path: string): Record<string, readonly Kind[]> => ({
  [`${path}.temperature`]: ['fraction'],
  [`${path}.topP`]: none,
  [`${path}.reasoning`]: none,
  [`${path}.stopSequences[0]`]: anyText,
  [`${path}.systemPrompt`]: anyText,
  [`${path}.seed`]: ['number', 'negative'],
  [`${path}.providerSpecific.a`]: ['null', 'true', 'number', 'negative', 'fraction', 'empty', 'text', 'list', 'object'],
})

const price = (): llm.ModelPrice => ({
  currency: 'USD',
  input: '1',
  output: 2,
  cacheRead: '0.1',
  cacheWrite: '2',
  reasoning: '3',
  tiers: [{ aboveInputTokens: 5, input: '2', output: '3', cacheRead: '0.1', cacheWrite: '2', reasoning: '3' }],
})
const rates = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning']
const priceTakes = (path: string): Record<string, readonly Kind[]> =>
  Object.fromEntries([...rates, ...rates.map((rate) => `tiers[0].${rate}`)].map((rate) => [`${path}.${rate}`, amount]))

const info = (): llm.ModelInfo => ({
  contextWindow: 9,
  maxOutputTokens: 9,
  input: { image: true, file: true, audio: true },
  price: price(),
})
const provider = (): llm.ProviderLike => () => testing.scriptedModel(() => ({ text: 'ok' }))
const registry = (): llm.Models => llm.createModels({ providers: { acme: provider(), x: provider() }, default: 'acme:big' })
/** Any text is accepted, as a model of the default provider. */
const refTakes = (path: string): Record<string, readonly Kind[]> => ({ [path]: ['text'] })
const cost = (): llm.Cost => ({ currency: 'USD', total: '1', input: '1', cacheRead: '0', cacheWrite: '0', output: '0', estimated: true })
const usage = (): llm.Usage => ({
  inputTokens: 5,
  noCacheTokens: 5,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 5,
  textTokens: 5,
  reasoningTokens: 0,
  totalTokens: 10,
  estimated: true,
  raw: { a: 1 },
})

const costs = (...names: string[]): Pick<ArgumentRow, 'open' | 'takes'> => ({
  open: names,
  takes: Object.fromEntries(
    names.flatMap((one) => ['currency', 'total', 'input', 'cacheRead', 'cacheWrite', 'output'].map((part) => [`${one}.${part}`, none])),
  ),
})
const usages = (...names: string[]): Pick<ArgumentRow, 'open' | 'data'> => ({ open: names, data: names.map((one) => `${one}.raw`) })

const messages = (): llm.Message[] => [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Hello', providerOptions: { acme: { a: 1 } } },
      { type: 'file', mediaType: 'image/png', filename: 'a.png', data: { type: 'data', data: 'aGk=' } },
    ],
    providerOptions: { acme: { a: 1 } },
  },
  {
    role: 'assistant',
    id: 'm',
    provider: 'acme',
    modelId: 'big',
    stopReason: 'tool-calls',
    usage: {},
    at: 0,
    timing: { totalMs: 0 },
    content: [
      { type: 'reasoning', text: 'so' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} },
    ],
  },
  { role: 'tool-result', toolCallId: 'c', toolName: 'look', output: { type: 'content', value: [{ type: 'text', text: 'found' }] } },
]

const request = (): llm.ModelRequest => ({
  model: { provider: 'acme', model: 'big' },
  models: registry(),
  messages: messages(),
  instructions: [{ text: 'Be short.', providerOptions: { acme: { a: 1 } } }],
  tools: [
    {
      name: 'look',
      description: 'x',
      strict: true,
      inputExamples: [{ input: { a: 1 } }],
      providerOptions: { acme: { a: 1 } },
      inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
    { type: 'provider', id: 'acme.search', name: 'search', args: { a: 1 } },
    { name: 'zod', inputSchema: z.object({}) },
  ],
  toolChoice: { toolName: 'look' },
  output: { type: 'json', schema: { type: 'object' }, name: 'x', description: 'x' },
  runtimeParams: params(),
  history: { foreignReasoning: 'text', aborted: 'keep', errored: 'drop' },
  cache: { at: ['tools', 'messages'], ttl: '5m', lasting: { instructions: 3, messages: 1 } },
  download: () => Promise.resolve({ data: new Uint8Array(1), mediaType: 'image/png' }),
  providerOptions: { acme: { a: 1 } },
  headers: { 'x-a': 'b' },
  abortSignal: new AbortController().signal,
  onRequest: () => undefined,
  clock: llm.systemClock,
  timeouts: { firstPartMs: 100, idleMs: 100, totalMs: 100 },
  messageId: 'msg_1',
  price: price(),
  telemetry: { enabled: true, content: true, metadata: { a: 'b' } },
})

/** Exports without a row, with the reason. */
export const withoutRow: Readonly<Record<string, string>> = {
  LlmError: 'the error itself',
  runtimeParamsSchema: 'a schema, whose answer is its result',
  ...Object.fromEntries(Object.keys(checks).map((one) => [one, 'checks arguments, and throws what its caller makes'])),
}

export const rows: Readonly<Record<string, ArgumentRow>> = {
  addCost: { names: ['a', 'b'], good: () => [cost(), cost()], call: llm.addCost, ...costs('a', 'b') },
  addUsage: { names: ['a', 'b'], good: () => [usage(), usage()], call: llm.addUsage, ...usages('a', 'b') },
  checkInputSchema: {
    names: ['path', 'schema'],
    good: () => ['schema', { type: 'object', properties: { city: { type: 'string' } } }],
    call: llm.checkInputSchema,
    open: ['schema', 'schema.properties.city'],
    records: ['schema.properties'],
    takes: { ...inputSchemaTakes('schema'), schema: ['object', 'function'], path: ['text'] },
  },
  classifyError: {
    names: ['error', 'context'],
    good: () => [new Error('x'), { provider: 'a', modelId: 'b', abortSignal: new AbortController().signal, phase: 'after-output', now: 1 }],
    call: llm.classifyError,
    takes: { error: anything, ...places(anyText, 'context.provider', 'context.modelId'), 'context.phase': none, 'context.now': amount },
  },
  costOf: { names: ['usage', 'price'], good: () => [usage(), price()], call: llm.costOf, ...usages('usage'), takes: priceTakes('price') },
  // It reads only the total.
  costToNumber: { names: ['cost'], good: () => [{ total: '1' }], call: llm.costToNumber, open: ['cost'], takes: { 'cost.total': none } },
  createModels: {
    names: ['options'],
    good: () => [
      {
        providers: { acme: { provider: provider(), defaults: params(), optionsKey: 'acme', headers: { a: 'b' } }, plain: provider() },
        default: 'acme:big',
        aliases: { fast: 'acme:small' },
        models: { 'acme:big': info() },
        middleware: [{ wrapStream: ({ doStream }: { doStream: () => unknown }) => doStream() }],
      },
    ],
    call: llm.createModels,
    open: ['options.providers.acme.defaults.providerSpecific', 'options.middleware[0]'],
    // An undefined provider is an error: probably a wrong import.
    records: ['options.providers'],
    takes: {
      ...paramsTake('options.providers.acme.defaults'),
      ...priceTakes('options.models["acme:big"].price'),
      'options.providers.acme': ['function'],
      'options.providers.acme.headers.a': anyText,
      'options.default': none,
      'options.middleware': ['list', 'object'],
    },
  },
  'createModels().resolve': {
    names: ['ref'],
    good: () => [{ provider: 'acme', model: 'big' }],
    call: (ref: llm.ModelRef) => registry().resolve(ref),
    takes: refTakes('ref'),
  },
  'createModels().languageModel': {
    names: ['ref'],
    good: () => [{ provider: 'acme', model: 'big' }],
    call: (ref: llm.ModelRef) => registry().languageModel(ref),
    takes: refTakes('ref'),
  },
  'createModels().info': {
    names: ['ref'],
    good: () => [{ provider: 'acme', model: 'big' }],
    call: (ref: llm.ModelRef) => registry().info(ref),
    takes: refTakes('ref'),
  },
  createRedaction: {
    names: ['config'],
    good: () => [{ fields: ['pin'], patterns: [/a/g, [/b/, 'c']] }],
    call: llm.createRedaction,
    takes: { 'config.patterns[1][1]': anyText },
  },
  'createRedaction().text': {
    names: ['text'],
    good: () => ['x'],
    call: (text: string) => llm.createRedaction().text(text),
    takes: { text: anyText },
  },
  'createRedaction().value': {
    names: ['value'],
    good: () => [{}],
    call: (value: unknown) => llm.createRedaction().value(value),
    open: ['value'],
    takes: { value: anything },
  },
  describeModel: {
    names: ['request'],
    good: () => [{ model: { provider: 'acme', model: 'big' }, models: registry(), runtimeParams: params() }],
    call: llm.describeModel,
    whole: ['request.models'],
    open: ['request.runtimeParams.providerSpecific'],
    takes: { ...refTakes('request.model'), ...paramsTake('request.runtimeParams') },
  },
  // An invalid schema is reported as the result.
  findSchemaFault: { names: ['schemas'], good: () => [[{ type: 'object' }]], call: llm.findSchemaFault, data: ['schemas[0]'] },
  fromModelMessages: {
    names: ['messages', 'options'],
    good: () => [
      [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [{ type: 'text', text: 'y' }] },
      ],
      { provider: 'acme', modelId: 'big', at: 5 },
    ],
    call: llm.fromModelMessages,
    data: ['messages'],
  },
  mergeRuntimeParams: {
    names: ['layers[0]', 'layers[1]'],
    good: () => [params(), params()],
    call: llm.mergeRuntimeParams,
    open: ['layers[0].providerSpecific', 'layers[1].providerSpecific'],
    takes: { ...paramsTake('layers[0]'), ...paramsTake('layers[1]') },
  },
  readEvents: {
    names: ['stream', 'onEvent'],
    good: () => [
      llm.streamMessage({ model: testing.scriptedModel([{ text: 'ok' }]), messages: [{ role: 'user', content: 'x' }] }),
      () => undefined,
    ],
    call: llm.readEvents,
    whole: ['stream'],
  },
  jsonSchemaOf: {
    names: ['schema'],
    good: () => [{ type: 'object', properties: { city: { type: 'string' } } }],
    call: llm.jsonSchemaOf,
    open: ['schema', 'schema.properties.city'],
    records: ['schema.properties'],
    takes: { ...schemaTakes('schema'), schema: ['object', 'function'] },
  },
  resolveSchema: {
    names: ['schema'],
    good: () => [{ type: 'object', properties: { city: { type: 'string' } } }],
    call: llm.resolveSchema,
    open: ['schema', 'schema.properties.city'],
    records: ['schema.properties'],
    takes: schemaTakes('schema'),
  },
  streamMessage: {
    names: ['request'],
    good: () => [request()],
    async call(given: llm.ModelRequest) {
      const { error } = await llm.streamMessage(given).result()
      // Only the call can check what the caller's function returns.
      if (error && error.kind !== 'config') throw new Error(error.message)
    },
    whole: ['request.models', 'request.clock', 'request.output.schema', 'request.tools[0].inputExamples[0].input', 'request.tools[1].args'],
    records: ['request.tools[0].inputSchema.properties'],
    open: ['request.runtimeParams.providerSpecific', 'request.tools[0].inputSchema', 'request.tools[0].inputSchema.properties.city'],
    data: [
      'request.messages',
      'request.instructions[0].providerOptions.acme',
      'request.tools[0].providerOptions.acme',
      'request.providerOptions.acme',
    ],
    takes: {
      ...refTakes('request.model'),
      ...paramsTake('request.runtimeParams'),
      ...priceTakes('request.price'),
      ...historyTakes('request.history'),
      ...inputSchemaTakes('request.tools[0].inputSchema'),
      'request.instructions': [...anyText, 'list'],
      // A function is a lazy schema, created at its first use.
      ...places(['object', 'function'], 'request.tools[0].inputSchema', 'request.tools[2].inputSchema'),
      ...places(
        none,
        'request.tools[1].type',
        'request.tools[1].id',
        'request.output.type',
        'request.cache.at[0]',
        'request.cache.at[1]',
        'request.cache.ttl',
      ),
      ...places(
        anyText,
        'request.instructions[0].text',
        'request.tools[0].description',
        'request.output.name',
        'request.output.description',
      ),
      ...places(anyText, 'request.headers.x-a', 'request.telemetry.metadata.a'),
      ...places(amount, 'request.timeouts.firstPartMs', 'request.timeouts.idleMs', 'request.timeouts.totalMs'),
    },
  },
  'streamMessage().abort': {
    names: ['reason'],
    good: () => ['x'],
    call: (reason: string) =>
      llm.streamMessage({ model: testing.scriptedModel([]), messages: [{ role: 'user', content: 'x' }] }).abort(reason),
    // `abort` is called in cleanup code and by event targets, so it accepts anything.
    takes: { reason: anything },
  },
  'holdingClock().setTimer': {
    names: ['atMs', 'run', 'options'],
    good: () => [Date.now(), () => undefined, { hold: false }],
    call: (atMs: number, run: () => void, options?: llm.TimerOptions) => llm.holdingClock(llm.systemClock).setTimer(atMs, run, options)(),
    takes: { atMs: anyTime },
  },
  holdingClock: {
    names: ['clock'],
    good: () => [llm.systemClock],
    call: llm.holdingClock,
    whole: ['clock'],
    takes: { clock: (value) => value === llm.systemClock },
  },
  systemClock: {
    names: ['atMs', 'run', 'options'],
    good: () => [Date.now(), () => undefined, { hold: false }],
    call: (atMs: number, run: () => void, options?: llm.TimerOptions) => llm.systemClock.setTimer(atMs, run, options)(),
    takes: { atMs: anyTime },
  },
  toPrompt: {
    names: ['options'],
    good: () => [
      {
        messages: messages(),
        instructions: [{ text: 'x', providerOptions: { a: { b: 1 } } }],
        model: { provider: 'acme', modelId: 'big', input: { image: true, file: true, audio: true } },
        history: { foreignReasoning: 'text', aborted: 'keep', errored: 'drop' },
      },
    ],
    call: llm.toPrompt,
    data: ['options.messages', 'options.instructions[0].providerOptions.a'],
    takes: { ...historyTakes('options.history'), 'options.instructions': [...anyText, 'list'], 'options.instructions[0].text': anyText },
  },
  validateWith: {
    names: ['schema', 'value'],
    good: () => [{ type: 'object' }, {}],
    call: llm.validateWith,
    open: ['schema', 'value'],
    takes: { ...schemaTakes('schema'), value: anything },
  },
  manualClock: { names: ['startMs'], good: () => [5], call: testing.manualClock, takes: { startMs: amount } },
  'manualClock().setTimer': {
    names: ['atMs', 'run', 'options'],
    good: () => [5, () => undefined, { hold: false }],
    call: (atMs: number, run: () => void, options?: llm.TimerOptions) => testing.manualClock().setTimer(atMs, run, options),
    takes: { atMs: anyTime },
  },
  'manualClock().advance': {
    names: ['ms'],
    good: () => [5],
    call: (ms: number) => testing.manualClock().advance(ms),
    takes: { ms: anyTime },
  },
  scriptedModel: {
    names: ['steps', 'options'],
    good: () => [
      [
        {
          reasoning: 'so',
          text: 'ok',
          toolCalls: [{ id: 'c', name: 'look', input: { a: 1 }, chunk: 2 }],
          parts: [{ sleep: 0 }],
          chunk: 2,
          delayMs: 1,
          deltaDelayMs: 1,
          usage: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, reasoning: 1 },
          finish: { unified: 'stop', raw: 'end' },
          expect: () => undefined,
          failAfter: { parts: 1, error: new Error('x'), as: 'part' },
          hang: 'end',
          ignoreAbort: true,
        },
      ],
      { provider: 'acme', modelId: 'big', clock: testing.manualClock() },
    ],
    call: testing.scriptedModel,
    whole: ['options.clock'],
    // The script decides what a model sends, so its data is not checked.
    data: ['steps[0].parts[0]', 'steps[0].toolCalls[0].input', 'steps[0].failAfter.error'],
    takes: {
      steps: ['list', 'function'],
      ...places(none, 'steps[0].failAfter.as', 'steps[0].hang'),
      ...places(anyText, 'steps[0].reasoning', 'steps[0].text', 'steps[0].toolCalls[0].id', 'steps[0].toolCalls[0].name'),
      ...places(anyText, 'steps[0].finish.unified', 'steps[0].finish.raw', 'options.provider', 'options.modelId'),
      ...places(amount, 'steps[0].delayMs', 'steps[0].deltaDelayMs'),
      ...places(amount, ...['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'].map((part) => `steps[0].usage.${part}`)),
    },
  },
}
