import { describe, expect, it } from 'vitest'
import type { BridgeAgent } from '../src/index.ts'
import { codeOf, startBridge, testAgent } from './support.ts'

describe('an earlier conversation', () => {
  const resumable = (seen: string[]): BridgeAgent => ({
    ...testAgent('durable', {
      onSessionCreate: ({ sessionId, conversationId }) => void seen.push(sessionId === conversationId ? 'new' : conversationId),
    }),
    durable: true,
  })

  it('B23: goes on under a new handle, also after its session was closed', async () => {
    const seen: string[] = []
    const { bridge } = await startBridge([resumable(seen)])
    const first = await bridge.createSession()
    await bridge.close({ sessionId: first.sessionId })
    const second = await bridge.createSession({ resumeSessionId: first.sessionId })
    const third = await bridge.createSession({ resumeSessionId: second.sessionId })
    expect(new Set([first, second, third].map(({ sessionId }) => sessionId)).size).toBe(3)
    expect(seen).toEqual(['new', first.sessionId, first.sessionId])
  })

  it('B23: another agent, or one that is neither durable nor resumable, is CONFIG', async () => {
    const { bridge } = await startBridge([resumable([]), testAgent('plain')])
    const durable = await bridge.createSession({ agentId: 'durable' })
    const plain = await bridge.createSession({ agentId: 'plain' })
    const refused = { code: 'CONFIG', details: { reason: 'not-resumable' } }
    await expect(bridge.createSession({ resumeSessionId: plain.sessionId })).rejects.toMatchObject(refused)
    await expect(bridge.createSession({ resumeSessionId: durable.sessionId, agentId: 'plain' })).rejects.toMatchObject(refused)
    expect(await codeOf(bridge.createSession({ resumeSessionId: 'bs_never' }))).toBe('NOT_FOUND')
  })
})
