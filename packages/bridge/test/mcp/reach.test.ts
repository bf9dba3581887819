import { describe, expect, it } from 'vitest'
import { Reach } from '../../src/mcp/reach.ts'
import { codeOf, never, startBridge, testAgent } from '../support.ts'

const mine = { owner: 'ann' }

async function reaching(names: readonly string[], of: readonly string[] = ['a', 'b', 'c']) {
  const { bridge, clock } = await startBridge(of.map((id) => testAgent(id, { onPrompt: () => never })))
  return { bridge, clock, reach: new Reach(bridge, mine, (id) => names.includes(id)) }
}

describe('V62: what is there for who may not use all agents', () => {
  it('V62: only those agents are listed, and the first of them is the default where the common one is out of reach', async () => {
    const { reach } = await reaching(['b', 'c'])
    expect(reach.discover().map((agent) => [agent.id, agent.default])).toEqual([['b', true], ['c', false]])
    expect([reach.chosen(undefined), reach.chosen('c')]).toEqual(['b', 'c'])
    const { reach: all } = await reaching(['a', 'b', 'c'])
    expect(all.discover().map((agent) => [agent.id, agent.default])).toEqual([['a', true], ['b', false], ['c', false]])
    expect(all.chosen(undefined)).toBe('a')
  })

  it('V62: an agent out of reach is refused as one that never was, and only agents within reach are named', async () => {
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

  it('V62: health counts what is within reach, and without any is not healthy', async () => {
    const { reach } = await reaching(['b', 'c'])
    expect(reach.health()).toMatchObject({ healthy: true, agents: { total: 2, ready: 2 } })
    const { reach: none } = await reaching([])
    expect(none.health()).toMatchObject({ healthy: false, agents: { total: 0, ready: 0 } })
  })

  it('V62: a session or request of an agent out of reach is asked for in the name of nobody', async () => {
    const { bridge, clock, reach } = await reaching(['b'])
    const within = await bridge.createSession({ ...mine, agentId: 'b' })
    const outside = await bridge.createSession({ ...mine, agentId: 'a' })
    const [ours, theirs] = [within, outside].map(({ sessionId }) => bridge.prompt({ ...mine, sessionId, prompt: 'hi' }))
    await clock.advance(0)
    expect(reach.within([within, outside]).map(({ agentId }) => agentId)).toEqual(['b'])
    expect(await reach.ownerFor({ sessionId: within.sessionId })).toEqual(mine)
    expect(await reach.ownerFor({ requestId: ours?.requestId as string })).toEqual(mine)
    expect(await reach.ownerFor({ sessionId: within.sessionId, requestId: ours?.requestId as string })).toEqual(mine)
    const hidden = [{ sessionId: outside.sessionId }, { requestId: theirs?.requestId as string }, { sessionId: within.sessionId, requestId: theirs?.requestId as string }, { sessionId: outside.sessionId, requestId: ours?.requestId as string }]
    for (const named of hidden) {
      const owner = await reach.ownerFor(named)
      expect(owner.owner).toMatch(/^nobody_/)
      expect(await codeOf(bridge.cancel({ ...named, ...owner }))).toBe('NOT_FOUND')
    }
    expect(await reach.ownerFor({ sessionId: 'bs_never', requestId: 'never' })).toEqual(mine)
  })
})
