import { describe, expect, it } from 'vitest'
import { BridgeError } from '../src/index.ts'
import { errorBody } from '../src/error-body.ts'

const sent = (message: string, details: object = {}) => errorBody(new BridgeError('UPSTREAM', message, { details }))

describe('errors that leave the process', () => {
  it('B115: hold no stack', () => {
    const { stack = '' } = new Error('broken')
    expect(stack).toContain('redact.test.ts')
    expect(sent(stack).message).toBe('Error: broken')
  })

  it.each([
    ['cannot open /var/lib/app/data.db', 'cannot open [path]'],
    ["ENOENT: open '/home/me/.config/key.json'", "ENOENT: open '[path]'"],
    ['at C:\\Users\\me\\agent.ts:10:3 it failed', 'at [path] it failed'],
    ['import of file:///home/me/agent.ts failed', 'import of [path] failed'],
  ])('B115: hold no path of this machine: %s', (message, redacted) => {
    expect(sent(message).message).toBe(redacted)
  })

  it.each([
    'see https://example.com/docs/errors/429 for help',
    'model openai/gpt-5 was not found',
    'ratio 3/4 and and/or',
    'the token limit is 4096',
  ])('B115: what is no path and no key stays: %s', (message) => {
    expect(sent(message).message).toBe(message)
  })

  it.each([
    ['Authorization: Bearer abcdefgh12345678', 'Authorization: [redacted]'],
    ['sent bearer abcdefgh12345678 upstream', 'sent bearer [redacted] upstream'],
    ['Incorrect API key provided: sk-proj-abcdefghijkl1234', 'Incorrect API key provided: [redacted]'],
    ['{"api_key":"hunter2hunter2","x":1}', '{"api_key":"[redacted]","x":1}'],
    ['https://api.test/v1?token=abc123&x=1', 'https://api.test/v1?token=[redacted]&x=1'],
  ])('B115: hold no header and no key: %s', (message, redacted) => {
    expect(sent(message).message).toBe(redacted)
  })

  it('B115: redact by field as well, at any depth', () => {
    const issues = [{ path: 'a', headers: { authorization: 'x', 'X-Api-Key': 'y' }, accessToken: 'z', list: ['/etc/app/secret.txt'] }]
    expect(sent('no', { issues }).details).toEqual({
      issues: [{ path: 'a', headers: { authorization: '[redacted]', 'X-Api-Key': '[redacted]' }, accessToken: '[redacted]', list: ['[path]'] }],
    })
  })

  it('B115: only the listed details leave', () => {
    const details = { reason: 'r', sessionId: 's', agentId: 'a', requestId: 'q', stage: 'total', retryAfterMs: 5, cause: 'x', request: {} }
    const { cause: _cause, request: _request, ...listed } = details
    expect(sent('no', details).details).toEqual(listed)
  })

  it('B115: of an error that is not the bridge\'s own nothing leaves', () => {
    expect(errorBody(new TypeError('x is undefined'))).toEqual({ code: 'INTERNAL', message: 'Internal error', retryable: false, details: {} })
  })
})
