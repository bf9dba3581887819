import type { SessionView } from '@bowline/client'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { refusal, say, temporaryFolder } from '../support/bench.ts'
import { serverProcess } from '../support/child.ts'
import { allFrames, framesOf, framesUntil } from '../support/frames.ts'

const mine = '/api/agent/session/mine'
const headers = { 'content-type': 'application/json' }

it('V8, S209: a call whose outcome is unknown after a crash waits until a client submits its outcome', async () => {
  const file = join(temporaryFolder(), 'data.db')
  const first = await serverProcess(file, 'slow')
  const send = (url: string, path: string, body: unknown) => fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = await send(first.url, '/api/agent/execute', { sessionId: 'mine', input: say('pay the invoice'), context: {} })
  const reading = (async () => {
    for await (const frame of framesOf(answer)) if (frame.data.type === 'tool-execution-start') first.child.kill('SIGKILL')
  })()
  await expect(reading).rejects.toThrow()
  expect(await first.ended).toBe('SIGKILL')

  const { url } = await serverProcess(file, 'fast')
  await framesUntil(
    await fetch(`${url}${mine}/events?from=start`),
    ({ data }) => data.type === 'turn-end' && data.status === 'needs-recovery',
  )
  const view = (await (await fetch(url + mine)).json()) as SessionView
  expect(view).toMatchObject({
    status: 'needs-recovery',
    run: { status: 'needs-recovery' },
    pendingToolCalls: [{ toolCallId: 'call-pay', toolName: 'pay', unknown: true }],
  })
  // A caller that may only write must not decide it.
  const results = [{ toolCallId: 'call-pay', output: 'paid' }]
  await refusal(send(url, `${mine}/tool-results`, { results }), 422, 'unknown-tool-call')
  await refusal(send(url, '/api/agent/execute', { sessionId: 'mine', input: results }), 422, 'unknown-tool-call')
  await refusal(send(url, '/api/agent/execute', { sessionId: 'mine', input: say('hello?') }), 409, 'busy')

  const resolve = `${mine}/tool-calls/call-pay/resolve`
  await refusal(send(url, `${mine}/tool-calls/nobody/resolve`, { result: 1 }), 422, 'unknown-tool-call')
  const [pending] = view.pendingToolCalls
  await refusal(send(url, resolve, pending), 400, 'invalid-body')
  await refusal(send(url, resolve, { ...pending, toolName: 'refund', output: 'It was paid.' }), 422, 'invalid-input')
  const linked = {
    type: 'content',
    value: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'http://localhost/a.png' } }],
  }
  await refusal(send(url, resolve, { result: linked }), 403, 'url-not-allowed')
  const resolved = await send(url, resolve, { ...pending, output: 'It was paid.' })
  expect([resolved.status, await resolved.json()]).toEqual([200, { runId: view.run?.runId }])
  const open = await fetch(`${url}${mine}/events?until=settled`, { headers: { 'last-event-id': view.cursor } })
  await allFrames(open)
  const after = (await (await fetch(url + mine)).json()) as SessionView
  expect(after).toMatchObject({ status: 'completed', pendingToolCalls: [] })
  expect(after.messages.at(-1)).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: 'The whole answer.' }] })
  expect((await send(url, resolve, { result: 'It was paid.' })).status).toBe(200)
  await refusal(send(url, resolve, { error: 'It was not.' }), 409, 'tool-result-conflict')
})
