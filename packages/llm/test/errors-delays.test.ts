import { describe, expect, it } from 'vitest'
import { anthropic, classify, google, openai, retryInfo, type Answer } from './error-answers.ts'

const at = Date.parse('2030-01-01T00:00:00Z')

const delayOf = (answer: Answer): number | undefined => classify({ status: 429, ...answer }, { now: at }).retryAfterMs

/** All forms in order of precedence: each must win over all later ones. */
const ranked: readonly (readonly [form: string, headers: Record<string, string>, ms: number])[] = [
  ['retry-after-ms', { 'retry-after-ms': '250' }, 250],
  ['retry-after in seconds', { 'retry-after': '1.5' }, 1_500],
  ['x-ratelimit-reset-*', { 'x-ratelimit-reset-requests': '6m0s', 'x-ratelimit-remaining-requests': '0' }, 360_000],
  ['anthropic-ratelimit-*-reset', { 'anthropic-ratelimit-requests-reset': '2030-01-01T00:00:30Z' }, 30_000],
]

describe('classifyError: delays', () => {
  it.each(ranked)('L76: %s', (_, headers, ms) => {
    expect(delayOf({ headers, body: openai('slow down') })).toBe(ms)
  })

  it.each(ranked.slice(0, -1).map((row, rank) => [row[0], row, ranked.slice(rank + 1)] as const))(
    'L76: %s wins over the forms listed after it',
    (_, [, headers, ms], later) => {
      const all = Object.assign({}, ...later.map(([, more]) => more), headers) as Record<string, string>
      expect(delayOf({ headers: all, body: openai('slow down') })).toBe(ms)
    },
  )

  it('L76: a date wins over the body, RetryInfo over the text, the body over the reset headers', () => {
    const date = { 'retry-after': 'Tue, 01 Jan 2030 00:00:07 GMT' }
    const resets = { 'x-ratelimit-reset-tokens': '1s', 'x-ratelimit-remaining-tokens': '0' }
    const message = 'Please retry in 800ms'
    const body = google(429, 'RESOURCE_EXHAUSTED', message, [retryInfo('34.07s')])
    expect(delayOf({ headers: { ...resets, ...date }, body })).toBe(7_000)
    expect(delayOf({ headers: resets, body })).toBe(34_070)
    expect(delayOf({ headers: resets, body: google(429, 'RESOURCE_EXHAUSTED', message) })).toBe(800)
    expect(delayOf({ headers: resets, body: openai('x') })).toBe(1_000)
  })

  it('L76: names of headers may have any case', () => {
    expect(delayOf({ headers: { 'Retry-After': '2' } })).toBe(2_000)
    expect(delayOf({ headers: { 'Retry-After-Ms': '2' } })).toBe(2)
  })

  it("L76: a date is compared with the answer's own date, if it has one", () => {
    const headers = { 'retry-after': 'Tue, 01 Jan 2030 00:00:07 GMT', date: 'Tue, 01 Jan 2030 00:00:02 GMT' }
    expect(delayOf({ headers })).toBe(5_000)
  })

  it.each([
    ['Please try again in 6m0s.', 360_000],
    ['Please try again in 34.07s. Visit https://example.test to learn more.', 34_070],
    ['retry in 800ms', 800],
    ['Your quota will reset after 18h31m10s.', 66_670_000],
    ['Please try again in 20 seconds.', 20_000],
    ['Please retry after 1 second.', 1_000],
    ['Please retry after 1 minute and 20 seconds, 3 requests at a time', 80_000],
    ['Please try again in 2 hours, 5 mins.', 7_500_000],
    ['It resets in 1 day', 86_400_000],
    ['Try again in 7 apples', undefined],
    ['Try again in a moment', undefined],
    ['The limit of 20 seconds is reached', undefined],
  ])('L76: "%s"', (message, expected) => {
    for (const body of [openai(message), anthropic('rate_limit_error', message), message]) {
      expect(delayOf({ body })).toBe(expected)
    }
  })

  it('L76: of the used-up rates the later one counts', () => {
    const resets = (requests: string, tokens: string): Record<string, string> => ({
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-remaining-requests': requests,
      'x-ratelimit-reset-tokens': '6m0s',
      'x-ratelimit-remaining-tokens': tokens,
    })
    expect(delayOf({ headers: resets('0', '9') })).toBe(1_000)
    expect(delayOf({ headers: resets('0', '0') })).toBe(360_000)
    expect(delayOf({ headers: resets('3', '9') })).toBeUndefined()
    const anthropicResets = {
      'anthropic-ratelimit-requests-reset': '2030-01-01T00:00:30Z',
      'anthropic-ratelimit-requests-remaining': '4',
      'anthropic-ratelimit-input-tokens-reset': '2030-01-01T00:00:10Z',
      'anthropic-ratelimit-input-tokens-remaining': '0',
    }
    expect(delayOf({ headers: anthropicResets })).toBe(10_000)
  })

  it.each([
    ['-1', undefined],
    ['soon', undefined],
    ['', undefined],
    ['Infinity', undefined],
    ['NaN', undefined],
    ['Tue, 01 Jan 2019 00:00:07 GMT', undefined],
    ['0', 0],
  ])('L76: retry-after "%s"', (value, expected) => {
    expect(delayOf({ headers: { 'retry-after': value } })).toBe(expected)
    expect(delayOf({ headers: { 'retry-after-ms': 'x', 'retry-after': value } })).toBe(expected)
  })

  it('L76: a value that cannot be read is skipped for one that can', () => {
    expect(delayOf({ headers: { 'retry-after-ms': '-5', 'retry-after': '2' } })).toBe(2_000)
    expect(delayOf({ headers: { 'retry-after': 'soon' }, body: 'retry in 3s' })).toBe(3_000)
    const past = { 'anthropic-ratelimit-requests-reset': '2029-12-31T23:59:59Z' }
    expect(delayOf({ headers: past })).toBeUndefined()
    expect(delayOf({ body: google(429, 'RESOURCE_EXHAUSTED', 'x', [retryInfo('soon')]) })).toBeUndefined()
  })

  it('L76: an error that is not retryable has no delay', () => {
    const money = google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for metric: x, limit: 0', [retryInfo('34.07s')])
    expect(classify({ status: 429, body: money, headers: { 'retry-after': '1' } })).toMatchObject({ kind: 'billing' })
    expect(delayOf({ body: money, headers: { 'retry-after': '1' } })).toBeUndefined()
    expect(delayOf({ status: 401, headers: { 'retry-after': '1' } })).toBeUndefined()
    expect(delayOf({ headers: { 'retry-after': '1', 'x-should-retry': 'false' } })).toBeUndefined()
  })
})

describe('classifyError: x-should-retry', () => {
  const advised = (status: number, advice: string): unknown => {
    const { kind, retryable, recovery } = classify({ status, headers: { 'x-should-retry': advice } })
    return [kind, retryable, recovery]
  }

  it('L76: false forbids every kind', () => {
    expect(advised(429, 'false')).toEqual(['rate-limit', false, undefined])
    expect(advised(503, 'false')).toEqual(['overloaded', false, undefined])
    expect(advised(500, 'false')).toEqual(['server-error', false, undefined])
    expect(advised(408, 'false')).toEqual(['timeout', false, undefined])
    expect(advised(413, 'false')).toEqual(['context-overflow', false, 'compact'])
  })

  it('L76: true allows only unknown, server-error and rate-limit', () => {
    expect(advised(399, 'true')).toEqual(['unknown', true, 'wait'])
    expect(advised(500, 'true')).toEqual(['server-error', true, 'wait'])
    expect(advised(429, 'true')).toEqual(['rate-limit', true, 'wait'])
    expect(advised(400, 'true')).toEqual(['bad-request', false, undefined])
    expect(advised(402, 'true')).toEqual(['billing', false, undefined])
    expect(advised(401, 'true')).toEqual(['auth', false, 'refresh-auth'])
  })

  it('L76: any other word is ignored', () => {
    expect(advised(500, 'maybe')).toEqual(['server-error', true, 'wait'])
    expect(advised(399, 'maybe')).toEqual(['unknown', false, undefined])
  })
})
