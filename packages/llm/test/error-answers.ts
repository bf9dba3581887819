import { APICallError } from '@ai-sdk/provider'
import { classifyError, type ErrorContext, type ModelError } from '../src/index.ts'

export interface Answer {
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** Returns the error that provider clients throw for an HTTP response. */
export function apiError({ status, body, headers }: Answer): APICallError {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new APICallError({
    message: (body as { error?: { message?: string } })?.error?.message ?? 'Status Text',
    url: 'https://example.test/v1?key=overloaded-invalid-api-key',
    requestBodyValues: { prompt: 'overloaded rate limit prompt is too long: 9 tokens > 1 maximum' },
    ...(status !== undefined && { statusCode: status }),
    ...(headers && { responseHeaders: headers }),
    ...(text !== undefined && { responseBody: text }),
    // No client schema accepts a list, so only its text is passed on.
    ...(typeof body === 'object' && !Array.isArray(body) && { data: body }),
  })
}

export const openai = (message: string, type?: string | null, code?: string | null, param?: string | null): unknown => ({
  error: { message, type, code, param },
})
export const anthropic = (type: string, message: string, details?: object): unknown => ({
  type: 'error',
  error: { type, message, ...(details && { details }) },
  request_id: 'req_1',
})
export const google = (code: number, status: string, message: string, details?: readonly unknown[]): unknown => ({
  error: { code, status, message, details },
})
export const quota = (...quotaIds: string[]): unknown => ({
  '@type': 'QuotaFailure',
  violations: quotaIds.map((quotaId) => ({ quotaId })),
})
export const retryInfo = (retryDelay: string): unknown => ({ '@type': 'RetryInfo', retryDelay })

/** OpenAI's type, Anthropic's type and Google's word for each status. */
const words: Readonly<Record<number, readonly [openai: string, anthropic: string, google: string]>> = {
  400: ['invalid_request_error', 'invalid_request_error', 'INVALID_ARGUMENT'],
  401: ['invalid_request_error', 'authentication_error', 'UNAUTHENTICATED'],
  402: ['invalid_request_error', 'invalid_request_error', 'FAILED_PRECONDITION'],
  403: ['request_forbidden', 'permission_error', 'PERMISSION_DENIED'],
  404: ['invalid_request_error', 'not_found_error', 'NOT_FOUND'],
  413: ['invalid_request_error', 'invalid_request_error', 'INVALID_ARGUMENT'],
  429: ['tokens', 'rate_limit_error', 'RESOURCE_EXHAUSTED'],
  500: ['server_error', 'api_error', 'INTERNAL'],
}

/** Returns the same message in the response shape of each provider. */
export function inEveryShape(status: number, message: string): readonly (readonly [shape: string, answer: Answer])[] {
  const [openaiType, anthropicType, googleWord] = words[status]!
  return [
    ['OpenAI', { status, body: openai(message, openaiType, null) }],
    ['Anthropic', { status, body: anthropic(anthropicType, message) }],
    ['Google', { status, body: google(status, googleWord, message) }],
    ['Google, in a list', { status, body: [google(status, googleWord, message)] }],
    ['bare JSON', { status, body: { message } }],
    ['JSON with a text', { status, body: { error: message } }],
    ['plain text', { status, body: message }],
  ]
}

export const classify = (answer: Answer, context: ErrorContext = {}): ModelError =>
  classifyError(apiError(answer), { provider: 'p', modelId: 'm', now: 1_000_000, ...context })
