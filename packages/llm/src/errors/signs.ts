import type { ErrorKind } from '../model-error.ts'
import type { Group } from './codes.ts'

/** A phrase that tells a kind within its groups. `example` is a message as the provider words it. */
export interface Sign {
  readonly kind: ErrorKind
  readonly groups: readonly Group[]
  readonly phrase: RegExp
  readonly where?: (message: string) => boolean
  readonly example: string
}

const requests: readonly Group[] = ['bad-request', 'too-large', 'none']
const billed: readonly Group[] = ['rate', 'payment', 'bad-request', 'forbidden', 'none']

const anyOf = (...phrases: readonly RegExp[]): RegExp => new RegExp(phrases.map(({ source }) => source).join('|'), 'is')

const overflow = (phrase: RegExp, example: string): Sign => ({
  kind: 'context-overflow',
  groups: requests,
  phrase,
  where: (message) => !/tokens per min|rate limit|throttl/i.test(message),
  example,
})

/** In order: the first sign that fits decides. */
export const signs: readonly Sign[] = [
  {
    kind: 'output-budget',
    groups: requests,
    phrase: /input length and `?max_tokens`? exceed context limit: ([\d,]+) \+ ([\d,]+) > ([\d,]+)/i,
    where: (message) => numberAt(message, /limit: ([\d,]+)/) < numberAt(message, /> ([\d,]+)/),
    example: 'input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease one of them',
  },
  overflow(/exceed context limit/i, 'input length and `max_tokens` exceed context limit: 210000 + 64000 > 200000'),
  overflow(
    /maximum context length is [\d,]+ tokens/i,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
  ),
  overflow(
    /exceeds the context window/i,
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
  ),
  overflow(/input tokens exceed the configured limit/i, 'Input tokens exceed the configured limit of 272000 tokens.'),
  overflow(/reduce the length of the messages/i, 'Please reduce the length of the messages or completion.'),
  overflow(
    /prompt is too long: [\d,]+ tokens > [\d,]+ maximum|input is too long/i,
    'prompt is too long: 208310 tokens > 200000 maximum',
  ),
  overflow(
    /input token count \(?[\d,]+\)? exceeds the maximum number of tokens allowed/i,
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  ),
  {
    kind: 'context-overflow',
    groups: ['rate'],
    phrase: /request too large.*tokens per min/i,
    where: (message) => numberAt(message, /requested ([\d,]+)/i) > numberAt(message, /limit ([\d,]+)/i),
    example:
      'Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45000.',
  },
  {
    kind: 'billing',
    groups: billed,
    phrase: anyOf(
      /insufficient (credits?|balance|funds|quota)/,
      /credits? (?:are |have been )?(?:exhausted|depleted)/,
      /credit balance is too low/,
      /payment required/,
      /exceeded your current quota/,
      /requires more credits/,
    ),
    example: 'Your credit balance is too low to access the Anthropic API.',
  },
  {
    kind: 'billing',
    groups: ['bad-request'],
    phrase: /usage limits/i,
    example: 'You have reached your specified API usage limits. You will regain access on 2030-01-01.',
  },
  {
    kind: 'billing',
    groups: ['rate'],
    phrase: /\blimit: 0\b/i,
    example: 'Quota exceeded for metric: generate_content_free_tier_requests, limit: 0',
  },
  { kind: 'auth', groups: ['unauthorized'], phrase: /expired/i, example: 'The access token has expired.' },
  {
    kind: 'auth-permanent',
    groups: ['unauthorized', 'bad-request', 'forbidden', 'none'],
    phrase: /(?:incorrect|invalid) (?:x-)?api[- ]?key|api key not valid|api key (?:is )?invalid/i,
    example: 'API key not valid. Please pass a valid API key.',
  },
  {
    kind: 'permission',
    groups: ['bad-request'],
    phrase: /location is not supported|country, region, or territory/i,
    example: 'User location is not supported for the API use.',
  },
  {
    kind: 'model-not-found',
    groups: ['not-found', 'bad-request'],
    phrase: /\bmodels?\b.{0,120}(?:not found|does not exist|not a valid model)|not a valid model|^model: /is,
    example: 'The model `gpt-99` does not exist or you do not have access to it.',
  },
  {
    kind: 'history-invalid',
    groups: ['bad-request'],
    phrase: anyOf(
      /tool_use.{0,80}without.{0,20}tool_result/,
      /unexpected `?tool_use_id/,
      /unexpected `?tool_result/,
      /tool_calls.{0,80}must be followed by tool messages/,
      /role '?tool'? must be a response to/,
      /no tool (?:call|output) found/,
      /function call.{0,60}function response/,
      /roles must alternate/,
    ),
    example: 'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.',
  },
  {
    kind: 'history-invalid',
    groups: ['bad-request'],
    phrase: anyOf(
      /(?:invalid|missing).{0,40}(?:thought_?)?signature/,
      /required 'reasoning' item/,
      /without its required following item/,
      /text content blocks must be non-empty/,
    ),
    example: "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
  },
  {
    kind: 'content-blocked',
    groups: ['bad-request', 'forbidden', 'none'],
    phrase: /usage polic(?:y|ies)|content filtering policy|content management policy|blockreason|prohibited_content/i,
    example: 'Output blocked by content filtering policy',
  },
  {
    kind: 'rate-limit',
    groups: ['none'],
    phrase: /rate limit|too many requests/i,
    example: 'Rate limit reached for requests',
  },
  {
    kind: 'overloaded',
    groups: ['none', 'server'],
    phrase: /overloaded/i,
    example: 'The model is overloaded. Please try again later.',
  },
  {
    kind: 'stream-broken',
    groups: ['none'],
    phrase: /^terminated$|without a finish reason/i,
    example: 'Response stream ended without a finish reason.',
  },
]

function numberAt(message: string, pattern: RegExp): number {
  return Number(pattern.exec(message)?.[1]?.replaceAll(',', '') ?? Number.NaN)
}
