import { describe, expect, it } from 'vitest'
import { classifyError } from '../src/index.ts'
import { anthropic, apiError, classify, inEveryShape, openai } from './error-answers.ts'

type Limits = { readonly tokens?: number; readonly maximum?: number } | undefined

/** What servers say when the input is too long, as recorded. */
const overflows: readonly (readonly [server: string, message: string, limits: Limits])[] = [
  [
    'OpenAI',
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.",
    { tokens: 130_000, maximum: 128_000 },
  ],
  [
    'OpenAI, output included',
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
    { tokens: 9_000, maximum: 8_192 },
  ],
  [
    'OpenAI Responses',
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    undefined,
  ],
  [
    'OpenAI, a configured limit',
    'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300150 tokens. Please reduce the length of the messages.',
    { tokens: 300_150, maximum: 272_000 },
  ],
  [
    'OpenRouter',
    "This endpoint's maximum context length is 200000 tokens. However, you requested about 252000 tokens (250000 of text input, 2000 in the output). Please reduce the length of either one.",
    { tokens: 252_000, maximum: 200_000 },
  ],
  ['Groq', 'Please reduce the length of the messages or completion.', undefined],
  ['Anthropic', 'prompt is too long: 208310 tokens > 200000 maximum', { tokens: 208_310, maximum: 200_000 }],
  [
    'Anthropic, more than the window',
    'input length and `max_tokens` exceed context limit: 210000 + 64000 > 200000, decrease input length or `max_tokens` and try again',
    { tokens: 210_000, maximum: 200_000 },
  ],
  ['Bedrock', 'Input is too long for requested model.', undefined],
  [
    'Google',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    { tokens: 1_200_000, maximum: 1_048_576 },
  ],
  [
    'xAI',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    { tokens: 537_812, maximum: 131_072 },
  ],
  ['Copilot', 'prompt token count of 128001 exceeds the limit of 128000', { tokens: 128_001, maximum: 128_000 }],
  [
    'Mistral',
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    { tokens: 40_000, maximum: 32_768 },
  ],
  [
    'llama.cpp',
    'request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it',
    { tokens: 9_001, maximum: 8_192 },
  ],
  [
    'llama.cpp, older',
    'the request exceeds the available context size. try increasing the context size or enable context shift',
    undefined,
  ],
  [
    'LM Studio',
    'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
    { tokens: 13_055, maximum: 4_096 },
  ],
  [
    'LM Studio, older',
    'Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough.',
    { tokens: 10_136, maximum: 7_866 },
  ],
  ['MiniMax', 'invalid params, context window exceeds limit (2013)', undefined],
  [
    'Kimi',
    'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)',
    { tokens: 291_351, maximum: 262_144 },
  ],
  [
    'vLLM',
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    { tokens: 5_000, maximum: 4_096 },
  ],
  [
    'vLLM, newer',
    "This model's maximum context length is 16384 tokens. However, you requested 0 output tokens and your prompt contains at least 16385 input tokens, for a total of at least 16385 tokens.",
    { tokens: 16_385, maximum: 16_384 },
  ],
  [
    'TGI',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 200 `max_new_tokens`',
    { tokens: 4_200, maximum: 4_096 },
  ],
  ['NVIDIA', 'max_tokens must be at least 1, got -904.', undefined],
  [
    'Cerebras',
    'Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192',
    { tokens: 9_000, maximum: 8_192 },
  ],
  [
    'Fireworks',
    'The prompt is too long: 131073, model maximum context length: 131072',
    { tokens: 131_073, maximum: 131_072 },
  ],
  [
    'a server that groups digits',
    'prompt is too long: 208,310 tokens > 200,000 maximum',
    { tokens: 208_310, maximum: 200_000 },
  ],
]

const budgets: readonly (readonly [server: string, message: string, limits: Limits])[] = [
  [
    'Anthropic',
    'input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length or `max_tokens` and try again',
    { tokens: 150_000, maximum: 200_000 },
  ],
  [
    'vLLM',
    "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
    { tokens: 100, maximum: 4_096 },
  ],
]

const never: readonly (readonly [what: string, status: number, message: string, kind: string])[] = [
  ['tokens per minute', 429, 'Rate limit reached on tokens per minute: exceeds the limit of 30000', 'rate-limit'],
  ['a rate limit of 400', 400, 'Rate limit: input is too long for this minute', 'bad-request'],
  ['throttling of 400', 400, 'Throttled: input is too long for this minute', 'bad-request'],
  [
    'a request above the rate',
    429,
    'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 20000.',
    'rate-limit',
  ],
  ['a limit that counts no tokens', 400, 'The number of images exceeds the limit of 20', 'bad-request'],
]

type Shaped = readonly [name: string, error: Error, limits: Limits]

const shaped = (rows: readonly (readonly [server: string, message: string, limits: Limits])[]): readonly Shaped[] =>
  rows.flatMap(([server, message, limits]) =>
    inEveryShape(400, message).map(([shape, answer]) => [`${server}, as ${shape}`, apiError(answer), limits] as const),
  )

describe('classifyError: input that is too long', () => {
  it.each(shaped(overflows))('L74: overflow: %s', (_, error, limits) => {
    const { kind, retryable, recovery, ...rest } = classifyError(error)
    expect([kind, retryable, recovery]).toEqual(['context-overflow', false, 'compact'])
    expect(rest.limits).toEqual(limits)
  })

  it.each(overflows)('L74: overflow of %s as 413 and in a stream', (_, message, limits) => {
    for (const [, answer] of inEveryShape(413, message)) expect(classify(answer).kind).toBe('context-overflow')
    for (const inStream of [message, { message }, { type: 'error', error: { message } }]) {
      expect(classifyError(inStream)).toMatchObject({ kind: 'context-overflow', ...(limits && { limits }) })
    }
  })

  it.each(shaped(budgets))('L74: budget: %s', (_, error, limits) => {
    const { kind, retryable, recovery, ...rest } = classifyError(error)
    expect([kind, retryable, recovery]).toEqual(['output-budget', false, 'lower-output'])
    expect(rest.limits).toEqual(limits)
  })

  it.each(inEveryShape(429, 'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.'))(
    'L74: a request above the rate can never be sent: %s',
    (_, answer) => {
      expect(classify(answer)).toMatchObject({
        kind: 'context-overflow',
        retryable: false,
        limits: { tokens: 45_000, maximum: 30_000 },
      })
    },
  )

  it('L74: the same with the code of a rate limit, also as 413', () => {
    const message = 'Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000'
    for (const status of [413, 429]) {
      expect(classify({ status, body: openai(message, 'tokens', 'rate_limit_exceeded') })).toMatchObject({
        kind: 'context-overflow',
        limits: { tokens: 9_000, maximum: 6_000 },
      })
    }
  })

  it.each(never)('L74: never an overflow: %s', (_, status, message, kind) => {
    for (const [shape, answer] of inEveryShape(status, message)) {
      expect([shape, classify(answer).kind]).toEqual([shape, kind])
    }
  })

  it('L74: a string that is too long is no overflow, whatever it says', () => {
    const body = openai('Invalid input: input is too long', 'invalid_request_error', 'string_above_max_length')
    expect(classify({ status: 400, body }).kind).toBe('bad-request')
  })

  it('L79: limits are read as well when a code told the kind', () => {
    const message = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
    const body = openai(message, 'invalid_request_error', 'context_length_exceeded')
    expect(classify({ status: 400, body })).toMatchObject({
      code: 'context_length_exceeded',
      limits: { tokens: 9_000, maximum: 8_192 },
    })
    expect(classify({ status: 400, body: openai('too long', null, 'context_length_exceeded') })).not.toHaveProperty(
      'limits',
    )
  })

  it('L79: numbers of other errors are no limits', () => {
    const message = 'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.'
    const body = openai(message, 'tokens', 'rate_limit_exceeded')
    expect(classify({ status: 429, body })).not.toHaveProperty('limits')
    const blamed = anthropic('api_error', 'prompt is too long: 9 tokens > 8 maximum')
    expect(classify({ status: 500, body: blamed }).kind).toBe('server-error')
    expect(classify({ status: 500, body: blamed })).not.toHaveProperty('limits')
  })
})
