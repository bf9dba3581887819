import { createToken, type CreateRateLimiter, type Principal, type RateLimitName } from '@bowline/server'
import { createNodeServer } from '@bowline/server/node'
import { flexibleRateLimiter } from '@bowline/server/rate-limits'
import { manualClock } from '@bowline/llm/testing'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { describe, expect, it } from 'vitest'
import { bench, refusal, say, type BenchOptions } from '../support/bench.ts'
import { ask } from '../support/request.ts'

const list = '/api/agent/sessions'
const mine = '/api/agent/session/mine'
const as = (id: string) => ({ authorization: `Basic ${id}` })

/** Accepts every caller under the name that it gives, except `nobody`. */
const auth = (request: Request): Promise<Principal | null> => {
  const [tenant = '', id = ''] = (request.headers.get('authorization') ?? '').replace('Basic ', '').split(':')
  return Promise.resolve(id === '' || id === 'nobody' ? null : { id, tenant, scopes: ['admin'] })
}

const counted = (options: BenchOptions) => bench({ make: createNodeServer, auth, ...options })

describe('per principal', () => {
  it('V75: each answer says what is left; a request beyond it is 429 with a delay, for that principal only', async () => {
    const { get } = await counted({ limits: { requestsPerMinute: 2 } })
    const first = await get(list, as('demo:a'))
    expect(first.headers.get('ratelimit-policy')).toBe('"requests";q=2;w=60')
    expect(first.headers.get('ratelimit')).toBe('"requests";r=1;t=60')
    await get(list, as('demo:a'))
    const refused = await get(list, as('demo:a'))
    expect(refused.headers.get('ratelimit')).toMatch(/^"requests";r=0;t=\d+$/)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(await refusal(refused, 429, 'rate-limited')).toMatchObject({ retryable: true })
    // A principal with the same name in another tenant is a different one.
    for (const other of ['demo:b', 'other:a']) expect((await get(list, as(other))).status).toBe(200)
  })

  it('V75: work has a bucket of its own within the requests, and the answer has both', async () => {
    const { execute, get } = await counted({ limits: { workPerMinute: 1 }, steps: [{ text: 'Hi.' }] })
    const first = await execute({ input: say('hi'), context: {} }, as('demo:a'))
    expect(first.headers.get('ratelimit-policy')).toBe('"requests";q=600;w=60, "work";q=1;w=60')
    expect(first.headers.get('ratelimit')).toBe('"requests";r=599;t=60, "work";r=0;t=60')
    await first.text()
    await refusal(execute({ input: say('hi'), context: {} }, as('demo:a')), 429, 'rate-limited')
    expect((await get(list, as('demo:a'))).status).toBe(200)
  })

  it('V75: of requests at the same time each counts', async () => {
    const { get } = await counted({ limits: { requestsPerMinute: 10 } })
    const answers = await Promise.all(Array.from({ length: 40 }, () => get(list, as('demo:a'))))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(30)
  })

  it('V76: control is outside both buckets and has its own; health is not counted', async () => {
    const { get, post } = await counted({ limits: { requestsPerMinute: 5, workPerMinute: 0 } })
    for (let count = 0; count < 5; count++) await get(list, as('demo:a'))
    await refusal(get(list, as('demo:a')), 429, 'rate-limited')
    const results = { results: [{ toolCallId: 'x', output: 1 }] }
    const control = [
      await get(mine, as('demo:a')),
      await post(`${mine}/stop`, {}, as('demo:a')),
      await post(`${mine}/tool-results`, results, as('demo:a')),
      await post(`${mine}/tool-calls/x/resolve`, { result: 1 }, as('demo:a')),
      await post(`${mine}/approvals/x`, { decision: 'approve' }, as('demo:a')),
    ]
    expect(control.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
    expect(control.map(({ headers }) => headers.get('ratelimit')?.slice(0, 13))).toEqual(
      [4, 3, 2, 1, 0].map((left) => `"control";r=${left}`),
    )
    for (let count = 0; count < 20; count++) expect((await get('/healthz')).headers.get('ratelimit')).toBeNull()
  })

  it('V75: a refusal for another reason says what is left too', async () => {
    const { get } = await counted({ auth: () => Promise.resolve({ id: 'a', tenant: 'demo', scopes: [] }) })
    const refused = await get(list)
    expect(refused.headers.get('ratelimit')).toBe('"requests";r=599;t=60')
    await refusal(refused, 403, 'scope-missing')
  })

  it("V75: with auth 'none' requests are not counted, unless a limiter is given", async () => {
    const free = await bench({ make: createNodeServer, auth: 'none', limits: { requestsPerMinute: 1 } })
    for (let count = 0; count < 3; count++) expect((await free.get(list)).status).toBe(200)
    const limited = await bench({
      make: createNodeServer,
      auth: 'none',
      limits: { requestsPerMinute: 1 },
      rateLimiter: flexibleRateLimiter(),
    })
    await limited.get(list)
    await refusal(limited.get(list), 429, 'rate-limited')
  })
})

it('V75: limits that are not numbers are refused when the server is created, all at once', async () => {
  const limits = { workPerMinute: Number.NaN, runsPerTenant: -1, requestsPerMinute: '600' as unknown as number, streams: Infinity }
  await expect(bench({ limits })).rejects.toThrow(/limits.workPerMinute.*limits.runsPerTenant.*limits.requestsPerMinute must be/s)
})

describe('failed logins', () => {
  const from = (remoteAddress: string) => ({ peer: { remoteAddress } })

  it('V75: too many from one address are refused before a secret is checked', async () => {
    const { token, config } = await createToken({ id: 'ci', tenant: 'demo', scopes: ['admin'] })
    let looked = 0
    const { server } = await counted({
      auth: (request) => {
        looked += 1
        return Promise.resolve(request.headers.get('authorization') === `Bearer ${token}` ? { ...config, expiresAt: Infinity } : null)
      },
      limits: { authFailuresPerMinute: 3 },
    })
    const login = (secret: string, address: string) =>
      ask(server, list, { ...from(address), headers: { authorization: `Bearer ${secret}` } })
    for (let count = 0; count < 3; count++) await refusal(login('x', '192.0.2.1'), 401, 'unauthenticated')
    const refused = await login(token, '192.0.2.1')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(await refusal(refused, 429, 'rate-limited')).toMatchObject({ retryable: true })
    expect(looked).toBe(3)
    expect((await login(token, '192.0.2.2')).status).toBe(200)
  })

  it('V75: one IPv6 network counts as one address, and so do callers without an address; a request without credentials has not failed', async () => {
    const { server } = await counted({ limits: { authFailuresPerMinute: 1 } })
    const login = (peer: { remoteAddress: string } | null) => ask(server, list, { peer, headers: as('demo:nobody') })
    await refusal(login({ remoteAddress: '2001:db8::1' }), 401, 'unauthenticated')
    await refusal(login({ remoteAddress: '2001:db8::ffff:1' }), 429, 'rate-limited')
    await refusal(login({ remoteAddress: '2001:db8:0:1::1' }), 401, 'unauthenticated')
    await refusal(login(null), 401, 'unauthenticated')
    await refusal(login(null), 429, 'rate-limited')
    for (let count = 0; count < 3; count++) await refusal(ask(server, list, from('192.0.2.9')), 401, 'unauthenticated')
  })

  it('V69: the address is the one before a trusted proxy', async () => {
    const { server } = await counted({ limits: { authFailuresPerMinute: 1 }, trustedProxies: ['10.0.0.9'] })
    const login = (address: string) =>
      ask(server, list, { ...from('10.0.0.9'), headers: { ...as('demo:nobody'), 'x-forwarded-for': address } })
    await refusal(login('192.0.2.1'), 401, 'unauthenticated')
    await refusal(login('192.0.2.1'), 429, 'rate-limited')
    await refusal(login('192.0.2.2'), 401, 'unauthenticated')
  })
})

describe('a limiter that fails', () => {
  const broken: CreateRateLimiter = () => ({
    take: () => Promise.reject(new Error('redis://secret is gone')),
    look: () => Promise.reject(new Error('redis://secret is gone')),
  })

  it('V80: reads and control pass, new work is refused with 503, and the failure is reported', async () => {
    const { get, post, execute, faults } = await counted({ rateLimiter: broken })
    expect((await get(list, as('demo:a'))).status).toBe(200)
    await refusal(post(`${mine}/stop`, {}, as('demo:a')), 404, 'session-missing')
    const problem = await refusal(execute({ input: say('hi'), context: {} }, as('demo:a')), 503, 'store-unavailable')
    expect(problem).toMatchObject({ retryable: true, retryAfterMs: 1000 })
    await refusal(get(list, as('demo:nobody')), 401, 'unauthenticated')
    expect(faults).toContainEqual(expect.objectContaining({ message: 'the rate limiter failed', name: 'Error' }))
    expect(JSON.stringify(faults)).not.toContain('secret')
  })

  it('V80: a limiter that does not answer counts as failed after a second', async () => {
    const clock = manualClock()
    const asked = Promise.withResolvers<void>()
    const hanging: CreateRateLimiter = ({ name }) => ({
      look: () => Promise.resolve({ allowed: true, remaining: 1, resetMs: 0 }),
      take: () => {
        if (name === 'requests') asked.resolve()
        return new Promise(() => undefined)
      },
    })
    const { get } = await counted({ clock, rateLimiter: hanging })
    const answer = get(list, as('demo:a'))
    await asked.promise
    await clock.advance(1000)
    expect((await answer).status).toBe(200)
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('the limiter of rate-limiter-flexible', () => {
  it('V75: limiters of several processes over one store share their counts', async () => {
    const store = new Map<string, RateLimiterMemory>()
    const shared = flexibleRateLimiter((options) => {
      const limiter = store.get(options.keyPrefix) ?? new RateLimiterMemory(options)
      store.set(options.keyPrefix, limiter)
      return limiter
    })
    const servers = [
      await counted({ rateLimiter: shared, limits: { requestsPerMinute: 2 } }),
      await counted({ rateLimiter: shared, limits: { requestsPerMinute: 2 } }),
    ]
    const statuses = []
    for (const each of [...servers, ...servers]) statuses.push((await each.get(list, as('demo:a'))).status)
    expect(statuses).toEqual([200, 200, 429, 429])
    expect([...store.keys()]).toEqual(['requests', 'work', 'control', 'auth-failures'].map((name) => `bowline-${name}`))
  })

  it('V75: a failure of the library is not taken for a full bucket', async () => {
    const failing = flexibleRateLimiter(() => ({
      consume: () => Promise.reject(new Error('gone')),
      get: () => Promise.reject(new Error('gone')),
    }))
    const limiter = failing({ name: 'requests' satisfies RateLimitName, points: 1, windowMs: 60_000 })
    await expect(limiter.take('x')).rejects.toThrow('gone')
    await expect(limiter.look('x')).rejects.toThrow('gone')
  })
})
