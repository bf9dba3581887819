import { describe, expect, it } from 'vitest'
import { streamMessage, type AssistantMessage } from '../../src/index.ts'
import { budgets, overflows } from '../error-overflows.ts'
import { anthropic, google, openai, quota, retryInfo } from '../error-answers.ts'
import { messageOf, readAll } from '../support.ts'
import type { WireName } from './raw-bodies.ts'
import { useRawServer } from './raw-server.ts'
import { wireNamed, wires } from './wires.ts'

const server = useRawServer()
const html = { 'content-type': 'text/html' }
const json = { 'content-type': 'application/json' }

/**
 * Returns the error of a call that is refused with this response. Every refusal is returned as data, costs nothing and is sent
 * once.
 */
async function refused(
  wire: WireName,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = json,
): Promise<NonNullable<AssistantMessage['error']>> {
  const asked = server.requests.length
  server.answer({ status, headers, body: [typeof body === 'string' ? body : JSON.stringify(body)] })
  const model = wireNamed(wire).model(server)
  const message = messageOf(await readAll(streamMessage({ model, messages: [{ role: 'user', content: 'hi' }] })))
  expect(message).toMatchObject({
    stopReason: 'error',
    content: [],
    usage: { inputTokens: 0, outputTokens: 0 },
    error: { phase: 'before-output', provider: model.provider, modelId: model.modelId, status },
  })
  expect(message.usage).not.toHaveProperty('estimated')
  expect(server.requests).toHaveLength(asked + 1)
  return message.error!
}

/** Returns an error in the form of the wire. */
function bodyFor(wire: WireName, status: number, message: string): unknown {
  switch (wire) {
    case 'anthropic':
      return anthropic(status === 402 ? 'billing_error' : 'invalid_request_error', message)
    case 'google':
      return google(status, 'INVALID_ARGUMENT', message)
    case 'openai chat':
    case 'openai responses':
    case 'openai-compatible':
      return openai(message, 'invalid_request_error', null, null)
  }
}

const page = (title: string, words = ''): string =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body><center><h1>${title}</h1>${words}</center></body>\r\n</html>`

describe.each(wires)('answers that refuse the call over $name', ({ name }) => {
  it('F11: 503 with an HTML page is overloaded, whatever the page says', async () => {
    const body = page('503 Service Temporarily Unavailable', 'invalid api key, insufficient credits')
    const error = await refused(name, 503, body, html)
    expect(error).toMatchObject({ kind: 'overloaded', retryable: true, recovery: 'wait' })
    expect(error.message).not.toContain('<')
  })

  it('F11: 502 with plain text gives that text', async () => {
    const error = await refused(name, 502, 'upstream connect error', { 'content-type': 'text/plain' })
    expect(error).toMatchObject({ kind: 'server-error', retryable: true, message: 'upstream connect error' })
  })

  it('F11: 429 with a date waits until then', async () => {
    const headers = { ...json, date: 'Tue, 01 Jan 2030 00:00:00 GMT', 'retry-after': 'Tue, 01 Jan 2030 00:00:07 GMT' }
    const error = await refused(name, 429, bodyFor(name, 429, 'Slow down'), headers)
    expect(error).toMatchObject({ kind: 'rate-limit', retryAfterMs: 7_000 })
  })

  it('F12: 402 is a billing error', async () => {
    const error = await refused(name, 402, bodyFor(name, 402, 'Insufficient Balance'))
    expect(error).toMatchObject({ kind: 'billing', retryable: false, message: 'Insufficient Balance' })
    expect(error).not.toHaveProperty('recovery')
  })

  it('F12: 413 with an HTML page of a proxy means bytes at Anthropic, tokens elsewhere', async () => {
    const error = await refused(name, 413, page('413 Request Entity Too Large'), html)
    const expected = name === 'anthropic' ? ['payload-too-large', 'shrink'] : ['context-overflow', 'compact']
    expect([error.kind, error.recovery, error.retryable]).toEqual([...expected, false])
  })

  it.each([
    ['context-overflow', 'compact', overflows],
    ['output-budget', 'lower-output', budgets],
  ] as const)('F12: every recorded wording of %s asks to %s, with its numbers', async (kind, recovery, recorded) => {
    for (const [what, message, limits] of recorded) {
      const error = await refused(name, 400, bodyFor(name, 400, message))
      expect([what, error.kind, error.recovery, error.retryable]).toEqual([what, kind, recovery, false])
      expect([what, error.limits]).toEqual([what, limits])
    }
  })
})

describe('refusals of one provider', () => {
  it('F12: anthropic: too much input and output together asks for less output', async () => {
    const message = 'input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease them'
    expect(await refused('anthropic', 400, anthropic('invalid_request_error', message))).toMatchObject({
      kind: 'output-budget',
      recovery: 'lower-output',
      requestId: 'req_1',
      limits: { tokens: 150_000, maximum: 200_000 },
    })
  })

  it('F12: anthropic: 413 with its code', async () => {
    const body = anthropic('request_too_large', 'Request exceeds the maximum size')
    expect(await refused('anthropic', 413, body)).toMatchObject({ kind: 'payload-too-large', recovery: 'shrink' })
  })

  it('F12: anthropic: a spend limit is identified by its detail', async () => {
    const body = anthropic('rate_limit_error', 'x', { error_code: 'enforced_spend_limit_reached' })
    expect(await refused('anthropic', 429, body)).toMatchObject({ kind: 'billing', retryable: false })
  })

  it.each(['openai chat', 'openai responses', 'openai-compatible'] as const)(
    'F12: %s: a request above the rate per minute is never sent again',
    async (name) => {
      const message = 'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.'
      const error = await refused(name, 429, openai(message, 'tokens', 'rate_limit_exceeded'))
      expect(error).toMatchObject({
        kind: 'context-overflow',
        retryable: false,
        limits: { tokens: 45_000, maximum: 30_000 },
      })
    },
  )
})

describe('F13: quotas of google', () => {
  // Google's message for an exhausted minute equals that for missing credit.
  const words = 'You exceeded your current quota, please check your plan and billing details.'
  const minute = google(429, 'RESOURCE_EXHAUSTED', words, [
    quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier'),
    retryInfo('34.07s'),
  ])
  const day = google(429, 'RESOURCE_EXHAUSTED', words, [
    quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier', 'InputTokensPerDayPerModel-FreeTier'),
    retryInfo('34.07s'),
  ])

  it('F13: a full quota per minute is waited for', async () => {
    expect(await refused('google', 429, minute)).toMatchObject({
      kind: 'rate-limit',
      retryable: true,
      retryAfterMs: 34_070,
      code: 'RESOURCE_EXHAUSTED',
    })
  })

  it('F13: only quotas per day: no delay', async () => {
    const error = await refused('google', 429, day)
    expect(error).toMatchObject({ kind: 'billing', retryable: false })
    expect(error).not.toHaveProperty('retryAfterMs')
  })

  it('F13: the same in a list of one', async () => {
    expect(await refused('google', 429, [minute])).toMatchObject({ kind: 'rate-limit', retryAfterMs: 34_070 })
  })

  it('F13: the same list for the day', async () => {
    expect(await refused('google', 429, [day])).toMatchObject({ kind: 'billing', retryable: false })
  })
})
