import { describe, expect, it } from 'vitest'
import { answer, testAgent } from '../support.ts'
import { connect, connectTo, contentOf, errorOf, heldAgent, type Connected } from './support.ts'

type Ids = { readonly sessionId: string; readonly requestId: string }

/** Connects a user who may use only the agent `open`, to a bridge with another default agent. */
async function limited() {
  const started = await connect([testAgent('hidden', { capabilities: ['c'] }), testAgent('open', { capabilities: ['c'] })])
  return { started, user: await connectTo(started, { mayUse: (agentId) => agentId === 'open' }) }
}

/** Expects the same response for this id as for one that never existed. */
async function sameAsNever(call: Connected['call'], name: string, input: Readonly<Record<string, string>>, id: string): Promise<void> {
  const hidden = await call(name, input)
  const never = await call(name, Object.fromEntries(Object.entries(input).map(([key, value]) => [key, value === id ? 'never' : value])))
  expect(JSON.stringify(hidden).replaceAll(id, 'never'), name).toBe(JSON.stringify(never))
}

describe('agents that some callers may not use', () => {
  it('are not listed, and the first allowed one is the default', async () => {
    const { user } = await limited()
    const listed = [{ id: 'open', default: true }]
    expect(contentOf(await user.call('agents_discover'))).toMatchObject({ agents: listed })
    expect(contentOf(await user.call('agents_discover', { capability: 'c' }))).toMatchObject({ agents: listed })
    expect(contentOf(await user.call('bridge_health'))).toMatchObject({ healthy: true, agents: { total: 1, ready: 1 } })
  })

  it('accept no work, in the words for an unknown agent', async () => {
    const { user } = await limited()
    expect(contentOf(await user.call('tasks_delegate', { prompt: 'hi' }))).toMatchObject({ agentId: 'open', text: 'open: hi' })
    expect(contentOf(await user.call('sessions_create'))).toMatchObject({ agentId: 'open' })
    await sameAsNever(user.call, 'tasks_delegate', { prompt: 'hi', agentId: 'hidden' }, 'hidden')
    await sameAsNever(user.call, 'sessions_create', { agentId: 'hidden' }, 'hidden')
  })

  it('without any other agent the bridge has none', async () => {
    const started = await connect([testAgent('hidden')])
    const { call } = await connectTo(started, { mayUse: () => false })
    expect(contentOf(await call('bridge_health'))).toMatchObject({ healthy: false, agents: { total: 0, ready: 0 } })
    expect(errorOf(await call('tasks_delegate', { prompt: 'hi' }))).toMatchObject({ code: 'CONFIG', message: 'No agents registered' })
    expect(errorOf(await call('sessions_create'))).toMatchObject({ code: 'CONFIG', message: 'No agents registered' })
  })

  it('hide the sessions and requests on them, which go on', async () => {
    const { started, user } = await limited()
    const { sessionId } = contentOf<Ids>(await started.call('sessions_create', { agentId: 'hidden' }))
    const { requestId } = contentOf<Ids>(await started.call('sessions_prompt', { sessionId, prompt: 'hi' }))
    expect(contentOf(await user.call('sessions_list'))).toEqual({ sessions: [] })
    await sameAsNever(user.call, 'sessions_status', { sessionId }, sessionId)
    await sameAsNever(user.call, 'sessions_prompt', { sessionId, prompt: 'hi' }, sessionId)
    await sameAsNever(user.call, 'sessions_cancel', { sessionId }, sessionId)
    await sameAsNever(user.call, 'sessions_cancel', { requestId }, requestId)
    await sameAsNever(user.call, 'sessions_close', { sessionId }, sessionId)
    await sameAsNever(user.call, 'tasks_status', { requestId }, requestId)
    await sameAsNever(user.call, 'sessions_create', { resumeSessionId: sessionId }, sessionId)
    expect(contentOf(await started.call('sessions_status', { sessionId }))).toMatchObject({ status: 'idle' })
  })

  it('do not affect the others', async () => {
    const { user } = await limited()
    const { sessionId } = contentOf<Ids>(await user.call('sessions_create'))
    const { requestId } = contentOf<Ids>(await user.call('sessions_prompt', { sessionId, prompt: 'hi', requestId: 'mine' }))
    expect(requestId).toBe('mine')
    expect(contentOf(await user.call('tasks_status', { requestId }))).toMatchObject({ status: 'completed' })
    expect(contentOf(await user.call('sessions_list'))).toMatchObject({ sessions: [{ sessionId, status: 'idle' }] })
    expect(contentOf(await user.call('sessions_cancel', { sessionId, requestId }))).toMatchObject({ cancelled: false })
    expect(contentOf(await user.call('sessions_close', { sessionId }))).toMatchObject({ existed: true })
  })
})

describe('owners', () => {
  it('B113: work belongs to the owner for whom the server was created', async () => {
    const owners: string[] = []
    const agent = testAgent('a', { onSessionCreate: ({ owner }) => void owners.push(owner) })
    const started = await connect([agent], {}, { owner: 'acme/ci' })
    await started.call('tasks_delegate', { prompt: 'hi' })
    const { sessionId } = contentOf<Ids>(await started.call('sessions_create'))
    expect(owners).toEqual(['acme/ci', 'acme/ci'])
    const other = await connectTo(started)
    expect(errorOf(await other.call('sessions_status', { sessionId })).code).toBe('NOT_FOUND')
    expect(contentOf(await other.call('sessions_close', { sessionId }))).toMatchObject({ existed: false })
  })

  it('B14: an owner cannot cancel or read the request of another one', async () => {
    const { agent, began, finish, cancels } = heldAgent('a')
    const started = await connect([agent], {}, { owner: 'one' })
    const other = await connectTo(started, { owner: 'two' })
    await started.call('tasks_delegate', { prompt: 'hi', requestId: 'r1', mode: 'background' })
    await began
    expect(errorOf(await other.call('sessions_cancel', { requestId: 'r1' })).code).toBe('NOT_FOUND')
    expect(errorOf(await other.call('tasks_status', { requestId: 'r1' })).code).toBe('NOT_FOUND')
    expect(cancels).toEqual([])
    finish('done')
    expect(contentOf(await started.call('tasks_status', { requestId: 'r1', waitMs: 1000 }))).toMatchObject({ text: 'done' })
  })
})

it('fields of runtimeParams that the caller may not set are refused, wherever they are', async () => {
  const params: unknown[] = []
  const agent = testAgent('a', { onPrompt: ({ runtimeParams }) => (params.push(runtimeParams), answer('ok')) })
  const { call } = await connect([agent], {}, { runtimeParams: ['seed'] })
  const { sessionId } = contentOf<Ids>(await call('sessions_create'))
  for (const [name, input, path] of [
    ['tasks_delegate', { prompt: 'hi', runtimeParams: { temperature: 1, seed: 1 } }, 'runtimeParams.temperature'],
    ['sessions_prompt', { sessionId, prompt: 'hi', runtimeParams: { model: 'm' } }, 'runtimeParams.model'],
    ['sessions_create', { metadata: { runtimeParams: { model: 'm' } } }, 'metadata.runtimeParams.model'],
    ['tasks_delegate', { prompt: 'hi', metadata: { runtimeParams: { topK: 1 } } }, 'metadata.runtimeParams.topK'],
  ] as const) {
    expect(errorOf(await call(name, input))).toMatchObject({ code: 'PROTOCOL', details: { issues: [{ path }] } })
  }
  expect(params).toEqual([])
  await call('tasks_delegate', { prompt: 'hi', runtimeParams: { seed: 1 } })
  expect(params).toEqual([{ seed: 1 }])
})
