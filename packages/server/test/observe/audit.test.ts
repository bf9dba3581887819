import { createToken, type AuditRecord } from '@bowline/server'
import { expect, it } from 'vitest'
import { bench, say, type BenchOptions } from '../support/bench.ts'
import { allFrames } from '../support/frames.ts'
import { logs } from '../support/logs.ts'

async function audited(options: BenchOptions = {}) {
  const records: AuditRecord[] = []
  const tokens = await Promise.all([
    createToken({ id: 'boss', tenant: 'demo', scopes: ['admin'] }),
    createToken({ id: 'guest', tenant: 'demo', scopes: ['agents:read'] }),
  ])
  const [boss, guest] = tokens.map(({ token }) => ({ authorization: `Bearer ${token}` }))
  if (!boss || !guest) throw new Error('There are two tokens.')
  const started = await bench({
    auth: { tokens: tokens.map(({ config }) => config) },
    onAudit: (record) => records.push(record),
    ...options,
  })
  return { ...started, records, boss, guest, secrets: tokens.map(({ token }) => token) }
}

it('V64: a stop is one record of actor, action, target and result', async () => {
  const { records, post, boss } = await audited({ steps: [{ text: 'Hi.' }] })
  await allFrames(await post('/api/agent/execute', { sessionId: 'mine', input: say('hi'), context: {} }, boss))
  const answer = await post('/api/agent/session/mine/stop', {}, boss)
  expect(records.slice(1)).toEqual([
    {
      action: 'stop',
      principal: { id: 'boss', tenant: 'demo' },
      target: { route: '/api/agent/session/{id}/stop', sessionId: 'mine' },
      result: 'done',
      requestId: answer.headers.get('x-request-id'),
      at: expect.any(Number),
    },
  ])
})

it('V64: a refusal is a record too, with the code', async () => {
  const { records, post, get, boss, guest, secrets } = await audited()
  await post('/api/agent/session/none/stop', {}, boss)
  await post('/api/agent/session/mine/stop', {}, guest)
  await post('/api/agent/session/mine/stop', {}, { authorization: 'Bearer bwl_boss_wrong' })
  await get('/api/agent/sessions', guest)
  await get('/api/agents', { origin: 'https://evil.example' })
  expect(records.map(({ action, principal, result }) => [action, principal?.id, result])).toEqual([
    ['stop', 'boss', 'session-missing'],
    ['stop', 'guest', 'scope-missing'],
    ['refusal', undefined, 'unauthenticated'],
    ['refusal', 'guest', 'scope-missing'],
    ['refusal', undefined, 'origin-not-allowed'],
  ])
  for (const secret of secrets) expect(JSON.stringify(records)).not.toContain(secret)
})

it('V64: the use of a token is a record; routes without a token have none', async () => {
  const { records, get, guest } = await audited()
  await get('/api/agents', guest)
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/nothing']) await get(path)
  expect(records).toMatchObject([{ action: 'token', principal: { id: 'guest' }, target: { route: '/api/agents' }, result: 'done' }])
})

it('V64: without a listener the logger gets decisions; the line of a request is the record of its token', async () => {
  const { logger, lines } = logs()
  const { post, get } = await bench({ logger })
  await get('/api/agents')
  await post('/api/agent/session/none/stop', {})
  expect(lines.filter(({ message }) => message === 'audit')).toMatchObject([{ level: 'info', action: 'stop', result: 'session-missing' }])
})

it('V64: each route that decides adds a record: approvals, deletions, forks, tickets', async () => {
  const { records, post, url, boss } = await audited({ steps: [{ text: 'Hi.' }] })
  await allFrames(await post('/api/agent/execute', { sessionId: 'mine', input: say('hi'), context: {} }, boss))
  const s = '/api/agent/session/mine'
  await post(`${s}/fork`, {}, boss)
  await post(`${s}/ticket`, {}, boss)
  await post(`${s}/approvals/none`, { decision: 'approve' }, boss)
  await post(`${s}/runs/none/recover`, { decision: 'stop' }, boss)
  await post(`${s}/tool-calls/none/resolve`, { result: 'done' }, boss)
  await fetch(url + s, { method: 'DELETE', headers: boss })
  expect(records.slice(1).map(({ action, result, target }) => [action, result, target])).toEqual([
    ['fork', 'done', expect.objectContaining({ sessionId: 'mine' })],
    ['ticket', 'done', expect.objectContaining({ sessionId: 'mine' })],
    ['approval', 'unknown-approval', expect.objectContaining({ approvalId: 'none' })],
    ['recover', expect.not.stringMatching('done'), expect.objectContaining({ runId: 'none' })],
    ['resolve', expect.not.stringMatching('done'), expect.objectContaining({ toolCallId: 'none' })],
    ['delete', 'done', expect.objectContaining({ sessionId: 'mine' })],
  ])
})
