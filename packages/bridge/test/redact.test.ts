import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { BridgeError, createBridge } from '../src/index.ts'
import type { BridgeNotice } from '../src/index.ts'
import { errorBody } from '../src/error-body.ts'
import { redactionOf } from '../src/redact.ts'
import { failureOf, startBridge, testAgent } from './support.ts'

const sent = (message: string, details: object = {}) => errorBody(new BridgeError('UPSTREAM', message, { details }))

describe('errors that leave the process', () => {
  it('B115: contain no stack', () => {
    const { stack = '' } = new Error('broken')
    expect(stack).toContain('redact.test.ts')
    expect(sent(stack).message).toBe('Error: broken')
  })

  it.each([
    ['cannot open /var/lib/app/data.db', 'cannot open [path]'],
    ["ENOENT: open '/home/me/.config/key.json'", "ENOENT: open '[path]'"],
    ['at C:\\Users\\me\\agent.ts:10:3 it failed', 'at [path] it failed'],
    ['import of file:///home/me/agent.ts failed', 'import of [path] failed'],
  ])('B115: contain no path of this machine: %s', (message, redacted) => {
    expect(sent(message).message).toBe(redacted)
  })

  it.each([
    'see https://example.com/docs/errors/429 for help',
    'model openai/gpt-5 was not found',
    'ratio 3/4 and and/or',
    'the token limit is 4096',
  ])('B115: text that is no path and no key stays: %s', (message) => {
    expect(sent(message).message).toBe(message)
  })

  it.each([
    ['Authorization: Bearer abcdefgh12345678', 'Authorization: [redacted]'],
    ['sent bearer abcdefgh12345678 upstream', 'sent bearer [redacted] upstream'],
    ['Incorrect API key provided: sk-proj-abcdefghijkl1234', 'Incorrect API key provided: [redacted]'],
    ['{"api_key":"hunter2hunter2","x":1}', '{"api_key":"[redacted]","x":1}'],
    ['https://api.test/v1?token=abc123&x=1', 'https://api.test/v1?token=[redacted]&x=1'],
  ])('B115: contain no header and no key: %s', (message, redacted) => {
    expect(sent(message).message).toBe(redacted)
  })

  it('B115: redact by field as well, at any depth', () => {
    const issues = [{ path: 'a', headers: { authorization: 'x', 'X-Api-Key': 'y' }, accessToken: 'z', list: ['/etc/app/secret.txt'] }]
    expect(sent('no', { issues }).details).toEqual({
      issues: [
        { path: 'a', headers: { authorization: '[redacted]', 'X-Api-Key': '[redacted]' }, accessToken: '[redacted]', list: ['[path]'] },
      ],
    })
  })

  it('B115: only the listed details leave', () => {
    const details = { reason: 'r', sessionId: 's', agentId: 'a', requestId: 'q', stage: 'total', retryAfterMs: 5, cause: 'x', request: {} }
    const { cause: _cause, request: _request, ...listed } = details
    expect(sent('no', details).details).toEqual(listed)
  })

  it('B115: an error that is not from the bridge keeps no text', () => {
    expect(errorBody(new TypeError('x is undefined'))).toEqual({
      code: 'INTERNAL',
      message: 'Internal error',
      retryable: false,
      next: expect.any(String),
      details: {},
    })
  })
})

describe('the option redact', () => {
  const redact = { fields: ['plate'], patterns: [/customer-\d+/, [/shelf \d+/, 'shelf'] as const] }
  const said = 'no customer-4711 on shelf 12'
  const hidden = 'no [redacted] on shelf'

  it('B115, V90: removes more from logs, notices, errors and the reports of sessions and tools', async () => {
    const notices: BridgeNotice[] = []
    let thrown: Error = new BridgeError('UPSTREAM', said, { details: { issues: [{ plate: 'OSL 1', message: said }] } })
    const agent = testAgent('a', { onPrompt: () => Promise.reject(thrown) })
    const { bridge, logger } = await startBridge([agent], { redact, onEvent: (notice) => void notices.push(notice) })
    const { sessionId } = await bridge.createSession({ owner: 'customer-5' })
    const { message, code, details } = failureOf(await bridge.prompt({ sessionId, prompt: 'hi', owner: 'customer-5' }).result())
    expect([message, code, details.issues]).toEqual([hidden, 'UPSTREAM', [{ plate: 'OSL 1', message: said }]])
    const { lastError } = await bridge.session(sessionId, { owner: 'customer-5' })
    expect(lastError).toMatchObject({ message: hidden, details: { issues: [{ plate: '[redacted]', message: hidden }] } })
    thrown = Object.assign(new Error(said), { plate: 'OSL 1' })
    await bridge.delegate({ prompt: 'hi' }).result()
    const line = logger.lines.find((each) => each.message === 'the agent failed')
    expect(line?.fields['cause']).toMatchObject({ message: hidden, plate: '[redacted]' })
    expect(notices.map((notice) => 'owner' in notice && notice.owner)).toContain('[redacted]')
    const told = inspect([logger.lines, notices], { depth: 8 })
    expect(told).not.toMatch(/customer-\d|shelf \d|OSL/)
  })

  it('V90: removes more from the texts for MCP clients', async () => {
    const agent = testAgent('a', {
      onPrompt: () => Promise.reject(new BridgeError('UPSTREAM', 'x', { details: { issues: [{ plate: 'OSL 1', message: said }] } })),
    })
    const { bridge } = await startBridge([agent], { redact })
    expect(errorBody(failureOf(await bridge.delegate({ prompt: 'hi' }).result()), redactionOf(bridge)).details).toMatchObject({
      issues: [{ plate: '[redacted]', message: hidden }],
    })
    const { bridge: plain } = await startBridge([testAgent('a')])
    expect(redactionOf(plain).text(said)).toBe(said)
  })

  it('S208: an invalid configuration is refused by its path', () => {
    expect(() => createBridge({ redact: { fields: [5] } } as never)).toThrow(
      'redact.fields[0] must be a text with at least one character; received 5',
    )
    expect(() => createBridge({ redact: { pattern: [] } } as never)).toThrow('redact has no option "pattern"; did you mean patterns?')
  })
})
