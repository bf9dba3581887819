import { describe, expect, it } from 'vitest'
import { classifyError, type ErrorKind, type ModelError } from '../src/index.ts'
import type { kindOfGroup } from '../src/errors/codes.ts'
import { signs } from '../src/errors/signs.ts'
import { anthropic, apiError, classify, google, openai, quota, type Answer } from './error-answers.ts'

type Row = readonly [name: string, answer: Answer, kind: ErrorKind, more?: Partial<ModelError>]

const rows: readonly Row[] = [
  [
    'OpenAI wrong key',
    {
      status: 401,
      body: openai('Incorrect API key provided: sk-abcdefgh1234.', 'invalid_request_error', 'invalid_api_key'),
    },
    'auth-permanent',
    { retryable: false, code: 'invalid_api_key' },
  ],
  [
    'OpenAI 401 without a sign',
    { status: 401, body: openai('You must be a member of an organization to use the API') },
    'auth',
    { recovery: 'refresh-auth' },
  ],
  [
    'expired token',
    { status: 401, body: openai('The access token has expired.', 'invalid_request_error') },
    'auth',
    { recovery: 'refresh-auth' },
  ],
  [
    'OpenAI quota',
    { status: 429, body: openai('You exceeded your current quota', 'insufficient_quota', 'insufficient_quota') },
    'billing',
    { retryable: false },
  ],
  [
    'OpenAI rate',
    {
      status: 429,
      body: openai('Rate limit reached for gpt-4o: Limit 500, Used 500. Please try again in 6m0s.', 'requests', 'rate_limit_exceeded'),
    },
    'rate-limit',
    { retryable: true, recovery: 'wait', retryAfterMs: 360_000 },
  ],
  [
    'OpenAI request above the rate',
    {
      status: 429,
      body: openai('Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.', 'tokens', 'rate_limit_exceeded'),
    },
    'context-overflow',
    { retryable: false, recovery: 'compact' },
  ],
  [
    'OpenAI request within the rate',
    {
      status: 429,
      body: openai('Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 20000.', 'tokens', 'rate_limit_exceeded'),
    },
    'rate-limit',
  ],
  [
    'OpenAI context',
    {
      status: 400,
      body: openai("This model's maximum context length is 128000 tokens.", 'invalid_request_error', 'context_length_exceeded', 'messages'),
    },
    'context-overflow',
    { param: 'messages' },
  ],
  [
    'OpenAI long string',
    {
      status: 400,
      body: openai('Invalid string: string too long', 'invalid_request_error', 'string_above_max_length'),
    },
    'bad-request',
  ],
  [
    'OpenAI unknown model',
    {
      status: 404,
      body: openai('The model `gpt-99` does not exist or you do not have access to it.', 'invalid_request_error', 'model_not_found'),
    },
    'model-not-found',
  ],
  [
    'OpenAI region',
    {
      status: 403,
      body: openai('Country, region, or territory not supported', 'request_forbidden', 'unsupported_country_region_territory'),
    },
    'permission',
  ],
  [
    'OpenAI overloaded',
    { status: 503, body: openai('The server is overloaded', 'service_unavailable', 'server_is_overloaded') },
    'overloaded',
    { retryable: true },
  ],
  [
    'OpenAI server error',
    { status: 500, body: openai('The server had an error', 'server_error') },
    'server-error',
    { retryable: true, recovery: 'wait' },
  ],
  [
    'OpenAI 5xx that is a validation error',
    { status: 500, body: openai('Invalid value for temperature', 'invalid_request_error') },
    'bad-request',
    { retryable: false },
  ],
  [
    'OpenAI missing reasoning',
    {
      status: 400,
      body: openai(
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        'invalid_request_error',
      ),
    },
    'history-invalid',
    { recovery: 'repair-history' },
  ],
  [
    'OpenAI blocked prompt',
    {
      status: 400,
      body: openai('Your prompt was flagged as potentially violating our usage policy.', 'invalid_request_error', 'invalid_prompt'),
    },
    'content-blocked',
  ],
  [
    'Anthropic wrong key',
    { status: 401, body: anthropic('authentication_error', 'invalid x-api-key') },
    'auth-permanent',
    { requestId: 'req_1', type: 'authentication_error' },
  ],
  [
    'Anthropic permission',
    { status: 403, body: anthropic('permission_error', 'Your API key does not have permission to use the resource.') },
    'permission',
  ],
  [
    'Anthropic rate',
    {
      status: 429,
      body: anthropic('rate_limit_error', 'Number of request tokens has exceeded your per-minute rate limit'),
      headers: { 'retry-after': '1' },
    },
    'rate-limit',
    { retryAfterMs: 1_000 },
  ],
  [
    'Anthropic overloaded',
    { status: 529, body: anthropic('overloaded_error', 'Overloaded') },
    'overloaded',
    { retryable: true, status: 529 },
  ],
  ['Anthropic api error', { status: 500, body: anthropic('api_error', 'Internal server error') }, 'server-error'],
  [
    'Anthropic low balance',
    {
      status: 400,
      body: anthropic('invalid_request_error', 'Your credit balance is too low to access the Anthropic API.'),
    },
    'billing',
  ],
  [
    'Anthropic spend limit',
    { status: 400, body: anthropic('invalid_request_error', 'You have reached your specified API usage limits.') },
    'billing',
  ],
  ['Anthropic billing error as 400', { status: 400, body: anthropic('billing_error', 'no money') }, 'billing'],
  [
    'Anthropic context',
    { status: 400, body: anthropic('invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum') },
    'context-overflow',
  ],
  [
    'Anthropic output budget',
    {
      status: 400,
      body: anthropic(
        'invalid_request_error',
        'input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length or `max_tokens` and try again',
      ),
    },
    'output-budget',
    { recovery: 'lower-output' },
  ],
  [
    'Anthropic input above the window',
    {
      status: 400,
      body: anthropic('invalid_request_error', 'input length and `max_tokens` exceed context limit: 210000 + 64000 > 200000'),
    },
    'context-overflow',
  ],
  [
    'Anthropic too large',
    { status: 413, body: anthropic('request_too_large', 'Request exceeds the maximum size') },
    'payload-too-large',
    { recovery: 'shrink' },
  ],
  [
    'Anthropic unpaired call',
    {
      status: 400,
      body: anthropic(
        'invalid_request_error',
        'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.',
      ),
    },
    'history-invalid',
  ],
  ['Anthropic unknown model', { status: 404, body: anthropic('not_found_error', 'model: claude-nine') }, 'model-not-found'],
  [
    'Google wrong key',
    {
      status: 400,
      body: google(400, 'INVALID_ARGUMENT', 'Request had an error.', [{ '@type': 'ErrorInfo', reason: 'API_KEY_INVALID' }]),
    },
    'auth-permanent',
  ],
  ['Google denied', { status: 403, body: google(403, 'PERMISSION_DENIED', 'Caller lacks permission') }, 'permission'],
  [
    'Google location',
    { status: 400, body: google(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.') },
    'permission',
  ],
  [
    'Google unknown model',
    { status: 404, body: google(404, 'NOT_FOUND', 'models/gemini-99 is not found for API version v1beta') },
    'model-not-found',
  ],
  [
    'Google per minute',
    {
      status: 429,
      body: google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded', [
        quota('RequestsPerMinute'),
        { '@type': 'RetryInfo', retryDelay: '34.07s' },
      ]),
    },
    'rate-limit',
    { retryAfterMs: 34_070 },
  ],
  [
    'Google per day',
    {
      status: 429,
      body: google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded', [
        quota('RequestsPerDay-FreeTier'),
        { '@type': 'RetryInfo', retryDelay: '34.07s' },
      ]),
    },
    'billing',
    { retryable: false },
  ],
  [
    'Google free tier without quota',
    { status: 429, body: google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for metric: x, limit: 0') },
    'billing',
  ],
  [
    'Google context',
    {
      status: 400,
      body: google(400, 'INVALID_ARGUMENT', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
    },
    'context-overflow',
  ],
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

describe('classifyError: recorded answers of providers', () => {
  it.each(rows.map((row) => [row[0], row] as const))('L74: %s', (_, [, answer, kind, more]) => {
    expect(classify(answer)).toMatchObject({ kind, provider: 'p', modelId: 'm', phase: 'before-output', ...more })
  })

  it.each(signs.map((sign) => [sign.example, sign] as const))(
    'L74: the pattern for "%s" matches its kind in each of its groups',
    (example, sign) => {
      const status: Partial<Record<keyof typeof kindOfGroup, number>> = {
        'bad-request': 400,
        unauthorized: 401,
        payment: 402,
        forbidden: 403,
        'not-found': 404,
        'too-large': 413,
        rate: 429,
        server: 500,
      }
      for (const group of sign.groups) {
        const error =
          group === 'none' ? new Error(example) : apiError({ ...(status[group] && { status: status[group] }), body: openai(example) })
        expect([group, classifyError(error).kind]).toEqual([group, sign.kind])
      }
    },
  )

  it('L74: the same error in the stream, as the clients pass it on', () => {
    const kinds = [
      { type: 'overloaded_error', message: 'Overloaded' },
      {
        message: 'Overloaded',
        type: 'overloaded_error',
        statusCode: 529,
        data: { type: 'overloaded_error', message: 'Overloaded' },
      },
      {
        message: 'x',
        data: { type: 'response.failed', response: { error: { code: 'rate_limit_exceeded', message: 'x' } } },
      },
      { message: 'x', data: { type: 'response.failed', response: { error: { code: 'server_error', message: 'x' } } } },
      { type: 'error', code: 'insufficient_quota', message: 'x' },
      { error: { code: 503, status: 'UNAVAILABLE', message: 'x' } },
      'upstream is overloaded',
    ].map((error) => classifyError(error).kind)
    expect(kinds).toEqual(['overloaded', 'overloaded', 'rate-limit', 'server-error', 'billing', 'overloaded', 'overloaded'])
  })
})
