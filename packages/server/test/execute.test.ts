import { defineAgent, isDurable } from '@bowline/agent-loop'
import type { SessionView } from '@bowline/client'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { bench, gate, localTool, refusal, remoteTool, say, stores, watchedScript } from './support/bench.ts'
import { chatBody, postChat } from './support/chat.ts'
import { allFrames, collect, completion, eventsOf, framesUntil, typesOf } from './support/frames.ts'

const calls = (...names: string[]) => ({ toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) })

describe.each(stores)('execute over the $name store', ({ make }) => {
  it('V1: without a sessionId the server creates one, and needs a context', async () => {
    const { execute } = await bench({ store: make(), steps: [{ text: 'Hello.' }] })
    await refusal(execute({ input: say('hi') }), 400, 'context-required')
    const response = await execute({ input: say('hi'), context: {} })
    expect(response.headers.get('x-session-id')).toMatch(/^s_[A-Za-z0-9_-]{22}$/)
    expect(completion(await allFrames(response))).toMatchObject({
      sessionId: response.headers.get('x-session-id'),
      status: 'completed',
    })
  })

  it('V2: an unknown sessionId needs a context, and is created under that id with it', async () => {
    const { execute, get } = await bench({ store: make(), steps: [{ text: 'Hello.' }] })
    await refusal(execute({ sessionId: 'mine', input: say('hi') }), 400, 'context-required')
    await refusal(get('/api/agent/session/mine'), 404, 'session-missing')
    const context = { agent: 'assistant', metadata: { topic: 'knots' } }
    await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context }))
    expect(await (await get('/api/agent/session/mine')).json()).toMatchObject({ sessionId: 'mine', metadata: context.metadata })
    for (const sessionId of ['', '-a', 'a/b', 'a~b', 'a.b', 'a'.repeat(129)]) {
      const problem = await refusal(execute({ sessionId, input: say('hi'), context: {} }), 400, 'invalid-body')
      expect(problem.errors?.[0]?.path).toBe('sessionId')
    }
  })

  it('V3: a context for a session that exists is refused', async () => {
    const { execute, model } = await bench({ store: make(), steps: [{ text: 'Hello.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
    await refusal(execute({ sessionId: 'mine', input: say('again'), context: {} }), 409, 'session-exists')
    expect(model.calls).toHaveLength(1)
  })

  it('V4: the input is durable before the headers, which name session and run', async () => {
    const hold = gate()
    const { execute, runtime } = await bench({ store: make(), steps: [{ parts: [{ wait: hold.passed }], text: 'Hello.' }] })
    const response = await execute({ sessionId: 'mine', input: say('hi'), context: {} })
    const runId = response.headers.get('x-run-id') ?? ''
    expect(await runtime.run(runId)).toMatchObject({ runId, session: 'tenant:local:s:mine' })
    hold.open()
    expect(completion(await allFrames(response)).runId).toBe(runId)
  })

  it('V5: the stream has every event of the run from its first to its save-point, in log order, with deltas', async () => {
    const { steps, see } = watchedScript(calls('look'), { text: 'Hello there.', chunk: 3 })
    const { execute, runtime } = await bench({ store: make(), steps, tools: [localTool('look', () => 'seen')] })
    const frames = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }), see)
    const log = await collect(runtime.session('tenant:local:s:mine').events({ live: false }))
    expect([log.at(0)?.type, log.at(-2)?.type, log.at(-1)?.type]).toEqual(['session-start', 'save-point', 'settled'])
    const durable = frames.filter((frame) => 'seq' in frame.data)
    expect(durable.map((frame) => frame.data)).toEqual(log.slice(1, -1).map(({ cursor: _cursor, ...event }) => event))
    expect(durable.map((frame) => frame.id)).toEqual(log.slice(1, -1).map((event) => event.cursor))
    const text = eventsOf(frames).flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))
    expect(text.join('')).toBe('Hello there.')
    expect(typesOf(frames)).toContain('save-point')
  })

  it('V5: with deltas: false only durable events are sent', async () => {
    const { steps, see } = watchedScript({ text: 'Hello there.', chunk: 3 })
    const { execute } = await bench({ store: make(), steps })
    const frames = await allFrames(await execute({ input: say('hi'), context: {}, options: { deltas: false } }), see)
    expect(eventsOf(frames).every((event) => event.seq !== undefined)).toBe(true)
    expect(typesOf(frames)).toContain('message-end')
  })

  it('V6: execute-complete is the last frame, and has the outcome of the run', async () => {
    const { execute } = await bench({ store: make(), steps: [{ text: 'Hello.' }] })
    const frames = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
    const end = eventsOf(frames).findLast((event) => event.type === 'turn-end')
    expect(completion(frames)).toEqual({
      type: 'execute-complete',
      sessionId: 'mine',
      runId: end?.runId,
      status: 'completed',
      reason: 'stop',
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    })
  })

  it('V6: a failed model is status error on a 200 stream, with the classified error', async () => {
    const failure = Object.assign(new Error('no'), { statusCode: 401, responseBody: '', isRetryable: false })
    const { execute } = await bench({ store: make(), steps: [{ error: failure }, { text: 'Better.' }] })
    const frames = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
    expect(completion(frames)).toMatchObject({ status: 'error', error: { kind: expect.any(String), message: expect.any(String) } })
    const again = await allFrames(await execute({ sessionId: 'mine', input: say('again') }))
    expect(completion(again).status).toBe('completed')
  })

  it('V6: a stopped run ends its stream as aborted', async () => {
    const { execute, post } = await bench({ store: make(), steps: [{ text: 'Hello.', hang: 'middle' }] })
    const response = await execute({ sessionId: 'mine', input: say('hi'), context: {} })
    const reading = allFrames(response)
    expect((await post('/api/agent/session/mine/stop', {})).status).toBe(200)
    expect(completion(await reading)).toMatchObject({ status: 'aborted' })
  })

  it('V8: awaiting-tools lists the pending calls; the run goes on with results, also one by one', async () => {
    const steps = [calls('place', 'time'), { text: 'There.' }]
    const { execute } = await bench({ store: make(), steps, tools: [remoteTool('place'), remoteTool('time')] })
    const first = completion(await allFrames(await execute({ sessionId: 'mine', input: say('where?'), context: {} })))
    expect(first.status).toBe('awaiting-tools')
    expect(first.pendingToolCalls).toMatchObject([
      { toolCallId: 'call-place', toolName: 'place', input: {} },
      { toolCallId: 'call-time', toolName: 'time', input: {} },
    ])
    const partial = await allFrames(await execute({ sessionId: 'mine', input: [{ toolCallId: 'call-place', output: 'Oslo' }] }))
    expect(typesOf(partial)).toEqual(['execute-complete'])
    expect(completion(partial)).toMatchObject({
      runId: first.runId,
      status: 'awaiting-tools',
      submission: { accepted: ['call-place'], repeated: [], missing: ['call-time'] },
      pendingToolCalls: [{ toolCallId: 'call-time' }],
    })
    const rest = await allFrames(await execute({ sessionId: 'mine', input: [{ toolCallId: 'call-time', output: 'noon' }] }))
    expect(typesOf(rest)[0]).toBe('turn-start')
    expect(completion(rest)).toMatchObject({ runId: first.runId, status: 'completed', submission: { missing: [] } })
  })

  it('V9: results are checked as a whole, on both routes', async () => {
    const { execute, post, get } = await bench({
      store: make(),
      steps: [calls('place', 'time')],
      tools: [remoteTool('place'), remoteTool('time')],
    })
    await allFrames(await execute({ sessionId: 'mine', input: say('where?'), context: {} }))
    const results = [
      { toolCallId: 'call-place', output: 'Oslo' },
      { toolCallId: 'call-nobody', output: 'x' },
    ]
    const routes = [() => execute({ sessionId: 'mine', input: results }), () => post('/api/agent/session/mine/tool-results', { results })]
    for (const send of routes) {
      const problem = await refusal(send(), 422, 'unknown-tool-call')
      expect(problem.refused).toEqual([{ id: 'call-nobody', code: 'unknown-tool-call' }])
    }
    const view = (await (await get('/api/agent/session/mine')).json()) as SessionView
    expect(view.pendingToolCalls).toHaveLength(2)
  })

  it('V9: a contradicting result is a conflict, the same one again is reported as repeated, also if nothing is pending', async () => {
    const { execute, post } = await bench({ store: make(), steps: [calls('place'), { text: 'There.' }], tools: [remoteTool('place')] })
    await allFrames(await execute({ sessionId: 'mine', input: say('where?'), context: {} }))
    const oslo = [{ toolCallId: 'call-place', output: 'Oslo' }]
    const first = await allFrames(await execute({ sessionId: 'mine', input: oslo }))
    expect(await (await post('/api/agent/session/mine/tool-results', { results: oslo })).json()).toEqual({
      accepted: [],
      repeated: ['call-place'],
      missing: [],
    })
    const again = await allFrames(await execute({ sessionId: 'mine', input: oslo }))
    expect(eventsOf(again).filter(isDurable)).toEqual(eventsOf(first).filter(isDurable))
    expect(completion(again)).toMatchObject({ status: 'completed', submission: { repeated: ['call-place'] } })
    const lima = [{ toolCallId: 'call-place', output: 'Lima' }]
    const problem = await refusal(post('/api/agent/session/mine/tool-results', { results: lima }), 409, 'tool-result-conflict')
    expect(problem.refused).toEqual([{ id: 'call-place', code: 'tool-result-conflict' }])
    await refusal(execute({ sessionId: 'mine', input: lima }), 409, 'tool-result-conflict')
  })

  it('S209: a pending call with its answer is accepted on both routes; one that differs from the waiting call is invalid', async () => {
    const { execute, post, get } = await bench({
      store: make(),
      steps: [calls('place'), calls('place'), { text: 'There.' }],
      tools: [remoteTool('place')],
    })
    await allFrames(await execute({ sessionId: 'mine', input: say('where?'), context: {} }))
    const waiting = async () =>
      ((await (await get('/api/agent/session/mine')).json()) as SessionView).pendingToolCalls.map((call) => ({ ...call, output: 'Oslo' }))
    const results = await waiting()
    expect(results).toMatchObject([{ toolName: 'place', input: {}, path: [], agent: [] }])
    for (const wrong of [{ toolName: 'pay' }, { input: { of: 'Bob' } }, { agent: ['scout'] }]) {
      const input = results.map((result) => ({ ...result, ...wrong }))
      await refusal(execute({ sessionId: 'mine', input }), 422, 'invalid-input')
      await refusal(post('/api/agent/session/mine/tool-results', { results: input }), 422, 'invalid-input')
    }
    expect(await waiting()).toEqual(results)
    expect(completion(await allFrames(await execute({ sessionId: 'mine', input: results }))).status).toBe('awaiting-tools')
    const answered = await post('/api/agent/session/mine/tool-results', { results: await waiting() })
    expect(await answered.json()).toEqual({ accepted: ['call-place~2'], repeated: [], missing: [] })
  })

  it('V10: while a run is open a message is refused with its runId, or queued on request', async () => {
    const hold = gate()
    const steps = [{ parts: [{ wait: hold.passed }], text: 'One.' }, { text: 'Two.' }]
    const { execute } = await bench({ store: make(), steps, limits: { queuedRunsPerSession: 1 } })
    const one = await execute({ sessionId: 'mine', input: say('one'), context: {} })
    const busy = await refusal(execute({ sessionId: 'mine', input: say('two') }), 409, 'busy')
    expect(busy.runId).toBe(one.headers.get('x-run-id'))
    await framesUntil(
      await execute({ sessionId: 'mine', input: say('two'), options: { onBusy: 'queue' } }),
      (frame) => frame.data.type === 'run-queued',
    )
    const full = await execute({ sessionId: 'mine', input: say('three'), options: { onBusy: 'queue' } })
    expect(full.headers.get('retry-after')).toBe('1')
    const problem = await refusal(full, 429, 'queue-full')
    expect(problem).toMatchObject({ retryable: true, retryAfterMs: 1000 })
    hold.open()
    expect(completion(await allFrames(one)).status).toBe('completed')
  })

  it('V12: without a key two equal posts are two inputs', async () => {
    const { execute, get } = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }] })
    const first = completion(await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} })))
    const second = completion(await allFrames(await execute({ sessionId: 'mine', input: say('hi') })))
    expect(second.runId).not.toBe(first.runId)
    const view = (await (await get('/api/agent/session/mine')).json()) as SessionView
    expect(view.messages.filter((message) => message.role === 'user')).toHaveLength(2)
  })
})

it('V7: every possible refusal comes before the headers', async () => {
  const { execute, post } = await bench()
  await refusal(execute({ input: say('hi'), context: { agent: 'nobody' } }), 404, 'unknown-agent')
  await refusal(execute({ sessionId: 'none', input: [{ toolCallId: 'x', output: 1 }] }), 404, 'session-missing')
  await refusal(post('/api/agent/session/none/stop', {}), 404, 'session-missing')
  const problem = await refusal(execute({ input: [{ toolCallId: 'x', output: 1 }] }), 400, 'invalid-body')
  expect(problem.errors).toEqual([{ path: 'sessionId', message: expect.any(String) }])
})

it('S208: an empty input is an invalid body, on each route, and no model is called', async () => {
  const { execute, post, model } = await bench({ steps: [{ text: 'Hi.' }] })
  await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  for (const content of ['', ' \n', [], [{ type: 'text', text: ' ' }]]) {
    const input = { role: 'user', content }
    await refusal(execute({ sessionId: 'mine', input }), 400, 'invalid-body')
    await refusal(post('/api/agent/session/mine/follow-up', { input }), 400, 'invalid-body')
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    await refusal(postChat({ post }, chatBody([{ id: 'u1', role: 'user', parts }])), 400, 'invalid-body')
  }
  expect(model.calls).toHaveLength(1)
})

it('V10: the agent decides what a client may request while a run is open', async () => {
  const { execute } = await bench({ agents: { assistant: { onBusy: ['reject'] } }, defaultAgent: 'assistant', steps: [{ text: 'Hi.' }] })
  await refusal(execute({ input: say('hi'), context: {}, options: { onBusy: 'queue' } }), 403, 'option-not-allowed')
  expect((await execute({ input: say('hi'), context: {}, options: { onBusy: 'reject' } })).status).toBe(200)
})

it('V16: a client cannot make the server fetch an address or set options of the provider', async () => {
  const { execute } = await bench()
  const file = { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'http://169.254.169.254/' } }
  await refusal(execute({ input: { role: 'user', content: [file] }, context: {} }), 403, 'url-not-allowed')
  const text = { type: 'text', text: 'hi', providerOptions: { openai: { store: true } } }
  await refusal(execute({ input: { role: 'user', content: [text] }, context: {} }), 403, 'option-not-allowed')
})

it('V2: the named agent answers, and another one named later is refused', async () => {
  const other = defineAgent({ name: 'other', model: scriptedModel([{ text: 'Other here.' }]), tools: [] })
  const { execute, get } = await bench({ otherAgents: [other] })
  const frames = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: { agent: 'other' } }))
  expect(JSON.stringify(eventsOf(frames))).toContain('Other here.')
  expect(await (await get('/api/agent/session/mine')).json()).toMatchObject({ agent: 'other' })
  await refusal(execute({ sessionId: 'mine', input: say('hi'), context: { agent: 'assistant' } }), 409, 'session-exists')
})
