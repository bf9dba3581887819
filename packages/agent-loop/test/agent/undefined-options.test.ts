import { definedFields } from '@bowline/llm/arguments'
import { describe, expect, it } from 'vitest'
import { retryPolicyOf } from '../../src/plugins/retry/retry.ts'
import { limitsOf } from '../../src/run/definition.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { eventsOf, playOut, refusal } from '../support/waiting.ts'

const nothing = (names: readonly string[]): Record<string, undefined> => Object.fromEntries(names.map((name) => [name, undefined]))

describe('S206: an option with the value undefined counts as absent', () => {
  it('S206: limits keep their defaults, or those of the agent', () => {
    const names = ['maxSteps', 'maxToolCalls', 'maxTotalTokens', 'maxDurationMs', 'maxDepth', 'maxQueuedInputs', 'maxCost']
    expect(limitsOf(nothing(names))).toEqual(limitsOf({}))
    const base = limitsOf({ maxSteps: 3, maxDurationMs: 5 })
    expect(limitsOf({ maxDurationMs: 7, ...nothing(['maxSteps']) }, base)).toEqual({ ...base, maxDurationMs: 7 })
  })

  it('S206: a retry policy keeps its defaults', () => {
    const names = ['maxRetries', 'baseDelayMs', 'maxDelayMs', 'jitter', 'maxServerDelayMs', 'maxTotalDelayMs', 'rewind', 'isRetryable']
    expect(retryPolicyOf(nothing(names))).toStrictEqual(retryPolicyOf({}))
    expect(retryPolicyOf({ maxRetries: 1, ...nothing(['jitter']) })).toStrictEqual({ ...retryPolicyOf(), maxRetries: 1 })
  })

  it('S206: a run with undefined in its retries and limits waits and ends like a run without these options', async () => {
    const talk = conversation()
    const options = { retry: { jitter: 0, ...nothing(['maxRetries', 'baseDelayMs']) }, limits: nothing(['maxSteps', 'maxToolCalls']) }
    const agent = agentOf([{ error: refusal(503) }, { text: 'done' }], options)
    expect(await playOut(talk, agent, 'go')).toMatchObject({ status: 'completed', text: 'done' })
    expect(eventsOf(talk, 'retry-start')).toMatchObject([{ delayMs: 2_000 }])
  })

  it('S206: only undefined values are left out', () => {
    expect(definedFields({ a: undefined, b: null, c: false, d: 0, e: '' })).toStrictEqual({ b: null, c: false, d: 0, e: '' })
  })
})
