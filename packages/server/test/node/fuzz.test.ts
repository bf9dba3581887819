import { problemCodes } from '@bowline/server'
import fc from 'fast-check'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { randomRuns, rounds } from '../../../../scripts/test-length.ts'
import { spawnServer, type ServerProcess } from '../support/child.ts'
import { fromSchema, junk, type Components, type Schema } from '../support/from-schema.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly schema: Schema
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

interface Wish {
  /** Route of the document. Absent for an unknown route. */
  readonly route?: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
}

interface Reply {
  readonly status: number
  readonly type: string
  readonly text: string
}

interface Health {
  readonly heapUsed: number
  readonly faults: readonly unknown[]
}

/** Routes that succeed only while a run waits for exactly this, or with an id or rule that random values never match. */
const needMoment: readonly string[] = [
  'post /api/agent/session/{id}/labels',
  'post /api/agent/session/{id}/notices/{noticeId}/resend',
  'post /api/agent/session/{id}/schedules',
  'post /api/agent/session/{id}/schedules/{scheduleId}/pause',
  'post /api/agent/session/{id}/schedules/{scheduleId}/resume',
  'post /api/agent/session/{id}/approvals/{approvalId}',
  'post /api/agent/session/{id}/runs/{runId}/recover',
  'post /api/agent/session/{id}/tool-calls/{toolCallId}/resolve',
  'post /api/agent/session/{id}/tool-results',
]

const batches = rounds({ short: 100, long: 1000 })
const batchSize = 20
/** Stored sessions use some memory. A leak per request would use much more. */
const maxGrowthBytes = rounds({ short: 3, long: 8 }) * 1024 * 1024

const headerText = fc.string({ unit: fc.constantFrom(...'abc019.,;="-*/% \u00e9'), maxLength: 30 }).map((text) => text.trim())
const strayHeaders = fc.dictionary(
  fc.constantFrom(
    'accept',
    'last-event-id',
    'idempotency-key',
    'if-none-match',
    'origin',
    'authorization',
    'x-request-id',
    'traceparent',
    'cookie',
  ),
  headerText,
  { maxKeys: 3 },
)
const contentType = fc.oneof(
  { weight: 12, arbitrary: fc.constant('application/json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'text/plain',
      'application/json; charset=utf-16',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded',
      '',
    ),
  },
)

/** Generates a body as bytes: mostly valid JSON, sometimes cut off, not UTF-8, too large, or of another kind. */
function bodyOf(json: fc.Arbitrary<unknown>): fc.Arbitrary<string | Buffer> {
  const text = json.map((value) => JSON.stringify(value) ?? '')
  return fc.oneof(
    { weight: 60, arbitrary: text },
    { weight: 1, arbitrary: text.map((whole) => whole.slice(0, Math.floor(whole.length / 2))) },
    { weight: 1, arbitrary: text.map((whole) => Buffer.concat([Buffer.from(whole.slice(0, -1)), Buffer.from([0xff, 0xc0, 0x80])])) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('['.repeat(20_000), '{"a":'.repeat(5000), `"${'x'.repeat(1_100_000)}"`, `[${'1,'.repeat(20_000)}1]`),
    },
  )
}

const hints: Components['hints'] = {
  decision: ['approve', 'deny'],
  trigger: ['submit-message', 'regenerate-message'],
  sessionId: ['mine', 'yours', 'third', 'fourth'],
  newSessionId: ['mine', 'fifth', 'sixth'],
  agent: ['assistant', 'assistant', 'nobody'],
  content: ['hello', 'where am I?'],
  text: ['hello', 'where am I?'],
  toolCallId: ['call-where', 'call-where', 'call-2-1'],
  parent: ['mine', 'yours', 'nobody'],
  cursor: ['0', '1', '3', '3.1', '12', '99', '-1', 'x'],
  model: ['test:other', 'none'],
  id: ['mine', 'yours', 'first-message', 'second-message'],
  messageId: ['first-message', 'second-message'],
  name: ['where', 'look', 'mine'],
}

/** Generates requests for the routes of the document, more often for those with a body, and for some unknown routes. */
function wishes({ paths, components }: Document): fc.Arbitrary<Wish> {
  const parts: Components = { schemas: components.schemas, hints }
  const each = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      weight: operation.requestBody ? 6 : operation.parameters ? 3 : 1,
      arbitrary: wishFor(path, method, operation, parts),
    })),
  )
  const astray = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PROPFIND'),
    path: fc.oneof(
      fc.constantFrom(...Object.keys(paths)),
      fc.webPath(),
      fc.constantFrom('/%', '/%00', '/..%2f..', '//x', '/api/agent/session/%ff'),
    ),
    headers: strayHeaders,
    body: fc.constant(undefined),
  })
  return fc.oneof({ weight: 20, arbitrary: fc.oneof(...each) }, { weight: 1, arbitrary: astray })
}

const ids = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('mine', 'yours', 'third') },
  { weight: 1, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom('a~b', '..', '%', 'x'.repeat(300), '\u0000') },
)

const text = fc.constantFrom('hello', 'where am I?')

/** Routes for which random values are almost never valid. */
const usual: Readonly<Record<string, readonly { readonly weight: number; readonly arbitrary: fc.Arbitrary<unknown> }[]>> = {
  'post /api/agent/execute': [
    {
      weight: 10,
      arbitrary: fc.record({ sessionId: fc.constantFrom('mine', 'yours'), input: fc.record({ role: fc.constant('user'), content: text }) }),
    },
    {
      weight: 10,
      arbitrary: fc.record({
        sessionId: fc.constantFrom('third', 'fourth'),
        input: fc.record({ role: fc.constant('user'), content: text }),
        context: fc.constant({}),
      }),
    },
  ],
  'post /api/chat': [
    {
      weight: 10,
      arbitrary: fc.record({
        id: fc.constantFrom('mine', 'page'),
        messages: fc.tuple(
          fc.record({ id: fc.uuid(), role: fc.constant('user'), parts: fc.tuple(fc.record({ type: fc.constant('text'), text })) }),
        ),
        trigger: fc.constantFrom('submit-message', 'regenerate-message'),
      }),
    },
  ],
}

/** Only these sessions are deleted, so that the others can be used. */
const deletable = fc.constantFrom('third', 'fourth', 'nobody', '%')

function wishFor(path: string, method: string, operation: Operation, parts: Components): fc.Arbitrary<Wish> {
  const named = operation.parameters?.filter((parameter) => parameter.in === 'query') ?? []
  const query = fc.record(Object.fromEntries(named.map(({ name, schema }) => [name, fromSchema(schema, parts, name)])), {
    requiredKeys: [],
  })
  const schema = operation.requestBody?.content['application/json']?.schema
  const sound = usual[`${method} ${path}`] ?? []
  const body = schema
    ? bodyOf(fc.oneof({ weight: 20, arbitrary: fromSchema(schema, parts) }, { weight: 1, arbitrary: junk }, ...sound))
    : fc.constant(undefined)
  return fc
    .record({
      id: method === 'delete' ? deletable : ids,
      other: fc.oneof(fc.constant('call-where'), ids),
      query,
      body,
      type: contentType,
      stray: fc.oneof({ weight: 9, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: strayHeaders }),
    })
    .map(({ id, other, query: fields, body: bytes, type, stray }) => ({
      route: `${method} ${path}`,
      method: method.toUpperCase(),
      path: pathWith(path, [id, other], fields),
      headers: { ...stray, ...(bytes !== undefined && type !== '' && { 'content-type': type }) },
      body: bytes,
    }))
}

function pathWith(path: string, names: readonly string[], query: Readonly<Record<string, unknown>>): string {
  let place = 0
  const filled = path.replaceAll(/\{\w+\}/g, () => encode(names[place++] ?? 'x'))
  const search = Object.entries(query).map(
    ([name, value]) => `${encode(name)}=${encode(typeof value === 'string' ? value : JSON.stringify(value))}`,
  )
  return search.length === 0 ? filled : `${filled}?${search.join('&')}`
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** Sends the request unchanged. Streams that do not end by themselves are left after they have begun. */
async function send(url: string, agent: Agent, { method, path, headers, body }: Wish): Promise<Reply> {
  const wire = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]))
  const outgoing = request(url + path, { method, headers: wire, agent, signal: AbortSignal.timeout(20_000) })
  outgoing.end(body)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const type = incoming.headers['content-type'] ?? ''
  const chunks: Buffer[] = []
  if (type.startsWith('text/event-stream')) incoming.destroy()
  else for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return { status: incoming.statusCode ?? 0, type, text: Buffer.concat(chunks).toString() }
}

function check({ status, type, text }: Reply, { method, path }: Wish): void {
  // The model of this server returns no summary.
  const isModelsFault = status === 502 && (JSON.parse(text) as { code: string }).code === 'summary-failed'
  if (!isModelsFault) expect(status).toBeLessThan(500)
  if (status < 400 || method === 'HEAD') return
  // The AI SDK shows the text of a refusal in the page.
  if (path.startsWith('/api/chat') && type === 'text/plain; charset=utf-8') return expect(text).not.toMatch(/^$|\n {4}at /)
  expect(type).toBe('application/problem+json')
  expect(problemCodes).toContain((JSON.parse(text) as { code: string }).code)
}

async function healthOf({ child }: ServerProcess): Promise<Health> {
  child.send('how are you?')
  const [health] = (await once(child, 'message')) as [Health]
  return health
}

/** Sends bytes that are not a request, or only its beginning. Resolves with the answer before the connection ended. */
async function sendRaw(url: string, bytes: string | Buffer): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(bytes)
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  socket.on('error', () => socket.destroy())
  await once(socket, 'close')
  return text
}

async function textOf(url: string): Promise<unknown> {
  const answer = await fetch(url)
  return { status: answer.status, body: await answer.json() }
}

it('V71, V95: thousands of requests of any kind: no internal failure, no hang, no growth, and no session is harmed', async () => {
  const server = await spawnServer('fuzzed-process', [], { execArgv: ['--expose-gc'] })
  const { url } = server
  const agent = new Agent({ keepAlive: true, maxSockets: batchSize })
  onTestFinished(() => agent.destroy())
  for (const sessionId of ['kept', 'mine', 'yours']) {
    const body = JSON.stringify({ sessionId, input: { role: 'user', content: sessionId === 'yours' ? 'where?' : 'hello' }, context: {} })
    await (await fetch(`${url}/api/agent/execute`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text()
  }
  const kept = await textOf(`${url}/api/agent/session/kept`)
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document

  const heaps: number[] = []
  let done = 0
  const reached = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(wishes(document), { minLength: batchSize, maxLength: batchSize }), async (batch) => {
      const replies = await Promise.all(batch.map((wish) => send(url, agent, wish)))
      for (const [place, reply] of replies.entries()) {
        const wish = batch[place] ?? expect.unreachable()
        check(reply, wish)
        if (reply.status < 300 && wish.route !== undefined) reached.add(wish.route)
      }
      if (++done % (batches / 4) === 0) heaps.push((await healthOf(server)).heapUsed)
    }),
    randomRuns(100, 1000),
  )
  const { faults } = await healthOf(server)
  expect(faults.filter((fault) => !JSON.stringify(fault).includes('"code":"summary-failed"'))).toEqual([])
  expect(await textOf(`${url}/api/agent/session/kept`)).toEqual(kept)
  const { sessions } = (await (await fetch(`${url}/api/agent/sessions?limit=200`)).json()) as { sessions: { sessionId: string }[] }
  expect(sessions.length).toBeGreaterThan(0)
  const routes = Object.entries(document.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`))
  expect(routes.filter((route) => !reached.has(route) && !needMoment.includes(route))).toEqual([])
  for (const { sessionId } of sessions) expect((await fetch(`${url}/api/agent/session/${sessionId}`)).status).toBe(200)
  expect(heaps.at(-1)).toBeLessThan((heaps[0] ?? 0) + maxGrowthBytes)
})

const host = 'Host: 127.0.0.1\r\n'
const json = 'Content-Type: application/json\r\n'
const chunked = `POST /api/agent/execute HTTP/1.1\r\n${host}${json}Transfer-Encoding: chunked\r\n`

/** Bytes that are not a request, or only its beginning, and the status of the answer (0: no answer). */
const broken: readonly { readonly what: string; readonly bytes: string | Buffer; readonly status: number }[] = [
  { what: 'no HTTP', bytes: 'hello?\r\n\r\n', status: 400 },
  { what: 'random bytes', bytes: Buffer.from(Array.from({ length: 3000 }, (_, place) => (place * 7919) % 256)), status: 400 },
  { what: 'a TLS greeting', bytes: Buffer.from('16030100a5010000a10303', 'hex'), status: 400 },
  { what: 'headers that are too large', bytes: `GET /healthz HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`, status: 431 },
  { what: 'an address that is too long', bytes: `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`, status: 431 },
  { what: 'a zero byte in a header', bytes: `GET /healthz HTTP/1.1\r\n${host}X: \u0000\r\n\r\n`, status: 400 },
  { what: 'no Host', bytes: 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', status: 400 },
  {
    what: 'two lengths',
    bytes: `POST /api/agent/execute HTTP/1.1\r\n${host}${json}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}`,
    status: 400,
  },
  { what: 'a length and chunks', bytes: `${chunked}Content-Length: 5\r\n\r\n0\r\n\r\n`, status: 400 },
  { what: 'chunks without a size', bytes: `${chunked}\r\nzz\r\n{}\r\n0\r\n\r\n`, status: 400 },
  { what: 'chunks beyond the limit', bytes: `${chunked}\r\n${`10000\r\n${'x'.repeat(0x10000)}\r\n`.repeat(20)}0\r\n\r\n`, status: 413 },
  {
    what: 'another server in the address',
    bytes: `GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    status: 403,
  },
  { what: 'a tunnel', bytes: `CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n`, status: 0 },
  { what: 'headers that never end', bytes: `GET /healthz HTTP/1.1\r\n${host}X-Slow: `, status: 408 },
  {
    what: 'a body that never comes',
    bytes: `POST /api/agent/execute HTTP/1.1\r\n${host}${json}Content-Length: 100\r\n\r\n{"input"`,
    status: 408,
  },
  { what: 'chunks that never end', bytes: `${chunked}\r\n5\r\n{"inp\r\n`, status: 408 },
]

it('V71, V72: a connection without a valid request is refused, one that never ends is cut, and the server goes on', async () => {
  const server = await spawnServer('fuzzed-process', ['1000'])
  const answers = await Promise.all(broken.map(async ({ what, bytes }) => [what, statusOf(await sendRaw(server.url, bytes))]))
  expect(Object.fromEntries(answers)).toEqual(Object.fromEntries(broken.map(({ what, status }) => [what, status])))
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  expect((await healthOf(server)).faults).toEqual([])
})

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0)
}
