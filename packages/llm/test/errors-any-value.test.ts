import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../scripts/test-length.ts'
import { classifyError, type ModelError } from '../src/index.ts'
import { traitsOf } from '../src/errors/error-kinds.ts'
import { apiError, classify, openai } from './error-answers.ts'

const refuse = (): never => {
  throw new Error('no')
}

const cyclic: Record<string, unknown> = {}
cyclic['cause'] = cyclic
const revoked = Proxy.revocable({}, {})
revoked.revoke()
const hostile = new Proxy(new Error('x'), {
  get: refuse,
  has: refuse,
  ownKeys: refuse,
  getPrototypeOf: refuse,
  getOwnPropertyDescriptor: refuse,
})

/** The fields that `classifyError` reads, with any values. */
const errorLike = fc.record(
  Object.fromEntries(
    [
      ...['message', 'name', 'code', 'type', 'param', 'status', 'statusCode', 'data', 'responseBody', 'error'],
      ...['errors', 'lastError', 'cause', 'response', 'responseHeaders', 'headers', 'details', 'detail', 'kind'],
    ].map((key) => [key, fc.oneof(fc.anything(), fc.json(), fc.constantFrom(400, 429, 500, 'error', 'x'))]),
  ),
  { requiredKeys: [] },
)

/** The same fields as getters that throw. */
const throwing = errorLike.map((fields) =>
  Object.defineProperties({}, Object.fromEntries(Object.keys(fields).map((key) => [key, { get: refuse, enumerable: true }]))),
)

const anyValue = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withSparseArray: true }),
  errorLike,
  errorLike.map((fields) => Object.assign(new Error('x'), fields)),
  errorLike.map((fields): unknown => Object.freeze(fields)),
  throwing,
)

describe('classifyError: any value', () => {
  it.each([
    ['a string', 'broken'],
    ['an empty string', ''],
    ['null', null],
    ['undefined', undefined],
    ['a number', 7],
    ['a bigint', 7n],
    ['a symbol', Symbol('x')],
    ['a function', () => 1],
    ['a frozen error', Object.freeze(new Error('x'))],
    ['a cycle', cyclic],
    ['a throwing getter', Object.defineProperty({}, 'message', { get: refuse, enumerable: true })],
    ['a revoked proxy', revoked.proxy],
    ['a hostile proxy', hostile],
    ['headers that throw', { responseHeaders: Object.defineProperty({}, 'x', { get: refuse, enumerable: true }) }],
    ['an empty object', {}],
    ['an object without prototype', Object.create(null)],
    ['a list', [1, 2]],
    ['text that looks like JSON', '{ not json'],
    ['a list in JSON', '[[[]]]'],
  ])('L77: %s does not make it throw', (_, value) => {
    expect(classifyError(value)).toMatchObject({ kind: 'unknown', phase: 'before-output' })
  })

  it('L77: for any value it returns a ModelError that survives JSON', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const error = classifyError(value, { phase: 'after-output', now: 0 })
        expect(Object.hasOwn(traitsOf, error.kind)).toBe(true)
        expect(error.message.length).toBeLessThanOrEqual(2_000)
        expect(JSON.parse(JSON.stringify(error))).toEqual(error)
      }),
      randomRuns(1_000),
    )
  })

  it('L77: returns a ModelError unchanged, also after a JSON round trip', () => {
    for (const value of [new Error('x'), apiError({ status: 429, headers: { 'retry-after': '1' } })]) {
      const error = classifyError(value)
      expect(classifyError(error, { phase: 'after-output', provider: 'p' })).toBe(error)
      const revived = JSON.parse(JSON.stringify(error)) as ModelError
      expect(classifyError(revived)).toBe(revived)
    }
  })

  it('L78: the message is bounded and keys are masked', () => {
    const secrets = [
      'sk-proj-abcdefgh12345678',
      'sk-ant-api03-abcdefgh12345678',
      'sk-or-v1-abcdefgh12345678',
      'gsk_abcdefgh12345678',
      'xai-abcdefgh12345678',
      'hf_abcdefgh12345678',
      'r8_abcdefgh12345678',
      'fw_abcdefgh12345678',
      'github_pat_abcdefgh12345678',
      'Bearer abcdefgh.12345678-x',
      'Bearer%20abcdefgh12345678',
      'Basic abcdefgh12345678==',
      'AIzaSyA-abcdefgh12345678',
      'AQ.Ab8abcdefgh12345678',
      'ya29.abcdefgh12345678',
      'ABSKabcdefgh12345678==',
      'x-api-key: abcdefgh12345678',
      'the API key: abcdefgh12345678',
      'API key provided: "abcdefgh12345678"',
      '"api_key":"abcdefgh12345678"',
      String.raw`{\"api_key\":\"abcdefgh12345678\"}`,
      'client_secret=abcdefgh12345678',
      'https://example.test/v1?key=abcdefgh12345678&alt=sse',
      'https://example.test/v1?alt=sse&subscription-key=abcdefgh12345678',
      'https://example.test/v1?X-Amz-Signature=abcdefgh12345678',
      'https://user:abcdefgh12345678@example.test/v1',
      'https://abcdefgh12345678@example.test/v1',
      'eyJhbGciOiJIUzI1NiJ9.abcdefgh12345678.abcdefgh12345678',
    ]
    for (const secret of secrets) {
      const { message } = classify({ status: 401, body: openai(`Incorrect: ${secret} was sent`) })
      expect(message).not.toContain('12345678')
      expect(message).toMatch(/^Incorrect: .*\*\*\*.* was sent$/)
    }
    expect(classify({ status: 400, body: openai('x'.repeat(3_000)) }).message).toHaveLength(2_000)
    expect(classify({ status: 400, body: openai(`${'x'.repeat(1_999)}😀`) }).message.isWellFormed()).toBe(true)
  })

  it('L78: names from outside are bounded too', () => {
    const long = 'x'.repeat(100_000)
    const error = { error: { message: 'no', code: long, type: long, param: long } }
    const { code, type, param, requestId } = classifyError({ data: error, responseHeaders: { 'x-request-id': long } })
    for (const name of [code, type, param, requestId]) expect(name).toBe('x'.repeat(200))
  })

  it('L78: words that only look like keys stay', () => {
    const messages = [
      'The task-list of the basic plan: key-value pairs, sk-learn',
      'Missing bearer or basic authentication in header',
      'See https://example.test/docs?page=errors and https://example.test/@scope/name',
    ]
    for (const message of messages) expect(classify({ status: 400, body: openai(message) }).message).toBe(message)
  })

  it('L78: the original is a cause that JSON does not show', () => {
    const original = apiError({ status: 500 })
    const error = classifyError(original)
    expect((error as { cause?: unknown }).cause).toBe(original)
    expect(Object.keys(error)).not.toContain('cause')
    expect(JSON.stringify(error)).not.toContain('requestBodyValues')
    expect(JSON.stringify(error)).not.toContain('prompt')
  })
})
