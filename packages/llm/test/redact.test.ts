import { expect, it } from 'vitest'
import { createRedaction } from '../src/index.ts'
import { startProcessorTime } from './support.ts'

const secret = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG'

it.each([
  `bwl_ci_${secret}`,
  `sk-proj-${secret}`,
  'AKIAIOSFODNN7EXAMPLE',
  `ghp_${secret}`,
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
])('V90: by pattern: %s is removed from a text', (key) => {
  const { text } = createRedaction()
  expect(text(`refused ${key} here`)).toBe('refused [redacted] here')
  expect(text(`Authorization: Bearer ${key}`)).not.toContain(key)
  expect(text(`/events?ticket=${key}&from=now`)).toBe('/events?ticket=[redacted]&from=now')
})

it.each([
  'authorization',
  'cookie',
  'token',
  'apiKey',
  'secret',
  'password',
  'ticket',
  'Set-Cookie',
  'X-Api-Key',
  'access_token',
  'clientSecret',
])('V90: by field: the value of %s is removed, whatever it is', (name) => {
  const { value } = createRedaction()
  expect(value({ outer: [{ [name]: 'plain' }], [name]: { deep: 1 } })).toEqual({ outer: [{ [name]: '[redacted]' }], [name]: '[redacted]' })
})

it('V90: accepts more fields and patterns', () => {
  const { value, text } = createRedaction({ fields: ['card-number'], patterns: [/\d{4}-\d{4}/, [/mr \w+/i, '[name]']] })
  expect(value({ cardNumber: 1, card_number: 2, card: 3 })).toEqual({ cardNumber: '[redacted]', card_number: '[redacted]', card: 3 })
  expect(text('Mr Smith pays 1234-5678 and 8765-4321')).toBe('[name] pays [redacted] and [redacted]')
})

it('V90: text without secrets stays, and the input is not changed', () => {
  const { value } = createRedaction()
  const given = {
    inputTokens: 3,
    usage: { maxTokens: 5 },
    at: new Date(0),
    bytes: new Uint8Array(2),
    none: null,
    text: 'the token limit is 4096',
  }
  expect(value(given)).toEqual(given)
  const nested = Object.freeze({ list: Object.freeze(['Bearer abcdefgh12345678']) })
  expect(value(nested)).toEqual({ list: ['Bearer [redacted]'] })
})

it('V90: accepts a value of any kind, and only text as text', () => {
  const { value, text } = createRedaction()
  for (const plain of [undefined, null, 5, true, Symbol.for('s'), 1n]) expect(value(plain)).toBe(plain)
  expect(
    value([undefined, { none: null, gone: undefined, token: undefined }, Object.assign(Object.create(null) as object, { token: 1 })]),
  ).toEqual([undefined, { none: null }, { token: '[redacted]' }])
  for (const given of [undefined, 5, null, {}]) expect(() => text(given as never)).toThrow(/^text must be a text; received/)
})

it('V90: a long text takes time proportional to its length', () => {
  const { text } = createRedaction()
  const parts = ['eyJ-', 'sk-', 'token ', 'bearer ', 'cookie ', 'a.', '\t', 'eyJa.a.']
  const ms = (length: number): number => {
    const texts = parts.map((part) => part.repeat(length / part.length))
    const used = startProcessorTime()
    for (const each of texts) text(each)
    return used()
  }
  ms(20_000)
  const few = ms(40_000)
  // Quadratic time would take a thousand ms here, and minutes below.
  expect(few).toBeLessThan(150)
  expect(ms(400_000)).toBeLessThan(Math.max(200, few * 60))
})
