import { defineAgent } from '@bowline/agent-loop'
import type { SessionView } from '@bowline/client'
import { scriptedModel, type Script } from '@bowline/llm/testing'
import { createToken } from '@bowline/server'
import { memoryStore } from '@bowline/sessions/memory'
import type { SessionStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { bench, gate, refusal, remoteTool, say } from './support/bench.ts'
import { allUiFrames, chatBody, chunksOf, openChat, postChat, textOf, userMessage } from './support/chat.ts'
import { allFrames } from './support/frames.ts'

const mine = '/api/agent/session/mine'
const says: Script = async () => ({ text: 'Done.' })

const handOver = { toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'help' } }] }

/** Creates a server whose agent delegates to a helper that waits for an answer. */
async function boss(
  store: SessionStore,
  instructions: string,
  [first, helps]: readonly [Script, Script],
  auth?: Awaited<ReturnType<typeof tokens>>,
) {
  const helper = defineAgent({
    name: 'helper',
    description: 'Helps.',
    model: scriptedModel(helps),
    tools: [remoteTool('where')],
    instructions,
  })
  const agent = defineAgent({ name: 'boss', model: scriptedModel(first), subagents: [helper] })
  return bench({
    store,
    otherAgents: [agent],
    defaultAgent: 'boss',
    runtimeOptions: { onDefinitionChange: 'refuse' },
    auth: auth ? { tokens: auth.map(({ config }) => config) } : 'none',
  })
}

function tokens() {
  return Promise.all([
    createToken({ id: 'boss', tenant: 'red', scopes: ['admin'] }),
    createToken({ id: 'writer', tenant: 'red', scopes: ['sessions:read', 'sessions:write'] }),
    createToken({ id: 'other', tenant: 'blue', scopes: ['admin'] }),
  ])
}

it('V63, S82: the session names a run of a subagent that is held for its definition, and a caller with the right to approve recovers it', async () => {
  const store = memoryStore()
  const known = await tokens()
  const [admin = {}, writer = {}, other = {}] = known.map(({ token }) => ({ authorization: `Bearer ${token}` }))
  const before = await boss(store, 'Look.', [[handOver], [{ toolCalls: [{ id: 'w', name: 'where', input: {} }] }]], known)
  await allFrames(await before.execute({ sessionId: 'mine', input: say('go'), context: {} }, admin))
  await before.runtime.stop()
  const { get, post, execute } = await boss(store.second(), 'Look twice.', [says, says], known)
  const viewOf = async () => (await (await get(mine, admin)).json()) as SessionView
  const results = [{ toolCallId: 'w', path: ['h'], output: 'Oslo' }]
  const frames = await allFrames(await execute({ sessionId: 'mine', input: results }, admin))
  const message = 'The definition of the agent has changed: the instructions.'
  const { heldRuns = [] } = await viewOf()
  expect(heldRuns).toMatchObject([{ agent: ['helper'], message }])
  expect(frames.at(-1)?.data).toMatchObject({ type: 'execute-complete', status: 'awaiting-subagent', pendingToolCalls: [], heldRuns })
  const { runId } = heldRuns[0] ?? { runId: '' }
  const recover = `${mine}/runs/${encodeURIComponent(runId)}/recover`
  await refusal(post(recover, { decision: 'continue' }, writer), 403, 'scope-missing')
  await refusal(post(recover, { decision: 'continue' }, other), 404, 'session-missing')
  await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }, other))
  await refusal(post(recover, { decision: 'continue' }, other), 404, 'unknown-run')
  const answer = await post(recover, { decision: 'continue' }, admin)
  expect([answer.status, await answer.json()]).toEqual([200, { runId }])
  await expect.poll(viewOf).toMatchObject({ status: 'completed' })
  expect(await viewOf()).not.toHaveProperty('heldRuns')
})

describe('a chat whose subagent is held for its definition', () => {
  const posted = chatBody([userMessage('u1', 'go')])

  /** Ends the process while the helper is running. In the next process the definition of the helper has changed. */
  async function heldChat() {
    const store = memoryStore()
    const atWork = gate()
    const before = await boss(store, 'Look.', [[handOver], async () => (atWork.open(), { hang: 'before' })])
    await (await before.post('/api/chat', posted)).body?.cancel()
    await atWork.passed
    await before.runtime.stop()
    return boss(store.second(), 'Look twice.', [says, says])
  }

  it('V50, V52, S82: its streams end with an error and the run to decide about, until the decision', async () => {
    const it = await heldChat()
    const chunks = chunksOf(await allUiFrames(await it.post('/api/chat', posted)))
    const { heldRuns: [run] = [] } = (await (await it.get(mine)).json()) as SessionView
    expect(run).toMatchObject({ agent: ['helper'], message: 'The definition of the agent has changed: the instructions.' })
    expect(chunks).toContainEqual({ type: 'data-held-run', id: run?.runId, data: run })
    expect(chunks.at(-1)).toEqual({ type: 'error', errorText: expect.stringContaining('must decide') as string })
    expect((await it.get('/api/chat/mine/stream')).status).toBe(204)
    await refusal(postChat(it, chatBody([userMessage('u2', 'well?')])), 409, 'busy')
    const chat = openChat(it, { id: 'mine' })
    await chat.sendMessage({ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'go' }] })
    expect([chat.status, chat.error?.message]).toEqual(['error', expect.stringContaining('must decide')])
    expect((await it.post(`${mine}/runs/${encodeURIComponent(run?.runId ?? '')}/recover`, { decision: 'continue' })).status).toBe(200)
    const page = openChat(it, { id: 'mine' })
    await page.sendMessage({ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'go' }] })
    expect([page.status, page.messages.map(textOf)]).toEqual(['ready', ['go', 'Done.']])
    expect(it.faults).toEqual([])
  })

  it('V20, S98: stopping it ends the held run too, and the answer says so', async () => {
    const it = await heldChat()
    await allUiFrames(await it.post('/api/chat', posted))
    const answer = await it.post('/api/chat/mine/stop', {})
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({
        state: 'settled',
        status: 'stopped',
        children: [expect.objectContaining({ state: 'settled', status: 'stopped' })],
      }),
    ])
    expect(await (await it.get(mine)).json()).toMatchObject({ status: 'stopped', outcome: 'aborted' })
    expect(chunksOf(await allUiFrames(await it.post('/api/chat', posted))).at(-1)).toEqual({ type: 'abort' })
  })
})
