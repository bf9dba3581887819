import { createServer, ServerError } from '@bowline/server'
import { describe, expect, it } from 'vitest'
import { parseRanges } from '@bowline/sessions/internal'
import { callerOf } from '../../src/http/caller.ts'
import { bench, idleRuntime, refusal } from '../support/bench.ts'
import { ask, type AskOptions } from '../support/request.ts'

const open = () => Promise.resolve({ id: 'x', tenant: 'demo', scopes: ['admin'] as const })

it("V57: with auth 'none' a request must come from this machine and name it", async () => {
  const { server } = await bench({ auth: 'none' })
  for (const host of ['127.0.0.1', 'localhost:8787', '[::1]:8787', 'LOCALHOST']) {
    expect((await ask(server, '/api/agents', { host })).status).toBe(200)
  }
  for (const peer of [null, {}, { remoteAddress: '10.0.0.7' }, { remoteAddress: '::ffff:10.0.0.7' }, { remoteAddress: '127.evil' }]) {
    await refusal(ask(server, '/api/agents', { peer }), 403, 'host-not-allowed')
  }
  expect((await ask(server, '/api/agents', { peer: { remoteAddress: '::ffff:127.0.0.1' } })).status).toBe(200)
  const peer = { remoteAddress: '127.0.0.1', localAddress: '10.0.0.1' }
  await refusal(ask(server, '/api/agents', { host: '10.0.0.1', peer }), 403, 'host-not-allowed')
})

it("V57: with auth 'none' the refusal says what is missing and what to do", async () => {
  const { server } = await bench({ auth: 'none' })
  const detailOf = async (options: AskOptions) => (await refusal(ask(server, '/api/agents', options), 403, 'host-not-allowed')).detail
  for (const peer of [null, {}]) {
    expect(await detailOf({ peer })).toMatch(
      /server\.fetch got no peer address.*server\.fetch\(request, \{ remoteAddress \}\).*serve of @bowline\/server\/node.*configure auth/,
    )
  }
  expect(await detailOf({ peer: { remoteAddress: '10.0.0.7' } })).toMatch(/this one came from 10\.0\.0\.7.*Configure auth/)
  expect(await detailOf({ host: 'bowline.example' })).toMatch(/"bowline\.example".*localhost, 127\.0\.0\.1 or \[::1\].*configure auth/)
  const { server: named } = await bench({ auth: open })
  expect((await refusal(ask(named, '/api/agents', { host: 'bowline.example' }), 403, 'host-not-allowed')).detail).toMatch(
    /"bowline\.example".*Add the name to hosts/,
  )
})

it('V66: the Host must be known, so that a rebound name reaches nothing', async () => {
  const { server } = await bench({ auth: open, hosts: ['bowline.example', 'other.example:8443'] })
  const peer = { remoteAddress: '10.0.0.7', localAddress: '10.0.0.1' }
  for (const host of ['localhost', 'bowline.example', 'bowline.example:443', 'other.example:8443', '10.0.0.1:8787']) {
    expect((await ask(server, '/healthz', { host, peer })).status).toBe(200)
  }
  for (const host of ['evil.example', 'other.example', 'bowline.example.evil.example', '10.0.0.2']) {
    await refusal(ask(server, '/healthz', { host, peer }), 403, 'host-not-allowed')
  }
})

it('V67: an Origin that is not listed is refused on every route, also for simple requests', async () => {
  const { server } = await bench({ auth: open, cors: { origins: ['https://app.example'], credentials: true } })
  for (const origin of ['https://evil.example', 'null', 'http://app.example', 'http://localhost:3000', 'https://127.0.0.1:8787']) {
    for (const path of ['/healthz', '/api/agents', '/api/agent/session/x/events', '/nothing']) {
      await refusal(ask(server, path, { headers: { origin } }), 403, 'origin-not-allowed')
    }
    const post = { method: 'POST', headers: { origin, 'content-type': 'text/plain' }, body: '{}' }
    await refusal(ask(server, '/api/agent/execute', post), 403, 'origin-not-allowed')
  }
  const { detail } = await refusal(
    ask(server, '/healthz', { headers: { origin: `https://${'long'.repeat(100)}.example` } }),
    403,
    'origin-not-allowed',
  )
  expect(detail).toMatch(/^Pages of https:\/\/(long){48}… may not call\. List that origin in cors\.origins, or, .+ keep the Host header\.$/)
  const own = await ask(server, '/api/agents', { headers: { origin: 'http://127.0.0.1:8787' } })
  expect(own.status).toBe(200)
  expect(own.headers.get('access-control-allow-origin')).toBeNull()
})

it('V67: a listed origin gets CORS headers, also on refusals, and its preflight is answered', async () => {
  const { server } = await bench({ auth: () => Promise.resolve(null), cors: { origins: ['https://app.example'], credentials: true } })
  const headers = { origin: 'https://app.example' }
  const refused = await ask(server, '/api/agents', { headers })
  expect(refused.headers.get('access-control-allow-origin')).toBe('https://app.example')
  expect(refused.headers.get('access-control-allow-credentials')).toBe('true')
  await refusal(refused, 401, 'unauthenticated')
  const preflight = await ask(server, '/api/agent/execute', {
    method: 'OPTIONS',
    headers: { ...headers, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
  })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('access-control-allow-origin')).toBe('https://app.example')
  expect(preflight.headers.get('access-control-allow-headers')).toContain('content-type')
})

it('V67: every origin with credentials is refused at start', () => {
  const options = { runtime: idleRuntime(), auth: 'none' as const, cors: { origins: ['*'], credentials: true } }
  expect(() => createServer(options)).toThrow(ServerError)
})

it('V57, V67: where callers need no credentials, CORS for every origin is refused', () => {
  const options = { runtime: idleRuntime(), auth: 'none' as const, cors: { origins: ['*'] } }
  expect(() => createServer(options)).toThrow(/would let in every page/)
  expect(() => createServer({ ...options, auth: () => Promise.resolve(null) })).not.toThrow(/page/)
})

it('V68: a POST must be application/json, so that no HTML form can post', async () => {
  const { server } = await bench()
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonp']) {
    const post = { method: 'POST', headers: { 'content-type': type }, body: '{}' }
    await refusal(ask(server, '/api/agent/execute', post), 415, 'unsupported-media-type')
  }
  await refusal(ask(server, '/api/agent/session/x/stop', { method: 'POST' }), 415, 'unsupported-media-type')
  const utf8 = { method: 'POST', headers: { 'content-type': 'Application/JSON; charset=utf-8' }, body: '{}' }
  await refusal(ask(server, '/api/agent/session/x/stop', utf8), 404, 'session-missing')
})

it('V70: response headers tell browsers not to guess types, not to store answers and not to send a referrer', async () => {
  const { get, execute } = await bench({ steps: [{ text: 'Hi.' }] })
  const stream = await execute({ input: { role: 'user', content: 'hi' }, context: {} })
  expect(stream.headers.get('cache-control')).toBe('no-cache, no-transform')
  await stream.text()
  for (const answer of [await get('/healthz'), await get('/nothing'), await get('/api/agents'), stream]) {
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('server')).toBeNull()
    expect(answer.headers.get('x-powered-by')).toBeNull()
    if (answer !== stream) expect(answer.headers.get('cache-control')).toBe('no-store')
  }
})

it('V88: a harmless request id is used, any other is replaced', async () => {
  const { get } = await bench()
  const id = async (given: string) => (await get('/nothing', { 'x-request-id': given })).headers.get('x-request-id')
  expect(await id('abc.DEF_1-2')).toBe('abc.DEF_1-2')
  for (const given of ['a b', 'a'.repeat(65), '<script>', '']) expect(await id(given)).toMatch(/^req_/)
  const problem = await refusal(get('/nothing', { 'x-request-id': 'mine' }), 404, 'route-not-found')
  expect(problem.requestId).toBe('mine')
})

it('V96: HEAD and OPTIONS work, other methods are 405 with Allow, other routes 404', async () => {
  const { url } = await bench({ steps: [{ text: 'Hi.' }], limits: { streamsPerSession: 2 } })
  const head = await fetch(`${url}/healthz`, { method: 'HEAD' })
  expect(head.status).toBe(200)
  expect(await head.text()).toBe('')
  const options = await fetch(`${url}/api/agent/execute`, { method: 'OPTIONS' })
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'POST, OPTIONS'])
  for (const method of ['DELETE', 'PUT', 'PATCH', 'GET']) {
    const answer = await fetch(`${url}/api/agent/execute`, { method })
    expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
    await refusal(answer, 405, 'method-not-allowed')
  }
  await refusal(fetch(`${url}/api/nothing`), 404, 'route-not-found')
  const body = JSON.stringify({ sessionId: 'mine', input: { role: 'user', content: 'hi' }, context: {} })
  await (await fetch(`${url}/api/agent/execute`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text()
  // The stream of a HEAD request is closed and releases its slot.
  for (let look = 0; look < 4; look++) {
    const stream = await fetch(`${url}/api/agent/session/mine/events`, { method: 'HEAD' })
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  }
})

it('V98: every route works under a base path', async () => {
  const { get, post } = await bench({ basePath: '/bowline', steps: [{ text: 'Hi.' }] })
  expect((await get('/bowline/healthz')).status).toBe(200)
  await refusal(get('/healthz'), 404, 'route-not-found')
  const answer = await post('/bowline/api/agent/execute', { sessionId: 'mine', input: { role: 'user', content: 'hi' }, context: {} })
  expect(await answer.text()).toContain('execute-complete')
  const document = (await (await get('/bowline/openapi.json')).json()) as { paths: object }
  expect(Object.keys(document.paths)).toContain('/bowline/api/agent/execute')
})

describe('proxies', () => {
  const proxy = { remoteAddress: '10.0.0.9', localAddress: '10.0.0.1' }
  const forwarded = { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'bowline.example', 'x-forwarded-proto': 'https' }

  it('V69: forwarded headers count only from trusted proxies', async () => {
    const { server } = await bench({ auth: open, hosts: ['bowline.example'], trustedProxies: ['10.0.0.9', 'fd00::/8'] })
    const headers = { ...forwarded, origin: 'https://bowline.example' }
    const through = (peer: object) => ask(server, '/api/agents', { host: 'inside.example', headers, peer })
    expect((await through(proxy)).status).toBe(200)
    expect((await through({ remoteAddress: 'fd00::7' })).status).toBe(200)
    expect((await through({ remoteAddress: '::ffff:10.0.0.9' })).status).toBe(200)
    for (const peer of [{ remoteAddress: '10.0.0.8' }, { remoteAddress: 'fe80::7' }, {}]) {
      await refusal(through(peer), 403, 'host-not-allowed')
    }
    const other = { ...headers, origin: 'http://bowline.example' }
    await refusal(ask(server, '/api/agents', { host: 'inside.example', headers: other, peer: proxy }), 403, 'origin-not-allowed')
    await refusal(
      ask(server, '/api/agents', { host: 'bowline.example', headers: { 'x-forwarded-host': 'evil.example' }, peer: proxy }),
      403,
      'host-not-allowed',
    )
  })

  it("V69: with auth 'none' a caller behind a proxy is not local, whatever its headers claim", async () => {
    const { server } = await bench({ auth: 'none', trustedProxies: ['127.0.0.1', '10.0.0.0/8'] })
    const from = (remoteAddress: string, chain: string) =>
      ask(server, '/api/agents', { peer: { remoteAddress }, headers: { 'x-forwarded-for': chain } })
    await refusal(from('127.0.0.1', '192.0.2.1'), 403, 'host-not-allowed')
    await refusal(from('127.0.0.1', '127.0.0.1, 192.0.2.1, 10.0.0.4'), 403, 'host-not-allowed')
    await refusal(from('192.0.2.1', '127.0.0.1'), 403, 'host-not-allowed')
    expect((await from('127.0.0.1', '192.0.2.1, 127.0.0.1:5000')).status).toBe(403)
    expect((await from('10.0.0.1', '[::1]:4711')).status).toBe(200)
  })

  it('V69: the address of a caller is the last one that is not a trusted proxy', () => {
    const { ranges } = parseRanges(['10.0.0.0/8', '::1'], String)
    const address = (remoteAddress: string, chain: string) =>
      callerOf(new Request('http://a.example', { headers: { 'x-forwarded-for': chain } }), { remoteAddress }, ranges).address
    expect(address('10.0.0.1', '198.51.100.9, 192.0.2.7, 10.0.0.2')).toBe('192.0.2.7')
    expect(address('::1', '2001:db8::1')).toBe('2001:db8::1')
    expect(address('10.0.0.1', '::ffff:192.0.2.7')).toBe('192.0.2.7')
    expect(address('10.0.0.1', '192.0.2.7:4711')).toBe('192.0.2.7')
    expect(address('10.0.0.1', '192.0.2.7, unknown')).toBe('10.0.0.1')
    expect(address('10.0.0.1', '0300.0250.0.1')).toBe('10.0.0.1')
    expect(address('192.0.2.1', '10.0.0.5')).toBe('192.0.2.1')
  })

  it('V69: a list that cannot be read is refused at start, with every wrong entry', () => {
    const options = { runtime: idleRuntime(), auth: 'none' as const, trustedProxies: ['10.0.0.0/8', '10/8', 'proxy.example', '1.2.3.4/33'] }
    expect(() => createServer(options)).toThrow(/"10\/8".*"proxy.example".*"1.2.3.4\/33"/s)
  })
})

it('V72: refuses an address that is too long', async () => {
  const { server } = await bench()
  await refusal(ask(server, `/healthz?${'x'.repeat(9000)}`), 400, 'invalid-query')
  expect((await ask(server, `/healthz?${'x'.repeat(4000)}`)).status).toBe(200)
})
