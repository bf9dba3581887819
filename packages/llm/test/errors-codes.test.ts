import { describe, expect, it } from 'vitest'
import { classifyError, type ErrorKind } from '../src/index.ts'
import { exactCodes, groupCodes } from '../src/errors/codes.ts'
import { anthropic, apiError, classify, google, openai } from './error-answers.ts'

/** Codes, types and words in responses of providers, by the kind that they determine. */
const codes: Readonly<Partial<Record<ErrorKind, readonly string[]>>> = {
  billing: [
    'insufficient_quota',
    'credit_balance_exhausted',
    'organization_spend_limit_exceeded',
    'project_spend_limit_exceeded',
    'organization_usage_limit_exceeded',
    'billing_hard_limit_reached',
    'billing_not_active',
    'billing_error',
    'enforced_spend_limit_reached',
    'BILLING_DISABLED',
  ],
  'context-overflow': ['context_length_exceeded', 'model_context_window_exceeded', 'exceed_context_size_error'],
  'payload-too-large': ['request_too_large'],
  'auth-permanent': ['invalid_api_key', 'API_KEY_INVALID'],
  auth: ['authentication_error', 'UNAUTHENTICATED', 'ExpiredTokenException'],
  permission: ['permission_error', 'PERMISSION_DENIED', 'unsupported_country_region_territory'],
  'model-not-found': ['model_not_found'],
  'history-invalid': ['previous_response_not_found', 'invalid_encrypted_content'],
  'content-blocked': ['content_policy_violation', 'content_filter', 'invalid_prompt', 'ResponsibleAIPolicyViolation'],
  'bad-request': [
    'string_above_max_length',
    'invalid_request_error',
    'not_found_error',
    'NOT_FOUND',
    'INVALID_ARGUMENT',
    'FAILED_PRECONDITION',
    'BadRequestError',
    'ValidationException',
    'validation_error',
    'validation',
  ],
  overloaded: ['overloaded_error', 'server_is_overloaded', 'slow_down', 'UNAVAILABLE'],
  timeout: ['timeout_error', 'DEADLINE_EXCEEDED'],
  'rate-limit': ['rate_limit_error', 'rate_limit_exceeded', 'RESOURCE_EXHAUSTED', 'ThrottlingException'],
  'server-error': ['api_error', 'server_error', 'INTERNAL'],
  network: ['CANCELLED'],
}

const rows = Object.entries(codes).flatMap(([kind, names]) => names.map((name) => [name, kind] as const))

const statuses: readonly (readonly [kind: ErrorKind, statuses: readonly number[]])[] = [
  ['bad-request', [400, 404, 405, 406, 410, 415, 418, 422, 428, 431, 451]],
  ['auth', [401]],
  ['billing', [402]],
  ['permission', [403]],
  ['timeout', [408, 504, 524]],
  ['server-error', [409, 425, 500, 501, 502, 505, 507, 520, 521, 522, 523, 525, 530, 598]],
  ['context-overflow', [413]],
  ['rate-limit', [429]],
  ['network', [499]],
  ['overloaded', [503, 529]],
]

const html = '<html><head><title>Oh no</title></head><body><center>nginx</center></body></html>'

describe('classifyError: codes', () => {
  it.each(rows)('L74: %s gives %s in every form of the error', (name, kind) => {
    const answers = [
      { body: openai('x', null, name) },
      { body: openai('x', name) },
      { body: anthropic(name, 'x') },
      { body: anthropic('invalid_request_error', 'x', { error_code: name }) },
      { body: { error: { status: name, message: 'x' } } },
      { body: [{ error: { status: name, message: 'x' } }] },
      { body: google(0, '', 'x', [{ '@type': 'ErrorInfo', reason: name }]) },
      { body: { message: 'x', type: name } },
      { body: { error: 'x', error_type: name } },
      { body: { message: 'x' }, headers: { 'x-amzn-errortype': `${name}:http://errors.example/` } },
    ]
    expect(answers.map((answer) => classify(answer).kind)).toEqual(answers.map(() => kind))
    expect([
      classifyError({ type: name, message: 'x' }).kind,
      classifyError({ code: name, message: 'x' }).kind,
      classifyError({ type: 'response.failed', response: { error: { code: name, message: 'x' } } }).kind,
      classifyError(JSON.stringify({ error: { code: name, message: 'x' } })).kind,
    ]).toEqual([kind, kind, kind, kind])
  })

  it('L74: every code of the tables has a test here', () => {
    const tested = new Set(rows.map(([name]) => name))
    const all = [...Object.keys(exactCodes), ...Object.keys(groupCodes)]
    // Google sends this one as a value; see the test below.
    expect(all.filter((name) => !tested.has(name) && name !== 'blockReason')).toEqual([])
  })

  it('L74: Azure names the filter inside the error, Google beside it', () => {
    const innererror = { code: 'ResponsibleAIPolicyViolation' }
    const azure = { error: { message: 'x', code: null, status: 400, innererror } }
    expect(classify({ status: 400, body: azure }).kind).toBe('content-blocked')
    expect(classify({ status: 400, body: { promptFeedback: { blockReason: 'SAFETY' } } }).kind).toBe('content-blocked')
  })

  it('L74: reads text that a gateway passes on', () => {
    const inner = anthropic('invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum')
    const metadata = { raw: JSON.stringify(inner), provider_name: 'Anthropic' }
    const wrapped = { error: { message: 'Provider returned error', code: 400, metadata } }
    expect(classify({ status: 400, body: wrapped })).toMatchObject({
      kind: 'context-overflow',
      message: 'prompt is too long: 208310 tokens > 200000 maximum',
    })
    const message = JSON.stringify([google(503, 'UNAVAILABLE', 'try later')])
    expect(classify({ status: 500, body: openai(message) }).kind).toBe('overloaded')
    expect(classifyError(new Error(message))).toMatchObject({ kind: 'overloaded', message: 'try later', status: 503 })
  })

  it('L74: reads fields that the schema of a client has dropped from the text', () => {
    const body = { type: 'error', error: { type: 'api_error', message: 'x' }, request_id: 'req_7' }
    const error = apiError({ status: 500, body })
    expect(classifyError(Object.assign(error, { data: { type: 'error', error: body.error } })).requestId).toBe('req_7')
  })
})

describe('classifyError: statuses', () => {
  it.each(statuses)('L74: %s of a status without text', (kind, numbers) => {
    for (const status of numbers) {
      const told = [undefined, '', html, '{}'].map((body) => classify({ status, body }).kind)
      expect([status, ...told]).toEqual([status, kind, kind, kind, kind])
    }
  })

  it('L74: a status may be only in the body, as number or text', () => {
    expect(classifyError({ error: { code: 429, message: 'x' } })).toMatchObject({ kind: 'rate-limit', status: 429 })
    expect(classifyError({ error: { code: '503', message: 'x' } })).toMatchObject({ kind: 'overloaded', status: 503 })
  })

  it('L74: a 5xx whose body is a validation error is a bad request', () => {
    const bodies = [
      openai('Invalid value for temperature', 'invalid_request_error'),
      openai('x', 'BadRequestError'),
      { error: '`temperature` must be strictly positive', error_type: 'validation' },
      google(500, 'INVALID_ARGUMENT', 'x'),
      'litellm.BadRequestError: x',
    ]
    for (const body of bodies) {
      expect(classify({ status: 500, body })).toMatchObject({ kind: 'bad-request', retryable: false })
    }
  })

  it('L74: reads the validation errors of FastAPI', () => {
    const body = { detail: [{ loc: ['body', 'messages'], msg: 'field required', type: 'value_error.missing' }] }
    expect(classify({ status: 422, body })).toMatchObject({ kind: 'bad-request', message: 'field required' })
  })

  it('L74: 413 means bytes at Anthropic and with its code, tokens elsewhere', () => {
    const kindOf = (body: unknown, provider: string): ErrorKind => classify({ status: 413, body }, { provider }).kind
    expect(kindOf(html, 'anthropic.messages')).toBe('payload-too-large')
    expect(kindOf(undefined, 'vertex.anthropic.messages')).toBe('payload-too-large')
    expect(kindOf(anthropic('request_too_large', 'Request exceeds the maximum size'), 'p')).toBe('payload-too-large')
    expect(kindOf(anthropic('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'), 'anthropic')).toBe('context-overflow')
    expect(kindOf(html, 'openai.chat')).toBe('context-overflow')
  })

  it('L73: the status that a client sets on an error in its stream comes after the words', () => {
    const message = 'prompt is too long: 9 tokens > 8 maximum'
    const headers = { 'content-type': 'text/event-stream; charset=utf-8' }
    expect(classify({ status: 500, headers, body: { message } }).kind).toBe('context-overflow')
    expect(classify({ status: 500, headers, body: { message: 'x' } }).kind).toBe('server-error')
    const marked = { message, statusCode: 500, data: { message } }
    expect(classifyError(marked).kind).toBe('server-error')
    Object.defineProperty(marked, Symbol.for('vercel.ai.providerStreamError'), { value: true })
    expect(classifyError(marked).kind).toBe('context-overflow')
  })

  it('L78: an HTML page gives its title if the status has no text', () => {
    const error = apiError({ status: 502, body: html })
    error.message = ''
    expect(classifyError(error).message).toBe('Oh no')
  })
})

describe('classifyError: errors without an answer', () => {
  it.each([
    ['Rate limit reached for requests', 'rate-limit'],
    ['Too many requests', 'rate-limit'],
    ['Request was throttled', 'rate-limit'],
    ['The model is overloaded. Please try again later.', 'overloaded'],
    ['terminated', 'stream-broken'],
    ['Premature close', 'stream-broken'],
    ['Response stream ended without a finish reason.', 'stream-broken'],
    ['invalid api key', 'auth-permanent'],
    ['insufficient credits', 'billing'],
    ['fetch failed', 'network'],
    ['Failed to fetch', 'network'],
    ['Load failed', 'network'],
    ['NetworkError when attempting to fetch resource.', 'network'],
    ['network error', 'network'],
    ['socket hang up', 'network'],
    ['the fetch failed somehow', 'unknown'],
  ] as const)('L74: "%s" is %s', (message, kind) => {
    expect(classifyError(new Error(message)).kind).toBe(kind)
    expect(classifyError(new Error('x', { cause: new Error(message) })).kind).toBe(kind)
    expect(classifyError({ message }).kind).toBe(kind)
  })

  it.each([
    ['network', 'ECONNREFUSED ECONNRESET ECONNABORTED ENOTFOUND EAI_AGAIN EAI_FAIL EPIPE EHOSTUNREACH ENETUNREACH'],
    ['network', 'UND_ERR_SOCKET UND_ERR_CONNECT EPROTO ERR_SSL_WRONG_VERSION_NUMBER ERR_TLS_HANDSHAKE_TIMEOUT'],
    ['network', 'ConnectionRefused ConnectionClosed FailedToOpenSocket'],
    ['timeout', 'ETIMEDOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT'],
    ['stream-broken', 'ERR_STREAM_PREMATURE_CLOSE'],
  ] as const)('L73: %s by the code %s', (kind, names) => {
    for (const code of names.split(' ')) {
      const system = Object.assign(new Error(`connect ${code}`), { code })
      const error = new TypeError('fetch failed', { cause: new Error('in between', { cause: system }) })
      expect(classifyError(error)).toMatchObject({ kind, retryable: true, code })
      expect(classifyError(new Error('gave up', { cause: system }))).toMatchObject({ kind, code })
    }
  })

  it.each([
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'HOSTNAME_MISMATCH',
    'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN',
    'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
  ])('L73: %s is a network error that is not retryable', (code) => {
    const cause = Object.assign(new Error('certificate'), { code })
    const error = classifyError(new TypeError('fetch failed', { cause }))
    expect(error).toMatchObject({ kind: 'network', retryable: false, code })
    expect(error).not.toHaveProperty('recovery')
  })

  it.each([
    ['config', 'AI_LoadAPIKeyError AI_LoadSettingError AI_NoSuchModelError AI_UnsupportedFunctionalityError LlmError'],
    ['malformed-response', 'AI_JSONParseError AI_TypeValidationError AI_InvalidResponseDataError'],
    ['empty-response', 'AI_EmptyResponseBodyError AI_NoContentGeneratedError'],
    ['timeout', 'TimeoutError'],
    ['network', 'AbortError'],
  ] as const)('L73: %s by the class %s', (kind, names) => {
    for (const name of names.split(' ')) {
      expect(classifyError(Object.assign(new Error('x'), { name })).kind).toBe(kind)
      expect(classifyError(new Error('y', { cause: Object.assign(new Error('x'), { name }) })).kind).toBe(kind)
    }
  })
})
