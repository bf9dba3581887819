import { APICallError, LoadAPIKeyError, NoSuchModelError } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { classifyError, type ErrorContext, type ErrorKind, type ModelError } from '../src/index.ts'
import type { kindOfGroup } from '../src/errors/codes.ts'
import { signs } from '../src/errors/signs.ts'

interface Answer {
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** The error that the provider clients throw for an HTTP answer. */
function apiError({ status, body, headers }: Answer): APICallError {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new APICallError({
    message: (body as { error?: { message?: string } })?.error?.message ?? 'Status Text',
    url: 'https://example.test/v1?key=overloaded-invalid-api-key',
    requestBodyValues: { prompt: 'overloaded rate limit prompt is too long: 9 tokens > 1 maximum' },
    ...(status !== undefined && { statusCode: status }),
    ...(headers && { responseHeaders: headers }),
    ...(text !== undefined && { responseBody: text }),
    ...(typeof body === 'object' && { data: body }),
  })
}

const openai = (message: string, type?: string | null, code?: string | null, param?: string | null): unknown => ({ error: { message, type, code, param } })
const anthropic = (type: string, message: string): unknown => ({ type: 'error', error: { type, message }, request_id: 'req_1' })
const google = (code: number, status: string, message: string, details?: readonly unknown[]): unknown => ({ error: { code, status, message, details } })
const quota = (...quotaIds: string[]): unknown => ({ '@type': 'QuotaFailure', violations: quotaIds.map((quotaId) => ({ quotaId })) })

type Row = readonly [name: string, answer: Answer, kind: ErrorKind, more?: Partial<ModelError>]

const rows: readonly Row[] = [
  ['OpenAI wrong key', { status: 401, body: openai('Incorrect API key provided: sk-abcdefgh1234.', 'invalid_request_error', 'invalid_api_key') }, 'auth-permanent', { retryable: false, code: 'invalid_api_key' }],
  ['OpenAI 401 without a sign', { status: 401, body: openai('You must be a member of an organization to use the API') }, 'auth', { recovery: 'refresh-auth' }],
  ['expired token', { status: 401, body: openai('The access token has expired.', 'invalid_request_error') }, 'auth', { recovery: 'refresh-auth' }],
  ['OpenAI quota', { status: 429, body: openai('You exceeded your current quota', 'insufficient_quota', 'insufficient_quota') }, 'billing', { retryable: false }],
  ['OpenAI rate', { status: 429, body: openai('Rate limit reached for gpt-4o: Limit 500, Used 500. Please try again in 6m0s.', 'requests', 'rate_limit_exceeded') }, 'rate-limit', { retryable: true, recovery: 'wait', retryAfterMs: 360_000 }],
  ['OpenAI request above the rate', { status: 429, body: openai('Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.', 'tokens', 'rate_limit_exceeded') }, 'context-overflow', { retryable: false, recovery: 'compact' }],
  ['OpenAI request within the rate', { status: 429, body: openai('Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 20000.', 'tokens', 'rate_limit_exceeded') }, 'rate-limit'],
  ['OpenAI context', { status: 400, body: openai("This model's maximum context length is 128000 tokens.", 'invalid_request_error', 'context_length_exceeded', 'messages') }, 'context-overflow', { param: 'messages' }],
  ['OpenAI long string', { status: 400, body: openai('Invalid string: string too long', 'invalid_request_error', 'string_above_max_length') }, 'bad-request'],
  ['OpenAI unknown model', { status: 404, body: openai('The model `gpt-99` does not exist or you do not have access to it.', 'invalid_request_error', 'model_not_found') }, 'model-not-found'],
  ['OpenAI region', { status: 403, body: openai('Country, region, or territory not supported', 'request_forbidden', 'unsupported_country_region_territory') }, 'permission'],
  ['OpenAI overloaded', { status: 503, body: openai('The server is overloaded', 'service_unavailable', 'server_is_overloaded') }, 'overloaded', { retryable: true }],
  ['OpenAI server error', { status: 500, body: openai('The server had an error', 'server_error') }, 'server-error', { retryable: true, recovery: 'wait' }],
  ['OpenAI 5xx that is a validation error', { status: 500, body: openai('Invalid value for temperature', 'invalid_request_error') }, 'bad-request', { retryable: false }],
  ['OpenAI missing reasoning', { status: 400, body: openai("Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.", 'invalid_request_error') }, 'history-invalid', { recovery: 'repair-history' }],
  ['OpenAI blocked prompt', { status: 400, body: openai('Your prompt was flagged as potentially violating our usage policy.', 'invalid_request_error', 'invalid_prompt') }, 'content-blocked'],
  ['Anthropic wrong key', { status: 401, body: anthropic('authentication_error', 'invalid x-api-key') }, 'auth-permanent', { requestId: 'req_1', type: 'authentication_error' }],
  ['Anthropic permission', { status: 403, body: anthropic('permission_error', 'Your API key does not have permission to use the resource.') }, 'permission'],
  ['Anthropic rate', { status: 429, body: anthropic('rate_limit_error', 'Number of request tokens has exceeded your per-minute rate limit'), headers: { 'retry-after': '1' } }, 'rate-limit', { retryAfterMs: 1_000 }],
  ['Anthropic overloaded', { status: 529, body: anthropic('overloaded_error', 'Overloaded') }, 'overloaded', { retryable: true, status: 529 }],
  ['Anthropic api error', { status: 500, body: anthropic('api_error', 'Internal server error') }, 'server-error'],
  ['Anthropic low balance', { status: 400, body: anthropic('invalid_request_error', 'Your credit balance is too low to access the Anthropic API.') }, 'billing'],
  ['Anthropic spend limit', { status: 400, body: anthropic('invalid_request_error', 'You have reached your specified API usage limits.') }, 'billing'],
  ['Anthropic billing error as 400', { status: 400, body: anthropic('billing_error', 'no money') }, 'billing'],
  ['Anthropic context', { status: 400, body: anthropic('invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum') }, 'context-overflow'],
  ['Anthropic output budget', { status: 400, body: anthropic('invalid_request_error', 'input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length or `max_tokens` and try again') }, 'output-budget', { recovery: 'lower-output' }],
  ['Anthropic input above the window', { status: 400, body: anthropic('invalid_request_error', 'input length and `max_tokens` exceed context limit: 210000 + 64000 > 200000') }, 'context-overflow'],
  ['Anthropic too large', { status: 413, body: anthropic('request_too_large', 'Request exceeds the maximum size') }, 'payload-too-large', { recovery: 'shrink' }],
  ['Anthropic unpaired call', { status: 400, body: anthropic('invalid_request_error', 'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.') }, 'history-invalid'],
  ['Anthropic unknown model', { status: 404, body: anthropic('not_found_error', 'model: claude-nine') }, 'model-not-found'],
  ['Google wrong key', { status: 400, body: google(400, 'INVALID_ARGUMENT', 'Request had an error.', [{ '@type': 'ErrorInfo', reason: 'API_KEY_INVALID' }]) }, 'auth-permanent'],
  ['Google denied', { status: 403, body: google(403, 'PERMISSION_DENIED', 'Caller lacks permission') }, 'permission'],
  ['Google location', { status: 400, body: google(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.') }, 'permission'],
  ['Google unknown model', { status: 404, body: google(404, 'NOT_FOUND', 'models/gemini-99 is not found for API version v1beta') }, 'model-not-found'],
  ['Google per minute', { status: 429, body: google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded', [quota('RequestsPerMinute'), { '@type': 'RetryInfo', retryDelay: '34.07s' }]) }, 'rate-limit', { retryAfterMs: 34_070 }],
  ['Google per day', { status: 429, body: google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded', [quota('RequestsPerDay-FreeTier'), { '@type': 'RetryInfo', retryDelay: '34.07s' }]) }, 'billing', { retryable: false }],
  ['Google free tier without quota', { status: 429, body: google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for metric: x, limit: 0') }, 'billing'],
  ['Google context', { status: 400, body: google(400, 'INVALID_ARGUMENT', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).') }, 'context-overflow'],
  ['Google unavailable in a list', { status: 503, body: [google(503, 'UNAVAILABLE', 'The model is overloaded.')] }, 'overloaded'],
  ['Google deadline', { status: 504, body: google(504, 'DEADLINE_EXCEEDED', 'Deadline expired') }, 'timeout'],
  ['Google internal', { status: 500, body: google(500, 'INTERNAL', 'An internal error has occurred') }, 'server-error'],
  ['HTML of a front', { status: 503, body: '<html><body>Service Unavailable: invalid api key</body></html>' }, 'overloaded'],
  ['plain text', { status: 429, body: 'Too many requests, retry in 800ms' }, 'rate-limit', { retryAfterMs: 800 }],
  ['402', { status: 402, body: openai('This request requires more credits') }, 'billing'],
  ['408', { status: 408 }, 'timeout'],
  ['409', { status: 409 }, 'server-error'],
  ['413 of an unknown server', { status: 413 }, 'context-overflow'],
  ['422', { status: 422 }, 'bad-request', { retryable: false }],
  ['502', { status: 502 }, 'server-error'],
  ['524', { status: 524 }, 'timeout'],
]

const classify = (answer: Answer, context: ErrorContext = {}): ModelError => classifyError(apiError(answer), { provider: 'p', modelId: 'm', now: 1_000_000, ...context })

describe('classifyError: what providers answer', () => {
  it.each(rows.map((row) => [row[0], row] as const))('L74: %s', (_, [, answer, kind, more]) => {
    expect(classify(answer)).toMatchObject({ kind, provider: 'p', modelId: 'm', phase: 'before-output', ...more })
  })

  it.each(signs.map((sign) => [sign.example, sign] as const))('L74: the sign for "%s" finds its kind in each of its groups', (example, sign) => {
    const status: Partial<Record<keyof typeof kindOfGroup, number>> = {
      'bad-request': 400, unauthorized: 401, payment: 402, forbidden: 403, 'not-found': 404, 'too-large': 413, rate: 429, server: 500,
    }
    for (const group of sign.groups) {
      const error = group === 'none' ? new Error(example) : apiError({ ...(status[group] && { status: status[group] }), body: openai(example) })
      expect([group, classifyError(error).kind]).toEqual([group, sign.kind])
    }
  })

  it('L74: the same error in the stream, as the clients hand it on', () => {
    const kinds = [
      { type: 'overloaded_error', message: 'Overloaded' },
      { message: 'Overloaded', type: 'overloaded_error', statusCode: 529, data: { type: 'overloaded_error', message: 'Overloaded' } },
      { message: 'x', data: { type: 'response.failed', response: { error: { code: 'rate_limit_exceeded', message: 'x' } } } },
      { message: 'x', data: { type: 'response.failed', response: { error: { code: 'server_error', message: 'x' } } } },
      { type: 'error', code: 'insufficient_quota', message: 'x' },
      { error: { code: 503, status: 'UNAVAILABLE', message: 'x' } },
      'upstream is overloaded',
    ].map((error) => classifyError(error).kind)
    expect(kinds).toEqual(['overloaded', 'overloaded', 'rate-limit', 'server-error', 'billing', 'overloaded', 'overloaded'])
  })
})

describe('classifyError: decisions', () => {
  const overloaded = { status: 529, body: anthropic('overloaded_error', 'busy') }
  const system = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code })

  it('L73: our own signal comes first', () => {
    expect(classify(overloaded, { abortSignal: AbortSignal.abort() }).kind).toBe('aborted')
    expect(classify(overloaded, { abortSignal: new AbortController().signal }).kind).toBe('overloaded')
  })

  it('L73: a structured code stands before the status, the status before an error code', () => {
    expect(classify({ status: 400, body: openai('x', 'rate_limit_error') }).kind).toBe('rate-limit')
    expect(classifyError(Object.assign(apiError({ status: 503 }), { cause: system('ECONNRESET') })).kind).toBe('overloaded')
  })

  it('L73: phrases count only in their status group', () => {
    expect(classify({ status: 500, body: openai('prompt is too long: 9 tokens > 8 maximum') }).kind).toBe('server-error')
    expect(classify({ status: 403, body: openai('The model `x` does not exist') }).kind).toBe('permission')
  })

  it.each([
    ['ECONNREFUSED', 'network'], ['ECONNRESET', 'network'], ['ENOTFOUND', 'network'], ['EAI_AGAIN', 'network'], ['EPIPE', 'network'],
    ['UND_ERR_SOCKET', 'network'], ['ETIMEDOUT', 'timeout'], ['UND_ERR_CONNECT_TIMEOUT', 'timeout'], ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
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
    expect(classifyError(Object.assign(new Error('gave up after 3'), { lastError: apiError(overloaded) })).kind).toBe('overloaded')
    expect(classifyError(new AggregateError([system('ECONNREFUSED'), new Error('x')])).kind).toBe('network')
  })

  it('L73: causes are followed at most 8 deep, cycles do no harm', () => {
    const nest = (depth: number): Error => (depth === 0 ? system('ECONNRESET') : new Error('wrapper', { cause: nest(depth - 1) }))
    expect(classifyError(nest(7)).kind).toBe('network')
    expect(classifyError(nest(8)).kind).toBe('unknown')
    const loop = new Error('loop')
    loop.cause = new Error('back', { cause: loop })
    expect(classifyError(loop).kind).toBe('unknown')
  })

  it('L73: a success status on an error says nothing', () => {
    expect(classifyError(Object.assign(apiError({ status: 200, body: openai('x') }), { cause: system('ECONNRESET') })).kind).toBe('network')
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
    expect(classify({ status: 413, body: '<html>413 Request Entity Too Large</html>' }, { provider: 'anthropic.messages' }).kind).toBe('payload-too-large')
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
    [{ 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-remaining-tokens': '9' }, 1_000],
    [{ 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-remaining-tokens': '0' }, 360_000],
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
    const retryable = (status: number, advice: string): boolean => classify({ status, headers: { 'x-should-retry': advice } }).retryable
    expect(retryable(529, 'false')).toBe(false)
    expect(retryable(500, 'true')).toBe(true)
    expect(retryable(400, 'true')).toBe(false)
    expect(classify({ status: 529, headers: { 'x-should-retry': 'false' } })).not.toHaveProperty('recovery')
  })
})

describe('classifyError: any value', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic['cause'] = cyclic
  const throwing = Object.defineProperty({}, 'message', { get: () => { throw new Error('no') }, enumerable: true })
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()

  it.each([
    ['a string', 'broken'], ['null', null], ['undefined', undefined], ['a number', 7], ['a symbol', Symbol('x')], ['a function', () => 1],
    ['a frozen error', Object.freeze(new Error('x'))], ['a cycle', cyclic], ['a throwing getter', throwing], ['a revoked proxy', revoked.proxy],
    ['an empty object', {}], ['a list', [1, 2]],
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
