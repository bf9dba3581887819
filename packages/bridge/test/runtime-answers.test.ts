import { defineAgent, defineTool } from '@bowline/agent-loop'
import type { Agent, AgentOptions } from '@bowline/agent-loop'
import type { JSONObject } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { Script } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runtimeAgent } from '../src/index.ts'
import type { Answer, Bridge, BridgeAgent, BridgeEvent, PendingInput, PromptContext } from '../src/index.ts'
import { collectResult } from '../src/requests/result-collector.ts'
import type { Settled } from '../src/requests/run-result.ts'
import { bridgeEvents, promptOf, sessionOf, startBridgeOver, startWriter, temporaryFile } from './runtime-support.ts'

const where = defineTool({ name: 'where', description: 'Where the user is.', inputSchema: z.object({}) })
const calls = (...names: readonly string[]) => ({ toolCalls: names.map((name, place) => ({ id: `${name}-${place}`, name, input: {} })) })
const handOver = (id: string, agent: string) => ({ id, name: `delegate_to_${agent}`, input: { prompt: `do ${id}` } })

function guarded(name: string, sent: unknown[]) {
  const inputSchema = z.object({ to: z.string().optional() })
  return defineTool({ name, description: 'Sends.', inputSchema, needsApproval: true, execute: (input) => (sent.push(input), 'sent') })
}

function helper(name: string, steps: Script, options: Partial<AgentOptions>): Agent {
  return defineAgent({ name, description: `${name} helps`, model: scriptedModel(steps), ...options })
}

/** Runs one call of `onPrompt` and folds its events like the bridge. */
async function attempt(agent: BridgeAgent, parts: Partial<PromptContext> = {}): Promise<Settled> {
  const collector = collectResult('writer', 1_000_000)
  for (const event of await bridgeEvents(agent, promptOf('r1', parts))) collector.add(event)
  return collector.finish()
}

async function pendingAfter(agent: BridgeAgent): Promise<readonly PendingInput[]> {
  return (await attempt(agent)).result.pending ?? []
}

const approve = (pending: PendingInput | undefined, more: JSONObject = {}): Answer => ({
  id: pending?.id ?? '',
  decision: 'approve',
  ...more,
})

describe('answers to a waiting run', () => {
  it('B41: an approval starts the next attempt, with the events from then on', async () => {
    const sent: unknown[] = []
    const runtime = await startWriter([calls('send'), { text: 'It is sent.' }], { tools: [guarded('send', sent)] })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    const [pending] = await pendingAfter(agent)
    expect(pending).toMatchObject({ kind: 'approval', toolName: 'send', input: {} })
    const events = await bridgeEvents(agent, promptOf('r1', { answers: [approve(pending, { input: { to: 'ann' } })] }))
    const types = events.map((event) => (event.type === 'agent-event' ? event.event.type : event.type))
    expect(types).not.toContain('user-message')
    expect(types).toEqual(expect.arrayContaining(['approval-resolved', 'tool-execution-end', 'turn-end']))
    expect(sent).toEqual([{ to: 'ann' }])
    const { items } = await runtime.session('bridge:local:bs_1').runs()
    expect(items).toMatchObject([{ status: 'completed', inputId: 'r1' }])
  })

  it('B41: the outcome is that of the whole run, and the same answer again joins it', async () => {
    const runtime = await startWriter([calls('where'), { text: 'In Oslo.' }], { tools: [where] })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    const [pending] = await pendingAfter(agent)
    expect(pending?.id).toBe('where-0')
    const answers: Answer[] = [{ id: 'where-0', output: { city: 'Oslo' } }]
    const outcome = await attempt(agent, { answers })
    expect(outcome).toMatchObject({ status: 'completed', result: { text: 'In Oslo.', usage: { inputTokens: 20, outputTokens: 10 } } })
    expect(await attempt(agent, { answers })).toEqual(outcome)
  })

  it('B40: an answer that contradicts is PROTOCOL and an unknown one NOT_FOUND, with the ids', async () => {
    const sent: unknown[] = []
    const runtime = await startWriter([calls('where', 'send'), { text: 'Done.' }], { tools: [where, guarded('send', sent)] })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    const pending = await pendingAfter(agent)
    expect(pending.map(({ kind }) => kind)).toEqual(['tool', 'approval'])
    await expect(attempt(agent, { answers: [{ id: 'nobody', output: 1 }] })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      details: { reason: 'unknown-tool-call', outcome: 'none', issues: [{ path: 'answers', id: 'nobody' }] },
    })
    await attempt(agent, { answers: [{ id: 'where-0', output: 'Oslo' }] })
    await expect(attempt(agent, { answers: [{ id: 'where-0', output: 'Bergen' }] })).rejects.toMatchObject({
      code: 'PROTOCOL',
      details: { issues: [{ path: 'answers', id: 'where-0' }] },
    })
    await expect(attempt(agent, { answers: [{ id: 'nobody', decision: 'deny' }] })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('B41: with some of the answers the attempt ends again and names the rest', async () => {
    const sent: unknown[] = []
    const runtime = await startWriter([calls('where', 'send'), { text: 'Done.' }], { tools: [where, guarded('send', sent)] })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    const [tool, approval] = await pendingAfter(agent)
    const first = await attempt(agent, { answers: [{ id: tool?.id ?? '', error: 'no signal' }] })
    expect(first).toMatchObject({ status: 'awaiting-approval', result: { stopReason: 'needs_input', pending: [{ id: approval?.id }] } })
    const second = await attempt(agent, { answers: [{ id: approval?.id ?? '', decision: 'deny', reason: 'not now' }] })
    expect(second).toMatchObject({ status: 'completed', result: { text: 'Done.' } })
    expect(sent).toEqual([])
  })

  it('B100: an approval of a nested agent names the agents above it, and the answer reaches exactly that call', async () => {
    const sent: string[] = []
    const asking = (name: string) => {
      const send = defineTool({
        name: 'send',
        description: 'Sends.',
        inputSchema: z.object({}),
        needsApproval: true,
        execute: () => (sent.push(name), 'sent'),
      })
      return helper(name, [calls('send'), { text: name }], { tools: [send] })
    }
    const middle = helper('middle', [{ toolCalls: [handOver('a', 'one'), handOver('b', 'two')] }, { text: 'middle' }], {
      subagents: [asking('one'), asking('two')],
    })
    const runtime = await startWriter([{ toolCalls: [handOver('m', 'middle')] }, { text: 'done' }], { subagents: [middle] })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    const decided: string[] = []
    let settled = await attempt(agent)
    while (settled.status === 'awaiting-approval') {
      const [pending] = settled.result.pending ?? []
      expect(pending).toMatchObject({ kind: 'approval', toolName: 'send', agent: ['middle', expect.stringMatching(/one|two/) as unknown] })
      const decision = pending?.agent?.[1] === 'one' ? 'approve' : 'deny'
      decided.push(decision)
      settled = await attempt(agent, { answers: [{ id: pending?.id ?? '', decision }] })
    }
    expect(settled).toMatchObject({ status: 'completed', result: { text: 'done' } })
    expect(decided.sort()).toEqual(['approve', 'deny'])
    expect(sent).toEqual(['one'])
  })

  it('B100: a remote call of a nested agent is answered by its path', async () => {
    const inner = helper('inner', [calls('where'), { text: 'inner' }], { tools: [where] })
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'inner')] }, { text: 'outer' }], { subagents: [inner] })
    const runtime = await startWriter([{ toolCalls: [handOver('o', 'outer')] }, { text: 'done' }], { subagents: [outer] })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    const [pending] = await pendingAfter(agent)
    expect(pending).toMatchObject({ id: 'o/i/where-0', kind: 'tool', toolName: 'where', agent: ['outer', 'inner'] })
    const answers: Answer[] = [{ id: 'o/i/where-0', output: 'Oslo' }]
    expect(await attempt(agent, { answers })).toMatchObject({ status: 'completed', result: { text: 'done' } })
    expect(await attempt(agent, { answers })).toMatchObject({ status: 'completed', result: { text: 'done' } })
  })

  it('B97: answers reach a run that an earlier process left waiting, and a prompt joins it', async () => {
    const file = await temporaryFile()
    const first = await startWriter([calls('where')], { store: sqliteStore({ file }), tools: [where] })
    await pendingAfter(runtimeAgent(first, { agent: 'writer' }))
    await first.stop({ graceMs: 0 })

    const second = await startWriter([{ text: 'In Oslo.' }], { store: sqliteStore({ file }), tools: [where] })
    const agent = runtimeAgent(second, { agent: 'writer' })
    expect(await attempt(agent)).toMatchObject({ status: 'awaiting-tools', result: { pending: [{ id: 'where-0' }] } })
    expect(await attempt(agent, { answers: [{ id: 'where-0', output: 'Oslo' }] })).toMatchObject({
      status: 'completed',
      result: { text: 'In Oslo.' },
    })
  })

  it('answers to a request that the runtime does not know are NOT_FOUND', async () => {
    const agent = runtimeAgent(await startWriter([]), { agent: 'writer' })
    const answers: Answer[] = [{ id: 'where-0', output: 'Oslo' }]
    await expect(attempt(agent, { answers })).rejects.toMatchObject({ code: 'NOT_FOUND', details: { requestId: 'r1' } })
  })
})

describe('a run that is held because a definition has changed', () => {
  const answers: Answer[] = [{ id: 'h/where-0', output: 'Oslo' }]
  const heldDetails = { agentId: 'writer', reason: 'needs-recovery', outcome: 'unknown' }

  /** `writer` delegates to `helps`, which asks where the user is. */
  const writerWith = (store: SessionStore, instructions: string, steps: readonly [Script, Script]) =>
    startWriter(steps[0], { store, onDefinitionChange: 'refuse', subagents: [helper('helps', steps[1], { tools: [where], instructions })] })

  /** Starts the process after the one that asked. In it, `helps` has other instructions. */
  async function changed(bridgeOf?: (agent: BridgeAgent) => Promise<Bridge>) {
    const store = memoryStore()
    const first = await writerWith(store, 'Look.', [[{ toolCalls: [handOver('h', 'helps')] }], [calls('where')]])
    const asking = runtimeAgent(first, { agent: 'writer' })
    const bridge = await bridgeOf?.(asking)
    const asked = bridge ? await askedIn(bridge) : await pendingAfter(asking)
    expect(asked).toMatchObject([{ id: 'h/where-0' }])
    await bridge?.stop()
    await first.stop({ graceMs: 0 })
    const runtime = await writerWith(store.second(), 'Look twice.', [[{ text: 'In Oslo.' }], [{ text: 'Oslo' }]])
    return { runtime, agent: runtimeAgent(runtime, { agent: 'writer' }) }
  }

  async function askedIn(bridge: Bridge) {
    const { sessionId } = await bridge.createSession()
    const asked = await bridge.prompt({ sessionId, prompt: 'Go' }).result()
    return asked.ok ? asked.pending : []
  }

  it('B35, S82: an answer after which a subagent is held fails with the change and the run to recover', async () => {
    const { runtime, agent } = await changed()
    const error = await attempt(agent, { answers }).catch((thrown: unknown) => thrown)
    const [info] = (await runtime.session('bridge:local:bs_1').runs()).items
    const [held] = info?.heldRuns ?? []
    const message = 'The definition of the agent has changed: the instructions.'
    expect(error).toMatchObject({
      code: 'UPSTREAM',
      retryable: false,
      details: { ...heldDetails, issues: [{ id: held?.runId, agent: ['helps'], message }] },
    })
    expect((error as Error).message).toBe(`Agent writer waits until recover decides about run ${held?.runId} of helps: ${message}`)
  })

  it('B97: a request that is joined while a subagent is held fails too, and completes once the run is recovered', async () => {
    const { runtime, agent } = await changed()
    const session = runtime.session('bridge:local:bs_1')
    await attempt(agent, { answers }).catch(() => {})
    await expect(attempt(agent)).rejects.toMatchObject({ code: 'UPSTREAM', details: heldDetails })
    const [info] = (await session.runs()).items
    await (await session.recover(info?.heldRuns?.[0]?.runId ?? '', 'continue')).result()
    expect(await attempt(agent)).toMatchObject({ status: 'completed', result: { text: 'In Oslo.' } })
  })

  it('B35, S82: the run of the agent itself reports it as well', async () => {
    const store = memoryStore()
    const first = await startWriter([calls('where')], { store, tools: [where], onDefinitionChange: 'refuse' })
    await pendingAfter(runtimeAgent(first, { agent: 'writer' }))
    await first.stop({ graceMs: 0 })
    const runtime = await startWriter([{ text: 'In Oslo.' }], {
      store: store.second(),
      tools: [where],
      instructions: 'Write twice.',
      onDefinitionChange: 'refuse',
    })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    const error = await attempt(agent, { answers: [{ id: 'where-0', output: 'Oslo' }] }).catch((thrown: unknown) => thrown)
    const [info] = (await runtime.session('bridge:local:bs_1').runs()).items
    expect(error).toMatchObject({ code: 'UPSTREAM', details: { ...heldDetails, issues: [{ id: info?.runId, agent: [] }] } })
    await expect(attempt(agent)).rejects.toMatchObject({ details: heldDetails })
  })

  it('B40, B67: the request of a bridge ends as an error, its slot is free, and its session has failed', async () => {
    const { agent } = await changed((first) => startBridgeOver(first))
    const bridge = await startBridgeOver(agent)
    const [session] = (await bridge.sessions()).sessions
    const sessionId = session?.sessionId ?? ''
    const result = await bridge.prompt({ sessionId, answers }).result()
    expect(result).toMatchObject({ ok: false, error: { code: 'UPSTREAM', details: heldDetails } })
    expect(await bridge.session(sessionId)).toMatchObject({ status: 'failed' })
    expect(bridge.health().requests.inFlight).toBe(0)
  })
})

describe('the conversation', () => {
  it('B23: another session continues the conversation, one prompt at a time', async () => {
    const model = scriptedModel([{ text: 'one' }, { text: 'two' }, { text: 'half and half', chunk: 4, hang: 'middle' }])
    const agent = runtimeAgent(await startWriter(model), { agent: 'writer' })
    const resumed = sessionOf('bs_2', { conversationId: 'bs_1' })
    await agent.onSessionCreate?.(resumed)
    await attempt(agent)
    await attempt(agent, { session: resumed, requestId: 'r2' })
    expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    for await (const event of agent.onPrompt(promptOf('r3')) as AsyncIterable<BridgeEvent>) {
      if (event.type !== 'agent-event' || event.event.type !== 'text-delta') continue
      // B98: the store decides whether a session is busy.
      await expect(attempt(agent, { session: resumed, requestId: 'r4' })).rejects.toMatchObject({ code: 'BUSY', retryable: true })
      await agent.onCancel?.({ session: sessionOf(), requestId: 'r3', reason: 'caller' })
    }
  })

  it('onClose keep leaves the session of the runtime, delete ends it, and then it cannot go on', async () => {
    const runtime = await startWriter(() => ({ text: 'A line.' }))
    const keeping = runtimeAgent(runtime, { agent: 'writer' })
    const deleting = runtimeAgent(runtime, { agent: 'writer', onClose: 'delete' })
    const kept = sessionOf('bs_1')
    const gone = sessionOf('bs_2')
    await attempt(keeping, { session: kept })
    await attempt(deleting, { session: gone })
    await keeping.onSessionClose?.(kept, 'closed')
    await deleting.onSessionClose?.(gone, 'closed')
    await deleting.onSessionClose?.(gone, 'closed')
    const { items } = await runtime.sessions()
    expect(items.map(({ key }) => key)).toEqual(['bridge:local:bs_1'])
    const resumed = sessionOf('bs_3', { conversationId: 'bs_2' })
    await expect(deleting.onSessionCreate?.(resumed)).rejects.toMatchObject({ code: 'CONFIG', details: { reason: 'not-resumable' } })
    await deleting.onSessionCreate?.(sessionOf('bs_4', { conversationId: 'bs_1' }))
  })
})

describe('cancel without reading the run', () => {
  it('B46: a run that waits for input is stopped by its request, also in a fresh process', async () => {
    const file = await temporaryFile()
    const first = await startWriter([calls('where')], { store: sqliteStore({ file }), tools: [where] })
    await pendingAfter(runtimeAgent(first, { agent: 'writer' }))
    await first.stop({ graceMs: 0 })

    const second = await startWriter([], { store: sqliteStore({ file }), tools: [where] })
    const agent = runtimeAgent(second, { agent: 'writer' })
    await agent.onCancel?.({ session: sessionOf(), requestId: 'other', reason: 'caller' })
    const runs = async () => (await second.session('bridge:local:bs_1').runs()).items.map(({ status }) => status)
    expect(await runs()).toEqual(['waiting-for-user'])
    await agent.onCancel?.({ session: sessionOf(), requestId: 'r1', reason: 'caller' })
    expect(await runs()).toEqual(['stopped'])
    expect(await attempt(agent)).toMatchObject({ status: 'aborted', result: { stopReason: 'cancelled' } })
  })

  it('B48: a request that is cancelled while it waits is aborted, with the text so far', async () => {
    const runtime = await startWriter([{ text: 'Where are you?', ...calls('where') }], { tools: [where] })
    const bridge = await startBridgeOver(runtimeAgent(runtime, { agent: 'writer' }))
    const run = bridge.delegate({ prompt: 'Go' })
    expect(await run.result()).toMatchObject({ status: 'awaiting-tools' })
    expect(await bridge.cancel({ requestId: run.requestId })).toMatchObject({ cancelled: true, settled: true })
    expect(await bridge.request(run.requestId)).toMatchObject({ status: 'aborted', stopReason: 'cancelled', text: 'Where are you?' })
    expect((await runtime.session(`bridge:local:${run.sessionId}`).runs()).items).toMatchObject([{ status: 'stopped' }])
  })

  it('B50: a cancel reaches the child runs', async () => {
    const inner = helper('inner', [{ text: 'half and half', chunk: 4, hang: 'middle' }], {})
    const runtime = await startWriter([{ toolCalls: [handOver('i', 'inner')] }], { subagents: [inner] })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    const request = promptOf('r1')
    const statuses: string[] = []
    for await (const event of agent.onPrompt(request) as AsyncIterable<{ type: string; event?: { type: string; status?: string } }>) {
      if (event.event?.type === 'child-start') await agent.onCancel?.({ session: request.session, requestId: 'r1', reason: 'caller' })
      if (event.event?.type === 'child-end' || event.event?.type === 'turn-end') statuses.push(`${event.event.type} ${event.event.status}`)
    }
    expect(statuses.slice(-2)).toEqual(['child-end aborted', 'turn-end aborted'])
  })
})
