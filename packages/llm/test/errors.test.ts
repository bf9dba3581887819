import { LoadAPIKeyError, NoSuchModelError } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { classifyError, type ModelError } from '../src/index.ts'
import { anthropic, apiError, classify, openai } from './error-answers.ts'

describe('classifyError: decisions', () => {
  const overloaded = { status: 529, body: anthropic('overloaded_error', 'busy') }
  const system = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code })

  it('L73: our own signal comes first', () => {
    expect(classify(overloaded, { abortSignal: AbortSignal.abort() }).kind).toBe('aborted')
    expect(classify(overloaded, { abortSignal: new AbortController().signal }).kind).toBe('overloaded')
  })

  it('L73: a structured code stands before the status, the status before an error code', () => {
    expect(classify({ status: 400, body: openai('x', 'rate_limit_error') }).kind).toBe('rate-limit')
    expect(classifyError(Object.assign(apiError({ status: 503 }), { cause: system('ECONNRESET') })).kind).toBe(
      'overloaded',
    )
  })

  it('L73: phrases count only in their status group', () => {
    expect(classify({ status: 500, body: openai('prompt is too long: 9 tokens > 8 maximum') }).kind).toBe(
      'server-error',
    )
    expect(classify({ status: 403, body: openai('The model `x` does not exist') }).kind).toBe('permission')
  })

  it.each([
    ['ECONNREFUSED', 'network'],
    ['ECONNRESET', 'network'],
    ['ENOTFOUND', 'network'],
    ['EAI_AGAIN', 'network'],
    ['EPIPE', 'network'],
    ['UND_ERR_SOCKET', 'network'],
    ['ETIMEDOUT', 'timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
  ] as const)('L73: %s is found along the causes', (code, kind) => {
    const error = new TypeError('fetch failed', { cause: new Error('in between', { cause: system(code) }) })
    expect(classifyError(error)).toMatchObject({ kind, retryable: true, recovery: 'wait' })
    expect(classifyError(new Error('gave up', { cause: new Error('x', { cause: system(code) }) })).kind).toBe(kind)
  })

  it('L73: a bad certificate is a network error that waiting does not heal', () => {
    const error = classifyError(new Error('fetch failed', { cause: system('CERT_HAS_EXPIRED') }))
    expect(error).toMatchObject({ kind: 'network', retryable: false })
    expect(error).not.toHaveProperty('recovery')
  })

  it('L73: RetryError gives its last error, AggregateError its first', () => {
    expect(classifyError(Object.assign(new Error('gave up after 3'), { lastError: apiError(overloaded) })).kind).toBe(
      'overloaded',
    )
    expect(classifyError(new AggregateError([system('ECONNREFUSED'), new Error('x')])).kind).toBe('network')
  })

  it('L73: causes are followed at most 8 deep, cycles do no harm', () => {
    const nest = (depth: number): Error =>
      depth === 0 ? system('ECONNRESET') : new Error('wrapper', { cause: nest(depth - 1) })
    expect(classifyError(nest(7)).kind).toBe('network')
    expect(classifyError(nest(8)).kind).toBe('unknown')
    const loop = new Error('loop')
    loop.cause = new Error('back', { cause: loop })
    expect(classifyError(loop).kind).toBe('unknown')
  })

  it('L73: a success status on an error says nothing', () => {
    expect(
      classifyError(Object.assign(apiError({ status: 200, body: openai('x') }), { cause: system('ECONNRESET') })).kind,
    ).toBe('network')
    expect(classify({ status: 200, body: openai('x') })).not.toHaveProperty('status')
  })

  it('L73: wrong settings and broken answers are told by their class', () => {
    expect(classifyError(new LoadAPIKeyError({ message: 'no key' })).kind).toBe('config')
    expect(classifyError(new NoSuchModelError({ modelId: 'x', modelType: 'languageModel' })).kind).toBe('config')
    expect(classifyError(Object.assign(new Error('x'), { name: 'AI_JSONParseError' })).kind).toBe('malformed-response')
    expect(classifyError(new TypeError('terminated', { cause: system('UND_ERR_SOCKET') })).kind).toBe('stream-broken')
  })

  it('L73: an unknown error may be tried again only when no HTTP answer came', () => {
    expect(classifyError(new Error('what'))).toMatchObject({ kind: 'unknown', retryable: true })
    expect(classifyError(apiError({ status: 399 }))).toMatchObject({ kind: 'unknown', retryable: false })
  })

  it('L75: phrases are not looked for in the URL or in the request', () => {
    expect(classify({ status: 400, body: openai('Something else') }).kind).toBe('bad-request')
    expect(JSON.stringify(classify({ status: 400, body: openai('Something else') }))).not.toContain('prompt')
  })

  it('L75: Anthropic answers 413 with HTML, which is about bytes', () => {
    expect(
      classify({ status: 413, body: '<html>413 Request Entity Too Large</html>' }, { provider: 'anthropic.messages' })
        .kind,
    ).toBe('payload-too-large')
  })
})

describe('classifyError: delays', () => {
  const at = Date.parse('2030-01-01T00:00:00Z')
  const delayOf = (headers: Record<string, string>, message = 'slow down'): number | undefined =>
    classify({ status: 429, body: openai(message), headers }, { now: at }).retryAfterMs

  it.each([
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'Retry-After': '1.5' }, 1_500],
    [{ 'retry-after': 'Tue, 01 Jan 2030 00:00:07 GMT' }, 7_000],
    [{ 'retry-after': 'Tue, 01 Jan 2030 00:00:07 GMT', date: 'Tue, 01 Jan 2030 00:00:02 GMT' }, 5_000],
    [
      {
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-tokens': '6m0s',
        'x-ratelimit-remaining-tokens': '9',
      },
      1_000,
    ],
    [
      {
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-tokens': '6m0s',
        'x-ratelimit-remaining-tokens': '0',
      },
      360_000,
    ],
    [{ 'anthropic-ratelimit-requests-reset': '2030-01-01T00:00:30Z' }, 30_000],
  ])('L76: %j', (headers, expected) => {
    expect(delayOf(headers)).toBe(expected)
  })

  it.each([
    ['Please try again in 6m0s.', 360_000],
    ['retry in 800ms', 800],
    ['Your quota will reset after 18h31m10s.', 66_670_000],
    ['Please try again in 20 seconds.', 20_000],
  ])('L76: "%s"', (message, expected) => {
    expect(delayOf({}, message)).toBe(expected)
  })

  it('L76: a delay that is negative, not a number or in the past is ignored', () => {
    expect(delayOf({ 'retry-after': '-1' })).toBeUndefined()
    expect(delayOf({ 'retry-after': 'soon' })).toBeUndefined()
    expect(delayOf({ 'retry-after': 'Tue, 01 Jan 2019 00:00:07 GMT' })).toBeUndefined()
    expect(delayOf({ 'retry-after-ms': 'x', 'retry-after': '2' })).toBe(2_000)
  })

  it('L76: x-should-retry forbids every kind, and allows only some', () => {
    const retryable = (status: number, advice: string): boolean =>
      classify({ status, headers: { 'x-should-retry': advice } }).retryable
    expect(retryable(529, 'false')).toBe(false)
    expect(retryable(500, 'true')).toBe(true)
    expect(retryable(400, 'true')).toBe(false)
    expect(classify({ status: 529, headers: { 'x-should-retry': 'false' } })).not.toHaveProperty('recovery')
  })
})

describe('classifyError: any value', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic['cause'] = cyclic
  const throwing = Object.defineProperty({}, 'message', {
    get: () => {
      throw new Error('no')
    },
    enumerable: true,
  })
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()

  it.each([
    ['a string', 'broken'],
    ['null', null],
    ['undefined', undefined],
    ['a number', 7],
    ['a symbol', Symbol('x')],
    ['a function', () => 1],
    ['a frozen error', Object.freeze(new Error('x'))],
    ['a cycle', cyclic],
    ['a throwing getter', throwing],
    ['a revoked proxy', revoked.proxy],
    ['an empty object', {}],
    ['a list', [1, 2]],
  ])('L77: %s does not make it throw', (_, value) => {
    expect(classifyError(value)).toMatchObject({ kind: 'unknown', phase: 'before-output' })
  })

  it('L77: a ModelError comes back unchanged', () => {
    const error = classifyError(new Error('x'))
    expect(classifyError(error)).toBe(error)
    const revived = JSON.parse(JSON.stringify(error)) as ModelError
    expect(classifyError(revived)).toBe(revived)
  })

  it('L78: the message is bounded and keys are masked', () => {
    const message = `Incorrect API key sk-proj-abcdefgh12345678, Authorization: Bearer abc.def-ghi_jkl, x-api-key: AIzaSyA-1234567890abcdef ${'x'.repeat(3_000)}`
    const error = classify({ status: 401, body: openai(message) })
    expect(error.message).toHaveLength(2_000)
    expect(error.message).not.toMatch(/abcdefgh12345678|abc\.def|AIzaSyA/)
    expect(error.message).toContain('sk-***')
  })

  it('L78: the original is a cause that JSON does not show', () => {
    const original = apiError({ status: 500 })
    const error = classifyError(original)
    expect((error as { cause?: unknown }).cause).toBe(original)
    expect(Object.keys(error)).not.toContain('cause')
    expect(JSON.stringify(error)).not.toContain('requestBodyValues')
  })
})
