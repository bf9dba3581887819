import { manualClock } from '@bowline/llm/testing'
import { createHmac } from 'node:crypto'
import { SignJWT, type JWTPayload } from 'jose'
import { expect, it } from 'vitest'
import { jwtFaults, jwtVerifier, type JwtConfig } from '../../src/auth/jwt.ts'

const nowMs = Date.parse('2030-01-01')
const exp = nowMs / 1000 + 60
const names = { issuer: 'https://issuer.example', audience: 'bowline' }
const jwksUrl = 'https://issuer.example/keys'
const secret = 's'.repeat(32)
const publicKey = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const shared = ['HS256', 'HS384', 'HS512']

it('V60: a public key accepts every public-key algorithm, a secret every secret algorithm, and neither the other kind', () => {
  for (const name of publicKey) {
    expect(jwtFaults({ ...names, jwksUrl, algorithms: [name] })).toEqual([])
    expect(jwtFaults({ ...names, secret, algorithms: [name] })).toEqual([
      expect.stringContaining(`${JSON.stringify(name)} must be one of ${shared.join(', ')}`),
    ])
  }
  for (const name of shared) {
    expect(jwtFaults({ ...names, secret, algorithms: [name] })).toEqual([])
    expect(jwtFaults({ ...names, jwksUrl, algorithms: [name] })).toEqual([
      expect.stringContaining(`${JSON.stringify(name)} must be one of ${publicKey.join(', ')}`),
    ])
  }
})

it.each([
  'https://any.example/keys',
  'http://localhost/keys',
  'http://localhost:8080/keys',
  'http://127.0.0.1/keys',
  'http://[::1]:1/keys',
])('V60: keys may be at %s', (url) => {
  expect(jwtFaults({ ...names, jwksUrl: url })).toEqual([])
})

it.each([
  'http://any.example/keys',
  'http://127.0.0.2/keys',
  'http://localhost.example/keys',
  'ftp://localhost/keys',
  'file:///keys',
  'keys',
  '',
])('V60: keys may not be at %j', (url) => {
  expect(jwtFaults({ ...names, jwksUrl: url })).toEqual(['auth.jwt.jwksUrl must be an https address, or http on this machine'])
})

it('V60: a secret has at least 32 bytes, whatever its characters', () => {
  expect(jwtFaults({ ...names, secret: 's'.repeat(31) })).toEqual(['auth.jwt.secret must have at least 32 bytes'])
  expect(jwtFaults({ ...names, secret: 'é'.repeat(16) })).toEqual([])
  expect(jwtFaults({ ...names, secret: '' })).toEqual(['auth.jwt.secret must have at least 32 bytes'])
})

async function known(claims: JWTPayload, config: Partial<JwtConfig> = {}) {
  const token = await new SignJWT({ iss: names.issuer, aud: names.audience, sub: 'ada', tenant: 'demo', exp, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(secret))
  return jwtVerifier({ ...names, secret, ...config }, manualClock(nowMs))(token)
}

/** Returns a token with this header and text, which the JWT library would refuse to make. */
async function signed(
  header: object,
  text = JSON.stringify({ iss: names.issuer, aud: names.audience, sub: 'ada', tenant: 'demo', exp }),
): Promise<string> {
  const encoded = [JSON.stringify({ alg: 'HS256', ...header }), text].map((part) => Buffer.from(part).toString('base64url')).join('.')
  return `${encoded}.${createHmac('sha256', secret).update(encoded).digest('base64url')}`
}

it('V60: accepts a token that other software signed by the rules', async () => {
  expect(await jwtVerifier({ ...names, secret }, manualClock(nowMs))(await signed({}))).toMatchObject({
    id: 'ada',
    tenant: 'demo',
    scopes: [],
  })
})

it('V59, V60: a principal ends when its token does, with half a minute of tolerance for clocks', async () => {
  expect(await known({ scope: 'sessions:read' })).toEqual({
    id: 'ada',
    tenant: 'demo',
    scopes: ['sessions:read'],
    expiresAt: (exp + 30) * 1000,
  })
  expect(await known({ exp: nowMs / 1000 - 29 })).toMatchObject({ expiresAt: nowMs + 1000 })
  expect(await known({ exp: nowMs / 1000 - 30 })).toBeNull()
  expect(await known({ nbf: nowMs / 1000 + 30 })).not.toBeNull()
})

it('V60: scopes are words or a list; unknown scopes and values that are not text are left out', async () => {
  const scopesOf = async (scope: unknown) => (await known({ scope }))?.scopes
  expect(await scopesOf('sessions:read nothing approvals')).toEqual(['sessions:read', 'approvals'])
  expect(await scopesOf(['mcp', 5, null, 'nothing'])).toEqual(['mcp'])
  for (const none of [undefined, 5, { admin: true }, '']) expect(await scopesOf(none)).toEqual([])
})

it.each([
  ['alg', async () => (await known({}, { algorithms: ['HS512'] })) ?? 'nobody'],
  ['sub', async () => (await known({ sub: '' })) ?? 'nobody'],
  ['tenant', async () => (await known({ tenant: '.x' })) ?? 'nobody'],
  ['kind of sub', async () => (await known({ sub: 5 as never })) ?? 'nobody'],
  [
    'extension',
    async () => (await jwtVerifier({ ...names, secret }, manualClock(nowMs))(await signed({ crit: ['later'], later: 1 }))) ?? 'nobody',
  ],
  ['content', async () => (await jwtVerifier({ ...names, secret }, manualClock(nowMs))(await signed({}, '["a list"]'))) ?? 'nobody'],
  ['form', async () => (await jwtVerifier({ ...names, secret }, manualClock(nowMs))('a.b.c')) ?? 'nobody'],
])('V60: a token with a wrong %s identifies no caller', async (_what, principal) => {
  expect(await principal()).toBe('nobody')
})
