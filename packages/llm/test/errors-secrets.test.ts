import { describe, expect, it } from 'vitest'
import { classifyError, createRedaction } from '../src/index.ts'

const said = (message: string): string => classifyError(new Error(message)).message
const limit = 2_000

/** Returns a message whose secret begins `before` characters before the cut. */
function messageAround(secret: string, before: number): string {
  return `${'x'.repeat(limit - before - 1)} ${secret} and more`
}

describe('L78: secrets in messages', () => {
  it.each([
    ['sk-proj-abcdefghijklmnop', 4],
    ['sk-proj-abcdefghijklmnop', 10],
    ['Bearer abcdefghijklmnop', 10],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', 20],
    ['https://user:password@host/path', 15],
    ['AIzaSyA1234567890abcdef', 8],
    ['api_key=abcdefghijkl', 12],
  ])('L78: %s is masked although it is cut off %i characters after its start', (secret, before) => {
    const message = said(messageAround(secret, before))
    expect(message.length).toBeLessThanOrEqual(limit)
    const given = secret.slice(0, before)
    const secretPart = given.replace(/^(Bearer |eyJ|https:\/\/|AIza|sk-|api_key=)/, '')
    if (secretPart.length > 2) expect(message).not.toContain(secretPart)
  })

  it.each([
    ['got Bearer abcdefgh12345678', 'got Bearer ***'],
    ['got bearer%20abcdefgh12345678', 'got bearer ***'],
    ['got basic YWxhZGRpbjpvcGVu', 'got basic ***'],
    ['use basic authentication here', 'use basic authentication here'],
    ['key sk-abcdefgh1234', 'key sk-***'],
    ['key gsk_abcdefgh1234', 'key gsk_***'],
    ['key ghp_abcdefgh1234', 'key ghp_***'],
    ['token eyJhbGciOiJI.eyJzdWIi.c2ln here', 'token eyJ*** here'],
    ['key AIzaSyA1234567890', 'key AIza***'],
    ['key ya29.a0AfH6SMB1234', 'key ya29.***'],
    ['Incorrect API key provided: abcdefgh1234', 'Incorrect API key provided: ***'],
    ['{"api_key": "abcdefgh1234"}', '{"api_key": "***"}'],
    [String.raw`{\"client_secret\":\"abcdefgh1234\"}`, String.raw`{\"client_secret\":\"***\"}`],
    ['Subscription-Key: abcdefgh1234', 'Subscription-Key: ***'],
    ['GET /v1?access_token=abc&x=1', 'GET /v1?access_token=***&x=1'],
    ['GET /v1?a=1&X-Amz-Signature=abc', 'GET /v1?a=1&X-Amz-Signature=***'],
    ['redis://user:pw@host:1', 'redis://***@host:1'],
    ['see https://example.com/a@b', 'see https://example.com/a@b'],
  ])('L78: %s becomes %s', (message, told) => {
    expect(said(message)).toBe(told)
  })

  it.each([
    'sk',
    'pk',
    'rk',
    'gsk',
    'csk',
    'xai',
    'sess',
    'key',
    'hf',
    'nvapi',
    'pplx',
    'gho',
    'ghp',
    'ghs',
    'ghu',
    'github_pat',
    'r8',
    'fw',
    'vck',
    'tgp',
  ])('L78: a key that begins with %s is masked, with either separator', (prefix) => {
    expect(said(`got ${prefix}-abcdefgh1234 and ${prefix}_abcdefgh-12_34, not ${prefix}-abcdefg`)).toBe(
      `got ${prefix}-*** and ${prefix}_***, not ${prefix}-abcdefg`,
    )
  })

  it.each(['AIza', 'AQ.', 'ya29.', 'ABSK'])('L78: a key that begins with %s is masked', (prefix) => {
    expect(said(`got ${prefix}abc.def+/=-1234 there, not ${prefix}abcdefghi`)).toBe(`got ${prefix}*** there, not ${prefix}abcdefghi`)
  })

  it.each([
    'api key',
    'apikey',
    'api-key',
    'api_key',
    'subscription-key',
    'access_token',
    'accesstoken',
    'client_secret',
    'clientsecret',
    'secret_access_key',
    'secretaccesskey',
  ])('L78: a value given as %s is masked', (name) => {
    expect(said(`${name}: abcdefgh1234, ${name.toUpperCase()}="abcdefgh1234" and ${name} = short`)).toBe(
      `${name}: ***, ${name.toUpperCase()}="***" and ${name} = short`,
    )
  })

  it.each(['key', 'token', 'secret', 'signature', 'sig', 'X-Goog-Signature', 'access_token'])(
    'L78: the parameter %s of a URL is masked',
    (name) => {
      expect(said(`GET /v1?a=1&${name}=ab%20c&b=2 and /v2?${name}=d`)).toBe(`GET /v1?a=1&${name}=***&b=2 and /v2?${name}=***`)
    },
  )

  it('L78: each secret of a message is masked', () => {
    expect(said('sk-abcdefgh1234, sk-ijklmnop5678, Bearer abcdefgh1234, BEARER ijklmnop5678')).toBe(
      'sk-***, sk-***, Bearer ***, BEARER ***',
    )
    expect(said('api-key=abcdefgh1234 API_KEY=ijklmnop5678 ?sig=a&SIG=b ://a@x ://b@y')).toBe(
      'api-key=*** API_KEY=*** ?sig=***&SIG=*** ://***@x ://***@y',
    )
  })
})

describe('V90: redaction of texts', () => {
  it.each([
    ['Cookie: a=b; c=d\nnext', 'Cookie: [redacted]\nnext'],
    ['x-api-key=abc', 'x-api-key=[redacted]'],
    ["'set-cookie': 'a'", "'set-cookie': [redacted]"],
    ['Proxy-Authorization : abc', 'Proxy-Authorization : [redacted]'],
    ['AKIAIOSFODNN7EXAMPLE', '[redacted]'],
    ['password = "abc"', 'password = "[redacted]"'],
    ['PASSWORD:abc,x', 'PASSWORD:[redacted],x'],
    ['a secret thing', 'a secret thing'],
  ])('V90: %j becomes %j', (text, told) => {
    expect(createRedaction().text(text)).toBe(told)
  })

  it.each(['sk', 'pk', 'rk', 'ghp', 'gho', 'ghs', 'xoxa', 'xoxb', 'xoxp', 'AIza', 'AKIA', 'bwl'])(
    'V90: removes a key that begins with %s',
    (prefix) => {
      const { text } = createRedaction()
      for (const separator of ['', '-', '_']) expect(text(`got ${prefix}${separator}Abc-123_def4 there`)).toBe('got [redacted] there')
    },
  )

  it.each(['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key', 'api-key'])(
    'V90: removes the header %s up to the end of its line',
    (name) => {
      const { text } = createRedaction()
      expect(text(`${name}: a b; c\n${name.toUpperCase()}=d\r\nnext`)).toBe(`${name}: [redacted]\n${name.toUpperCase()}=[redacted]\r\nnext`)
    },
  )

  it.each(['api_key', 'apikey', 'access_token', 'accesstoken', 'access-token', 'token', 'secret', 'password', 'ticket'])(
    'V90: removes a value given as %s',
    (name) => {
      expect(createRedaction().text(`{"${name}":"abc"} ${name} = abc; ${name.toUpperCase()}:'abc',1`)).toBe(
        `{"${name}":"[redacted]"} ${name} = [redacted]; ${name.toUpperCase()}:'[redacted]',1`,
      )
    },
  )

  it('V90: replaces every match of a pattern, also of one without the global flag', () => {
    expect(createRedaction({ patterns: [/a\d/, [/B\d/i, '<$&>'], /c\d/g] }).text('a1 a2 b3 B4 c5 c6')).toBe(
      '[redacted] [redacted] <b3> <B4> [redacted] [redacted]',
    )
  })
})
