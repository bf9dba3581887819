import { describe, expect, it } from 'vitest'
import { BridgeError, createBridge, defineBridgeAgent, inProcessExecutor, remoteExecutor } from '../src/index.ts'
import type { BridgeAgent, BridgeExecutor } from '../src/index.ts'
import { connectTo } from './mcp/support.ts'
import { stubServer } from './stub-server.ts'
import { answer, failureOf, outcomeOf, recordingLogger, startBridge, testAgent } from './support.ts'
import type { TestBridge } from './support.ts'

/** An executor without agents that records its calls. */
function tracedExecutor(kind: string, trace: string[], parts: Partial<BridgeExecutor> = {}): BridgeExecutor {
  return {
    ...inProcessExecutor({ agents: [] }),
    kind,
    start: async () => void trace.push(`start ${kind}`),
    stop: async () => void trace.push(`stop ${kind}`),
    ...parts,
  }
}

describe('start', () => {
  it('B1: executors start in order; a second start is a no-op', async () => {
    const trace: string[] = []
    const bridge = createBridge({ executors: [tracedExecutor('one', trace), tracedExecutor('two', trace)] })
    await Promise.all([bridge.start(), bridge.start()])
    await bridge.start()
    expect(trace).toEqual(['start one', 'start two'])
  })

  it('B1: if one fails, those already started are stopped and the cause is thrown', async () => {
    const trace: string[] = []
    const cause = new Error('no such command')
    const failing = tracedExecutor('three', trace, { start: () => Promise.reject(cause) })
    const executors = [tracedExecutor('one', trace), tracedExecutor('two', trace), failing, tracedExecutor('four', trace)]
    const bridge = createBridge({ executors })
    await expect(bridge.start()).rejects.toBe(cause)
    expect(trace).toEqual(['start one', 'start two', 'stop two', 'stop one'])
    expect(bridge.health().healthy).toBe(false)
  })

  it('an agent is not accepted as an executor', () => {
    expect(() => createBridge({ executors: [{ id: 'a' } as never] })).toThrow('agents go into inProcessExecutor')
  })

  it('a bridge that is not started, or is stopped, accepts no work', async () => {
    const bridge = createBridge({ executors: [inProcessExecutor({ agents: [testAgent('a')] })], logger: recordingLogger() })
    const early = failureOf(await bridge.delegate({ prompt: 'hi' }).result())
    expect(early).toMatchObject({ code: 'INTERNAL', message: 'The bridge is not started: await start() first' })
    await bridge.start()
    await bridge.stop()
    expect(failureOf(await bridge.delegate({ prompt: 'hi' }).result()).code).toBe('INTERNAL')
    await expect(bridge.start()).rejects.toMatchObject({ code: 'INTERNAL' })
  })

  it('an unknown option and a number out of range are refused with CONFIG', () => {
    expect(() => createBridge({ maxInflight: 3 } as object)).toThrow(/maxInflight/)
    expect(() => createBridge({ maxInFlight: 0 })).toThrow(/maxInFlight/)
    expect(() => createBridge({ timeoutMs: Number.NaN })).toThrow(/timeoutMs/)
  })
})

describe('registration', () => {
  it.each([
    ['without onPrompt', { specificationVersion: 'v1', info: { id: 'a' } }],
    ['with an empty id', { ...testAgent('a'), info: { id: '' } }],
    ['with an id of other characters', { ...testAgent('a'), info: { id: 'a b' } }],
    ['of another specification', { ...testAgent('a'), specificationVersion: 'v2' }],
  ])('B2: an agent %s is refused with CONFIG', (_what, agent) => {
    const refusal = expect.objectContaining({ code: 'CONFIG' })
    expect(() => inProcessExecutor({ agents: [agent as BridgeAgent] })).toThrow(refusal)
    expect(() => defineBridgeAgent(agent as BridgeAgent)).toThrow(refusal)
  })

  it('B2: an id twice in one executor is refused with CONFIG', () => {
    const agents = [testAgent('a'), testAgent('b'), testAgent('a')]
    expect(() => inProcessExecutor({ agents })).toThrow(expect.objectContaining({ code: 'CONFIG', details: { agentId: 'a' } }))
  })

  it('B2: a live session keeps its agent object', async () => {
    const closedBy: string[] = []
    const agents = [
      testAgent('a', {
        onSessionCreate: () => void (agents[0] = testAgent('a', { onPrompt: () => answer('somebody else') })),
        onSessionClose: () => void closedBy.push('the first'),
      }),
    ]
    const { bridge } = await startBridge(agents)
    expect(outcomeOf(await bridge.delegate({ prompt: 'hi' }).result()).text).toBe('a: hi')
    expect(closedBy).toEqual(['the first'])
  })
})

describe('discovery', () => {
  const named = (executor: BridgeExecutor, kind: string): BridgeExecutor => ({ ...executor, kind })

  it('B3: an id in two executors is listed once, the earlier one wins, the loss is logged', async () => {
    const first = named(inProcessExecutor({ agents: [testAgent('both', { onPrompt: () => answer('first') })] }), 'first')
    const second = named(inProcessExecutor({ agents: [testAgent('both'), testAgent('other')] }), 'second')
    const { bridge, logger } = await startBridge([], { executors: [first, second] })
    expect(bridge.discover().map(({ id, executor }) => [id, executor])).toEqual([
      ['both', 'first'],
      ['other', 'second'],
    ])
    expect(outcomeOf(await bridge.delegate({ prompt: 'hi', agentId: 'both' }).result()).text).toBe('first')
    const losses = logger.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields)
    expect(losses).toEqual([{ agentId: 'both', executor: 'second', winner: 'first' }])
  })

  it('B4: lists executors in order, agents in order of registration; capabilities default to none', async () => {
    const one = inProcessExecutor({ agents: [testAgent('z', { capabilities: ['search'] }), testAgent('a')] })
    const two = inProcessExecutor({ agents: [testAgent('m')] })
    const { bridge } = await startBridge([], { executors: [one, two] })
    expect(bridge.discover().map(({ id, capabilities }) => [id, capabilities])).toEqual([
      ['z', ['search']],
      ['a', []],
      ['m', []],
    ])
  })

  it('B4: the capability filter matches exactly', async () => {
    const { bridge } = await startBridge([testAgent('a', { capabilities: ['web-search'] }), testAgent('b', { capabilities: ['search'] })])
    expect(bridge.discover({ capability: 'search' }).map(({ id }) => id)).toEqual(['b'])
    expect(bridge.discover({ capability: 'Search' })).toEqual([])
  })

  it('B5: providers and their optional fields appear only when declared and not empty', async () => {
    const { bridge } = await startBridge([
      testAgent('none'),
      testAgent('empty', { providers: [] }),
      testAgent('some', {
        providers: [
          { id: 'p', models: ['m'], description: '', capabilities: [] },
          { id: 'q', models: [], kind: 'chat', displayName: 'Q', description: 'the q', capabilities: ['tools'] },
        ],
      }),
    ])
    const [none, empty, some] = bridge.discover()
    expect(none).not.toHaveProperty('providers')
    expect(empty).not.toHaveProperty('providers')
    expect(some?.providers).toStrictEqual([
      { id: 'p', models: ['m'] },
      { id: 'q', models: [], kind: 'chat', displayName: 'Q', description: 'the q', capabilities: ['tools'] },
    ])
  })

  it('B7: without an agentId the defaultAgentId is used, else the first agent; every result names it', async () => {
    const agents = [testAgent('a'), testAgent('b')]
    const { bridge: first } = await startBridge(agents)
    expect(await first.delegate({ prompt: 'hi' }).result()).toMatchObject({ ok: true, agentId: 'a' })
    const { bridge: chosen } = await startBridge(agents, { defaultAgentId: 'b' })
    expect(await chosen.delegate({ prompt: 'hi' }).result()).toMatchObject({ ok: true, agentId: 'b' })
    expect(chosen.discover().map((agent) => [agent.id, agent.default])).toEqual([
      ['a', false],
      ['b', true],
    ])
  })

  it('B7: a defaultAgentId that does not exist fails start with CONFIG', async () => {
    const executors = [inProcessExecutor({ agents: [testAgent('a')] })]
    const bridge = createBridge({ executors, defaultAgentId: 'b', logger: recordingLogger() })
    await expect(bridge.start()).rejects.toMatchObject({ code: 'CONFIG', details: { agentId: 'b' } })
  })

  it('B8: an unknown agent is NOT_FOUND; no agents at all is CONFIG', async () => {
    const { bridge } = await startBridge([testAgent('a')])
    const unknown = failureOf(await bridge.delegate({ prompt: 'hi', agentId: 'b' }).result())
    expect(unknown).toMatchObject({ code: 'NOT_FOUND', details: { agentId: 'b' } })
    const { bridge: empty } = await startBridge([])
    const none = failureOf(await empty.delegate({ prompt: 'hi' }).result())
    expect(none).toMatchObject({ code: 'CONFIG', message: 'No agents registered', retryable: false })
    expect(BridgeError.isInstance(none)).toBe(true)
  })

  it('B8: B121: the error for an unknown agent lists those that exist', async () => {
    const { bridge } = await startBridge([testAgent('a'), testAgent('b')], {
      authorize: (owner, _action, id) => owner === 'local' || id === 'a',
    })
    const message = async (owner: string, agentId: string) =>
      failureOf(await bridge.delegate({ prompt: 'hi', agentId, owner }).result()).message
    expect(await message('local', 'c')).toBe('No agent c; there are a, b')
    expect([await message('bob', 'c'), await message('bob', 'b')]).toEqual(['No agent c; there is a', 'No agent b; there is a'])
  })
})

describe('agents of other processes', () => {
  const listed = { id: 'good', capabilities: ['x'], status: 'ready' as const, durable: false }
  const bad: readonly [string, unknown, string][] = [
    [
      'capabilities that are one text',
      { ...listed, id: 'bad', capabilities: 'review' },
      'capabilities must be a list; received a text of 6 characters',
    ],
    [
      'a capability that is none',
      { ...listed, id: 'bad', capabilities: [null] },
      'capabilities[0] must be a text with at least one character; received null',
    ],
    ['no id', { ...listed, id: undefined }, 'id must be an id: a letter or digit, then up to 127 of those and . _ : -; received undefined'],
    [
      'another status',
      { ...listed, id: 'bad', status: 'fine' },
      'status must be one of ready, busy, starting, unavailable; received "fine"',
    ],
    [
      'providers without models',
      { ...listed, id: 'bad', providers: [{ id: 'p' }] },
      'providers[0].models must be a list; received undefined',
    ],
    ['nothing', null, 'agent must be an object; received null'],
  ]

  it.each(bad)('B9: an agent with %s is left out with its reason, and hides no other', async (_what, agent, reason) => {
    const executor: BridgeExecutor = {
      ...inProcessExecutor({ agents: [testAgent('good')] }),
      kind: 'odd',
      agents: () => [agent as never, listed],
    }
    const { bridge, logger } = await startBridge([], { executors: [executor] })
    const { call } = await connectTo({ bridge } as TestBridge)
    expect((await call('agents_discover')).structuredContent).toMatchObject({ agents: [{ id: 'good', status: 'ready' }] })
    expect((await call('bridge_health')).structuredContent).toMatchObject({
      healthy: false,
      executors: [{ kind: 'odd', healthy: false, leftOut: [{ reason }] }],
    })
    expect(outcomeOf(await bridge.delegate({ prompt: 'hi' }).result()).text).toBe('good: hi')
    expect(logger.lines.filter(({ message }) => message === 'an agent cannot be listed').map(({ fields }) => fields['reason'])).toEqual([
      reason,
    ])
  })
})

describe('an executor that does not know its agents yet', () => {
  it('B93: a server out of reach is TRANSPORT with its reason, retryable, and not a bad configuration', async () => {
    const reason = 'the server far is not reachable: disconnected'
    const executors = [remoteExecutor({ servers: [{ id: 'far', baseUrl: 'http://127.0.0.1:9' }] })]
    const bridge = createBridge({ executors, defaultAgentId: 'writer', logger: recordingLogger() })
    await bridge.start()
    const error = failureOf(await bridge.delegate({ prompt: 'hi' }).result())
    expect(error).toMatchObject({
      code: 'TRANSPORT',
      retryable: true,
      message: `The agents are not known yet: ${reason}`,
      details: { outcome: 'none', retryAfterMs: 1000 },
    })
    expect(bridge.health()).toMatchObject({ healthy: false, executors: [{ kind: 'remote', healthy: false, reason }] })
    await bridge.stop()
  })

  it('B93: the error says that the server does not have the agent', async () => {
    const { url } = await stubServer()
    const executor = remoteExecutor({ servers: [{ id: 'far', baseUrl: url, agents: ['writer', 'reader'] }] })
    const { bridge } = await startBridge([], { executors: [executor] })
    expect(bridge.discover()).toMatchObject([
      { id: 'writer', status: 'ready' },
      { id: 'reader', status: 'unavailable', reason: 'the server far has no agent reader' },
    ])
    await bridge.stop()
  })
})
