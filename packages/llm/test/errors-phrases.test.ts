import { describe, expect, it } from 'vitest'
import type { ErrorKind } from '../src/index.ts'
import { groupOfStatus } from '../src/errors/codes.ts'
import { signOf, signs } from '../src/errors/signs.ts'
import { classify, inEveryShape } from './error-answers.ts'

type Row = readonly [kind: ErrorKind, statuses: readonly number[], messages: readonly string[]]

/** Recorded messages of providers, with the statuses that they come with. */
const recorded: readonly Row[] = [
  [
    'billing',
    [400, 402, 403, 429],
    [
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.',
      'Insufficient Balance',
      'You have insufficient credits to make this request.',
      'Your credits are exhausted.',
      'Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.',
      'Payment Required',
      'You exceeded your current quota, please check your plan and billing details.',
      'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 1000.',
      'Your newly created team has used all available credits or reached its monthly spending limit.',
    ],
  ],
  [
    'billing',
    [400],
    [
      'You have reached your specified API usage limits. You will regain access on 2030-01-01 at 00:00 UTC.',
      'You have reached your specified workspace API usage limits.',
    ],
  ],
  ['billing', [429], ['Quota exceeded for metric: free_tier_requests, limit: 0\nPlease retry in 34s.']],
  [
    'rate-limit',
    [429],
    [
      'You exceeded your current quota, please check your plan.\nQuota exceeded for metric: x, limit: 10\nPlease retry in 34.07s.',
      'You have reached the usage limits of this minute',
      'Quota exceeded for metric: x, limit: 0.5',
      'Resource has been exhausted (e.g. check quota).',
      'Too many tokens, please wait before trying again.',
    ],
  ],
  [
    'auth',
    [400, 401, 403],
    [
      'OAuth token has expired. Please obtain a new token or refresh your existing token.',
      'The security token included in the request is expired',
      'Invalid API key: the session has expired',
    ],
  ],
  ['auth', [401], ['You must be a member of an organization to use the API', 'Unauthorized']],
  [
    'auth-permanent',
    [400, 401, 403],
    [
      'Incorrect API key provided: sk-***. You can find your API key at your account page.',
      'Invalid API key',
      'invalid x-api-key',
      'API key not valid. Please pass a valid API key.',
      'API key expired. Please renew the API key.',
    ],
  ],
  ['permission', [403], ['Your API key does not have permission to use the resource.', 'Forbidden']],
  [
    'permission',
    [400],
    [
      'User location is not supported for the API use.',
      'Gemini API free tier is not available in your country.',
      'Country, region, or territory not supported',
    ],
  ],
  [
    'model-not-found',
    [400, 404],
    [
      'The model `gpt-4.9` does not exist or you do not have access to it.',
      'models/gemini-99 is not found for API version v1beta, or is not supported for generateContent.',
      'some/thing is not a valid model ID',
      'model "llama-99" not found, try pulling it first',
    ],
  ],
  ['model-not-found', [404], ['model: claude-nine']],
  ['bad-request', [404], ['The requested resource could not be found.']],
  ['bad-request', [400], ['The model is fine. The tool `x` does not exist.', 'model: Field required']],
  [
    'history-invalid',
    [400],
    [
      'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
      'messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.',
      'messages.3: `tool_result` block(s) provided when previous message does not contain any `tool_use` blocks',
      'Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1',
      'The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.',
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      'No tool output found for function call call_1.',
      'No tool call found for function call output with call_id call_1.',
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      'Not the same number of function calls and responses',
      'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
      'After the optional system message(s), user or tool message(s) should alternate with assistant message(s).',
      "Unexpected role 'user' after role 'tool'",
      'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
      'messages.1.content.0: Invalid `signature` in `thinking` block',
      'messages.1.content.0.thinking.signature: Field required',
      'Function call is missing a thought_signature in functionCall parts.',
      'Thought signature is not valid',
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
      'messages.5.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
      'The `reasoning_content` in the thinking mode must be passed back to the API.',
      "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
      "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
      'messages: text content blocks must be non-empty',
      'messages: text content blocks must contain non-whitespace text',
      'messages.1: all messages must have non-empty content except for the optional final assistant message',
      'The text field in the ContentBlock object at messages.1.content.0 is blank.',
    ],
  ],
  ['history-invalid', [400, 404], ["Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."]],
  [
    'content-blocked',
    [400, 403],
    [
      'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
      'This request violates our usage policies.',
      'Content violates usage guidelines.',
      'Output blocked by content filtering policy',
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      'Your request was rejected as a result of our safety system.',
      'The prompt was blocked: blockReason PROHIBITED_CONTENT',
    ],
  ],
  ['payload-too-large', [400, 413], ['Request payload size exceeds the limit: 20971520 bytes.']],
  ['overloaded', [500], ['The engine is overloaded']],
  ['bad-request', [500], ['Input validation error: `temperature` must be strictly positive']],
  ['server-error', [500], ['The server had an error while processing your request', 'prompt is too long: 9 tokens > 8 maximum']],
]

const cases = recorded.flatMap(([kind, statuses, messages]) =>
  messages.flatMap((message) => statuses.map((status) => [kind, status, message] as const)),
)

describe('classifyError: messages of providers', () => {
  it.each(cases)('L74: %s: %i %s', (kind, status, message) => {
    const told = inEveryShape(status, message).map(([shape, answer]) => [shape, classify(answer).kind])
    expect(told).toEqual(told.map(([shape]) => [shape, kind]))
  })

  it.each(signs.map((sign) => [sign.example, sign] as const))('L74: "%s" is found by its own pattern in each of its groups', (_, sign) => {
    for (const group of sign.groups) expect(signOf(group, sign.example)).toBe(sign)
  })

  it('L74: every pattern has a recorded message here or among the overflows', () => {
    const told = new Set(cases.flatMap(([, status, message]) => signOf(groupOfStatus(status)!, message) ?? []))
    const elsewhere = ['context-overflow', 'output-budget']
    const silent = signs.filter((sign) => !told.has(sign) && sign.groups.some((group) => group !== 'none'))
    const unrecorded = silent.filter(({ kind }) => !elsewhere.includes(kind))
    expect(unrecorded.map(({ example }) => example)).toEqual([])
  })

  it('L75: an HTML page is not searched for phrases', () => {
    for (const message of ['insufficient credits', 'prompt is too long: 9 tokens > 8 maximum', 'Invalid API key']) {
      const body = `<!DOCTYPE html><html><head><title>Error</title></head><body>${message}</body></html>`
      expect(classify({ status: 400, body }).kind).toBe('bad-request')
      expect(classify({ status: 503, body: `\n${body}` }).kind).toBe('overloaded')
    }
  })
})
