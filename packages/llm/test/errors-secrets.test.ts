import { describe, expect, it } from 'vitest'
import { classifyError, createRedaction } from '../src/index.ts'

const said = (message: string): string => classifyError(new Error(message)).message
const limit = 2_000

/** The message of an error, with a secret that begins so many characters before the end of what is kept. */
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
  ])('L78: %s is masked although its end is cut off %i characters behind its start', (secret, before) => {
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
  ])('L78: %s is told as %s', (message, told) => {
    expect(said(message)).toBe(told)
  })

  it('L78: each secret of a message is masked', () => {
    expect(said('sk-abcdefgh1234, sk-ijklmnop5678, Bearer abcdefgh1234, BEARER ijklmnop5678')).toBe('sk-***, sk-***, Bearer ***, BEARER ***')
    expect(said('api-key=abcdefgh1234 API_KEY=ijklmnop5678 ?sig=a&SIG=b ://a@x ://b@y')).toBe('api-key=*** API_KEY=*** ?sig=***&SIG=*** ://***@x ://***@y')
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
  ])('V90: %j is told as %j', (text, told) => {
    expect(createRedaction().text(text)).toBe(told)
  })

  it('V90: every place of a pattern is replaced, also of one without the global flag', () => {
    expect(createRedaction({ patterns: [/a\d/, [/B\d/i, '<$&>'], /c\d/g] }).text('a1 a2 b3 B4 c5 c6')).toBe('[redacted] [redacted] <b3> <B4> [redacted] [redacted]')
  })
})
