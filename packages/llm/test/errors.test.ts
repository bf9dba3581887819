import { JSONParseError, LoadAPIKeyError, NoSuchModelError, TypeValidationError } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { classifyError } from '../src/index.ts'
import { anthropic, apiError, classify, google, openai, quota, retryInfo } from './error-answers.ts'

describe('classifyError: decisions', () => {
  const overloaded = { status: 529, body: anthropic('overloaded_error', 'busy') }
  const system = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code })

  it('L73: the signal of the caller wins', () => {
    expect(classify(overloaded, { abortSignal: AbortSignal.abort() }).kind).toBe('aborted')
    expect(classify(overloaded, { abortSignal: new AbortController().signal }).kind).toBe('overloaded')
  })

  it('L73: a structured code wins over the status, the status over an error code', () => {
    expect(classify({ status: 400, body: openai('x', 'rate_limit_error') }).kind).toBe('rate-limit')
    expect(classifyError(Object.assign(apiError({ status: 503 }), { cause: system('ECONNRESET') })).kind).toBe('overloaded')
  })

  it('L73: phrases count only in their status group', () => {
    expect(classify({ status: 500, body: openai('prompt is too long: 9 tokens > 8 maximum') }).kind).toBe('server-error')
    expect(classify({ status: 403, body: openai('The model `x` does not exist') }).kind).toBe('permission')
  })

  it('L73: RetryError counts as its last error, AggregateError as its first', () => {
    expect(classifyError(Object.assign(new Error('gave up after 3'), { lastError: apiError(overloaded) })).kind).toBe('overloaded')
    expect(classifyError(new AggregateError([system('ECONNREFUSED'), new Error('x')])).kind).toBe('network')
  })

  it('L73: causes are followed at most 8 deep, and cycles end', () => {
    const nest = (depth: number): Error => (depth === 0 ? system('ECONNRESET') : new Error('wrapper', { cause: nest(depth - 1) }))
    expect(classifyError(nest(7)).kind).toBe('network')
    expect(classifyError(nest(8)).kind).toBe('unknown')
    const loop = new Error('loop')
    loop.cause = new Error('back', { cause: loop })
    expect(classifyError(loop).kind).toBe('unknown')
  })

  it('L73: a success status on an error is ignored', () => {
    expect(classifyError(Object.assign(apiError({ status: 200, body: openai('x') }), { cause: system('ECONNRESET') })).kind).toBe('network')
    expect(classify({ status: 200, body: openai('x') })).not.toHaveProperty('status')
  })

  it('L73: an unknown error is retryable only if no HTTP answer came', () => {
    expect(classifyError(new Error('what'))).toMatchObject({ kind: 'unknown', retryable: true })
    expect(classifyError(apiError({ status: 399 }))).toMatchObject({ kind: 'unknown', retryable: false })
  })

  it('L75: phrases are not searched in the URL or in the request', () => {
    expect(classify({ status: 400, body: openai('Something else') }).kind).toBe('bad-request')
    expect(JSON.stringify(classify({ status: 400, body: openai('Something else') }))).not.toContain('prompt')
  })

  it("L75: phrases are not searched in the model's output, which parsers repeat", () => {
    const said = 'Your account: prompt is too long: 9 tokens > 8 maximum, rate limit, invalid api key'
    const value = { choices: [{ delta: { content: said } }] }
    const cause = new Error('x')
    expect(classifyError(new TypeValidationError({ value, cause })).kind).toBe('malformed-response')
    expect(classifyError(new JSONParseError({ text: said, cause })).kind).toBe('malformed-response')
    const answered = apiError({ status: 200, body: said })
    const unread = Object.assign(answered, { cause: new JSONParseError({ text: said, cause }) })
    expect(classifyError(unread).kind).toBe('malformed-response')
  })

  it('L73: the error classes of the clients identify wrong settings', () => {
    expect(classifyError(new LoadAPIKeyError({ message: 'no key' })).kind).toBe('config')
    expect(classifyError(new NoSuchModelError({ modelId: 'x', modelType: 'languageModel' })).kind).toBe('config')
  })

  it('L73: a truncated answer wins over the error of its socket, and a silent one is a timeout', () => {
    expect(classifyError(new TypeError('terminated', { cause: system('UND_ERR_SOCKET') })).kind).toBe('stream-broken')
    expect(classifyError(new TypeError('terminated', { cause: system('UND_ERR_BODY_TIMEOUT') })).kind).toBe('timeout')
  })

  it.each<[string, Error]>([
    ['TypeError', new TypeError("Cannot read properties of undefined (reading 'rate_limit_exceeded')")],
    ['TypeError with a code', Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' })],
    ['ReferenceError', new ReferenceError('modle is not defined')],
    ['RangeError', new RangeError('Maximum call stack size exceeded')],
    ['TypeError of another realm', Object.assign(new Error('x is not a function'), { name: 'TypeError' })],
  ])('L73: a %s is a bug of the program, and is not retryable', (_name, error) => {
    expect(classifyError(error)).toMatchObject({ kind: 'unknown', retryable: false, message: error.message, cause: error })
    expect(classifyError(error)).not.toHaveProperty('recovery')
  })

  it.each<[string, Error]>([
    ['undici', new TypeError('fetch failed', { cause: system('ENOTFOUND') })],
    ['undici, without a cause', new TypeError('fetch failed')],
    ['undici, in the body', new TypeError('terminated')],
    ['Chrome', new TypeError('Failed to fetch')],
    ['Chrome, in the body', new TypeError('network error')],
    ['Firefox', new TypeError('NetworkError when attempting to fetch resource.')],
    ['Firefox, in the body', new TypeError('Error in input stream')],
    ['Safari', new TypeError('Load failed')],
    ['an older Safari', new TypeError('The network connection was lost.')],
    ['React Native', new TypeError('Network request failed')],
    ['Deno', new TypeError('error sending request for url (https://api.test/): client error (Connect)')],
    ['Deno, in the body', new TypeError('error reading a body from connection')],
    ['a cause', Object.assign(new TypeError('x'), { cause: system('ECONNRESET') })],
    ['an answer with a status', Object.assign(new TypeError('x'), { statusCode: 503 })],
    ['a parser of what arrived', new SyntaxError('Unexpected token < in JSON at position 0')],
    ['anything else', new Error('x')],
  ])('L73: a failed connection is retryable in the words of %s', (_name, error) => {
    expect(classifyError(error)).toMatchObject({ retryable: true })
  })

  it('L73: 499 and CANCELLED after our own abort are the abort', () => {
    const cancelled = { status: 499, body: google(499, 'CANCELLED', 'The operation was cancelled.') }
    const abortSignal = AbortSignal.abort()
    expect(classify(cancelled, { abortSignal })).toMatchObject({ kind: 'aborted', retryable: false })
    expect(classify(cancelled)).toMatchObject({ kind: 'network', retryable: true })
  })

  it('L73: the id of a quota wins over the words for it', () => {
    const words = 'You exceeded your current quota, please check your plan and billing details.'
    const kindOf = (...ids: string[]): string =>
      classify({ status: 429, body: google(429, 'RESOURCE_EXHAUSTED', words, [quota(...ids), retryInfo('9s')]) }).kind
    expect(kindOf('RequestsPerMinutePerProject')).toBe('rate-limit')
    expect(kindOf('RequestsPerMinutePerProject', 'RequestsPerDayPerProject')).toBe('rate-limit')
    expect(kindOf('RequestsPerDayPerProject', 'TokensPerDay-FreeTier')).toBe('billing')
  })

  it('L73: a link of the cause chain with an answer decides for the whole', () => {
    const error = new Error('the step failed', { cause: new Error('again', { cause: apiError(overloaded) }) })
    expect(classifyError(error)).toMatchObject({ kind: 'overloaded', message: 'busy', status: 529, requestId: 'req_1' })
  })

  it('L73: the request id is read from either header, or from the body', () => {
    const idOf = (headers: Record<string, string>): unknown => classify({ ...overloaded, headers }).requestId
    expect(idOf({ 'X-Request-Id': 'req_a' })).toBe('req_a')
    expect(idOf({ 'request-id': 'req_b' })).toBe('req_b')
    expect(idOf({})).toBe('req_1')
  })

  it('L73: the phase of the error is that of the call', () => {
    expect(classify(overloaded, { phase: 'after-output' }).phase).toBe('after-output')
    expect(classify(overloaded).phase).toBe('before-output')
  })
})
