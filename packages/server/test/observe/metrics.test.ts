import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createToken } from '@bowline/server'
import { createNodeServer } from '@bowline/server/node'
import { prometheusMetrics } from '@bowline/server/prometheus'
import { createRuntime, SessionError } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { tracingChannel } from 'node:diagnostics_channel'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { bench, gate, refusal, say, temporaryFolder, type BenchOptions } from '../support/bench.ts'
import { allFrames } from '../support/frames.ts'
import { logs } from '../support/logs.ts'

const names = [
  'bowline_http_requests_total',
  'bowline_http_duration_seconds',
  'bowline_streams_open',
  'bowline_stream_frames_total',
  'bowline_stream_end_total',
  'bowline_reader_lag_events',
  'bowline_runs_running',
  'bowline_runs_total',
  'bowline_queue_age_seconds',
  'bowline_tokens_total',
  'bowline_cost_total',
  'bowline_store_commit_seconds',
  'bowline_recoveries_total',
  'bowline_rate_limited_total',
]

async function measured({ tenants = false, ...options }: BenchOptions & { readonly tenants?: boolean } = {}) {
  const metrics = prometheusMetrics({ tenants })
  onTestFinished(() => metrics.close())
  const started = await bench({ metrics, store: metrics.measure(memoryStore()), ...options })
  const lines = async () => (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return {
    ...started,
    lines,
    /** Returns the value of the line that starts with this text. */
    async value(beginning: string): Promise<number | undefined> {
      const line = (await lines()).find((each) => each.startsWith(beginning))
      return line === undefined ? undefined : Number(line.split(' ').at(-1))
    },
  }
}

it('V91: the metrics have these names and labels', async () => {
  const { execute, get, lines } = await measured({ steps: [{ text: 'Hi.' }] })
  await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  const answer = await get('/metrics')
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain/)
  const types = [...(await answer.text()).matchAll(/^# TYPE (\S+) \S+$/gm)].map(([, name]) => name)
  expect(types.sort()).toEqual([...names].sort())
  const labels = new Set((await lines()).flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, label]) => label)))
  expect([...labels].sort()).toEqual(
    ['code', 'currency', 'kind', 'le', 'method', 'model', 'reason', 'route', 'status'].filter((label) => labels.has(label)),
  )
})

it('V91: requests are counted by route pattern, never by text from the caller', async () => {
  const { get, post, lines, value, server } = await measured()
  for (const id of ['first', 'second', 'third']) await get(`/api/agent/session/${id}`)
  await post('/nothing/here', {})
  await server.fetch(new Request('http://localhost/healthz', { method: 'BREW' }), { remoteAddress: '127.0.0.1' })
  expect(await value('bowline_http_requests_total{method="GET",route="/api/agent/session/{id}",status="404"}')).toBe(3)
  expect(await value('bowline_http_requests_total{method="POST",route="none",status="404"}')).toBe(1)
  expect(await value('bowline_http_requests_total{method="other",route="none",status="405"}')).toBe(1)
  expect(await value('bowline_http_duration_seconds_count{method="GET",route="/api/agent/session/{id}"}')).toBe(3)
  for (const madeUp of ['first', 'BREW', 'here']) expect((await lines()).join()).not.toContain(madeUp)
})

it('V91: runs, their waiting time, tokens, cost, and commits are counted where the run is executed', async () => {
  const held = gate()
  const { execute, post, value } = await measured({
    steps: [
      { parts: [{ wait: held.passed }], text: 'Hi.', usage: { input: 100, output: 7, cacheRead: 40 } },
      { parts: [{ wait: gate().passed }] },
    ],
  })
  const open = await execute({ sessionId: 'mine', input: say('hi'), context: {} })
  await expect.poll(() => value('bowline_runs_running')).toBe(1)
  held.open()
  await allFrames(open)
  expect(await value('bowline_tokens_total{model="scripted-model",kind="input"}')).toBe(100)
  const hanging = await execute({ sessionId: 'mine', input: say('again') })
  await post('/api/agent/session/mine/stop', {})
  await allFrames(hanging)
  expect(await value('bowline_runs_total{status="completed"}')).toBe(1)
  expect(await value('bowline_runs_total{status="aborted"}')).toBe(1)
  expect(await value('bowline_queue_age_seconds_count')).toBe(2)
  expect(await value('bowline_store_commit_seconds_count')).toBeGreaterThan(4)
  expect(await value('bowline_recoveries_total')).toBe(0)
  await expect.poll(() => value('bowline_runs_running')).toBe(0)
})

it('V91: model calls are counted with usage and cost, whatever part of the runtime made them', async () => {
  const { value } = await measured()
  const { asyncStart } = tracingChannel('bowline:llm')
  const usage = { inputTokens: 10, cacheReadTokens: 4, outputTokens: 3, reasoningTokens: 2 }
  for (let call = 0; call < 2; call++) asyncStart.publish({ modelId: 'dear', result: { usage, cost: { currency: 'USD', total: '0.25' } } })
  asyncStart.publish({ modelId: 'failed' })
  expect(await value('bowline_cost_total{model="dear",currency="USD"}')).toBe(0.5)
  const kinds = ['input', 'output', 'cache-read', 'reasoning', 'cache-write'].map((kind) =>
    value(`bowline_tokens_total{model="dear",kind="${kind}"}`),
  )
  expect(await Promise.all(kinds)).toEqual([20, 6, 8, 4, undefined])
})

it('V91, V78: streams are counted from opening to close, with frames and the reason of the close', async () => {
  const { execute, get, value } = await measured({ steps: [{ text: 'Hi.' }] })
  const frames = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  await expect.poll(() => value('bowline_stream_end_total{reason="complete"}')).toBe(1)
  expect(await value('bowline_stream_frames_total')).toBe(frames.length)
  expect(await value('bowline_reader_lag_events_count')).toBe(1)
  const reader = await get('/api/agent/session/mine/events?from=now')
  expect(await value('bowline_streams_open')).toBe(1)
  await reader.body?.cancel()
  await expect.poll(() => value('bowline_stream_end_total{reason="left"}')).toBe(1)
  expect(await value('bowline_streams_open')).toBe(0)
})

it('V91: tenants are labels only on request', async () => {
  const auth = () => Promise.resolve({ id: 'x', tenant: 'acme', scopes: ['admin'] as const })
  const without = await measured({ auth })
  await without.get('/api/agents')
  expect((await without.lines()).join()).not.toContain('acme')
  const withThem = await measured({ auth, tenants: true })
  await withThem.get('/api/agents')
  expect(await withThem.value('bowline_http_requests_total{method="GET",route="/api/agents",status="200",tenant="acme"}')).toBe(1)
})

it('V91: a reached limit is counted with its code', async () => {
  const { execute, value } = await measured({ limits: { queuedRunsPerSession: 0 }, steps: [{ hang: 'before' }] })
  await execute({ sessionId: 'mine', input: say('hi'), context: {} })
  await refusal(execute({ sessionId: 'mine', input: say('more'), options: { onBusy: 'queue' } }), 429, 'queue-full')
  expect(await value('bowline_rate_limited_total{route="/api/agent/execute",code="queue-full"}')).toBe(1)
})

it('V93: /metrics needs its scope, reveals no names, and does not exist if nothing is counted', async () => {
  const tokens = await Promise.all(
    (['metrics', 'sessions:read'] as const).map((scope) => createToken({ id: scope.replace(':', '-'), tenant: 'acme', scopes: [scope] })),
  )
  const [scraper, reader] = tokens.map(({ token }) => ({ authorization: `Bearer ${token}` }))
  const auth = { tokens: tokens.map(({ config }) => config) }
  const { get } = await measured({ auth })
  await get('/api/agent/session/private', reader)
  await refusal(get('/metrics'), 401, 'unauthenticated')
  await refusal(get('/metrics', reader), 403, 'scope-missing')
  const answer = await get('/metrics', scraper)
  expect(answer.status).toBe(200)
  const text = await answer.text()
  for (const name of ['acme', 'private', 'sessions-read', 'assistant']) expect(text).not.toContain(name)
  const without = await bench()
  await refusal(without.get('/metrics'), 404, 'route-not-found')
  const off = await measured({ routes: { metrics: false } })
  await refusal(off.get('/metrics'), 404, 'route-not-found')
})

it('V91: createNodeServer counts without a setting, and stops with the server', async () => {
  const { logger } = logs()
  const { get } = await bench({ make: createNodeServer, logger })
  await get('/healthz')
  expect(await (await get('/metrics')).text()).toContain('bowline_http_requests_total{method="GET",route="/healthz",status="200"} 1')
})

it('V91: a run that is resumed after its process was lost counts as a recovery', async () => {
  const folder = temporaryFolder()
  const store = () => sqliteStore({ file: join(folder, 'data.db') })
  const lost = store()
  const agent = { name: 'assistant', model: scriptedModel([{ parts: [{ wait: gate().passed }] }]), tools: [] }
  const first = createRuntime({ agents: [defineAgent(agent)], store: lost })
  const run = await first.session('tenant:local:s:mine').send({ role: 'user', content: 'hi' })
  await expect.poll(async () => (await first.run(run.runId))?.status).toBe('running')
  await lost.close()
  const metrics = prometheusMetrics()
  onTestFinished(() => metrics.close())
  const { runtime } = await bench({ store: metrics.measure(store()), metrics, steps: [{ text: 'Hi.' }] })
  await expect.poll(async () => (await runtime.run(run.runId))?.status).toBe('completed')
  expect(await metrics.text()).toMatch(/^bowline_recoveries_total 1$/m)
})

it('S199: figures of stores that count are sums over the open stores', async () => {
  const metrics = prometheusMetrics()
  const counting = (connections: number, isOpen = true) =>
    Object.assign(memoryStore(), {
      metrics: () => {
        if (!isOpen) throw new SessionError('store-unavailable', 'not open')
        return { pool: { connections, waiting: 0, waits: 1, waitedMs: 500 }, direct: 'open', reconnects: 0, takeovers: 2, lostLeases: 0 }
      },
    })
  for (const store of [counting(3), counting(4), counting(9, false), memoryStore()]) metrics.measure(store)
  const text = await metrics.text()
  for (const line of [
    'bowline_store_connections 7',
    'bowline_store_pool_wait_seconds_total 1',
    'bowline_store_direct_connection 2',
    'bowline_store_takeovers_total 4',
  ])
    expect(text.split('\n')).toContain(line)
  expect(text).not.toMatch(/^bowline_store_notify_lag_seconds /m)
  metrics.close()
})
