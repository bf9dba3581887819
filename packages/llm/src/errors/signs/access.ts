import type { Sign } from './sign.ts'

/** Missing access: keys, permissions, regions and models. */
export const noAccess: readonly Sign[] = [
  {
    kind: 'auth',
    groups: ['unauthorized', 'forbidden', 'bad-request'],
    phrase: /\b(?:token|credential|session)s?\b.{0,60}\bexpired|\bexpired.{0,20}\b(?:token|credential|session)/is,
    example: 'OAuth token has expired. Please obtain a new token or refresh your existing token.',
  },
  {
    kind: 'auth-permanent',
    groups: ['unauthorized', 'bad-request', 'forbidden', 'none'],
    phrase: /(?:incorrect|invalid) (?:x-)?api[- ]?key/i,
    example: 'Incorrect API key provided: sk-***. You can find your API key in your account.',
  },
  {
    kind: 'auth-permanent',
    groups: ['unauthorized', 'bad-request', 'forbidden', 'none'],
    phrase: /api key (?:is )?(?:not valid|invalid|expired)/i,
    example: 'API key not valid. Please pass a valid API key.',
  },
  {
    kind: 'permission',
    groups: ['bad-request'],
    phrase: /location is not supported|not available in your country|country, region, or territory/i,
    example: 'User location is not supported for the API use.',
  },
  {
    kind: 'model-not-found',
    groups: ['not-found', 'bad-request'],
    phrase: /\bmodels?\b(?:(?!\.\s).){0,120}(?:not found|does not exist|not a valid model)/is,
    example: 'models/gemini-99 is not found for API version v1beta, or is not supported for generateContent.',
  },
  {
    kind: 'model-not-found',
    groups: ['not-found', 'bad-request'],
    phrase: /is not a valid model/i,
    example: 'some/thing is not a valid model ID',
  },
  {
    kind: 'model-not-found',
    groups: ['not-found'],
    phrase: /^model: /i,
    example: 'model: claude-nine',
  },
]
