import { describe, expect, it } from 'vitest'
import { Reach } from '../../src/mcp/reach.ts'
import { BridgeError, inProcessExecutor } from '../../src/index.ts'
import type { BridgeExecutor } from '../../src/index.ts'
import { codeOf, failureOf, never, startBridge, testAgent } from '../support.ts'

const agentLike = { capabilities: [], durable: false }
const mine = { owner: 'ann' }

async function reaching(names: readonly string[], of: readonly string[] = ['a', 'b', 'c']) {
  const { bridge, clock } = await startBridge(of.map((id) => testAgent(id, { onPrompt: () => never })))
  return { bridge, clock, reach: new Reach(bridge, mine, (id) => names.includes(id)) }
}

describe('V62: callers that may not use all agents', () => {
  it('V62: only their agents are listed, and the first of them is the default if the common default is not allowed', async () => {
    const { reach } = await reaching(['b', 'c'])
    expect(reach.discover().map((agent) => [agent.id, agent.default])).toEqual([
      ['b', true],
      ['c', false],
    ])
    expect([reach.chosen(undefined), reach.chosen('c')]).toEqual(['b', 'c'])
    const { reach: all } = await reaching(['a', 'b', 'c'])
    expect(all.discover().map((agent) => [agent.id, agent.default])).toEqual([
      ['a', true],
      ['b', false],
      ['c', false],
    ])
    expect(all.chosen(undefined)).toBe('a')
  })

  it('V62: an agent that is not allowed is refused like an unknown one, and only allowed agents are named', async () => {
    const { reach } = await reaching(['b'])
    const refusal = (id: string): unknown => {
      try {
        return reach.chosen(id)
      } catch (error) {
        const { code, message } = error as { code: string; message: string }
        return { code, message: message.replace(`No agent ${id};`, 'No agent ?;') }
      }
    }
    expect(refusal('a')).toEqual(refusal('zz'))
    expect(refusal('a')).toEqual({ code: 'NOT_FOUND', message: 'No agent ?; there is b' })
    const { reach: none } = await reaching([])
    expect(() => none.chosen(undefined)).toThrow(expect.objectContaining({ code: 'CONFIG' }))
    expect(none.discover()).toEqual([])
  })

  it('V62: health counts the allowed agents, and without any is not healthy', async () => {
    const { reach } = await reaching(['b', 'c'])
    expect(reach.health()).toMatchObject({ healthy: true, agents: { total: 2, ready: 2 } })
    const { reach: none } = await reaching([])
    expect(none.health()).toMatchObject({ healthy: false, agents: { total: 0, ready: 0 } })
  })

  it('V62: health names the allowed workers and the allowed agents that are left out, and counts those that are ready', async () => {
    const executor = inProcessExecutor({ agents: ['a', 'b'].map((id) => testAgent(id)) })
    const workers = ['a', 'b'].map((id) => ({ id, state: 'ready' as const, restarts: 0 }))
    const agents = () => [
      ...executor.agents(),
      { ...agentLike, id: 'b2', status: 'unavailable' },
      ...['a3', 'b3'].map((id) => ({ ...agentLike, id, status: 'odd' })),
    ]
    const { bridge } = await startBridge([], {
      executors: [{ ...executor, health: () => ({ healthy: true, workers }), agents } as BridgeExecutor],
    })
    const health = (of: string) => new Reach(bridge, mine, (id) => id.startsWith(of)).health()
    expect(health('b')).toMatchObject({ healthy: false, agents: { total: 2, ready: 1 } })
    expect(health('b').executors).toEqual([
      { kind: 'in-process', healthy: false, workers: [workers[1]], leftOut: [{ id: 'b3', reason: expect.any(String) as string }] },
    ])
    expect(health('a').executors).toMatchObject([{ workers: [workers[0]], leftOut: [{ id: 'a3' }] }])
    expect(health('a').agents).toEqual({ total: 1, ready: 1 })
    const { reach } = await reaching(['a'])
    expect(reach.health().executors).toEqual([{ kind: 'in-process', healthy: true }])
  })

  it('V62: agents that the owner may not discover, or that lack the requested capability, are not found', async () => {
    const agents = ['a', 'b', 'c'].map((id) => testAgent(id, { capabilities: id === 'c' ? ['x'] : ['x', 'y'] }))
    const authorize = (owner: string, _action: string, agentId: string): boolean => owner !== mine.owner || agentId !== 'a'
    const { bridge } = await startBridge(agents, { authorize })
    const reach = new Reach(bridge, mine, () => true)
    expect(reach.discover().map(({ id }) => id)).toEqual(['b', 'c'])
    expect(reach.discover({ capability: 'y' }).map(({ id }) => id)).toEqual(['b'])
    expect(reach.chosen(undefined)).toBe('b')
  })

  it('V62: a failed request with an agent that is not allowed is looked up under an unknown owner too', async () => {
    const failures = {
      a: () => new BridgeError('UPSTREAM', 'no'),
      b: () => new Error('untyped'),
      c: () => new BridgeError('AUTH', 'no', { details: { agentId: 'open' } }),
    }
    const agents = Object.entries(failures).map(([id, failure]) => testAgent(id, { onPrompt: () => Promise.reject(failure()) }))
    const { bridge } = await startBridge(agents)
    const reach = new Reach(bridge, mine, (id) => id === 'open')
    for (const agentId of Object.keys(failures)) {
      const run = bridge.delegate({ ...mine, agentId, prompt: 'hi' })
      failureOf(await run.result())
      expect((await reach.ownerFor({ requestId: run.requestId })).owner, agentId).toMatch(/^nobody_/)
    }
  })

  it('V62: a session or request of an agent that is not allowed is looked up under an unknown owner', async () => {
    const { bridge, clock, reach } = await reaching(['b'])
    const within = await bridge.createSession({ ...mine, agentId: 'b' })
    const outside = await bridge.createSession({ ...mine, agentId: 'a' })
    const [ours, theirs] = [within, outside].map(({ sessionId }) => bridge.prompt({ ...mine, sessionId, prompt: 'hi' }))
    await clock.advance(0)
    expect(reach.within([within, outside]).map(({ agentId }) => agentId)).toEqual(['b'])
    expect(await reach.ownerFor({ sessionId: within.sessionId })).toEqual(mine)
    expect(await reach.ownerFor({ requestId: ours?.requestId as string })).toEqual(mine)
    expect(await reach.ownerFor({ sessionId: within.sessionId, requestId: ours?.requestId as string })).toEqual(mine)
    const hidden = [
      { sessionId: outside.sessionId },
      { requestId: theirs?.requestId as string },
      { sessionId: within.sessionId, requestId: theirs?.requestId as string },
      { sessionId: outside.sessionId, requestId: ours?.requestId as string },
    ]
    for (const named of hidden) {
      const owner = await reach.ownerFor(named)
      expect(owner.owner).toMatch(/^nobody_/)
      expect(await codeOf(bridge.cancel({ ...named, ...owner }))).toBe('NOT_FOUND')
    }
    expect(await reach.ownerFor({ sessionId: 'bs_never', requestId: 'never' })).toEqual(mine)
  })
})
