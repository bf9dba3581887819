import {
  defineAgent,
  defineExtension,
  defineTool,
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type Tool,
} from '@bowline/agent-loop'
import { manualClock, scriptedModel, type Script, type ScriptedModel } from '@bowline/llm/testing'
import {
  createRuntime,
  memoryStateStore,
  removeOrchestrationState,
  SessionError,
  type OrchestrationConfig,
  type OrchestrationOptions,
} from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { bench, id, kinds, openStores, startMs, watchedStore } from './support.ts'

const stores = openStores()
const call = (...names: readonly string[]) => ({
  toolCalls: names.map((name, index) => ({ id: `call-${name}-${index}`, name, input: {} })),
})
const tool = (name: string, run: () => string = () => `${name} said so`): Tool =>
  defineTool({ name, description: `The tool ${name}.`, inputSchema: z.object({}), effect: 'pure', execute: run })
const away = () => {
  throw new SessionError('store-unavailable', 'away')
}

interface Turn {
  readonly result: AgentResult
  readonly events: readonly AgentEvent[]
  /** Tools that the model was offered at each call. */
  readonly shown: readonly (readonly string[])[]
  /** Outcome of each tool call, in the order of the transcript. */
  readonly outcomes: readonly string[]
  readonly bench: ReturnType<typeof bench>
}

interface TurnOptions extends Partial<OrchestrationOptions> {
  readonly steps: Script
  readonly config: OrchestrationConfig
  readonly tools?: readonly Tool[]
  readonly input?: string
  readonly sessionKey?: string
  readonly on?: ReturnType<typeof bench>
  readonly agent?: Partial<AgentOptions>
}

async function play({
  steps,
  tools = ['a', 'b', 'c'].map((name) => tool(name)),
  input = 'go',
  on,
  agent,
  sessionKey = id,
  ...options
}: TurnOptions): Promise<Turn> {
  const given = on ?? bench(options)
  const model: ScriptedModel = scriptedModel(steps)
  const extensions = [given.orchestration.extension(options.config)]
  const run = defineAgent({ model, tools, extensions, ...agent }).run(input, {
    clock: given.clock,
    ...(sessionKey === 'none' ? {} : { sessionKey }),
  })
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  const result = await run.result()
  const shown = model.calls.map((request) => request.tools?.map(({ name }) => name) ?? [])
  const outcomes = result.messages.flatMap((message) => (message.role === 'tool-result' ? `${message.toolName} ${message.status}` : []))
  return { result, events, shown, outcomes, bench: given }
}

const faultsOf = ({ events }: Turn) => events.filter((event) => event.type === 'error')
const stepsOf = ({ events }: Turn) => events.flatMap((event) => (event.type === 'orchestration-step' ? [event] : []))
const sequence: OrchestrationConfig = { steps: [{ name: 'plan', isDefault: true, sequence: ['a', 'b'], tools: { deny: ['c'] } }] }

describe('the tools of a turn', () => {
  it('O42: are filtered before every call of the model', async () => {
    const turn = await play({ config: sequence, steps: [call('a'), call('b'), { text: 'ok' }] })
    expect(turn.shown).toEqual([['a'], ['b'], ['a', 'b']])
    expect(turn.outcomes).toEqual(['a result', 'b result'])
    expect(await turn.bench.orchestration.getState(id)).toMatchObject({
      activeStep: 'plan',
      sequenceIndex: 2,
      usesInStep: 2,
      toolHistory: [
        { tool: 'a', key: 'call-a-0' },
        { tool: 'b', key: 'call-b-0' },
      ],
    })
  })

  it('O42: depend on the newest user message and on the turns', async () => {
    const config: OrchestrationConfig = {
      steps: [
        { name: 'late', conditions: [{ type: 'turns', min: 3 }], tools: { allow: ['c'] } },
        { name: 'ask', conditions: [{ type: 'message_contains', value: 'ASK' }], tools: { allow: ['a'] } },
        { name: 'rest', isDefault: true, tools: { allow: ['b'] } },
      ],
    }
    const first = await play({ config, steps: [{ text: 'ok' }] })
    const asked = await play({ config, on: first.bench, input: 'please ask', steps: [{ text: 'ok' }] })
    const stays = await play({ config, on: first.bench, input: 'go on', steps: [{ text: 'ok' }] })
    expect([first, asked, stays].map(({ shown }) => shown)).toEqual([[['b']], [['a']], [['a']]])
    expect([first, asked, stays].flatMap(stepsOf)).toMatchObject([
      { name: 'rest', because: 'it is the default', sequenceIndex: 0 },
      { name: 'ask', previous: 'rest' },
    ])
    const runtimeStore = memoryStore()
    const { orchestration } = bench({ store: runtimeStore, config })
    const model = scriptedModel([{ text: '1' }, { text: '2' }, { text: '3' }])
    const agent = defineAgent({
      name: 'assistant',
      model,
      tools: ['b', 'c'].map((name) => tool(name)),
      extensions: [orchestration.extension()],
    })
    const runtime = createRuntime({ agents: [agent], store: runtimeStore })
    await runtime.start()
    for (const text of ['one', 'two', 'three']) await (await runtime.session(id).send(text)).result()
    expect(model.calls.map((request) => request.tools?.map(({ name }) => name))).toEqual([['b'], ['b'], ['c']])
    await runtime.stop()
  })

  it('O43: a call that is not allowed is refused before it starts, and the model is told what is expected', async () => {
    const ran: string[] = []
    const tools = ['a', 'b', 'c'].map((name) => tool(name, () => (ran.push(name), 'ok')))
    const turn = await play({ config: sequence, tools, steps: [call('b', 'c', 'a'), { text: 'ok' }] })
    expect(ran).toEqual(['a'])
    expect(turn.outcomes).toEqual(['b denied', 'c denied', 'a result'])
    const [refused] = turn.result.messages.flatMap((message) => (message.role === 'tool-result' ? [JSON.stringify(message.output)] : []))
    expect(refused).toContain('Use a next')
    expect((await turn.bench.orchestration.getState(id))?.toolHistory.map(({ tool: name }) => name)).toEqual(['a'])
  })

  it('O43: of parallel calls each is judged after the calls before it', async () => {
    const turn = await play({ config: sequence, steps: [call('a', 'a', 'b', 'c'), { text: 'ok' }] })
    expect(turn.outcomes).toEqual(['a result', 'a denied', 'b result', 'c denied'])
    expect(await turn.bench.orchestration.getState(id)).toMatchObject({ sequenceIndex: 2, toolHistory: [{ tool: 'a' }, { tool: 'b' }] })
  })

  it('O43: if earlier calls lead to another step, that step judges the next call', async () => {
    const config: OrchestrationConfig = {
      steps: [
        { name: 'start', isDefault: true },
        { name: 'locked', conditions: [{ type: 'tool_used', value: 'b' }], tools: { allow: ['c'] } },
      ],
    }
    const turn = await play({ config, steps: [call('a', 'b', 'a', 'c'), { text: 'ok' }] })
    expect(turn.outcomes).toEqual(['a result', 'b result', 'a denied', 'c result'])
    expect(stepsOf(turn)).toMatchObject([{ name: 'start' }, { name: 'locked', previous: 'start', because: 'its conditions hold' }])
  })

  it('O45: uses are recorded in the order of the calls of the model, in one update per step', async () => {
    const slow = Promise.withResolvers<string>()
    const tools = [
      defineTool({ name: 'a', description: 'a', inputSchema: z.object({}), execute: () => slow.promise }),
      tool('b', () => (slow.resolve('late'), 'early')),
    ]
    const store = watchedStore(memoryStateStore())
    const turn = await play({
      config: { steps: [{ name: 'any', isDefault: true }] },
      store,
      tools,
      steps: [call('a', 'b'), { text: 'ok' }],
    })
    expect((await turn.bench.orchestration.getState(id))?.toolHistory.map(({ key }) => key)).toEqual(['call-a-0', 'call-b-1'])
    // One write each to create it, to select a step, for the step with its calls, and for the last step with its tokens.
    expect(store.calls.filter((each) => each === 'compareAndSet')).toHaveLength(4)
  })

  it('O46: failed calls are recorded, denied and cancelled ones are not', async () => {
    const fails = tool('b', () => {
      throw new Error('broken')
    })
    const later = defineExtension({
      name: 'later',
      hooks: { onToolCall: ({ call: { toolName } }) => (toolName === 'c' ? { action: 'reject-and-continue', message: 'no' } : undefined) },
    })
    const given = bench()
    const config: OrchestrationConfig = { steps: [{ name: 'any', isDefault: true }] }
    const extensions = [given.orchestration.extension(config), later]
    const turn = await play({
      config,
      on: given,
      tools: [tool('a'), fails, tool('c'), tool('d')],
      agent: { extensions, limits: { maxToolCalls: 4 } },
      steps: [call('a', 'b', 'c', 'none', 'd'), { text: 'ok' }],
    })
    expect(turn.outcomes).toEqual(['a result', 'b error', 'c denied', 'none error', 'd cancelled'])
    expect((await given.orchestration.getState(id))?.toolHistory.map(({ tool: name }) => name)).toEqual(['a', 'b', 'none'])
  })

  it('O46: the final outcome of a call counts, also if a later extension has changed it', async () => {
    const given = bench()
    const config: OrchestrationConfig = { steps: [{ name: 'any', isDefault: true }] }
    const behind = defineExtension({
      name: 'behind',
      hooks: { onToolResult: ({ call: { toolName } }) => (toolName === 'a' ? { status: 'denied', output: 'no' } : undefined) },
    })
    await play({
      config,
      on: given,
      agent: { extensions: [given.orchestration.extension(config), behind] },
      steps: [call('a', 'b'), { text: 'ok' }],
    })
    expect((await given.orchestration.getState(id))?.toolHistory.map(({ tool: name }) => name)).toEqual(['b'])
  })

  it('O19: the tokens of the model calls of a turn are added once', async () => {
    const { bench: given, result } = await play({
      config: { steps: [{ name: 'any', isDefault: true }] },
      steps: [call('a'), { text: 'ok' }],
    })
    const { inputTokens, outputTokens } = result.usage
    expect(inputTokens).toBeGreaterThan(0)
    expect((await given.orchestration.getState(id))?.cumulativeTokenUsage).toMatchObject({
      promptTokens: inputTokens,
      completionTokens: outputTokens,
    })
  })

  it('O47, O48: child runs have their own states, and all states are removed with those of the session', async () => {
    const store = memoryStateStore()
    const given = bench({ store, config: sequence })
    const child = (steps: Script) =>
      defineAgent({
        name: 'helper',
        description: 'Helps',
        model: scriptedModel(steps),
        tools: [tool('a'), tool('b')],
        extensions: [given.orchestration.extension()],
      })
    const delegate = { toolCalls: [1, 2].map((n) => ({ id: `call-${n}`, name: 'delegate_to_helper', input: { prompt: 'help' } })) }
    const config: OrchestrationConfig = { steps: [{ name: 'any', isDefault: true }] }
    const helper = child(({ prompt }) => (prompt.some((message) => message.role === 'tool') ? { text: 'helped' } : call('a')))
    await play({
      config,
      on: given,
      tools: [],
      agent: { extensions: [given.orchestration.extension(config)], subagents: [helper] },
      steps: [delegate, { text: 'ok' }],
    })
    const states = (await given.orchestration.listStates()).items
    expect(
      states.map(({ sessionId, recentlyUsedTools, sequenceIndex }) => [sessionId.split('#')[0], recentlyUsedTools, sequenceIndex]),
    ).toEqual([
      [id, ['delegate_to_helper'], 0],
      [id, ['a'], 1],
      [id, ['a'], 1],
    ])
    expect(new Set(states.map(({ sessionId }) => sessionId)).size).toBe(3)
    const [, first] = states
    expect(await given.orchestration.getState(String(first?.sessionId))).toEqual(first)
    for (const other of ['room:10', 'room', 'room:1/x']) await given.orchestration.getOrCreateState(other)
    await removeOrchestrationState(store, id)
    expect((await given.orchestration.listStates()).items.map(({ sessionId }) => sessionId)).toEqual(['room', 'room:1/x', 'room:10'])
  })

  it('O48: removal covers more children than a page holds, also with a session store', async () => {
    const session = memoryStore()
    await session.open({ namespace: 'default', owner: 'owner-a', clock: manualClock() })
    for (let n = 0; n < 250; n++) await session.state.compareAndSet('mine', `${id}#${n}`, null, n, { ttlMs: 'never' })
    await session.state.compareAndSet('mine', id, null, 1, { ttlMs: 'never' })
    await removeOrchestrationState(session, id, 'mine')
    expect(await session.state.list('mine', {})).toEqual({ items: [] })
    await expect(removeOrchestrationState(session, 'a b')).rejects.toMatchObject({ code: 'invalid-key' })
  })

  it('O4: without steps nothing is filtered and nothing stored', async () => {
    const store = watchedStore(memoryStateStore())
    for (const config of [{ steps: [] }, undefined as never]) {
      const turn = await play({ config, store, steps: [call('a'), { text: 'ok' }] })
      expect([turn.shown[0], turn.outcomes]).toEqual([['a', 'b', 'c'], ['a result']])
    }
    expect(store.calls).toEqual([])
  })

  it('O49: a turn restarts the lifetime of the record, and creates a missing one', async () => {
    const first = await play({ config: sequence, ttlMs: 500, steps: [call('a'), { text: 'ok' }] })
    const { clock, orchestration } = first.bench
    await clock.advance(400)
    await play({ config: sequence, on: first.bench, steps: [{ text: 'ok' }] })
    await clock.advance(499)
    expect((await orchestration.listStates()).items).toMatchObject([{ sequenceIndex: 1, lastAccessed: startMs + 400 }])
    await clock.advance(1)
    expect((await play({ config: sequence, on: first.bench, steps: [{ text: 'ok' }] })).shown).toEqual([['a']])
    expect(await orchestration.getState(id)).toMatchObject({ sequenceIndex: 0, toolHistory: [] })
  })
})

describe('an unreadable state', () => {
  const broken = () => watchedStore(memoryStateStore(), away)

  it('O44: offers no tool, and refuses every call', async () => {
    const turn = await play({ config: sequence, store: broken(), steps: [call('a'), { text: 'ok' }] })
    expect(turn.shown).toEqual([[], []])
    expect(turn.outcomes).toEqual(['a denied'])
    expect(turn.result.status).toBe('completed')
    expect(turn.bench.diagnostics.filter(({ code }) => code === 'state-unavailable')).toHaveLength(2)
    expect(faultsOf(turn)).not.toEqual([])
  })

  it('O44: ends the turn if configured so', async () => {
    const turn = await play({ config: sequence, store: broken(), onUnavailable: 'fail', steps: [] })
    expect(turn.result).toMatchObject({ status: 'error', reason: 'extension-error' })
    expect(turn.shown).toEqual([])
  })

  it('O44: works in the middle of a turn too; the uses are recorded once the store is back', async () => {
    let isAway = false
    const store = watchedStore(memoryStateStore(), () => (isAway ? away() : undefined))
    const tools = [tool('a', () => ((isAway = true), 'ok')), tool('b'), tool('c')]
    const back = defineExtension({
      name: 'back',
      hooks: { afterModelCall: ({ message }) => void (isAway &&= message.content.some((part) => part.type === 'tool-call')) },
    })
    const given = bench({ store })
    const extensions = [given.orchestration.extension(sequence), back]
    const turn = await play({ config: sequence, on: given, tools, agent: { extensions }, steps: [call('a'), { text: 'ok' }] })
    expect(turn.shown).toEqual([['a'], []])
    expect(await given.orchestration.getState(id)).toMatchObject({ sequenceIndex: 1, toolHistory: [{ tool: 'a' }] })
  })

  it('O44: a store that never answers does not make all tools available', async () => {
    const clock = manualClock(startMs)
    let asked = 0
    const store = watchedStore(memoryStateStore({ clock }), (name) =>
      name === 'get' ? (asked++, new Promise(() => undefined)) : undefined,
    )
    const given = bench({ store }, clock)
    const model = scriptedModel([{ text: 'ok' }])
    const run = defineAgent({ model, tools: [tool('a')], extensions: [given.orchestration.extension(sequence)] }).run('go', {
      clock,
      sessionKey: id,
    })
    let ended = false
    void run.result().finally(() => (ended = true))
    while (!ended) await clock.advance(1_000)
    expect(asked).toBeGreaterThan(0)
    expect(model.calls.map((request) => request.tools ?? [])).toEqual([[]])
  })

  it('O44: allowedTools returns the same', async () => {
    const { orchestration, diagnostics } = bench({ config: sequence, store: broken() })
    expect(await orchestration.allowedTools(id, ['a'])).toEqual({ tools: [], reasons: [{ tool: 'a', reason: 'the state cannot be read' }] })
    expect(diagnostics).toMatchObject([{ code: 'state-unavailable', sessionId: id }])
    await expect(
      bench({ config: sequence, store: broken(), onUnavailable: 'fail' }).orchestration.allowedTools(id, ['a']),
    ).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(() => bench({ onUnavailable: 'all-tools' as never })).toThrow(/onUnavailable/)
  })

  it('O6: a run without a session key has no state, and gets no generated id', async () => {
    const store = memoryStateStore()
    const turn = await play({ config: sequence, store, sessionKey: 'none', steps: [call('a'), { text: 'ok' }] })
    expect([turn.shown, turn.outcomes]).toEqual([[[], []], ['a denied']])
    expect(faultsOf(turn)[0]).toMatchObject({ message: expect.stringContaining('session key') as unknown })
    expect((await store.list('orchestration-state', {})).items).toEqual([])
  })
})

describe('diagnostics, events and errors', () => {
  it('O63: neither diagnostics nor events contain messages, data or error texts', async () => {
    const store = watchedStore(memoryStateStore(), (name) => {
      if (name === 'touch') throw new Error('redis://user:secret@host')
    })
    const config: OrchestrationConfig = {
      steps: [
        { name: 'any', isDefault: true, conditions: [{ type: 'message_contains', value: 'x' }] },
        { name: 'p', conditions: [{ type: 'predicate', name: 'bad' }] },
      ],
    }
    const predicates = {
      bad: () => {
        throw new Error('secret')
      },
    }
    const turn = await play({ config, store, predicates, input: 'a secret message', steps: [{ text: 'ok' }] })
    expect(turn.bench.diagnostics.length).toBeGreaterThan(0)
    expect(JSON.stringify(turn.bench.diagnostics)).not.toContain('secret')
    expect(JSON.stringify(stepsOf(turn))).not.toContain('secret')
  })

  it.each(kinds)('O63: errors of %s hold no values', async (kind) => {
    const store = await stores[kind](manualClock())
    const secret = { text: 'secret', at: new Date(0) }
    await expect(store.compareAndSet('s', 'a', null, secret as never, { ttlMs: 1 })).rejects.toSatisfy(
      (error: Error) => !`${error.message} ${error.stack}`.includes('"secret"') && error.message.includes('value.at'),
    )
  })
})
