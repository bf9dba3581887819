import type { ModelError } from '../src/index.ts'

/** A recorded message of a server, with the numbers in it. */
export type Recorded = readonly [server: string, message: string, limits: ModelError['limits']]

/** Messages for an input that is too long. */
export const overflows: readonly Recorded[] = [
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
  ['OpenAI Responses', 'Your input exceeds the context window of this model. Please adjust your input and try again.', undefined],
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
  ['xAI', "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", { tokens: 537_812, maximum: 131_072 }],
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
  ['Kimi', 'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)', { tokens: 291_351, maximum: 262_144 }],
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
  ['Fireworks', 'The prompt is too long: 131073, model maximum context length: 131072', { tokens: 131_073, maximum: 131_072 }],
  ['a server that groups digits', 'prompt is too long: 208,310 tokens > 200,000 maximum', { tokens: 208_310, maximum: 200_000 }],
]

/** Messages for an input that would fit if less output were requested. */
export const budgets: readonly Recorded[] = [
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
