import { defineAgent, type AgentOptions } from '@bowline/agent-loop'
import type { SessionList, SessionView, StopReceipt } from '@bowline/client'
import { createToken } from '@bowline/server'
import { manualClock, scriptedModel, type Script } from '@bowline/llm/testing'
import { createOrchestration, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { bench, gate, localTool, refusal, say, stores } from './support/bench.ts'
import { allFrames, completion, framesUntil } from './support/frames.ts'

const mine = '/api/agent/session/mine'
const remove = (url: string, path: string, headers: Record<string, string> = {}) => fetch(url + path, { method: 'DELETE', headers })

describe.each(stores)('the end of a session over the $name store', ({ make }) => {
  it('V24: delete stops the open run, then deletes; a repeat and an unknown id are 204 too', async () => {
    const { execute, url, get, post, runtime } = await bench({ store: make(), steps: [{ text: 'Hello.', hang: 'middle' }] })
    const answer = await execute({ sessionId: 'mine', input: say('hi'), context: {} })
    const reading = answer.text().catch(() => 'cut')
    expect((await remove(url, mine)).status).toBe(204)
    await reading
    expect(await runtime.run(answer.headers.get('x-run-id') ?? '')).toBeNull()
    for (const id of ['mine', 'none']) expect((await remove(url, `/api/agent/session/${id}`)).status).toBe(204)
    await refusal(remove(url, '/api/agent/session/mine~a~1'), 404, 'session-missing')
    expect((await (await get('/api/agent/sessions')).json()) as SessionList).toEqual({ sessions: [] })
    // V19: the server still knows that the session existed.
    await refusal(get(mine), 410, 'session-deleted')
    await refusal(get(`${mine}/events`), 410, 'session-deleted')
    await refusal(post(`${mine}/stop`, {}), 410, 'session-deleted')
  })

  it('V24: an id that is used again with a context is a new session', async () => {
    const { execute, url, get } = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('one'), context: {} }, { 'idempotency-key': 'k1' }))
    await remove(url, mine)
    await refusal(execute({ sessionId: 'mine', input: say('two') }), 410, 'session-deleted')
    const frames = await allFrames(await execute({ sessionId: 'mine', input: say('two'), context: {} }))
    expect(completion(frames).status).toBe('completed')
    const { messages } = (await (await get(mine)).json()) as SessionView
    expect(messages).toMatchObject([{ content: 'two' }, { content: [{ text: 'Two.' }] }])
  })

  it('V21: kill ends everything that is open, and needs the right to delete', async () => {
    const tokens = await Promise.all([
      createToken({ id: 'w', tenant: 'red', scopes: ['sessions:write', 'sessions:read'] }),
      createToken({ id: 'd', tenant: 'red', scopes: ['sessions:write', 'sessions:delete'] }),
      createToken({ id: 'a', tenant: 'red', scopes: ['admin'] }),
    ])
    const [writer = {}, remover = {}, admin = {}] = tokens.map(({ token }) => ({ authorization: `Bearer ${token}` }))
    const steps = [{ text: 'Hello.', hang: 'middle' } as const, { text: 'Never.' }]
    const { execute, post, get } = await bench({ store: make(), auth: { tokens: tokens.map(({ config }) => config) }, steps })
    const answer = await execute({ sessionId: 'mine', input: say('hi'), context: {} }, writer)
    const reading = allFrames(answer)
    await execute({ sessionId: 'mine', input: say('more'), options: { onBusy: 'queue' } }, writer)
    const problem = await refusal(post(`${mine}/stop`, { mode: 'kill' }, writer), 403, 'scope-missing')
    expect(problem.detail).toContain('sessions:delete')
    const receipt = (await (await post(`${mine}/stop`, { mode: 'kill' }, remover)).json()) as StopReceipt
    expect(receipt).toMatchObject({ runId: answer.headers.get('x-run-id'), state: 'settled', status: 'stopped' })
    expect(completion(await reading).status).toBe('aborted')
    expect(await (await get(mine, writer)).json()).toMatchObject({ status: 'stopped' })
    expect(await (await post(`${mine}/stop`, { mode: 'kill' }, admin)).json()).toMatchObject({ state: 'nothing-to-stop' })
  })
})

it('V20, S100: the receipt of a stop has the runs in which a subagent is notified of its background tasks', async () => {
  const helper = (name: string, steps: Script, more: Partial<AgentOptions> = {}) =>
    defineAgent({ name, description: 'Helps.', model: scriptedModel(steps), abortGraceMs: 10, ...more })
  const handOver = (to: string, more: object = {}) => ({
    toolCalls: [{ id: to, name: `delegate_to_${to}`, input: { prompt: 'help', ...more } }],
  })
  const [midEnded, told] = [gate(), gate()]
  const finds: Script = async () => (await midEnded.passed, { text: 'Found.' })
  const hears: Script = async (_call, index) => {
    if (index === 2) told.open()
    return [handOver('leaf', { run_in_background: true }), { text: 'Launched.' }, { hang: 'before' } as const][index] ?? {}
  }
  const mid = helper('mid', hears, { subagents: [helper('leaf', finds)] })
  const boss = helper('boss', async (_call, index) => (index === 0 ? handOver('mid') : (midEnded.open(), { hang: 'before' })), {
    subagents: [mid],
  })
  const { execute, post } = await bench({ otherAgents: [boss], defaultAgent: 'boss' })
  await (await execute({ sessionId: 'mine', input: say('go'), context: {} })).body?.cancel()
  await told.passed
  const answer = await post(`${mine}/stop`, {})
  expect([answer.status, await answer.json()]).toMatchObject([
    200,
    {
      state: 'settled',
      status: 'stopped',
      children: [
        { status: 'completed', children: [{ status: 'completed' }] },
        { state: 'settled', status: 'stopped' },
      ],
    },
  ])
})

it('V20, V63: a background subagent is stopped by its run id only through the session above it', async () => {
  const working = gate()
  const helper = defineAgent({
    name: 'helper',
    description: 'Helps.',
    model: scriptedModel(() => (working.open(), { hang: 'before' })),
    abortGraceMs: 10,
  })
  const handOver = { toolCalls: [{ id: 'call-help', name: 'delegate_to_helper', input: { prompt: 'help', run_in_background: true } }] }
  const agent = defineAgent({ name: 'boss', model: scriptedModel([handOver, { text: 'Launched.' }, { text: 'Hi.' }]), subagents: [helper] })
  const { execute, get, post } = await bench({ otherAgents: [agent], defaultAgent: 'boss' })
  const frames = await allFrames(await execute({ sessionId: 'mine', input: say('go'), context: {} }))
  const runId = frames.map(({ data }) => data).find((event) => event.type === 'child-start')?.['childRunId']
  await working.passed
  await allFrames(await execute({ sessionId: 'other', input: say('hi'), context: {} }))
  await refusal(post('/api/agent/session/other/stop', { runId }), 404, 'unknown-run')
  const answer = await post(`${mine}/stop`, { runId })
  expect([answer.status, await answer.json()]).toMatchObject([200, { runId, state: 'settled', status: 'stopped' }])
  const told = await framesUntil(await get(`${mine}/events?from=start`), ({ data }) => data.type === 'child-end')
  expect(told.at(-1)?.data).toMatchObject({ childRunId: runId, status: 'aborted' })
})

it('V19: an expired session is 410 on every route except delete', async () => {
  const clock = manualClock(1_000)
  const { execute, get, post, url } = await bench({ steps: [{ text: 'Hello.' }], runtimeOptions: { clock, ttl: { maxAgeMs: 1_000 } } })
  await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  await clock.advance(1_001)
  for (const path of [mine, `${mine}/events`, `${mine}/branches`]) await refusal(get(path), 410, 'session-expired')
  await refusal(post(`${mine}/stop`, {}), 410, 'session-expired')
  for (const context of [undefined, {}]) await refusal(execute({ sessionId: 'mine', input: say('hi'), context }), 410, 'session-expired')
  expect((await remove(url, mine)).status).toBe(204)
  await refusal(get(mine), 410, 'session-deleted')
})

const boss = (store: SessionStore) => {
  const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel([{ text: 'Helped.' }]) })
  const handOver = { toolCalls: [{ id: 'call-help', name: 'delegate_to_helper', input: { prompt: 'help' } }] }
  const model = scriptedModel([handOver, { text: 'Done.' }, { text: 'Hi.' }])
  const agent = defineAgent({ name: 'boss', model, subagents: [helper] })
  return bench({ store, otherAgents: [agent], defaultAgent: 'boss', steps: [{ text: 'Hi.' }] })
}

describe.each(stores)('children over the $name store', ({ make }) => {
  it('V27: are listed only under their parent', async () => {
    const { execute, get } = await boss(make())
    await allFrames(await execute({ sessionId: 'mine', input: say('go'), context: {} }))
    const list = async (query: string) => ((await (await get(`/api/agent/sessions${query}`)).json()) as SessionList).sessions
    expect((await list('')).map(({ sessionId }) => sessionId)).toEqual(['mine'])
    const children = await list('?parent=mine')
    expect(children).toMatchObject([{ agent: 'helper', parent: 'mine' }])
    expect(children[0]?.sessionId).toMatch(/^mine~helper~/)
    for (const nobody of ['none', 'min', children[0]?.sessionId]) expect(await list(`?parent=${nobody}`)).toEqual([])
    await refusal(get('/api/agent/sessions?parent=a~b'), 400, 'invalid-query')
    await refusal(get('/api/agent/sessions?parent=a:b'), 400, 'invalid-query')
  })

  it('V63: the id of a child is accepted by the two read routes only', async () => {
    const { execute, get, post, url } = await boss(make())
    await allFrames(await execute({ sessionId: 'mine', input: say('go'), context: {} }))
    const { sessions } = (await (await get('/api/agent/sessions?parent=mine')).json()) as SessionList
    const id = sessions[0]?.sessionId ?? ''
    const child = `/api/agent/session/${id}`
    const view = (await (await get(child)).json()) as SessionView
    expect(view).toMatchObject({ sessionId: id, agent: 'helper', parent: 'mine' })
    expect(view.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    const frames = await framesUntil(await get(`${child}/events?from=start`), ({ data }) => data.type === 'turn-end')
    expect(frames.at(-1)?.data).toMatchObject({ status: 'completed' })
    const posts = { stop: {}, steer: { input: say('x') }, fork: {}, compact: {}, switch: { entryId: null } }
    for (const [route, body] of Object.entries(posts)) await refusal(post(`${child}/${route}`, body), 404, 'session-missing')
    for (const route of ['branches', 'export']) await refusal(get(`${child}/${route}`), 404, 'session-missing')
    await refusal(remove(url, child), 404, 'session-missing')
    await refusal(execute({ sessionId: id, input: say('x'), context: {} }), 400, 'invalid-body')
    await refusal(get(`/api/agent/session/mine~helper~${'x'.repeat(40)}`), 404, 'session-missing')
    const deep = `/api/agent/session/mine${`~helper~${'x'.repeat(80)}`.repeat(20)}`
    await refusal(get(deep), 404, 'session-missing')
  })
})

it('V63: the children of another tenant are not found', async () => {
  const tokens = await Promise.all(['red', 'blue'].map((tenant) => createToken({ id: tenant, tenant, scopes: ['admin'] })))
  const [red = {}, blue = {}] = tokens.map(({ token }) => ({ authorization: `Bearer ${token}` }))
  const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel([{ text: 'Helped.' }]) })
  const handOver = { toolCalls: [{ id: 'call-help', name: 'delegate_to_helper', input: { prompt: 'help' } }] }
  const agent = defineAgent({ name: 'boss', model: scriptedModel([handOver, { text: 'Done.' }]), subagents: [helper] })
  const { execute, get } = await bench({ auth: { tokens: tokens.map(({ config }) => config) }, otherAgents: [agent] })
  await allFrames(await execute({ sessionId: 'mine', input: say('go'), context: { agent: 'boss' } }, red))
  const list = async (as: Record<string, string>) =>
    ((await (await get('/api/agent/sessions?parent=mine', as)).json()) as SessionList).sessions
  const [child] = await list(red)
  expect(await list(blue)).toEqual([])
  await refusal(get(`/api/agent/session/${child?.sessionId}`, blue), 404, 'session-missing')
  expect((await get(`/api/agent/session/${child?.sessionId}`, red)).status).toBe(200)
})

it('V18: a view has the position of the session in the plan of its agent; a recreated session starts again', async () => {
  const store = memoryStore()
  const orchestration = createOrchestration({
    store,
    config: {
      steps: [
        { name: 'look', isDefault: true, tools: { allow: ['look'] } },
        { name: 'write', conditions: [{ type: 'tool_used', value: 'look' }], tools: { allow: ['write'] } },
      ],
    },
  })
  const tools = ['look', 'write', 'burn'].map((name) => localTool(name, () => 'done'))
  const model = scriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'Seen.' }, { text: 'Anew.' }])
  const agent = defineAgent({ name: 'planner', model, tools, extensions: [orchestration.extension()] })
  const { execute, get, url } = await bench({ store, otherAgents: [agent], defaultAgent: 'planner', orchestration })
  await allFrames(await execute({ sessionId: 'mine', input: say('go'), context: {} }))
  const view = async () => ((await (await get(mine)).json()) as SessionView).orchestration
  expect(await view()).toEqual({ step: 'write', sequenceIndex: 0, tools: ['write'] })
  await remove(url, mine)
  await allFrames(await execute({ sessionId: 'mine', input: say('go'), context: {} }))
  expect(await view()).toEqual({ step: 'look', sequenceIndex: 0, tools: ['look'] })
  await orchestration.close()
})
