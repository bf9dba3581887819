import { createModels } from '@bowline/llm'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineAgent } from '../../../src/index.ts'
import type { AgentOptions, RetryPolicy } from '../../../src/index.ts'
import { conversation, model } from '../../support/conversation.ts'
import { mortal } from '../../support/mortal.ts'
import { eventsOf, playOut, refusal, typesOf } from '../../support/waiting.ts'

const plain: Partial<RetryPolicy> = { jitter: 0 }
const busy: Step = { error: refusal(503) }
const tooLong: Step = { error: refusal(400, { message: 'prompt is too long: 20000 tokens > 10000 maximum' }) }

function smallAgent(scripted: ReturnType<typeof model>, options: Partial<AgentOptions> = {}) {
  const models = createModels({
    providers: { test: { languageModel: () => scripted } },
    models: { 'test:small': { contextWindow: 10_000 } },
  })
  return defineAgent({
    model: 'test:small',
    models,
    runtimeParams: { maxTokens: 500 },
    retry: plain,
    compaction: { reserveTokens: 1_000, keepRecentTokens: 50 },
    ...options,
  })
}

describe('an overflow', () => {
  const longTurn: Step = { text: 'a'.repeat(4_000), usage: { input: 2_000, output: 1 } }
  const longInput = `FIRST ${'x'.repeat(4_000)}`

  it('A126: is not counted as a retry, and has no wait', async () => {
    const talk = conversation()
    const agent = smallAgent(model([longTurn, tooLong, { text: 'SUMMARY' }, busy, busy, { text: 'fits' }]), {
      retry: { ...plain, maxRetries: 2 },
    })
    await playOut(talk, agent, longInput)
    expect((await playOut(talk, agent, 'more')).text).toBe('fits')
    expect(eventsOf(talk, 'retry-start').map(({ cause, attempt, maxAttempts, delayMs }) => [cause, attempt, maxAttempts, delayMs])).toEqual(
      [
        ['overflow', 2, 4, 0],
        ['error', 3, 4, 2_000],
        ['error', 4, 4, 4_000],
      ],
    )
    expect(eventsOf(talk, 'message-discarded').map(({ reason }) => reason)).toEqual(['overflow', 'retry', 'retry'])
  })

  it('A126: if compaction makes no room, the turn ends as error, and no retry is announced', async () => {
    const talk = conversation()
    const agent = smallAgent(model([longTurn, tooLong, { error: refusal(400) }]))
    await playOut(talk, agent, longInput)
    const result = await playOut(talk, agent, 'more')
    expect(result).toMatchObject({ status: 'error', reason: 'model-error', error: { kind: 'context-overflow' } })
    expect(eventsOf(talk, 'compaction-end')).toMatchObject([{ outcome: 'failed' }])
    expect(eventsOf(talk, 'retry-start')).toEqual([])
    expect(result.messages.map(({ role }) => role)).toEqual(['user'])
  })

  it('A126, A123: if compaction makes no room with onFailedTurn rewind, the input is withdrawn too', async () => {
    const talk = conversation()
    const agent = smallAgent(model([longTurn, tooLong, { error: refusal(400) }]), { onFailedTurn: 'rewind' })
    await playOut(talk, agent, longInput)
    const { messages } = await talk.memory.load()
    expect((await playOut(talk, agent, 'more')).status).toBe('error')
    expect((await talk.memory.load()).messages).toEqual(messages)
  })

  it('A109: an abort in its compaction ends the turn as aborted, and a yield stops without an end', async () => {
    for (const [kind, status, reason] of [
      ['stop', 'aborted', 'abort'],
      ['yield', 'aborted', 'yielded'],
    ] as const) {
      const talk = conversation({ unfinished: kind === 'yield' })
      const stop = new AbortController()
      const agent = smallAgent(model([longTurn, tooLong, { expect: () => stop.abort({ kind }), hang: 'before' }]))
      await playOut(talk, agent, longInput)
      expect(await playOut(talk, agent, 'more', { abortSignal: stop.signal })).toMatchObject({ status, reason })
      expect(eventsOf(talk, 'compaction-end')).toMatchObject([{ outcome: 'cancelled' }])
      expect(eventsOf(talk, 'turn-end')).toHaveLength(kind === 'yield' ? 1 : 2)
    }
  })

  it('A127: a rate limit is retried and starts no compaction', async () => {
    const talk = conversation()
    const agent = smallAgent(model([longTurn, { error: refusal(429) }, { text: 'fits' }]))
    await playOut(talk, agent, longInput)
    expect((await playOut(talk, agent, 'more')).text).toBe('fits')
    expect(typesOf(talk)).not.toContain('compaction-start')
  })

  it('A126: after a crash in the compaction the run compacts again, and books nothing twice', async () => {
    const { talk, revive } = mortal('compaction-end', 'before', 1)
    const scripted = model([
      { text: 'a'.repeat(4_000), usage: { input: 2_000, output: 1 } },
      tooLong,
      { text: 'SUMMARY' },
      tooLong,
      { text: 'SUMMARY' },
      { text: 'fits' },
    ])
    const agent = smallAgent(scripted)
    await playOut(talk, agent, `FIRST ${'x'.repeat(4_000)}`)
    expect((await playOut(talk, agent, 'more')).reason).toBe('journal-error')
    revive()
    const result = await playOut(talk, agent, undefined)
    expect(result).toMatchObject({ status: 'completed', text: 'fits' })
    expect(eventsOf(talk, 'retry-start')).toMatchObject([{ cause: 'overflow', attempt: 2 }])
  })

  it('A126: after a crash that follows the compaction the run calls again, and keeps the cost so far', async () => {
    const { talk, revive } = mortal('retry-start', 'before')
    const agent = smallAgent(model([longTurn, tooLong, { text: 'SUMMARY', usage: { input: 700, output: 9 } }, { text: 'fits' }]))
    await playOut(talk, agent, longInput)
    expect((await playOut(talk, agent, 'more')).reason).toBe('journal-error')
    revive()
    const result = await playOut(talk, agent, undefined)
    expect(result).toMatchObject({ status: 'completed', text: 'fits' })
    expect(result.usage.inputTokens).toBeGreaterThan(700)
  })

  it.each(['before', 'after'] as const)(
    'A126: is handled once per turn, also over a crash %s the next attempt is announced',
    async (when) => {
      const { talk, revive } = mortal('retry-start', when)
      const agent = smallAgent(model([longTurn, tooLong, { text: 'SUMMARY' }, tooLong]))
      await playOut(talk, agent, longInput)
      await playOut(talk, agent, 'more')
      revive()
      expect(await playOut(talk, agent, undefined)).toMatchObject({ status: 'error', error: { kind: 'context-overflow' } })
      expect(eventsOf(talk, 'compaction-start')).toHaveLength(1)
    },
  )

  it('A44: the usage of a compaction after the turn is not in the sums of the turn', async () => {
    const talk = conversation()
    const agent = smallAgent(
      model([
        { text: 'a'.repeat(800), usage: { input: 9_400, output: 1 } },
        { text: 'SUMMARY', usage: { input: 700, output: 9 } },
      ]),
    )
    const result = await playOut(talk, agent, longInput)
    expect(eventsOf(talk, 'compaction-end')).toMatchObject([{ outcome: 'done' }])
    expect(result.usage).toEqual(eventsOf(talk, 'turn-end')[0]?.usage)
    expect(result.usage.inputTokens).toBe(9_400)
  })
})
