import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { tracedRuns } from '@bowline/server/node'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { requestSpanKey } from '../../src/observe/open-telemetry.ts'
import { bench, say } from '../support/bench.ts'
import { allFrames } from '../support/frames.ts'

/** Registers a real SDK until the end of the test, because there is one registry per process. */
function record() {
  const memory = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const span = (name: string) => memory.getFinishedSpans().find((each) => each.name === name)
  return { span, spans: () => memory.getFinishedSpans() }
}

afterEach(() => {
  trace.disable()
  context.disable()
  propagation.disable()
})

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${parentId}-01`

it('V92: a request is a server span in the trace that it names, and the answer names it', async () => {
  const { span } = record()
  const { get } = await bench()
  const answer = await get('/api/agent/session/none?token=secret', { traceparent, 'x-request-id': 'mine' })
  const found = span('GET /api/agent/session/{id}')
  expect(found).toMatchObject({ kind: 1, parentSpanContext: { traceId, spanId: parentId }, status: { code: 0 } })
  expect(found?.attributes).toMatchObject({
    'http.request.method': 'GET',
    'http.route': '/api/agent/session/{id}',
    'http.response.status_code': 400,
    'error.type': 'invalid-query',
    'url.path': '/api/agent/session/none',
    'url.scheme': 'http',
    'client.address': '127.0.0.1',
    'bowline.request_id': 'mine',
    'bowline.session_id': 'none',
  })
  expect(answer.headers.get('traceparent')).toBe(`00-${traceId}-${found?.spanContext().spanId}-01`)
  expect(JSON.stringify(found?.attributes)).not.toContain('secret')
})

it('V92: a failure of the server is an error in its span, without secrets', async () => {
  const { spans } = record()
  const store = memoryStore()
  const { get } = await bench({ store: Object.assign(store, { listSessions: () => Promise.reject(new Error('sk-abcdefghijklmnop')) }) })
  await get('/api/agent/sessions')
  await get('/sk-abcdefghijklmnop')
  expect(spans().map(({ name, status }) => [name, status.code])).toEqual([
    ['GET /api/agent/sessions', 2],
    ['GET', 0],
  ])
  expect(JSON.stringify(spans().map(({ attributes, events }) => ({ attributes, events })))).not.toContain('abcdefghijklmnop')
})

it('V92: the span of a run is linked to the request that brought its input, and model calls are within it', async () => {
  const { span, spans } = record()
  const { execute } = await bench({ steps: () => ({ text: 'Hi.' }), runtimeOptions: tracedRuns({ store: memoryStore() }) })
  const answers = await Promise.all(['one', 'two', 'three'].map((sessionId) => execute({ sessionId, input: say('hi'), context: {} })))
  for (const answer of answers) await allFrames(answer)
  await expect.poll(() => spans().filter(({ name }) => name === 'run assistant')).toHaveLength(3)
  for (const answer of answers) {
    const runId = answer.headers.get('x-run-id')
    const [run] = spans().filter(({ name, attributes }) => name === 'run assistant' && attributes['bowline.run_id'] === runId)
    const [request] = spans().filter(({ name, attributes }) => name === 'POST /api/agent/execute' && attributes['bowline.run_id'] === runId)
    expect(run?.links.map((link) => link.context.spanId)).toEqual([request?.spanContext().spanId])
    expect(run?.parentSpanContext).toBeUndefined()
    const calls = spans().filter(
      ({ name, parentSpanContext }) => name.startsWith('chat ') && parentSpanContext?.spanId === run?.spanContext().spanId,
    )
    expect(calls).toHaveLength(1)
  }
  expect(span('POST /api/agent/execute')?.links).toEqual([])
})

it('V92: of the inputs whose runs have not started, the newest ten thousand are linked', async () => {
  record()
  const runId = (round: number, n: number): string => `run-${round}-${n}`
  const committed: unknown[] = []
  const store = { commit: async (batch: unknown) => committed.push(batch) } as unknown as SessionStore
  const traced = tracedRuns({ store })
  const span = trace.getTracer('test').startSpan('request').spanContext()
  const started = vi.fn<(runId: string, links: number) => void>()
  for (let round = 0; round < 3; round++) {
    const writes = Array.from({ length: 10_001 }, (_, n) => ({ op: 'run.insert', run: { id: runId(round, n) } }))
    await context.with(context.active().setValue(requestSpanKey, span), () => traced.store.commit({ writes } as never))
    for (const n of [0, 1, 10_000]) {
      const run = { runId: runId(round, n), session: 's', agent: 'a', kind: 'user', claims: 0 } as const
      await traced.aroundRun(run, async () => started(run.runId, linksOf(trace.getActiveSpan())) as never)
    }
    expect(started.mock.calls.splice(0)).toEqual([
      [runId(round, 0), 0],
      [runId(round, 1), 1],
      [runId(round, 10_000), 1],
    ])
  }
  expect(committed).toHaveLength(3)
})

function linksOf(span: unknown): number {
  return (span as { readonly links: readonly unknown[] }).links.length
}

it('V92: without an SDK no header is read and none is written', async () => {
  const { server } = await bench()
  const request = new Request('http://localhost/healthz', { headers: { traceparent } })
  const reading = vi.spyOn(Headers.prototype, 'get')
  onTestFinished(() => reading.mockRestore())
  const answer = await server.fetch(request, { remoteAddress: '127.0.0.1' })
  const read = reading.mock.calls.map(([name]) => name)
  expect(answer.headers.has('traceparent')).toBe(false)
  expect(read).toContain('x-request-id')
  expect(read).not.toContain('traceparent')
})

it('V92: a tracer that fails does not change the answer', async () => {
  record()
  trace.disable()
  trace.setGlobalTracerProvider({
    getTracer: () => {
      throw new Error('no')
    },
  })
  const { get } = await bench()
  expect((await get('/healthz')).status).toBe(200)
})
