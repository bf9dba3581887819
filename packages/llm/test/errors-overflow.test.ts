import { describe, expect, it } from 'vitest'
import { classifyError } from '../src/index.ts'
import { budgets, overflows, type Recorded } from './error-overflows.ts'
import { anthropic, apiError, classify, inEveryShape, openai } from './error-answers.ts'

const never: readonly (readonly [what: string, status: number, message: string, kind: string])[] = [
  ['tokens per minute', 429, 'Rate limit reached on tokens per minute: exceeds the limit of 30000', 'rate-limit'],
  ['a rate limit of 400', 400, 'Rate limit: input is too long for this minute', 'bad-request'],
  ['throttling of 400', 400, 'Throttled: input is too long for this minute', 'bad-request'],
  ['a request above the rate', 429, 'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 20000.', 'rate-limit'],
  ['a limit that counts no tokens', 400, 'The number of images exceeds the limit of 20', 'bad-request'],
]

type Shaped = readonly [name: string, error: Error, limits: Recorded[2]]

const shaped = (rows: readonly Recorded[]): readonly Shaped[] =>
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

  it('L79: limits are also read if a code gave the kind', () => {
    const message = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
    const body = openai(message, 'invalid_request_error', 'context_length_exceeded')
    expect(classify({ status: 400, body })).toMatchObject({
      code: 'context_length_exceeded',
      limits: { tokens: 9_000, maximum: 8_192 },
    })
    expect(classify({ status: 400, body: openai('too long', null, 'context_length_exceeded') })).not.toHaveProperty('limits')
  })

  it('L79: numbers in other errors are not read as limits', () => {
    const message = 'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.'
    const body = openai(message, 'tokens', 'rate_limit_exceeded')
    expect(classify({ status: 429, body })).not.toHaveProperty('limits')
    const blamed = anthropic('api_error', 'prompt is too long: 9 tokens > 8 maximum')
    expect(classify({ status: 500, body: blamed }).kind).toBe('server-error')
    expect(classify({ status: 500, body: blamed })).not.toHaveProperty('limits')
  })
})
