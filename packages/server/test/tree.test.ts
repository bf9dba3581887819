import { defineAgent } from '@bowline/agent-loop'
import type { BranchList, SessionView } from '@bowline/client'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { bench, gate, localTool, refusal, say, stores, type Bench } from './support/bench.ts'
import { allFrames } from './support/frames.ts'

const mine = '/api/agent/session/mine'
const view = async (answer: Response | Promise<Response>) => (await (await answer).json()) as SessionView
const answers = (...texts: readonly string[]) => texts.map((text) => ({ text }))

/** Creates a session with these inputs, each answered. */
async function talk({ execute }: Bench, ...inputs: readonly string[]): Promise<void> {
  for (const [place, input] of inputs.entries()) {
    await allFrames(
      await execute({ sessionId: 'mine', input: say(input), ...(place === 0 && { context: { metadata: { topic: 'knots' } } }) }),
    )
  }
}

describe.each(stores)('the tree of a session over the $name store', ({ make }) => {
  it('V25: a fork is a session of its own with a copy of the path, complete when the request is answered', async () => {
    const it = await bench({ store: make(), steps: answers('One.', 'Two.', 'Three.', 'Four.') })
    await talk(it, 'first', 'second')
    const { messages } = await view(it.get(mine))
    const answer = await it.post(`${mine}/fork`, { entryId: messages[1]?.id, newSessionId: 'copy' })
    expect(answer.status).toBe(201)
    const made = await view(answer)
    expect(made).toMatchObject({ sessionId: 'copy', agent: 'assistant', forkedFrom: { sessionId: 'mine', entryId: messages[1]?.id } })
    expect(made).toMatchObject({ messages: messages.slice(0, 2), metadata: { topic: 'knots' }, usage: {} })
    expect(made).not.toHaveProperty('parent')
    expect(await view(it.get('/api/agent/session/copy'))).toEqual(made)
    await allFrames(await it.execute({ sessionId: 'copy', input: say('aside') }))
    expect((await view(it.get(mine))).messages).toEqual(messages)
    const whole = await view(it.post(`${mine}/fork`, {}))
    expect(whole.sessionId).toMatch(/^s_[A-Za-z0-9_-]{22}$/)
    expect(whole.messages).toEqual(messages)
  })

  it('V25: an id that is already used, an unknown entry and an open run are refused', async () => {
    const hold = gate()
    const it = await bench({ store: make(), steps: [...answers('One.'), { parts: [{ wait: hold.passed }], text: 'Two.' }] })
    await talk(it, 'first')
    await it.post(`${mine}/fork`, { newSessionId: 'copy' })
    for (const newSessionId of ['copy', 'mine']) await refusal(it.post(`${mine}/fork`, { newSessionId }), 409, 'session-exists')
    await refusal(it.post(`${mine}/fork`, { entryId: 'nobody' }), 404, 'unknown-entry')
    await refusal(it.post(`${mine}/fork`, { newSessionId: 'a~b' }), 400, 'invalid-body')
    const open = await it.execute({ sessionId: 'mine', input: say('second') })
    const busy = await refusal(it.post(`${mine}/fork`, {}), 409, 'busy')
    expect(busy.runId).toBe(open.headers.get('x-run-id'))
    await refusal(it.post(`${mine}/fork`, { newSessionId: 'copy' }), 409, 'session-exists')
    hold.open()
    await allFrames(open)
  })

  it('S149: switch continues at another entry, and branches lists all ends', async () => {
    const it = await bench({ store: make(), steps: answers('One.', 'Two.', 'Other.') })
    await talk(it, 'first', 'second')
    const { messages } = await view(it.get(mine))
    const switched = await view(it.post(`${mine}/switch`, { entryId: messages[1]?.id }))
    expect(switched.messages).toEqual(messages.slice(0, 2))
    await allFrames(await it.execute({ sessionId: 'mine', input: say('other') }))
    const { branches } = (await (await it.get(`${mine}/branches`)).json()) as BranchList
    expect(branches).toMatchObject([
      { leaf: messages[3]?.id, entries: 4, active: false },
      { entries: 4, active: true },
    ])
    const first = (await (await it.get(`${mine}/branches?limit=1`)).json()) as BranchList
    expect(first.branches).toEqual(branches.slice(0, 1))
    const rest = await (await it.get(`${mine}/branches?limit=1&cursor=${encodeURIComponent(first.nextCursor ?? '')}`)).json()
    expect(rest).toMatchObject({ branches: branches.slice(1) })
    expect((await view(it.post(`${mine}/switch`, { entryId: null }))).messages).toEqual([])
    await refusal(it.post(`${mine}/switch`, { entryId: 'nobody' }), 404, 'unknown-entry')
    await refusal(it.get(`${mine}/branches?cursor=x`), 400, 'invalid-cursor')
  })

  it('S154: compact returns its outcome', async () => {
    const it = await bench({ store: make(), steps: answers('One.') })
    await talk(it, 'first')
    const answer = await it.post(`${mine}/compact`, { instructions: 'Keep the knots.' })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ outcome: 'skipped', tokensBefore: expect.any(Number) })
    await refusal(it.post('/api/agent/session/none/compact', {}), 404, 'session-missing')
  })

  it('S159: an export is lines of JSON that another runtime can import', async () => {
    const it = await bench({
      store: make(),
      steps: [{ toolCalls: [{ name: 'look', input: {} }] }, ...answers('One.', 'Two.')],
      tools: [localTool('look', () => 'seen')],
    })
    await talk(it, 'first', 'second')
    const answer = await it.get(`${mine}/export?events&allBranches=true`)
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const lines = (await answer.text()).trimEnd().split('\n')
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type)
    expect([types[0], types.at(-1)]).toEqual(['header', 'footer'])
    expect(types).toContain('event')
    const without = (await (await it.get(`${mine}/export?events=false`)).text()).trimEnd().split('\n')
    expect(without.every((line) => (JSON.parse(line) as { type: string }).type !== 'event')).toBe(true)
    const agents = [defineAgent({ name: 'assistant', model: scriptedModel([]) })]
    const other = createRuntime({ agents })
    const copy = await other.importSession(ReadableStream.from(lines), { key: 'copy' })
    expect((await copy.messages()).items).toEqual((await view(it.get(mine))).messages)
    await other.stop()
    await refusal(it.get(`${mine}/export?events=maybe`), 400, 'invalid-query')
  })
})

it('S159: an export is read only as far as its reader asks', async () => {
  const it = await bench({ steps: Array.from({ length: 5 }, () => ({ text: 'x'.repeat(1000) })) })
  await talk(it, 'a', 'b', 'c', 'd', 'e')
  let made = 0
  let left = false
  const session = it.runtime.session('tenant:local:s:mine')
  it.runtime.session = () => ({
    ...session,
    async *export(options) {
      try {
        for await (const line of session.export(options)) {
          made++
          yield line.padEnd(100_000)
        }
      } finally {
        left = true
      }
    },
  })
  const request = new Request('http://127.0.0.1/api/agent/session/mine/export', { headers: { host: '127.0.0.1' } })
  const reader = (await it.server.fetch(request, { remoteAddress: '127.0.0.1' })).body?.getReader()
  expect(made).toBe(0)
  await reader?.read()
  expect(made).toBe(1)
  await reader?.cancel()
  expect([made, left]).toEqual([1, true])
})

it('S159: an export that breaks off is cut, and its fault is logged', async () => {
  const it = await bench({ steps: answers('One.') })
  await talk(it, 'first')
  const session = it.runtime.session('tenant:local:s:mine')
  it.runtime.session = () => ({
    ...session,
    async *export() {
      yield '{}'
      throw new Error('no more')
    },
  })
  const reader = (await it.get(`${mine}/export`)).body?.getReader()
  expect(await reader?.read()).toEqual({ done: false, value: new TextEncoder().encode('{}\n') })
  await expect(reader?.read()).rejects.toThrow()
  expect(it.faults).toHaveLength(1)
})

it('V6: recover decides about a run whose agent has changed', async () => {
  const it = await bench({ steps: answers('One.') })
  await talk(it, 'first')
  await refusal(it.post(`${mine}/runs/nobody/recover`, { decision: 'continue' }), 404, 'unknown-run')
  await refusal(it.post(`${mine}/runs/nobody/recover`, { decision: 'perhaps' }), 400, 'invalid-body')
  const [run] = (await it.runtime.session('tenant:local:s:mine').runs()).items
  const answer = await it.post(`${mine}/runs/${run?.runId}/recover`, { decision: 'continue' })
  expect(await answer.json()).toEqual({ runId: run?.runId })
})

it('V78: an export takes a stream slot until it is read or its reader leaves', async () => {
  const it = await bench({ steps: answers('One.'), limits: { streamsPerSession: 1 } })
  await talk(it, 'first')
  const request = () => new Request(`http://127.0.0.1${mine}/export`, { headers: { host: '127.0.0.1' } })
  const ask = () => it.server.fetch(request(), { remoteAddress: '127.0.0.1' })
  const left = await ask()
  await refusal(ask(), 429, 'too-many-streams')
  await left.body?.cancel()
  const read = await ask()
  await refusal(it.get(`${mine}/events`), 429, 'too-many-streams')
  await read.text()
  expect((await ask()).status).toBe(200)
})
