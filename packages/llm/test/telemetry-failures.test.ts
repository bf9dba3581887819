import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { diag, DiagLogLevel, trace, type Span, type Tracer, type TracerProvider } from '@opentelemetry/api'
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { MessageEvent } from '../src/index.ts'
import { observeCall } from '../src/telemetry/observe-call.ts'
import { unobserved } from '../src/telemetry/call-observer.ts'
import { call, readAll } from './support.ts'
import { forgetSdkAfterEach, record, type RecorderOptions } from './telemetry-recorder.ts'

forgetSdkAfterEach()

/** The SDK's code for errors. It is copied, because the package that names it is not part of the SDK. */
const failed = 1
const facts = { messageId: 'm', provider: 'p', modelId: 'm' }

/** Returns the events of a successful, a failed and an aborted call. */
async function everyKindOfEvents(): Promise<MessageEvent[][]> {
  const telemetry = { content: true }
  return Promise.all([
    readAll(call({ text: 'abc', chunk: 1, toolCalls: [{ name: 'x', input: { a: 1 } }] }, { telemetry }).stream),
    readAll(call({ text: 'abc', failAfter: { parts: 3, error: 'x', as: 'throw' } }, { telemetry }).stream),
    readAll(call({}, { telemetry, abortSignal: AbortSignal.abort() }).stream),
  ])
}

describe('without listeners', () => {
  it('L94: without a registered SDK no span is created, also if parts of the API are in use', () => {
    expect(observeCall(facts)).toBe(unobserved)
    diag.setLogger({ ...console, verbose: () => {} }, DiagLogLevel.NONE)
    expect(observeCall(facts)).toBe(unobserved)
    diag.disable()
  })

  it('L94: enabled: false looks for no listener', () => {
    record()
    expect(observeCall(facts)).not.toBe(unobserved)
    expect(observeCall(facts, { enabled: false })).toBe(unobserved)
  })
})

describe('broken listeners', () => {
  const logs = ['log', 'info', 'warn', 'error', 'debug'] as const

  beforeEach(() => {
    for (const name of logs) vi.spyOn(console, name).mockImplementation(() => {})
  })

  afterEach(() => {
    const spoken = logs.filter((name) => vi.mocked(console[name]).mock.calls.length > 0)
    vi.restoreAllMocks()
    expect(spoken).toEqual([])
  })

  const broken = (): never => {
    throw new Error('broken')
  }

  const processor = (part: Partial<SpanProcessor>): SpanProcessor => ({
    onStart() {},
    onEnd() {},
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
    ...part,
  })

  const exporter = (exportSpans: SpanExporter['export']): SpanExporter => ({
    export: exportSpans,
    shutdown: () => Promise.resolve(),
  })

  it.each<[string, RecorderOptions]>([
    ['a processor that throws at the start', { processors: [processor({ onStart: broken })] }],
    ['a processor that throws at the end', { processors: [processor({ onEnd: broken })] }],
    ['an exporter that throws', { exporters: [exporter(broken)] }],
    ['an exporter that fails', { exporters: [exporter((_spans, done) => done({ code: failed, error: new Error('down') }))] }],
    ['an exporter that never answers', { exporters: [exporter(() => {})] }],
    ['a sampler that throws', { sampler: { shouldSample: broken, toString: () => 'broken' } }],
  ])('L94: %s changes no event', async (_name, options) => {
    const plain = await everyKindOfEvents()
    record(options)
    expect(await everyKindOfEvents()).toEqual(plain)
  })

  /** A provider whose tracer starts spans with the given function. */
  const tracing = (startActiveSpan: (run: (span: Span) => void) => unknown): TracerProvider => {
    type Run = (span: Span) => void
    const tracer = { startActiveSpan: (_name: string, _options: object, run: Run) => startActiveSpan(run) }
    return { getTracer: () => tracer as unknown as Tracer }
  }
  const brokenSpan = new Proxy({} as Span, { get: () => broken })

  it.each<[string, TracerProvider]>([
    ['that has no tracer', { getTracer: broken }],
    ['whose tracer throws before the call', tracing(broken)],
    ['whose tracer forgets the call', tracing(() => {})],
    [
      'whose tracer throws behind the call',
      tracing((run) => {
        run(brokenSpan)
        broken()
      }),
    ],
    [
      'whose tracer calls twice',
      tracing((run) => {
        run(brokenSpan)
        run(brokenSpan)
      }),
    ],
    ['whose spans are broken', tracing((run) => run(brokenSpan))],
    ['whose tracer gives no span', tracing((run) => run(undefined as unknown as Span))],
  ])('L94: a provider %s changes no event', async (_name, provider) => {
    const plain = await everyKindOfEvents()
    trace.setGlobalTracerProvider(provider)
    expect(await everyKindOfEvents()).toEqual(plain)
  })

  it('L94: content that cannot be serialized is left out, and the span stays', async () => {
    const recorder = record()
    const message = await call({ text: 'a' }, { telemetry: { enabled: false } }).stream.result()
    const observer = observeCall(facts, { content: true })
    const output = { type: 'json', value: 1n as never } as const
    const content = [{ type: 'tool-result', toolCallId: 'c', toolName: 't', output }] as const
    observer.begin(() => {})
    observer.called({ prompt: [{ role: 'tool', content: [...content] }], maxOutputTokens: 7 })
    observer.ended({ ...message, content: [{ type: 'text', text: 1n as never }] })
    const { attributes } = recorder.span()
    expect(attributes).toMatchObject({ 'gen_ai.request.max_tokens': 7, 'bowline.stop_reason': 'stop' })
    expect(Object.keys(attributes).filter((name) => name.endsWith('.messages'))).toEqual([])
  })

  it('L94: an error of the call itself is not taken for a failure of telemetry', () => {
    record()
    const thrown = new Error('of the call')
    const begin = (): void =>
      observeCall(facts).begin(() => {
        throw thrown
      })
    expect(begin).toThrow(thrown)
  })
})

describe('in a process of its own', () => {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  const callAndPrint = `
    const { streamMessage } = await import('@bowline/llm')
    const { scriptedModel, manualClock } = await import('@bowline/llm/testing')
    const clock = manualClock(1_000)
    const events = []
    for await (const event of streamMessage({
      model: scriptedModel([{ text: 'abc', chunk: 1 }], { clock }),
      messages: [{ role: 'user', content: 'Hello' }], clock, messageId: 'msg_1',
    })) events.push(event)
    print(events)`

  async function run(prelude: string, rest = ''): Promise<{ events: MessageEvent[]; note: unknown; stderr: string }> {
    const print = `let note = null
    const { stdout } = process
    const print = (events) => void setImmediate(() => stdout.write(JSON.stringify({ events, note })))`
    const script = [print, prelude, callAndPrint, rest].join('\n')
    const arguments_ = ['--input-type=module-typescript', '--disable-warning=ExperimentalWarning', '-e', script]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, arguments_, { cwd: folder })
    return { ...(JSON.parse(stdout) as { events: MessageEvent[]; note: unknown }), stderr }
  }

  const expected = (): Promise<MessageEvent[]> => readAll(call({ text: 'abc', chunk: 1 }).stream)

  it('L94: without @opentelemetry/api nothing changes, and it is not even loaded', async () => {
    const { events, note, stderr } = await run(`
      note = []
      const { registerHooks } = await import('node:module')
      registerHooks({ resolve(specifier, context, next) {
        if (!specifier.includes('opentelemetry')) return next(specifier, context)
        note.push(specifier)
        throw new Error('not installed')
      } })`)
    expect({ events, note, stderr }).toEqual({ events: await expected(), note: [], stderr: '' })
  })

  it('L94: without a process object, as in a browser, nothing changes', async () => {
    const { events, stderr } = await run('delete globalThis.process')
    expect({ events, stderr }).toEqual({ events: await expected(), stderr: '' })
  })

  it('L94: a subscriber that throws is reported by Node as its own error and changes no event', async () => {
    const { events, note, stderr } = await run(`
      note = []
      process.on('uncaughtException', (error) => note.push(error.message))
      const { tracingChannel } = await import('node:diagnostics_channel')
      const broken = () => { throw new Error('of the subscriber') }
      tracingChannel('bowline:llm').subscribe({ start: broken, asyncEnd: broken })`)
    const reported = ['of the subscriber', 'of the subscriber']
    expect({ events, note, stderr }).toEqual({ events: await expected(), note: reported, stderr: '' })
  })
})
