import { scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineExtension } from '../../../src/index.ts'
import type { AgentOptions, RetryPolicy } from '../../../src/index.ts'
import { agentOf } from '../../support/conversation.ts'
import { mortal } from '../../support/mortal.ts'
import { echo } from '../../support/tools.ts'
import { eventsOf, outwait, playOut, refusal } from '../../support/waiting.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })
const plain: Partial<RetryPolicy> = { jitter: 0 }
const busy: Step = { error: refusal(503) }

describe('a crash', () => {
  it('A177: a retry wait continues only for the rest of its time', async () => {
    const { talk, revive } = mortal('retry-start', 'after')
    expect((await playOut(talk, agentOf([busy], { retry: plain }), 'go')).reason).toBe('journal-error')
    revive()
    await talk.clock.advance(1_500)
    expect((await talk.memory.load()).open).toMatchObject({
      notBefore: 3_000,
      attempt: 2,
      waitedMs: 2_000,
      retry: { count: 1, model: 0, open: true },
    })
    expect((await playOut(talk, agentOf([{ text: 'done' }], { retry: plain }), undefined)).text).toBe('done')
    expect(eventsOf(talk, 'message-start').map(({ at, attempt }) => [at, attempt])).toEqual([
      [1_000, 1],
      [3_000, 2],
    ])
    expect(eventsOf(talk, 'retry-end')).toMatchObject([{ attempt: 2, success: true }])
  })

  it('A177: a clock that was set back does not prolong a retry wait', async () => {
    const { talk, revive } = mortal('retry-start', 'after')
    await playOut(talk, agentOf([busy], { retry: plain }), 'go')
    revive()
    await talk.clock.advance(-3_600_000)
    const before = talk.clock.now()
    expect((await playOut(talk, agentOf([{ text: 'done' }], { retry: plain }), undefined)).text).toBe('done')
    expect(talk.clock.now() - before).toBeLessThanOrEqual(2_000)
  })

  it('A177: counters and waits continue from before the crash', async () => {
    const { talk, revive } = mortal('retry-start', 'after', 2)
    const retry = { ...plain, maxRetries: 3, maxTotalDelayMs: 13_000 }
    await playOut(talk, agentOf([busy, busy], { retry }), 'go')
    revive()
    expect((await playOut(talk, agentOf([busy], { retry }), undefined)).status).toBe('error')
    expect(eventsOf(talk, 'retry-start').map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [2, 2_000],
      [3, 4_000],
    ])
    expect(eventsOf(talk, 'retry-end')).toHaveLength(2)
  })

  it.each([
    ['message-start', 'after', 2],
    ['message-end', 'before', 1],
    ['message-end', 'after', 1],
    ['retry-end', 'before', 1],
    ['turn-end', 'before', 1],
  ] as const)('A118: a process that dies with a %s (%s, %i) leaves one retry-end per retry-start', async (type, when, nth) => {
    const { talk, revive } = mortal(type, when, nth)
    const watch = defineExtension({
      name: 'watch',
      hooks: { onRetryEnd: () => undefined, onRetryStart: () => undefined, afterModelCall: () => undefined },
    })
    const options: Partial<AgentOptions> = { retry: plain, extensions: [watch], tools: [echo('a', { effect: 'pure' }).tool] }
    await playOut(
      talk,
      agentOf(
        [busy, { toolCalls: [call('x', 'a')] }, { text: 'done' }].slice(
          0,
          { 'message-start': 1, 'turn-end': 3, 'message-end': 2, 'retry-end': 2 }[type],
        ),
        options,
      ),
      'go',
    )
    if (type === 'message-end' && when === 'after') expect((await talk.memory.load()).open).not.toHaveProperty('retry')
    revive()
    const left = { 'message-start': 2, 'retry-end': 2, 'turn-end': 0, 'message-end': when === 'after' ? 1 : 2 }[type]
    const steps = [{ toolCalls: [call('x', 'a')] }, { text: 'done' }].slice(2 - left)
    expect((await playOut(talk, agentOf(steps, options), undefined)).status).toBe('completed')
    expect(eventsOf(talk, 'retry-start')).toHaveLength(1)
    expect(eventsOf(talk, 'retry-end')).toMatchObject([{ attempt: 2, success: true }])
  })

  it('A120: after a crash between a step and its call, the counter of the step before is not carried over', async () => {
    const { talk, revive } = mortal('message-start', 'before', 3)
    const slow = defineExtension({ name: 'slow', hooks: { onStepStart: () => undefined } })
    const options: Partial<AgentOptions> = { retry: plain, extensions: [slow], tools: [echo('a').tool] }
    await playOut(talk, agentOf([busy, { toolCalls: [call('x', 'a')] }], options), 'go')
    revive()
    await playOut(talk, agentOf([{ text: 'done' }], options), undefined)
    expect(eventsOf(talk, 'message-start').map(({ step, attempt }) => [step, attempt])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ])
  })

  it.each([
    ['onRetryEnd', 'retry-end'],
    ['onStepStart', 'message-discarded'],
  ] as const)('A123: a turn that was already withdrawn ends as it would have without the crash, with %s', async (hook, type) => {
    const { talk, revive } = mortal(type, 'after', 1)
    const watch = defineExtension({ name: 'watch', hooks: { [hook]: () => undefined } })
    const options: Partial<AgentOptions> = {
      onFailedTurn: 'rewind',
      extensions: [watch],
      retry: { ...plain, maxRetries: hook === 'onRetryEnd' ? 1 : 0 },
    }
    await playOut(talk, agentOf(hook === 'onRetryEnd' ? [busy, busy] : [busy], options), 'go')
    revive()
    const state = await talk.memory.load()
    expect(state.messages).toEqual([])
    if (state.open) expect(await playOut(talk, agentOf([], options), undefined)).toMatchObject({ status: 'error', error: { status: 503 } })
    expect((await talk.memory.load()).messages).toEqual([])
    expect(eventsOf(talk, 'turn-end')).toMatchObject([{ status: 'error', reason: 'model-error' }])
  })

  it.each([
    ['no tool ran', [], 0],
    ['nobody knows what ran', [{ toolCalls: [call('x', 'a')] }], 4],
  ] as const)('A123: after a crash the input is withdrawn when %s', async (_what, before, left) => {
    const { talk, revive } = mortal('retry-start', 'after')
    const options: Partial<AgentOptions> = { onFailedTurn: 'rewind', retry: { ...plain, maxRetries: 1 }, tools: [echo('a').tool] }
    const run = talk.run(agentOf([...before, busy], options), 'go')
    await run.steer('steered')
    await outwait(talk, run)
    revive()
    expect((await playOut(talk, agentOf([busy], options), undefined)).status).toBe('error')
    expect((await talk.memory.load()).messages).toHaveLength(left === 0 ? 0 : left + 1)
  })

  it('A186: the error of the first model is kept after a crash that follows the last answer', async () => {
    const { talk, revive } = mortal('message-end', 'after')
    const watch = defineExtension({ name: 'watch', hooks: { afterModelCall: () => undefined } })
    const says = (message: string): Step => ({ error: refusal(503, { message }) })
    const fallback = [scriptedModel([says('second')])]
    await playOut(talk, agentOf([says('first')], { fallback, extensions: [watch] }), 'go')
    revive()
    const result = await playOut(talk, agentOf([], { fallback, extensions: [watch] }), undefined)
    expect(result.error).toMatchObject({ message: 'first', details: [{ message: 'second' }] })
  })
})
