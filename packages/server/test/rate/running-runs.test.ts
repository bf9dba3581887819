import { createServer, createToken, type Principal } from '@bowline/server'
import { describe, expect, it } from 'vitest'
import { bench, gate, refusal, remoteTool, say, stores, type Bench, type BenchOptions } from '../support/bench.ts'
import { chatBody, postChat } from '../support/chat.ts'
import { allFrames, completion, framesUntil, type Frame } from '../support/frames.ts'

const session = '/api/agent/session'
const isType = (type: string) => (frame: Frame) => frame.data.type === type
const send = (it: Bench, sessionId: string, options: object = {}) =>
  it.execute({ sessionId, input: say('hi'), context: {}, ...options })

/** Runs that go on until the gate is open, but for those that are told to ask. */
async function withLimit(runsPerTenant: number, options: BenchOptions = {}) {
  const hold = gate()
  const steps = async ({ prompt }: { prompt: unknown }) => {
    const text = JSON.stringify(prompt)
    if (text.includes('ask') && !text.includes('tool-result')) return { toolCalls: [{ id: 'call-place', name: 'place', input: {} }] }
    return { parts: [{ wait: hold.passed }], text: 'Done.' }
  }
  const it = await bench({ steps, tools: [remoteTool('place')], limits: { runsPerTenant }, ...options })
  /** A run that goes on. */
  const start = async (sessionId: string) => {
    const answer = await send(it, sessionId)
    expect(answer.status).toBe(200)
    return answer
  }
  return { ...it, hold, start }
}

describe.each(stores)('over the $name store', ({ make }) => {
  it('V77: a new run beyond the limit is 429, and is taken when one has ended', async () => {
    const it = await withLimit(2, { store: make() })
    const open = [await it.start('a'), await it.start('b')]
    expect(await refusal(send(it, 'c'), 429, 'too-many-runs')).toMatchObject({ retryable: true, retryAfterMs: 1000 })
    await refusal(it.get(`${session}/c`), 404, 'session-missing')
    it.hold.open()
    for (const each of open) expect(completion(await allFrames(each)).status).toBe('completed')
    expect(completion(await allFrames(await send(it, 'c'))).status).toBe('completed')
  })

  it('V77: runs that wait for somebody do not count', async () => {
    const it = await withLimit(2, { store: make() })
    for (const id of ['a', 'b', 'c', 'd']) {
      const waiting = await it.execute({ sessionId: id, input: say('ask'), context: {} })
      expect(completion(await allFrames(waiting)).status).toBe('awaiting-tools')
    }
    await it.start('e')
    await it.start('f')
    await refusal(send(it, 'g'), 429, 'too-many-runs')
    // What waits may always go on.
    const answered = await it.execute({ sessionId: 'a', input: [{ toolCallId: 'call-place', output: 'Oslo' }] })
    expect(answered.status).toBe(200)
    it.hold.open()
    await allFrames(answered)
  })
})

it('V77: of many at the same time as many are taken as there is room for', async () => {
  const it = await withLimit(5)
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => send(it, `s${index}`)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(35)
  it.hold.open()
  await Promise.all(answers.map((answer) => answer.text()))
})

it('V77: each tenant has its own', async () => {
  const as = (tenant: string) => ({ authorization: tenant })
  const auth = (request: Request): Promise<Principal> =>
    Promise.resolve({ id: 'page', tenant: request.headers.get('authorization') ?? 'none', scopes: ['admin'] })
  const it = await withLimit(1, { auth })
  const body = { sessionId: 'mine', input: say('hi'), context: {} }
  expect((await it.execute(body, as('one'))).status).toBe(200)
  expect((await it.execute(body, as('two'))).status).toBe(200)
  await refusal(it.execute({ ...body, sessionId: 'other' }, as('one')), 429, 'too-many-runs')
})

it('V77: what joins or queues behind a run that is at work is no new run', async () => {
  const it = await withLimit(1)
  await it.start('a')
  const queued = await it.execute({ sessionId: 'a', input: say('more'), options: { onBusy: 'queue' } })
  expect(queued.status).toBe(200)
  expect((await it.post(`${session}/a/steer`, { input: say('more') })).status).toBe(202)
})

it('V77: every way to start a run counts, and is held back', async () => {
  const hold = gate()
  const busy = await bench({ steps: [{ text: 'Hi.' }, { parts: [{ wait: hold.passed }], text: 'Hi.' }], limits: { runsPerTenant: 1 } })
  await allFrames(await send(busy, 'idle'))
  await send(busy, 'a')
  for (const path of ['steer', 'follow-up']) {
    await refusal(busy.post(`${session}/idle/${path}`, { input: say('x') }), 429, 'too-many-runs')
  }
  await refusal(busy.post(`${session}/idle/compact`, {}), 429, 'too-many-runs')
  const text = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'x' }] }
  await refusal(postChat(busy, chatBody([text], { id: 'new' })), 429, 'too-many-runs')
  hold.open()
})

it('V77: a session in which something just happened is not at work for that', async () => {
  const hold = gate()
  const it = await bench({ steps: [{ text: 'Hi.' }, { parts: [{ wait: hold.passed }], text: 'Hi.' }], limits: { runsPerTenant: 1 } })
  await allFrames(await send(it, 'idle'))
  await framesUntil(await send(it, 'a'), isType('message-start'))
  const { store } = it.runtime
  const listRuns = store.listRuns.bind(store)
  // Whenever the server looks what is at work, somebody changes the session in which nothing is.
  store.listRuns = async (key, query) => {
    await it.runtime.session('tenant:local:s:idle').overlay('It is late.')
    return listRuns(key, query)
  }
  await refusal(it.execute({ sessionId: 'idle', input: say('more') }), 429, 'too-many-runs')
  hold.open()
})

it('V77: runs that other servers of the store have under way count, and those of before', async () => {
  const { token, config } = await createToken({ id: 'a', tenant: 'demo', scopes: ['admin'] })
  const headers = { authorization: `Bearer ${token}` }
  const first = await withLimit(2, { auth: { tokens: [config] } })
  const body = (sessionId: string) => ({ sessionId, input: say('hi'), context: {} })
  await framesUntil(await first.execute(body('a'), headers), isType('message-start'))
  // A second server over the same runtime begins with nothing known.
  const second = createServer({ runtime: first.runtime, auth: { tokens: [config] }, limits: { runsPerTenant: 2 } })
  const ask = (sessionId: string) =>
    second.fetch(
      new Request('http://localhost/api/agent/execute', {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body(sessionId)),
      }),
    )
  expect((await ask('b')).status).toBe(200)
  await refusal(first.execute(body('c'), headers), 429, 'too-many-runs')
  await refusal(ask('c'), 429, 'too-many-runs')
})

it('V77: an input that fails to get in leaves no trace', async () => {
  const it = await withLimit(1)
  const commit = it.runtime.store.commit.bind(it.runtime.store)
  it.runtime.store.commit = () => Promise.reject(new Error('the store failed'))
  await refusal(send(it, 'a'), 500, 'internal')
  it.runtime.store.commit = commit
  expect((await send(it, 'b')).status).toBe(200)
})

it('V77: while there is room, an input does not look through the sessions', async () => {
  const it = await bench({ steps: Array.from({ length: 10 }, () => ({ text: 'Hi.' })) })
  await allFrames(await send(it, 's0'))
  let lists = 0
  const listSessions = it.runtime.store.listSessions.bind(it.runtime.store)
  it.runtime.store.listSessions = (query) => {
    lists += 1
    return listSessions(query)
  }
  for (let index = 1; index < 10; index++) await allFrames(await send(it, `s${index}`))
  expect(lists).toBe(0)
})
