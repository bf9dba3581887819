import fc from 'fast-check'
import { problemCodes } from '@bowline/server'
import { expect, it } from 'vitest'
import { bench } from './support/bench.ts'
import { ask } from './support/request.ts'

const words = ['user', 'tool-result', 'approve', 'mine', 'assistant', 'queue', 'text', '__proto__', 'constructor', '\u0000', '~', '']
const keys = ['sessionId', 'input', 'context', 'options', 'role', 'content', 'type', 'results', 'toolCallId', 'output', 'error', 'decision', 'entryId', 'messages', 'tools']
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(...words),
    fc.jsonValue(),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 5 }),
  ),
}))
const path = fc.constantFrom(
  '/api/agent/execute',
  '/api/agent/session/mine',
  '/api/agent/session/mine/events?until=settled',
  '/api/agent/session/mine/stop',
  '/api/agent/session/mine/tool-results',
  '/api/agent/session/mine/tool-calls/x/resolve',
  '/api/agent/session/mine/runs/x/recover',
  '/api/agent/session/mine/approvals/x',
  '/api/agent/session/mine/steer',
  '/api/agent/session/mine/follow-up',
  '/api/agent/session/mine/fork',
  '/api/agent/session/mine/switch',
  '/api/agent/session/mine/branches',
  '/api/agent/session/mine/compact',
  '/api/agent/session/mine/export',
  '/api/agent/session/mine~a~1',
  '/api/agent/sessions',
  '/api/agents',
  '/api/chat',
  '/api/chat/mine/stream',
  '/api/chat/mine/stop',
  '/nothing',
)
const headerValue = fc.string({ unit: fc.constantFrom(...'abc019.,;="-*/% '), maxLength: 20 }).map((text) => text.trim())
const headers = fc.dictionary(
  fc.constantFrom('content-type', 'last-event-id', 'idempotency-key', 'if-none-match', 'origin', 'authorization', 'x-request-id'),
  headerValue,
  { maxKeys: 3 },
)

it('V95: whatever is sent, the answer is no failure of ours, and a refusal is a problem with a listed code', async () => {
  const { server, faults } = await bench({ steps: () => ({ text: 'Hi.' }) })
  const body = fc.oneof(value.map((each) => JSON.stringify(each)), fc.string())
  await fc.assert(
    fc.asyncProperty(path, body, headers, fc.boolean(), fc.string({ maxLength: 10 }), async (route, text, extra, get, query) => {
      const search = get ? `${route.includes('?') ? '&' : '?'}${encodeURIComponent(query)}=1` : ''
      const answer = get
        ? await ask(server, route + search, { headers: extra })
        : await ask(server, route, { method: 'POST', body: text, headers: { 'content-type': 'application/json', ...extra } })
      expect(answer.status).toBeLessThan(500)
      if (answer.status < 400) return answer.body?.cancel()
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      expect(problemCodes).toContain(((await answer.json()) as { code: string }).code)
    }),
    { numRuns: 2000, seed: 1 },
  )
  expect(faults).toEqual([])
})
