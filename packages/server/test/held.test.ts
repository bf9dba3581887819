import { defineAgent } from '@bowline/agent-loop'
import type { SessionView } from '@bowline/client'
import { scriptedModel, type Script } from '@bowline/llm/testing'
import { createToken } from '@bowline/server'
import { memoryStore } from '@bowline/sessions/memory'
import type { SessionStore } from '@bowline/sessions'
import { expect, it, vi } from 'vitest'
import { bench, refusal, remoteTool, say } from './support/bench.ts'
import { allFrames } from './support/frames.ts'

const mine = '/api/agent/session/mine'
const says: Script = async () => ({ text: 'Done.' })

/** A server whose agent hands work to a helper that waits for an answer. */
async function boss(store: SessionStore, instructions: string, [first, helps]: readonly [Script, Script], auth: Awaited<ReturnType<typeof tokens>>) {
  const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel(helps), tools: [remoteTool('where')], instructions })
  const agent = defineAgent({ name: 'boss', model: scriptedModel(first), subagents: [helper] })
  return bench({ store, otherAgents: [agent], defaultAgent: 'boss', runtimeOptions: { onDefinitionChange: 'refuse' }, auth: { tokens: auth.map(({ config }) => config) } })
}

function tokens() {
  return Promise.all([
    createToken({ id: 'boss', tenant: 'red', scopes: ['admin'] }),
    createToken({ id: 'writer', tenant: 'red', scopes: ['sessions:read', 'sessions:write'] }),
    createToken({ id: 'other', tenant: 'blue', scopes: ['admin'] }),
  ])
}

it('V63, S82: a run of a subagent that is held for its definition is named by the session, and recovered by who may approve', async () => {
  const store = memoryStore()
  const known = await tokens()
  const [admin = {}, writer = {}, other = {}] = known.map(({ token }) => ({ authorization: `Bearer ${token}` }))
  const handOver = { toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'help' } }] }
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
  expect(frames.at(-1)?.data).toMatchObject({ type: 'execute-complete', status: 'awaiting-tools', pendingToolCalls: [], heldRuns })
  const { runId } = heldRuns[0] ?? { runId: '' }
  const recover = `${mine}/runs/${encodeURIComponent(runId)}/recover`
  await refusal(post(recover, { decision: 'continue' }, writer), 403, 'scope-missing')
  await refusal(post(recover, { decision: 'continue' }, other), 404, 'session-missing')
  await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }, other))
  await refusal(post(recover, { decision: 'continue' }, other), 404, 'unknown-run')
  const answer = await post(recover, { decision: 'continue' }, admin)
  expect([answer.status, await answer.json()]).toEqual([200, { runId }])
  await vi.waitFor(async () => expect(await viewOf()).toMatchObject({ status: 'idle' }))
  expect(await viewOf()).not.toHaveProperty('heldRuns')
})
