import type { Sign } from './sign.ts'

/** Transient errors that no code or status identifies. */
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
    // Message of Anthropic's client if the first event is not JSON. It has no cause.
    kind: 'malformed-response',
    groups: ['none'],
    phrase: /^expected a normalized anthropic stream error$/i,
    example: 'Expected a normalized Anthropic stream error',
  },
]

/** Servers that answer 5xx although the request is wrong. */
export const blamedOnServer: readonly Sign[] = [
  {
    kind: 'bad-request',
    groups: ['server'],
    phrase: /\bvalidation error|BadRequestError|invalid_request_error/i,
    example: 'Input validation error: `temperature` must be strictly positive',
  },
]
