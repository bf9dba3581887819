import type { Group } from '../codes.ts'
import { says, type Limits, type Sign } from './sign.ts'

const requests: readonly Group[] = ['bad-request', 'too-large', 'none']

/** Rate limits, for which waiting helps. These words are never an overflow. */
const rate = /tokens per min|rate limit|throttl/i

const overflow = (phrase: RegExp, example: string): Sign => ({
  kind: 'context-overflow',
  groups: requests,
  phrase,
  unless: rate,
  example,
})

const budget = (phrase: RegExp, example: string): Sign => ({
  kind: 'output-budget',
  groups: requests,
  phrase,
  where: ({ tokens = Infinity, maximum = 0 }: Limits) => tokens < maximum,
  example,
})

const inputAndOutput = says`input length and \`?max_tokens\`? exceed context limit: {tokens} \+ [\d,]+ > {maximum}`

/** The input would fit if less output were requested. */
export const outputBudget: readonly Sign[] = [
  budget(inputAndOutput, 'input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease one of them'),
  // vLLM
  budget(
    says`max_(?:completion_)?tokens'? is too large…context length is {maximum} tokens…has {tokens} input tokens`,
    "'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
  ),
]

const counted = String.raw`(?:resulted in|requested|has|contains)(?: about| at least)? {tokens}(?: input)? tokens`

/** The input is too long. The order matters: wordings with numbers come before those without. */
export const contextOverflow: readonly Sign[] = [
  // Anthropic
  overflow(inputAndOutput, 'input length and `max_tokens` exceed context limit: 210000 + 64000 > 200000'),
  overflow(says`prompt is too long: {tokens} tokens > {maximum} maximum`, 'prompt is too long: 208310 tokens > 200000 maximum'),
  // OpenAI, OpenRouter, vLLM and many others
  overflow(
    says`maximum context length is {maximum} tokens(?:…\b${counted})?`,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
  ),
  overflow(
    says`input tokens exceed the configured limit(?: of {maximum} tokens)?(?:…resulted in {tokens} tokens)?`,
    'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300150 tokens.',
  ),
  overflow(
    says`exceeds the context window`,
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
  ),
  // Google
  overflow(
    says`input token count \(?{tokens}\)? exceeds the maximum number of tokens allowed \(?{maximum}`,
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  ),
  // Bedrock
  overflow(says`input is too long`, 'Input is too long for requested model.'),
  // xAI
  overflow(
    says`maximum prompt length is {maximum}(?:…contains {tokens} tokens)?`,
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  ),
  // Copilot; `token` is required because images and characters have limits too
  overflow(
    says`token(?:s| count)?(?: of)? {tokens} exceeds the limit of {maximum}`,
    'prompt token count of 128001 exceeds the limit of 128000',
  ),
  overflow(says`\btokens?\b.{0,60}exceeds the limit of {maximum}`, 'The number of prompt tokens exceeds the limit of 8192'),
  // Mistral
  overflow(
    says`(?:contains {tokens} tokens…)?too large for model with {maximum} maximum context length`,
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  ),
  // Fireworks
  overflow(
    says`prompt is too long: {tokens}, model maximum context length: {maximum}`,
    'The prompt is too long: 131073, model maximum context length: 131072',
  ),
  // llama.cpp
  overflow(
    says`(?:\({tokens} tokens\) )?exceeds the available context size(?: \({maximum} tokens\))?`,
    'request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it',
  ),
  // LM Studio
  overflow(
    says`greater than the context length(?: \(n_keep: ?{tokens} ?>= ?n_ctx: ?{maximum})?`,
    'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).',
  ),
  overflow(
    says`keep the first {tokens} tokens when context…context length of only {maximum} tokens`,
    'Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough.',
  ),
  // MiniMax; the number in parentheses is a code
  overflow(says`context window exceeds limit`, 'invalid params, context window exceeds limit (2013)'),
  // Kimi
  overflow(
    says`exceeded model token limit(?:: {maximum}(?: \(requested: {tokens}\))?)?`,
    'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)',
  ),
  // vLLM
  overflow(
    says`(?:length {tokens}\)…maximum model length of {maximum}…)?max_model_len`,
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
  ),
  // TGI
  overflow(
    says`\`inputs\` tokens \+ \`max_new_tokens\` must be(?: <= {maximum}…{tokens} \`inputs\` tokens and {output})?`,
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 200 `max_new_tokens`',
  ),
  // NVIDIA: the input leaves less than nothing for the output
  overflow(says`max_tokens must be at least 1, got -\d+`, 'max_tokens must be at least 1, got -904.'),
  // Cerebras
  overflow(says`current length is {tokens} while limit is {maximum}`, 'Current length is 9000 while limit is 8192'),
  // Groq, and many others at the end of a message
  overflow(says`reduce the length of the messages`, 'Please reduce the length of the messages or completion.'),
  // OpenAI and Groq: more tokens than the limit of a whole minute, so waiting never helps
  {
    kind: 'context-overflow',
    groups: ['rate'],
    phrase: says`request too large…tokens per min…limit {maximum}, requested {tokens}`,
    where: ({ tokens = 0, maximum = Infinity }) => tokens > maximum,
    example: 'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.',
  },
]
