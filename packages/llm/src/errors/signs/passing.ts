import type { Sign } from './sign.ts'

/** What another try may heal, where no code and no status says so. */
export const passing: readonly Sign[] = [
  {
    kind: 'rate-limit',
    groups: ['none'],
    phrase: /rate limit|too many requests|throttl/i,
    example: 'Rate limit reached for requests',
  },
  {
    kind: 'overloaded',
    groups: ['none', 'server'],
    phrase: /overloaded/i,
    example: 'The model is overloaded. Please try again later.',
  },
  {
    // What Anthropic's client says of a first event that is no JSON, without a cause.
    kind: 'malformed-response',
    groups: ['none'],
    phrase: /^expected a normalized anthropic stream error$/i,
    example: 'Expected a normalized Anthropic stream error',
  },
]

/** Servers that answer 5xx although the request is to blame. */
export const blamedOnServer: readonly Sign[] = [
  {
    kind: 'bad-request',
    groups: ['server'],
    phrase: /\bvalidation error|BadRequestError|invalid_request_error/i,
    example: 'Input validation error: `temperature` must be strictly positive',
  },
]
