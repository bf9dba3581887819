import { manualClock } from '@bowline/llm/testing'
import { createServer, createToken, type JwtConfig, type ServerOptions } from '@bowline/server'
import { SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import { describe, expect, it } from 'vitest'
import { bench, idleRuntime, refusal } from '../support/bench.ts'
import { issuer } from '../support/jwks.ts'

const list = '/api/agent/sessions'
const nowMs = Date.parse('2030-01-01')
const now = nowMs / 1000
const names = { issuer: 'https://issuer.example', audience: 'bowline' }
const claims: JWTPayload = {
  iss: names.issuer,
  aud: names.audience,
  sub: 'ada',
  tenant: 'demo',
  scope: 'sessions:read other',
  exp: now + 60,
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function withKeys(config: Partial<JwtConfig> = {}) {
  const from = await issuer()
  const clock = manualClock(nowMs)
  const it = await bench({ clock, auth: { jwt: { ...names, jwksUrl: from.jwksUrl, ...config } } })
  return { ...it, from, clock, status: async (token: string) => (await it.get(list, bearer(token))).status }
}

describe('with the keys of an issuer', () => {
  it('V60: a JWT identifies the caller: subject, tenant and scopes', async () => {
    const { get, from } = await withKeys()
    const token = await from.sign(claims)
    expect((await get(list, bearer(token))).status).toBe(200)
    expect((await refusal(get('/api/agents', bearer(token)), 403, 'scope-missing')).detail).toContain('agents:read')
    const listed = await from.sign({ ...claims, scope: ['agents:read', 7, 'admin '] })
    expect((await get('/api/agents', bearer(listed))).status).toBe(200)
    await refusal(get(list, bearer(listed)), 403, 'scope-missing')
  })

  it('V60: the claims for tenant and scopes are configurable', async () => {
    const { from, status } = await withKeys({ tenantClaim: 'org_id', scopeClaim: 'permissions' })
    expect(await status(await from.sign({ ...claims, org_id: 'acme', permissions: ['sessions:read'] }))).toBe(200)
    expect(await status(await from.sign(claims))).toBe(401)
  })

  it('V60: another issuer, another audience, no subject, no end and no tenant get the same 401', async () => {
    const { from, get } = await withKeys()
    const wrong: Partial<Record<string, unknown>>[] = [
      { iss: 'https://other.example' },
      { aud: 'other' },
      { sub: undefined },
      { sub: '' },
      { exp: undefined },
      { tenant: undefined },
      { tenant: 'a:b' },
      { tenant: ['demo'] },
      { nbf: now + 31 },
      { exp: now - 30 },
    ]
    const problems = []
    for (const change of wrong) {
      const { requestId: _id, ...problem } = await refusal(
        get(list, bearer(await from.sign({ ...claims, ...change }))),
        401,
        'unauthenticated',
      )
      problems.push(JSON.stringify(problem))
    }
    expect(new Set(problems).size).toBe(1)
  })

  it('V60: clocks may differ by 30 s', async () => {
    const { from, status, clock } = await withKeys()
    const token = await from.sign({ ...claims, nbf: now + 30, exp: now + 60 })
    expect(await status(token)).toBe(200)
    await clock.advance(89_000)
    expect(await status(token)).toBe(200)
    await clock.advance(1000)
    expect(await status(token)).toBe(401)
  })

  it('V60: refuses a missing signature, a changed one, and one made with the public key as a secret', async () => {
    const { from, status } = await withKeys()
    const token = await from.sign(claims)
    const [head, , signature] = token.split('.')
    const forged = Buffer.from(JSON.stringify({ ...claims, tenant: 'other' })).toString('base64url')
    const none = new UnsecuredJWT(claims).encode()
    const publicKeys = new TextEncoder().encode(await (await fetch(from.jwksUrl)).text())
    const confused = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(publicKeys)
    for (const each of [`${head}.${forged}.${signature}`, none, `${none}x`, confused, 'a.b.c']) expect(await status(each)).toBe(401)
    expect(await status(token)).toBe(200)
  })

  it('V60: fetches nothing from an address in a token', async () => {
    const attacker = await issuer()
    const { from, status } = await withKeys()
    const token = await attacker.sign(claims, { jku: attacker.jwksUrl, x5u: attacker.jwksUrl, kid: 'one' })
    expect(await status(token)).toBe(401)
    expect(await status(await from.sign(claims))).toBe(200)
    expect([attacker.fetches, from.fetches]).toEqual([0, 1])
  })

  it('V60: keys are cached, and an unknown key is not fetched again and again', async () => {
    const { from, status } = await withKeys()
    const tokens = [await from.sign(claims), await from.sign(claims, { kid: 'unknown' })]
    for (let count = 0; count < 20; count++) {
      expect(await status(tokens[0] ?? '')).toBe(200)
      expect(await status(tokens[1] ?? '')).toBe(401)
    }
    expect(from.fetches).toBe(1)
  })

  it('V60: a token that names no key is accepted if there is one key, and refused if there are several', async () => {
    const { from, status } = await withKeys()
    expect(await status(await from.sign(claims, { kid: undefined }))).toBe(200)
    const many = await withKeys()
    await many.from.rotate('two')
    expect(await many.status(await many.from.sign(claims, { kid: undefined }))).toBe(401)
    expect(await many.status(await many.from.sign(claims))).toBe(200)
  })

  it('V61: keys that cannot be fetched are 503, and requests work again when the keys are back', async () => {
    const { from, get, status, faults } = await withKeys()
    const token = await from.sign(claims)
    for (const how of ['status', 'text', 'redirect'] as const) {
      from.fail(how)
      expect(await refusal(get(list, bearer(token)), 503, 'auth-unavailable')).toMatchObject({ retryable: true })
    }
    expect(faults).toHaveLength(3)
    from.fail(undefined)
    expect(await status(token)).toBe(200)
    await from.stop()
    expect(await status(token)).toBe(200)
    const gone = await withKeys({ jwksUrl: from.jwksUrl })
    await refusal(gone.get(list, bearer(token)), 503, 'auth-unavailable')
  })
})

describe('with a shared secret', () => {
  const secret = 'a secret of at least thirty-two bytes'
  const sign = (key: string, alg = 'HS256') => new SignJWT(claims).setProtectedHeader({ alg }).sign(new TextEncoder().encode(key))

  it('V60: accepts only tokens signed with that secret, and tokens of the list besides', async () => {
    const { token, config } = await createToken({ id: 'ci', tenant: 'demo', scopes: ['sessions:read'] })
    const { get } = await bench({ clock: manualClock(nowMs), auth: { tokens: [config], jwt: { ...names, secret, algorithms: ['HS256'] } } })
    const status = async (each: string) => (await get(list, bearer(each))).status
    expect([await status(await sign(secret)), await status(token)]).toEqual([200, 200])
    expect([
      await status(await sign(`${secret}!`)),
      await status(await sign(secret, 'HS512')),
      await status(`${token.slice(0, -1)}.`),
    ]).toEqual([401, 401, 401])
  })
})

it('V60: an invalid configuration is refused with all its faults', () => {
  const faultsOf = (auth: unknown): string => {
    try {
      createServer({ auth, runtime: idleRuntime() } as unknown as ServerOptions)
      return ''
    } catch (error) {
      return String(error)
    }
  }
  const both = faultsOf({ jwt: { jwksUrl: 'http://issuer.example/keys', secret: 'short', issuer: '', algorithms: ['none', 'RS256'] } })
  for (const fault of [
    'either jwksUrl or secret',
    'must be an https address',
    'at least 32 bytes',
    'issuer is required',
    'audience is required',
    '"none" must be one of HS256',
    '"RS256"',
  ]) {
    expect(both).toContain(fault)
  }
  expect(faultsOf({ jwt: { ...names, jwksUrl: 'https://issuer.example/keys', algorithms: ['HS256'] } })).toContain(
    '"HS256" must be one of RS256',
  )
  expect(faultsOf({ jwt: { ...names, jwksUrl: 'https://issuer.example/keys', algorithms: [] } })).toContain('must not be empty')
  expect(faultsOf({ jwt: names })).toContain('either jwksUrl or secret')
  expect(faultsOf({})).toContain('auth must have tokens or jwt')
})
