import { APICallError } from '@ai-sdk/provider'
import { classifyError, type ErrorContext, type ModelError } from '../src/index.ts'

export interface Answer {
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** The error that the provider clients throw for an HTTP answer. */
export function apiError({ status, body, headers }: Answer): APICallError {
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

export const openai = (
  message: string,
  type?: string | null,
  code?: string | null,
  param?: string | null,
): unknown => ({
  error: { message, type, code, param },
})
export const anthropic = (type: string, message: string): unknown => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_1',
})
export const google = (code: number, status: string, message: string, details?: readonly unknown[]): unknown => ({
  error: { code, status, message, details },
})
export const quota = (...quotaIds: string[]): unknown => ({
  '@type': 'QuotaFailure',
  violations: quotaIds.map((quotaId) => ({ quotaId })),
})

export const classify = (answer: Answer, context: ErrorContext = {}): ModelError =>
  classifyError(apiError(answer), { provider: 'p', modelId: 'm', now: 1_000_000, ...context })
