import { Validator } from '@seriousme/openapi-schema-validator'
import { defineTool } from '@bowline/agent-loop'
import type { RequestList, SessionView } from '@bowline/client'
import { z } from '@hono/zod-openapi'
import { createToken, problemCodes } from '@bowline/server'
import { memoryStateStore } from '@bowline/sessions'
import { recordRequests } from '@bowline/sessions/requests'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { encodeJson } from '../src/json.ts'
import { optional } from '../src/wire/optional.ts'
import { sameAs } from '../src/wire/same.ts'
import { bench, refusal, remoteTool, say, watchedScript, type Bench } from './support/bench.ts'
import { allFrames, eventsOf, framesUntil } from './support/frames.ts'

const cut = defineTool({
  name: 'cut',
  description: 'Cuts a rope.',
  inputSchema: { type: 'object', properties: {} },
  needsApproval: true,
  execute: () => 'cut',
})

interface Document {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, object> }
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object }> }
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: object }> }>
}

/** The routes of a budget exist, but no model needs a price. */
const unlimited = { tenantBudget: { maxCost: () => undefined, window: 'day' } } as const

const document = async ({ get }: Bench) => (await (await get('/openapi.json')).json()) as Document

/** Returns a validator for a schema of the document, with the components to which it refers. */
function validator({ components }: Document, schema: object): z.ZodType {
  const text = JSON.stringify({ ...schema, $defs: components.schemas }).replaceAll('#/components/schemas/', '#/$defs/')
  return z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0])
}

it('V94: the document is valid OpenAPI 3.1', async () => {
  const described = await document(await bench())
  expect(described.openapi).toBe('3.1.0')
  expect(await new Validator().validate({ ...described })).toEqual({ valid: true })
})

it('V94: the document has every route, and describes the input of each', async () => {
  const { paths } = await document(await bench({ runtimeOptions: unlimited, requests: recordRequests({ store: memoryStateStore() }) }))
  const list = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`))
  expect(list).toMatchInlineSnapshot(`
    [
      "post /api/agent/execute",
      "get /api/agent/session/{id}",
      "delete /api/agent/session/{id}",
      "get /api/agent/session/{id}/events",
      "post /api/agent/session/{id}/ticket",
      "post /api/agent/session/{id}/stop",
      "post /api/agent/session/{id}/steer",
      "post /api/agent/session/{id}/follow-up",
      "post /api/agent/session/{id}/overlay",
      "post /api/agent/session/{id}/tool-results",
      "post /api/agent/session/{id}/approvals/{approvalId}",
      "post /api/agent/session/{id}/tool-calls/{toolCallId}/resolve",
      "post /api/agent/session/{id}/runs/{runId}/recover",
      "post /api/agent/session/{id}/fork",
      "post /api/agent/session/{id}/switch",
      "get /api/agent/session/{id}/branches",
      "post /api/agent/session/{id}/labels",
      "get /api/agent/session/{id}/labels",
      "post /api/agent/session/{id}/compact",
      "post /api/agent/session/{id}/schedules",
      "get /api/agent/session/{id}/schedules",
      "delete /api/agent/session/{id}/schedules/{scheduleId}",
      "post /api/agent/session/{id}/schedules/{scheduleId}/pause",
      "post /api/agent/session/{id}/schedules/{scheduleId}/resume",
      "get /api/agent/session/{id}/notices",
      "post /api/agent/session/{id}/notices/{noticeId}/resend",
      "get /api/agent/session/{id}/requests",
      "get /api/agent/session/{id}/requests/{requestId}",
      "get /api/agent/session/{id}/export",
      "get /api/agent/sessions",
      "get /api/agents",
      "get /api/me",
      "get /api/tenant/spending",
      "post /api/chat",
      "get /api/chat/{id}",
      "get /api/chat/{id}/stream",
      "post /api/chat/{id}/stop",
      "get /healthz",
      "get /readyz",
      "get /openapi.json",
    ]
  `)
  const parameters = paths['/api/agent/session/{id}/events']?.get?.parameters?.map(({ name, required }) => [name, required ?? false])
  expect(parameters).toEqual([
    ['id', true],
    ['cursor', false],
    ['from', false],
    ['until', false],
    ['deltas', false],
    ['ticket', false],
    ['Last-Event-ID', false],
  ])
})

it('V94: real answers of every route match the document, refusals included', async () => {
  const tokens = await Promise.all(
    ['admin', 'none'].map((id) => createToken({ id, tenant: 'demo', scopes: id === 'admin' ? ['admin'] : [] })),
  )
  const [admin = '', none = ''] = tokens.map((each) => `Bearer ${each.token}`)
  const call = (name: string) => ({ toolCalls: [{ id: `call-${name}`, name, input: {} }] })
  const requests = recordRequests({ store: memoryStateStore() })
  const steps = [
    call('place'),
    { text: 'There.' },
    { text: 'Steered.' },
    { text: 'Behind.' },
    call('cut'),
    { text: 'Cut.' },
    { text: 'Hello.' },
  ]
  const it = await bench({
    auth: { tokens: tokens.map((each) => each.config) },
    agents: { assistant: { description: 'Helps.' } },
    steps,
    tools: [remoteTool('place'), cut],
    runtimeOptions: unlimited,
    requests,
    extensions: [requests.extension],
  })
  const described = await document(it)
  const checked = new Set<string>()

  async function check(
    method: 'get' | 'post' | 'delete',
    pattern: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) {
    const answer = await fetch(it.url + path, {
      method,
      headers: { authorization: admin, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const operation = described.paths[pattern]?.[method]
    const response = operation?.responses[answer.status]
    expect(response, `${method} ${pattern} ${answer.status}`).toBeDefined()
    const type = answer.headers.get('content-type')?.split(';')[0] ?? ''
    const text = await answer.text()
    expect(Object.keys(response?.content ?? {})).toEqual(
      type === '' ? [] : type === 'text/plain' ? ['application/problem+json', type] : [type],
    )
    const schema = response?.content?.[type]?.schema
    if (schema && /[/+]json$/.test(type)) {
      expect(validator(described, schema).safeParse(JSON.parse(text)).error?.issues ?? []).toEqual([])
      if (answer.ok && body !== undefined) {
        const requestSchema = operation?.requestBody?.content['application/json']?.schema ?? {}
        expect(validator(described, requestSchema).safeParse(body).success).toBe(true)
      }
    }
    checked.add(`${method} ${pattern}`)
    return answer
  }

  /** Returns the id of the newest run when it has ended. */
  async function settled(): Promise<string> {
    const frames = await framesUntil(await it.get(`${mine}/events`, { authorization: admin }), ({ data }) => data.type === 'settled')
    const last = frames.at(-1)?.data
    return last && 'runId' in last ? last.runId : ''
  }

  async function checkSchedules(): Promise<void> {
    const [pattern, path] = [`${session}/schedules`, `${mine}/schedules`]
    const later = Date.now() + 3_600_000
    for (const body of [
      { id: 'news', cron: '30 7 * * 1-5', timeZone: 'Europe/Oslo', input: 'x' },
      { id: 'once', at: later, input: say('x'), onMissed: 'skip' },
      { cron: 'x', input: 'x' },
      {},
    ]) {
      await check('post', pattern, path, body)
    }
    await check('get', pattern, path)
    for (const act of ['pause', 'resume'])
      for (const id of ['news', 'nobody']) await check('post', `${pattern}/{scheduleId}/${act}`, `${path}/${id}/${act}`, undefined)
    for (const id of ['news', 'once']) await check('delete', `${pattern}/{scheduleId}`, `${path}/${id}`)
  }

  const session = '/api/agent/session/{id}'
  const mine = '/api/agent/session/mine'
  await check('post', '/api/agent/execute', '/api/agent/execute', {
    sessionId: 'mine',
    input: say('hi'),
    context: { metadata: { a: [1] } },
  })
  const view = await check('get', session, mine)
  await check('get', session, mine, undefined, { 'if-none-match': view.headers.get('etag') ?? '' })
  await check('get', session, '/api/agent/session/none')
  await check('get', session, `${mine}?limit=0`)
  await check('post', `${session}/tool-results`, `${mine}/tool-results`, { results: [{ toolCallId: 'nobody', output: 1 }] })
  await check('post', `${session}/tool-results`, `${mine}/tool-results`, { results: [{ toolCallId: 'call-place', output: { at: 'sea' } }] })
  await check('post', `${session}/tool-calls/{toolCallId}/resolve`, `${mine}/tool-calls/nobody/resolve`, { result: null })
  await check('post', `${session}/tool-calls/{toolCallId}/resolve`, `${mine}/tool-calls/call-place/resolve`, { nothing: 1 })
  await check('get', `${session}/events`, `${mine}/events?until=settled&from=start`)
  await check('get', `${session}/events`, `${mine}/events?cursor=x`)
  await check('post', `${session}/ticket`, `${mine}/ticket`, {})
  await check('post', `${session}/stop`, `${mine}/stop`, {})
  await check('post', `${session}/stop`, `${mine}/stop`, { mode: 'kill' })
  await settled()
  const input = { input: say('more'), id: 'a' }
  for (const route of ['steer', 'follow-up']) {
    for (const id of ['mine', 'none']) await check('post', `${session}/${route}`, `/api/agent/session/${id}/${route}`, input)
    await settled()
  }
  await check('post', '/api/agent/execute', '/api/agent/execute', { sessionId: 'mine', input: say('cut'), options: { onBusy: 'steer' } })
  const { pendingApprovals = [] } = (await (await it.get(mine, { authorization: admin })).json()) as SessionView
  const approvals = `${session}/approvals/{approvalId}`
  await check('post', approvals, `${mine}/approvals/nobody`, { decision: 'approve' })
  await check('post', approvals, `${mine}/approvals/${pendingApprovals[0]?.approvalId}`, { decision: 'approve', input: {} })
  await check('post', approvals, `${mine}/approvals/${pendingApprovals[0]?.approvalId}`, { decision: 'deny', reason: 'No.' })
  const runId = await settled()
  for (const id of ['nobody', runId])
    await check('post', `${session}/runs/{runId}/recover`, `${mine}/runs/${id}/recover`, { decision: 'stop' })
  for (const id of ['mine', 'none']) await check('post', `${session}/fork`, `/api/agent/session/${id}/fork`, { newSessionId: 'copy' })
  await check('post', `${session}/fork`, `${mine}/fork`, { newSessionId: 'copy' })
  await check('get', session, '/api/agent/session/copy')
  await check('get', '/api/agent/sessions', '/api/agent/sessions?parent=mine')
  for (const entryId of [null, 'nobody']) await check('post', `${session}/switch`, `${mine}/switch`, { entryId })
  await check('post', `${session}/labels`, `${mine}/labels`, { entryId: 'nobody', text: 'Start' })
  await check('get', `${session}/labels`, `${mine}/labels`)
  await check('get', `${session}/labels`, '/api/agent/session/none/labels')
  for (const id of ['mine', 'none']) await check('post', `${session}/overlay`, `/api/agent/session/${id}/overlay`, { input: 'Seen.' })
  await check('get', `${session}/branches`, `${mine}/branches?limit=1`)
  await check('get', `${session}/branches`, `${mine}/branches?cursor=x`)
  await check('post', `${session}/compact`, `${mine}/compact`, { instructions: 'Short.' })
  await check('get', `${session}/export`, `${mine}/export?events`)
  await checkSchedules()
  for (const query of ['', '?state=failed&limit=1', '?cursor=x', '?state=x'])
    await check('get', `${session}/notices`, `${mine}/notices${query}`)
  await check('post', `${session}/notices/{noticeId}/resend`, `${mine}/notices/none.1/resend`, undefined)
  for (const query of ['', '?limit=1', '?cursor=x', '?limit=0']) await check('get', `${session}/requests`, `${mine}/requests${query}`)
  const {
    requests: [request],
  } = (await (await it.get(`${mine}/requests`, { authorization: admin })).json()) as RequestList
  for (const id of [request?.id, 'nobody']) await check('get', `${session}/requests/{requestId}`, `${mine}/requests/${id}`)
  await check('get', `${session}/requests`, `${mine}/requests`, undefined, { authorization: none })
  for (const each of [mine, mine, `${mine}~a`]) await check('delete', session, each)
  for (const path of ['', '/events', '/branches', '/export']) await check('get', session + path, mine + path)
  await check('get', '/api/agent/sessions', '/api/agent/sessions?limit=1')
  await check('get', '/api/agents', '/api/agents')
  for (const path of ['/api/me', '/api/tenant/spending']) {
    for (const authorization of [admin, none, 'Bearer x']) await check('get', path, path, undefined, { authorization })
  }
  await check('get', '/api/agents', '/api/agents', undefined, { authorization: none })
  await check('get', '/api/agents', '/api/agents', undefined, { authorization: 'Bearer x' })
  await check('post', '/api/agent/execute', '/api/agent/execute', { nothing: true })
  await check('post', '/api/agent/execute', '/api/agent/execute', '', { 'content-type': 'text/plain' })
  const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }
  await check('post', '/api/chat', '/api/chat', { id: 'chat', messages: [message], trigger: 'submit-message' })
  await check('post', '/api/chat', '/api/chat', { id: 'chat', messages: [], trigger: 'submit-message' })
  await check('get', '/api/chat/{id}', '/api/chat/chat?limit=1')
  await check('get', '/api/chat/{id}', '/api/chat/chat?limit=0')
  await check('get', '/api/chat/{id}/stream', '/api/chat/chat/stream')
  await check('post', '/api/chat/{id}/stop', '/api/chat/chat/stop', {})
  await check('post', '/api/chat/{id}/stop', '/api/chat/none/stop', {})
  await check('get', '/healthz', '/healthz')
  await check('get', '/readyz', '/readyz')
  await check('get', '/openapi.json', '/openapi.json')
  const all = Object.entries(described.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`))
  expect([...checked].sort()).toEqual(all.sort())
})

it('V95: problems have these codes', () => {
  expect(problemCodes).toMatchInlineSnapshot(`
    [
      "invalid-body",
      "invalid-query",
      "context-required",
      "invalid-cursor",
      "unauthenticated",
      "scope-missing",
      "origin-not-allowed",
      "host-not-allowed",
      "client-tools-not-allowed",
      "model-not-allowed",
      "option-not-allowed",
      "url-not-allowed",
      "session-missing",
      "session-expired",
      "session-deleted",
      "unknown-run",
      "unknown-entry",
      "unknown-agent",
      "unknown-approval",
      "unknown-request",
      "unknown-notice",
      "unknown-schedule",
      "route-not-found",
      "method-not-allowed",
      "not-acceptable",
      "busy",
      "session-exists",
      "tool-result-conflict",
      "approval-conflict",
      "cursor-ahead",
      "cursor-expired",
      "body-too-large",
      "entry-too-large",
      "unsupported-media-type",
      "id-reused",
      "unknown-tool-call",
      "invalid-input",
      "rate-limited",
      "too-many-runs",
      "too-many-streams",
      "queue-full",
      "summary-failed",
      "internal",
      "draining",
      "store-unavailable",
      "store-full",
      "store-corrupt",
      "auth-unavailable",
    ]
  `)
})

it('V95: an internal failure is a problem without its text, also when it is not an Error', async () => {
  for (const thrown of [new TypeError('secret /data'), 'secret', undefined]) {
    const { get, faults, runtime } = await bench()
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- libraries reject with anything
    runtime.sessions = () => Promise.reject(thrown)
    const problem = await refusal(get('/api/agent/sessions'), 500, 'internal')
    expect(JSON.stringify([problem, faults])).not.toContain('secret')
    expect(faults).toHaveLength(1)
  }
})

it('V97: the root entry uses no Node built-in, also not through its imports', () => {
  const script = fileURLToPath(new URL('fixtures/list-builtins.mjs', import.meta.url))
  expect(JSON.parse(execFileSync(process.execPath, [script, '@bowline/server'], { encoding: 'utf8' }))).toEqual([])
  expect(JSON.parse(execFileSync(process.execPath, [script, '@bowline/server/node'], { encoding: 'utf8' }))).toContain('node:http')
})

it('V99: fetch reads the stream byte for byte, in any chunks, with the same result as an independent parser', async () => {
  const { steps, see } = watchedScript({ text: 'Grüße, 世界 🌍.\nNext line.\r\n\u2028End.', chunk: 2 })
  const { execute, get } = await bench({ steps })
  const live = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }), see)
  const deltas = eventsOf(live).flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))
  expect(deltas.join('')).toBe('Grüße, 世界 🌍.\nNext line.\r\n\u2028End.')
  const raw = await (await get('/api/agent/session/mine/events?until=settled', { 'last-event-id': '1' })).text()
  for (const block of raw.trimEnd().split('\n\n')) expect(block).toMatch(/^(retry: 2000\n: \w+|id: [\d.]+\ndata: \{[^\n\r]*\}|: hb)$/)
})

it('V100: JSON contains no undefined, no NaN, no lone surrogates and no raw line breaks', () => {
  const value = { text: 'a\ud800b\udc00 \ud83c\udf0d \\ud800', nothing: undefined, none: Number.NaN, '\udfff': 'x\ny' }
  const text = encodeJson(value)
  expect(JSON.parse(text)).toEqual({ text: 'a\ufffdb\ufffd \ud83c\udf0d \\ud800', none: null, '\ufffd': 'x\ny' })
  expect(text).not.toMatch(/[\n\r]/)
  expect(text.isWellFormed()).toBe(true)
})

it('V100: text that is not valid Unicode is refused, in values and in keys', async () => {
  const { execute } = await bench()
  await refusal(execute('{"input":{"role":"user","content":"\\ud800 x"},"context":{}}'), 400, 'invalid-body')
  await refusal(execute('{"input":{"role":"user","content":"x"},"context":{"metadata":{"\\udfff":1}}}'), 400, 'invalid-body')
})

it('C2: a schema does not compile if its wire type lacks a field, or has another one, at any depth', () => {
  const schema = z.strictObject({
    id: z.string(),
    note: optional(z.string()),
    items: optional(z.array(z.strictObject({ at: z.int(), label: optional(z.string()) }))),
  })
  interface Item {
    readonly at: number
    readonly label?: string
  }
  interface Wire<Part> {
    readonly id: string
    readonly note?: string
    readonly items?: readonly Part[]
  }
  const same: z.ZodType[] = [sameAs<Wire<Item>>()(schema)]
  // @ts-expect-error: the wire type forgets `note`.
  same.push(sameAs<Omit<Wire<Item>, 'note'>>()(schema))
  // @ts-expect-error: the schema does not take `more`.
  same.push(sameAs<Wire<Item> & { readonly more?: string }>()(schema))
  // @ts-expect-error: the wire type forgets `label`.
  same.push(sameAs<Wire<Omit<Item, 'label'>>>()(schema))
  // @ts-expect-error: the schema does not take `more`.
  same.push(sameAs<Wire<Item & { readonly more?: string }>>()(schema))
  // @ts-expect-error: `note` is optional on the wire only.
  same.push(sameAs<Wire<Item>>()(schema.required({ note: true })))
  // @ts-expect-error: `items` is optional in the schema only.
  same.push(sameAs<Required<Wire<Item>>>()(schema))
  const other = z.strictObject({ other: z.string(), note: optional(z.string()) })
  // @ts-expect-error: one form of two forgets `note`.
  same.push(sameAs<Wire<Item> | { readonly other: string }>()(z.union([schema, other])))
  for (const each of same) expect(each.safeParse({ id: 'a' }).data ?? each.safeParse({ id: 'a', note: '' }).data).toMatchObject({ id: 'a' })
})
