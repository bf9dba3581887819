import type { SessionList, SessionView, StopReceipt } from '@bowline/client'
import { createToken } from '@bowline/server'
import { describe, expect, it } from 'vitest'
import { bench, gate, localTool, refusal, remoteTool, say, stores } from './support/bench.ts'
import { allFrames, completion } from './support/frames.ts'

const mine = '/api/agent/session/mine'
const read = async (answer: Promise<Response>) => (await (await answer).json()) as SessionView

describe.each(stores)('sessions over the $name store', ({ make }) => {
  it('V18: a session is read newest page first, entries are whole messages, and before returns older ones', async () => {
    const { execute, get } = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('first'), context: { metadata: { topic: 'knots' } } }))
    await allFrames(await execute({ sessionId: 'mine', input: say('second') }))
    const newest = await read(get(`${mine}?limit=3`))
    expect(newest).toMatchObject({
      sessionId: 'mine',
      agent: 'assistant',
      status: 'completed',
      outcome: 'completed',
      hasMore: true,
      children: { usage: {} },
      total: { usage: { inputTokens: expect.any(Number) as number } },
      metadata: { topic: 'knots' },
    })
    expect(newest.messages.map((message) => message.role)).toEqual(['assistant', 'user', 'assistant'])
    const before = newest.messages[0]?.id ?? ''
    const older = await read(get(`${mine}?limit=3&before=${before}`))
    expect(older.messages).toMatchObject([{ role: 'user', content: 'first' }])
    expect(older.hasMore).toBe(false)
    await refusal(get(`${mine}?before=nobody`), 404, 'unknown-entry')
    for (const limit of ['0', '501', 'x', '1.5']) await refusal(get(`${mine}?limit=${limit}`), 400, 'invalid-query')
  })

  it('V18: the ETag is the cursor, and an unchanged session is 304', async () => {
    const { execute, get } = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('first'), context: {} }))
    const answer = await get(mine)
    const etag = answer.headers.get('etag') ?? ''
    expect(etag).toBe(`"${((await answer.json()) as SessionView).cursor}"`)
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`]) expect((await get(mine, { 'if-none-match': tag })).status).toBe(304)
    await allFrames(await execute({ sessionId: 'mine', input: say('second') }))
    expect((await get(mine, { 'if-none-match': etag })).status).toBe(200)
  })

  it('V18: a view names the open run and its pending work', async () => {
    const steps = [{ toolCalls: [{ id: 'call-place', name: 'place', input: {} }] }]
    const { execute, get } = await bench({ store: make(), steps, tools: [remoteTool('place')] })
    const { runId } = completion(await allFrames(await execute({ sessionId: 'mine', input: say('where?'), context: {} })))
    expect(await read(get(mine))).toMatchObject({
      status: 'waiting-for-user',
      run: { runId, status: 'waiting-for-user', outcome: 'awaiting-tools' },
      pendingToolCalls: [{ toolCallId: 'call-place', toolName: 'place' }],
    })
  })

  it('V20: stop is answered with the outcome, and repeating it changes nothing', async () => {
    const { execute, post } = await bench({ store: make(), steps: [{ text: 'Hello.', hang: 'middle' }] })
    const answer = await execute({ sessionId: 'mine', input: say('hi'), context: {} })
    const reading = allFrames(answer)
    const receipt = (await (await post(`${mine}/stop`, {})).json()) as StopReceipt
    expect(receipt).toEqual({
      runId: answer.headers.get('x-run-id'),
      state: 'settled',
      status: 'stopped',
      calls: [],
      children: [],
    })
    expect(completion(await reading).status).toBe('aborted')
    const again = await post(`${mine}/stop`, { runId: receipt.runId })
    expect(await again.json()).toMatchObject({ runId: receipt.runId, status: 'stopped' })
  })

  it('V20: with waitMs 0 the answer is 202 and pending, and the stop request stays in force', async () => {
    const hold = gate()
    const started = gate()
    const steps = [{ toolCalls: [{ name: 'slow', input: {} }] }]
    const slow = localTool('slow', async () => {
      started.open()
      await hold.passed
      return 'done'
    })
    const { execute, post } = await bench({ store: make(), steps, tools: [slow] })
    const answer = await execute({ sessionId: 'mine', input: say('hi'), context: {} })
    const reading = allFrames(answer)
    await started.passed
    const stopped = await post(`${mine}/stop`, { waitMs: 0 })
    expect(stopped.status).toBe(202)
    expect(await stopped.json()).toMatchObject({ state: 'pending', calls: [{ toolName: 'slow', status: 'running' }] })
    hold.open()
    expect(completion(await reading).status).toBe('aborted')
  })

  it('V21: stop without a run is 200 with nothing-to-stop', async () => {
    const { execute, post } = await bench({ store: make(), steps: [{ text: 'Hello.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
    const answer = await post(`${mine}/stop`, {})
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ runId: null, state: 'nothing-to-stop' })
    await refusal(post(`${mine}/stop`, { runId: 'run_nobody' }), 404, 'unknown-run')
    await refusal(post(`${mine}/stop`, { mode: 'kill', runId: 'run_nobody' }), 400, 'invalid-body')
    await refusal(post(`${mine}/stop`, { waitMs: 30_001 }), 400, 'invalid-body')
  })

  it('V19: an unknown id and an id of another tenant are the same 404', async () => {
    const { red, blue } = await twoTenants()
    const { execute, get, post } = await bench({ store: make(), auth: { tokens: [red.config, blue.config] }, steps: [{ text: 'Hi.' }] })
    const asRed = { authorization: `Bearer ${red.token}` }
    const asBlue = { authorization: `Bearer ${blue.token}` }
    await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }, asRed))
    expect((await get(mine, asRed)).status).toBe(200)
    const unlike = ({ requestId: _id, instance: _path, ...problem }: object & { requestId: string; instance: string }) => problem
    const foreign = await refusal(get(mine, asBlue), 404, 'session-missing')
    const unknown = await refusal(get('/api/agent/session/none', asBlue), 404, 'session-missing')
    const impossible = await refusal(get('/api/agent/session/a~b', asBlue), 404, 'session-missing')
    expect(unlike(foreign)).toEqual(unlike(unknown))
    expect(unlike(impossible)).toEqual(unlike(unknown))
    await refusal(get(`${mine}/events`, asBlue), 404, 'session-missing')
    await refusal(post(`${mine}/stop`, {}, asBlue), 404, 'session-missing')
    await refusal(post(`${mine}/tool-results`, { results: [{ toolCallId: 'x', output: 1 }] }, asBlue), 404, 'session-missing')
  })

  it('V26: the list is by tenant, newest update first, in pages that are stable while others write', async () => {
    const { red, blue } = await twoTenants()
    const { execute, get } = await bench({
      store: make(),
      auth: { tokens: [red.config, blue.config] },
      steps: Array.from({ length: 7 }, () => ({ text: 'Hi.' })),
    })
    const asRed = { authorization: `Bearer ${red.token}` }
    const asBlue = { authorization: `Bearer ${blue.token}` }
    const make1 = async (sessionId: string, as: Record<string, string>) =>
      allFrames(await execute({ sessionId, input: say('hi'), context: {} }, as))
    for (const id of ['one', 'two', 'three', 'four']) await make1(id, asRed)
    await make1('other', asBlue)
    const list = async (query: string) => (await (await get(`/api/agent/sessions${query}`, asRed)).json()) as SessionList
    const whole = await list('')
    expect(whole.sessions.map((session) => session.sessionId)).toEqual(['four', 'three', 'two', 'one'])
    expect(whole.sessions[0]).not.toHaveProperty('messages')
    const first = await list('?limit=2')
    await make1('five', asRed)
    const second = await list(`?limit=2&cursor=${encodeURIComponent(first.nextCursor ?? '')}`)
    const seen = [...first.sessions, ...second.sessions].map((session) => session.sessionId)
    expect(seen).toEqual(['four', 'three', 'two', 'one'])
    expect((await list('?agent=nobody')).sessions).toEqual([])
  })

  it('V63: no tenant name and no id reaches the sessions of another tenant', async () => {
    const { red } = await twoTenants()
    const names = ['re_', 're.', 're', 'redd', 'RED']
    const others = await Promise.all(names.map((tenant, index) => createToken({ id: `o${index}`, tenant, scopes: ['admin'] })))
    const { execute, get } = await bench({
      store: make(),
      auth: { tokens: [red.config, ...others.map((other) => other.config)] },
      steps: [{ text: 'Hi.' }],
    })
    await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }, { authorization: `Bearer ${red.token}` }))
    for (const { token } of others) {
      const as = { authorization: `Bearer ${token}` }
      expect(await (await get('/api/agent/sessions', as)).json()).toEqual({ sessions: [] })
      for (const id of ['mine', 'red%3As%3Amine', '..%2Fred', 'tenant%3Ared%3As%3Amine']) {
        await refusal(get(`/api/agent/session/${id}`, as), 404, 'session-missing')
      }
    }
  })
})

async function twoTenants() {
  const [red, blue] = await Promise.all([
    createToken({ id: 'r', tenant: 'red', scopes: ['sessions:read', 'sessions:write'] }),
    createToken({ id: 'b', tenant: 'blue', scopes: ['sessions:read', 'sessions:write'] }),
  ])
  return { red, blue }
}
