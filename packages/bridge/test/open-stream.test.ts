import { describe, expect, it } from 'vitest'
import type { PendingInput } from '../src/index.ts'
import { answer, failureOf, never, outcomeOf, startBridge, testAgent } from './support.ts'

const approval: PendingInput = { id: 'a-1', kind: 'approval', toolName: 'pay', input: {} }

/** An agent that leaves its stream open after each result. */
const agent = testAgent('a', {
  async *onPrompt({ answers }) {
    const result = answers ? answer('answered') : { text: '', stopReason: 'needs_input' as const, pending: [approval] }
    yield { type: 'result', result }
    await never
  },
})

describe('an agent that gives its result and leaves the stream open', () => {
  it('B41: its question stays open until the deadline, not only for the grace period', async () => {
    const { bridge, clock } = await startBridge([agent], { cancelGraceMs: 100, inactivityMs: 1000 })
    const run = bridge.delegate({ prompt: 'go', timeoutMs: 10_000 })
    await clock.advance(5000)
    expect(outcomeOf(await bridge.request(run.requestId)).status).toBe('awaiting-approval')
    const answered = bridge.prompt({ sessionId: run.sessionId, answers: [{ id: 'a-1', decision: 'approve' }] }).result()
    await clock.advance(100)
    expect(outcomeOf(await answered).text).toBe('answered')
    expect(clock.pendingTimers).toBe(0)
  })

  it('B40: its question ends with the deadline', async () => {
    const { bridge, clock } = await startBridge([agent], { cancelGraceMs: 100, inactivityMs: 1000 })
    const run = bridge.delegate({ prompt: 'go', timeoutMs: 10_000 })
    await clock.advance(10_000)
    const { code, details } = failureOf(await bridge.request(run.requestId))
    expect([code, details.stage]).toEqual(['TIMEOUT', 'total'])
    expect(clock.pendingTimers).toBe(0)
  })
})
