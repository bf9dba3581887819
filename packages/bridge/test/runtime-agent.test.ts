import type { AgentEvent } from '@bowline/agent-loop'
import { defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import type { Script } from '@bowline/llm/testing'
import type { Runtime, SessionStore } from '@bowline/sessions'
import { memoryStateStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { APICallError } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runtimeAgent } from '../src/index.ts'
import { failureOf, outcomeOf } from './support.ts'
import { eventsOf, promptOf, startBridgeOver, startWriter, temporaryFile } from './runtime-support.ts'

const locate = defineTool({ name: 'locate', description: 'Where the user is.', inputSchema: z.object({ exact: z.boolean() }) })

function startRuntime(steps: Script, store: SessionStore = memoryStore()): Promise<Runtime> {
  return startWriter(steps, { store, tools: [locate] })
}

describe('runtimeAgent', () => {
  it('B31: events pass through and the outcome is folded from them', async () => {
    const runtime = await startRuntime([{ text: 'A line.', chunk: 2, usage: { input: 7, output: 3 } }])
    const bridge = await startBridgeOver(runtimeAgent(runtime, { agent: 'writer' }))
    const run = bridge.delegate({ prompt: 'Write a line.' })
    const types: string[] = []
    for await (const event of run) types.push(event.type === 'agent-event' ? event.event.type : event.type)
    expect(await run.result()).toMatchObject({
      ok: true,
      status: 'completed',
      agentId: 'writer',
      text: 'A line.',
      stopReason: 'end_turn',
      usage: { inputTokens: 7, outputTokens: 3 },
    })
    expect(types).toContain('text-delta')
    expect(types.filter((type) => type === 'turn-end')).toHaveLength(1)
    expect(bridge.discover()).toMatchObject([{ id: 'writer', durable: true }])
  })

  it('the runtime session is bridge:<owner>:<sessionId>, with the metadata', async () => {
    const runtime = await startRuntime([{ text: 'one' }, { text: 'two' }])
    const bridge = await startBridgeOver(runtimeAgent(runtime, { agent: 'writer', id: 'author' }))
    const ann = bridge.delegate({ prompt: 'Write.', owner: 'ann@example', metadata: { team: 'red' } })
    expect(outcomeOf(await ann.result()).agentId).toBe('author')
    const odd = bridge.delegate({ prompt: 'Write.', owner: 'acme/bob' })
    outcomeOf(await odd.result())
    const sessions = (await runtime.sessions()).items
    expect(sessions.map(({ key, metadata }) => [key, metadata])).toEqual(
      expect.arrayContaining([
        [`bridge:ann@example:${ann.sessionId}`, { team: 'red' }],
        [expect.stringMatching(/^bridge:=[A-Za-z0-9_-]{43}:bs_/), {}],
      ]),
    )
  })

  it('B96: a repeat of a requestId starts no second run, also in a fresh runtime on the same file', async () => {
    const file = await temporaryFile()
    const first = await startRuntime([{ text: 'A line.' }], sqliteStore({ file }))
    const agent = runtimeAgent(first, { agent: 'writer' })
    const [one, two] = await Promise.all([eventsOf(agent, promptOf('r1')), eventsOf(agent, promptOf('r1'))])
    // `settled` is reported after the run.
    const durable = (events: AgentEvent[]) => events.filter(({ seq, type }) => seq !== undefined && type !== 'settled')
    expect(durable(two)).toEqual(durable(one))
    await first.stop({ graceMs: 0 })

    const second = await startRuntime([], sqliteStore({ file }))
    const again = await eventsOf(runtimeAgent(second, { agent: 'writer' }), promptOf('r1'))
    expect(durable(again)).toEqual(durable(one))
    const runs = await second.session('bridge:local:bs_1').runs()
    expect(runs.items).toHaveLength(1)
  })

  it('a run that waits for a remote tool is an outcome with its pending call', async () => {
    const runtime = await startRuntime([{ toolCalls: [{ id: 'c1', name: 'locate', input: { exact: true } }] }])
    const bridge = await startBridgeOver(runtimeAgent(runtime, { agent: 'writer' }))
    expect(await bridge.delegate({ prompt: 'Where am I?' }).result()).toMatchObject({
      ok: true,
      status: 'awaiting-tools',
      stopReason: 'needs_input',
      pending: [{ id: 'c1', kind: 'tool', toolName: 'locate', input: { exact: true } }],
    })
  })

  it('B48: a cancel stops the run and keeps the text so far', async () => {
    const runtime = await startRuntime([{ text: 'half and half', chunk: 5, hang: 'middle' }])
    const bridge = await startBridgeOver(runtimeAgent(runtime, { agent: 'writer' }))
    const controller = new AbortController()
    const run = bridge.delegate({ prompt: 'Write.', abortSignal: controller.signal })
    for await (const event of run) {
      if (event.type === 'agent-event' && event.event.type === 'text-delta') controller.abort()
    }
    const outcome = outcomeOf(await run.result())
    expect(outcome).toMatchObject({ status: 'aborted', stopReason: 'cancelled' })
    expect(outcome.text?.length).toBeGreaterThan(0)
    const runs = await runtime.session(`bridge:local:${run.sessionId}`).runs()
    expect(runs.items.map(({ status }) => status)).toEqual(['stopped'])
  })

  it('B72: when the bridge stops, the run goes on', async () => {
    const gate = Promise.withResolvers<void>()
    const runtime = await startRuntime(async () => {
      await gate.promise
      return { text: 'A line.' }
    })
    const bridge = await startBridgeOver(runtimeAgent(runtime, { agent: 'writer' }))
    const run = bridge.delegate({ prompt: 'Write.', requestId: 'r1' })
    for await (const event of run) {
      if (event.type === 'agent-event' && event.event.type === 'message-start') break
    }
    await bridge.stop({ deadlineMs: 1000 })
    expect(failureOf(await run.result())).toMatchObject({ code: 'TRANSPORT', retryable: true, details: { reason: 'shutdown' } })
    gate.resolve()
    const joined = await runtime.session(`bridge:local:${run.sessionId}`).send('Write.', { id: 'r1' })
    expect(await joined.result()).toMatchObject({ status: 'completed', text: 'A line.' })
    expect(joined.accepted).toBe('duplicate')
  })

  it('B35: a provider that fails is an error with its own retryable', async () => {
    const refused = new APICallError({ message: 'no', url: 'https://api.test', requestBodyValues: {}, statusCode: 401 })
    const runtime = await startRuntime([{ error: refused }])
    const bridge = await startBridgeOver(runtimeAgent(runtime, { agent: 'writer' }))
    const error = failureOf(await bridge.delegate({ prompt: 'Write.' }).result())
    expect(error).toMatchObject({ code: 'AUTH', retryable: false, details: { agentId: 'writer' } })
  })

  it('an agent that the runtime does not have is CONFIG at once', async () => {
    const runtime = await startRuntime([])
    expect(() => runtimeAgent(runtime, { agent: 'nobody' })).toThrow(expect.objectContaining({ code: 'CONFIG' }))
  })

  it('B38: runtimeParams reach the model of this run, and no other', async () => {
    const model = scriptedModel([{ text: 'one' }, { text: 'two' }])
    const runtime = await startWriter(model)
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    await eventsOf(agent, { ...promptOf('r1'), runtimeParams: { seed: 7, systemPrompt: 'Shout.' } })
    await eventsOf(agent, promptOf('r2'))
    expect(model.calls.map(({ seed }) => seed)).toEqual([7, undefined])
    expect(model.calls.map(({ prompt }) => prompt[0]?.content)).toEqual(['Shout.', 'Write.'])
  })

  it('B38: runtimeParams that the runtime refuses are PROTOCOL, and no run is started', async () => {
    const runtime = await startRuntime([])
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    await expect(eventsOf(agent, { ...promptOf('r1'), runtimeParams: { temperature: 9 } })).rejects.toMatchObject({ code: 'PROTOCOL' })
    expect(await runtime.session('bridge:local:bs_1').info()).toBeNull()
  })

  it('an error of the runtime keeps its code and loses its text', async () => {
    const runtime = await startRuntime([])
    await runtime.stop({ graceMs: 0 })
    const bridge = await startBridgeOver(runtimeAgent(runtime, { agent: 'writer' }), { store: memoryStateStore() })
    const error = failureOf(await bridge.delegate({ prompt: 'Write.' }).result())
    expect(error).toMatchObject({ code: 'UPSTREAM', retryable: true, details: { reason: 'store-unavailable', outcome: 'none' } })
    expect(error.message).toBe('Agent writer did not accept the prompt: store-unavailable')
  })
})
