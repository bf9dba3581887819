import { manualClock } from '@bowline/llm/testing'
import {
  createServer,
  createToken,
  ServerError,
  type AuditRecord,
  type Principal,
  type ServerOptions,
  type TokenConfig,
} from '@bowline/server'
import { createHash } from 'node:crypto'
import { expect, it, onTestFinished, vi } from 'vitest'
import { bench, idleRuntime, refusal } from '../support/bench.ts'
import { ask } from '../support/request.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const reader: Principal = { id: 'page', tenant: 'demo', scopes: ['sessions:read'] }
const list = '/api/agent/sessions'

function config(code: ServerOptions['auth'] | undefined): () => unknown {
  return () => createServer({ auth: code, runtime: idleRuntime() } as unknown as ServerOptions)
}

it('V57: createServer refuses a server without auth', () => {
  expect(config(undefined)).toThrow(ServerError)
  expect(config(undefined)).toThrow(/auth is required/)
})

it('V58: a token is bwl_<id>_<43 characters>, and only its hash is configured', async () => {
  const { token, config: line } = await createToken({ id: 'ci', tenant: 'demo', scopes: ['sessions:read'] })
  expect(token).toMatch(/^bwl_ci_[A-Za-z0-9_-]{43}$/)
  expect(line).toEqual({
    id: 'ci',
    tenant: 'demo',
    scopes: ['sessions:read'],
    hash: `sha256:${createHash('sha256').update(token).digest('hex')}`,
  })
  const { get } = await bench({ auth: { tokens: [line] } })
  expect((await get(list, bearer(token))).status).toBe(200)
})

it('V58: a wrong secret, an unknown id and a missing token get the same 401', async () => {
  const known = await createToken({ id: 'known', tenant: 'demo', scopes: ['admin'] })
  const other = await createToken({ id: 'other', tenant: 'demo', scopes: ['admin'] })
  const { get } = await bench({ auth: { tokens: [known.config] } })
  const wrongSecret = `bwl_known_${other.token.slice(-43)}`
  const attempts: Record<string, string>[] = [
    {},
    bearer(wrongSecret),
    bearer(other.token),
    bearer('x'),
    { authorization: `Basic ${known.token}` },
  ]
  const answers = await Promise.all(attempts.map((headers) => get(list, headers)))
  const problems = await Promise.all(answers.map((answer) => refusal(answer, 401, 'unauthenticated')))
  expect(new Set(problems.map(({ requestId: _id, ...problem }) => JSON.stringify(problem))).size).toBe(1)
  expect(answers.map((answer) => answer.headers.get('www-authenticate'))).toEqual(attempts.map(() => 'Bearer'))
})

it('V58: every bearer token is hashed once and compared in constant time, whether or not its id is known', async () => {
  const known = await createToken({ id: 'known', tenant: 'demo', scopes: ['admin'] })
  const other = await createToken({ id: 'other', tenant: 'demo', scopes: ['admin'] })
  const { server } = await bench({ auth: { tokens: [known.config] } })
  onTestFinished(() => void vi.restoreAllMocks())
  const digest = vi.spyOn(crypto.subtle, 'digest')
  const charCodeAt = vi.spyOn(String.prototype, 'charCodeAt')
  const workOf = async (token: string) => {
    digest.mockClear()
    charCodeAt.mockClear()
    const { status } = await ask(server, list, { headers: bearer(token) })
    // A spy is called with the text as a String object.
    const compared = charCodeAt.mock.contexts.filter((text) => String(text).startsWith('sha256:')).length
    return { status, hashes: digest.mock.calls.length, compared }
  }
  const compared = 2 * known.config.hash.length
  expect(await workOf(known.token)).toEqual({ status: 200, hashes: 1, compared })
  for (const token of [`bwl_known_${other.token.slice(-43)}`, other.token, 'x']) {
    expect(await workOf(token), token).toEqual({ status: 401, hashes: 1, compared })
  }
})

it('V58: an invalid configuration is refused with all its faults', () => {
  const good: TokenConfig = { id: 'a', hash: `sha256:${'0'.repeat(64)}`, tenant: 'demo', scopes: [] }
  const bad = [good, good, { ...good, id: 'b_c' }, { ...good, id: 'd', hash: 'sha256:x' as const, tenant: 'a:b', expiresAt: 'soon' }]
  expect(config({ tokens: bad })).toThrow(
    /"b_c": the id.*"d": the hash.*"a:b" is not a valid tenant.*expiresAt.*"a": the id is used twice/s,
  )
  expect(config({ tokens: [{ ...good, scopes: ['everything' as never] }] })).toThrow(
    /auth\.tokens\[0\]\.scopes\[0\] must be one of .*received "everything"/,
  )
})

it('V58: refuses a server with an empty list of tokens, because it could not accept any caller', () => {
  expect(config({ tokens: [] })).toThrow(/auth\.tokens is empty, so every request would be refused.*createToken.*auth\.jwt/)
  expect(config({ tokens: [], jwt: { issuer: 'i', audience: 'a', secret: 'x'.repeat(32) } })).not.toThrow(/empty/)
})

it('V59: expired, disabled and malformed tokens get a 401 without a reason', async () => {
  const clock = manualClock(Date.parse('2030-01-01'))
  const expired = await createToken({ id: 'a', tenant: 'demo', scopes: ['admin'], expiresAt: '2029-12-31' })
  const disabled = await createToken({ id: 'b', tenant: 'demo', scopes: ['admin'] })
  const live = await createToken({ id: 'c', tenant: 'demo', scopes: ['admin'], expiresAt: '2030-01-02' })
  const { get } = await bench({ clock, auth: { tokens: [expired.config, { ...disabled.config, disabled: true }, live.config] } })
  for (const token of [expired.token, disabled.token, 'bwl_a_short', `${live.token}x`]) {
    const problem = await refusal(get(list, bearer(token)), 401, 'unauthenticated')
    expect(problem.detail).toBe('Send valid credentials.')
  }
  expect((await get(list, bearer(live.token))).status).toBe(200)
  await clock.advance(24 * 3600 * 1000)
  await refusal(get(list, bearer(live.token)), 401, 'unauthenticated')
})

it('V59: a query parameter never carries a token', async () => {
  const { token, config: line } = await createToken({ id: 'a', tenant: 'demo', scopes: ['admin'] })
  const { get } = await bench({ auth: { tokens: [line] } })
  for (const name of ['token', 'access_token', 'ticket']) {
    await refusal(get(`/api/agent/session/mine/events?${name}=${token}`), 401, 'unauthenticated')
  }
})

it('V61: a verifier identifies the caller; null is 401', async () => {
  const seen: string[] = []
  const { get } = await bench({
    auth: async (request) => {
      seen.push(request.headers.get('cookie') ?? '')
      return request.headers.get('cookie') === 'page=1' ? reader : null
    },
  })
  expect((await get(list, { cookie: 'page=1' })).status).toBe(200)
  await refusal(get(list, { cookie: 'page=2' }), 401, 'unauthenticated')
  expect(seen).toEqual(['page=1', 'page=2'])
})

it('V61: a verifier that throws, or returns no valid tenant, is 503 and never lets the caller in', async () => {
  const verifiers = [
    () => Promise.reject(new Error('the database is away')),
    () => {
      throw new Error('at once')
    },
    () => Promise.resolve({ ...reader, tenant: 'a:s:b' }),
    () => Promise.resolve({ ...reader, tenant: undefined as never }),
  ]
  for (const auth of verifiers) {
    const { get, faults } = await bench({ auth })
    const problem = await refusal(get(list), 503, 'auth-unavailable')
    expect(problem).toMatchObject({ retryable: true, retryAfterMs: 1000 })
    expect(faults).toMatchObject([{ code: 'auth-unavailable', fault: { name: 'Error' } }])
    expect(JSON.stringify(faults)).not.toContain('database')
  }
})

it.each([undefined, false, 0, ''])('V61: a verifier that returns %j identifies no caller: 401, never let in', async (answer) => {
  const { get, execute } = await bench({ auth: () => Promise.resolve(answer as never) })
  await refusal(get(list), 401, 'unauthenticated')
  await refusal(execute({ sessionId: 'mine', input: { role: 'user', content: 'hi' }, context: {} }), 401, 'unauthenticated')
})

it('V61: a verifier that takes over 5 s is 503', async () => {
  const clock = manualClock()
  const asked = Promise.withResolvers<void>()
  const { get } = await bench({
    clock,
    auth: () => {
      asked.resolve()
      return new Promise(() => undefined)
    },
  })
  const answer = get(list)
  await asked.promise
  await clock.advance(5000)
  await refusal(answer, 503, 'auth-unavailable')
  expect(clock.pendingTimers).toBe(0)
})

it('V62: a missing scope is 403 and named; admin includes all scopes', async () => {
  const routes = [
    ['GET', list, 'sessions:read'],
    ['GET', '/api/agents', 'agents:read'],
    ['POST', '/api/agent/execute', 'sessions:write'],
    ['POST', '/api/agent/session/mine/stop', 'sessions:write'],
    ['POST', '/api/agent/session/mine/ticket', 'sessions:read'],
    ['POST', '/api/agent/session/mine/tool-calls/x/resolve', 'approvals'],
  ] as const
  const nothing = await createToken({ id: 'n', tenant: 'demo', scopes: [] })
  const admin = await createToken({ id: 'a', tenant: 'demo', scopes: ['admin'] })
  const { url } = await bench({ auth: { tokens: [nothing.config, admin.config] } })
  for (const [method, path, scope] of routes) {
    const problem = await refusal(fetch(url + path, { method, headers: bearer(nothing.token) }), 403, 'scope-missing')
    expect(problem.detail).toContain(scope)
    const allowed = await fetch(url + path, { method, headers: bearer(admin.token) })
    expect([401, 403]).not.toContain(allowed.status)
  }
})

it('V59: a principal whose time is over is refused', async () => {
  const clock = manualClock(1000)
  const { get } = await bench({ clock, auth: () => Promise.resolve({ ...reader, expiresAt: 1500 }) })
  expect((await get(list)).status).toBe(200)
  await clock.advance(500)
  await refusal(get(list), 401, 'unauthenticated')
})

it("V57: with auth 'none' every caller is local, with all rights in the tenant local", async () => {
  const audits: AuditRecord[] = []
  const { execute, post, runtime } = await bench({ auth: 'none', steps: [{ text: 'Hi.' }], onAudit: (record) => void audits.push(record) })
  await (await execute({ sessionId: 'mine', input: { role: 'user', content: 'hi' }, context: {} })).text()
  expect((await runtime.session('tenant:local:s:mine').info())?.status).toBe('completed')
  expect((await post('/api/agent/session/mine/stop', {})).status).toBe(200)
  expect(audits.at(-1)).toMatchObject({ principal: { tenant: 'local', id: 'local' } })
})

it.each([
  [{ id: 'b_c' }, /\(options\.id\)/],
  [{ tenant: 'a:b' }, /\(options\.tenant\)/],
  [{ expiresAt: 'soon' }, /\(options\.expiresAt\)/],
  [{ scopes: ['all' as never] }, /scopes\[0\]/],
])('V58: refuses to create a token with %o, and names the fault', async (change, fault) => {
  const making = createToken({ id: 'a', tenant: 'demo', scopes: [], ...change })
  await expect(making).rejects.toThrow(ServerError)
  await expect(making).rejects.toThrow(fault)
})
