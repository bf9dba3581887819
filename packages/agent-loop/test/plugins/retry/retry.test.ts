import type { ContentPart, ModelError } from '@bowline/llm'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineAgent, defineExtension } from '../../../src/index.ts'
import type { RetryPolicy } from '../../../src/index.ts'
import { agentOf, conversation, model } from '../../support/conversation.ts'
import { rolesOf, textOfRequest } from '../../support/prompts.ts'
import { echo, until } from '../../support/tools.ts'
import { eventsOf, outwait, playOut, refusal, typesOf } from '../../support/waiting.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })
const plain: Partial<RetryPolicy> = { jitter: 0 }
const busy: Step = { error: refusal(503) }
const half = (): number => 0.5

describe('a retry', () => {
  it('A115: withdraws the attempt, books its usage, repeats only the model call, and keeps finished steps', async () => {
    const a = echo('a')
    const talk = conversation()
    const broken: Step = { text: 'half an ans', finish: false, usage: { input: 7, output: 3 } }
    const agent = agentOf([{ toolCalls: [call('x', 'a')] }, broken, { text: 'done' }], { tools: [a.tool], retry: plain })
    const result = await playOut(talk, agent, 'go')
    expect(result).toMatchObject({ status: 'completed', text: 'done', steps: 2 })
    expect(a.calls).toHaveLength(1)
    const [, first, second] = eventsOf(talk, 'message-start').map(({ messageId }) => messageId)
    expect(eventsOf(talk, 'message-discarded')).toMatchObject([{ messageId: first, reason: 'retry', attempt: 1, step: 2 }])
    expect(eventsOf(talk, 'message-end').at(-1)).toMatchObject({ messageId: second, attempt: 2 })
    expect(eventsOf(talk, 'usage')).toMatchObject([{ purpose: 'discarded-attempt', estimated: true }])
    expect(result.usage.inputTokens).toBeGreaterThan(20)
    expect(rolesOf(agent.model.calls[2])).toEqual(['user', 'assistant', 'tool'])
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'assistant'])
  })

  it('A115: withdraws, books and ends the failed attempt and announces the next one in one commit', async () => {
    const talk = conversation()
    const watch = defineExtension({ name: 'watch', hooks: { onRetryStart: () => undefined, onRetryEnd: () => undefined } })
    await playOut(talk, agentOf([busy, busy, { text: 'done' }], { retry: plain, extensions: [watch] }), 'go')
    const commits = talk.journal.commits.map((records) =>
      records.flatMap((record) => (record.type === 'event' ? record.event.type : record.type)),
    )
    expect(commits.filter((types) => types.includes('retry-start'))).toEqual([
      ['message-discarded', 'usage', 'retry-start', 'run'],
      ['message-discarded', 'usage', 'retry-end', 'retry-start', 'run'],
    ])
  })

  it('A179: the row of the run contains a wait only until it is over', async () => {
    const talk = conversation()
    await playOut(talk, agentOf([busy, { text: 'done' }], { retry: plain }), 'go')
    const waits = talk.journal.commits.flat().flatMap((record) => (record.type === 'run' ? [[record.run.state, record.run.notBefore]] : []))
    expect(waits).toEqual([
      ...[
        ['running', undefined],
        ['running', 3_000],
        ['running', undefined],
      ],
      ['ended', undefined],
    ])
  })

  it('A128: an answer without an error is never repeated, whatever its other fields say', async () => {
    let asked = 0
    const error = { kind: 'overloaded', retryable: true, phase: 'before-output', message: 'earlier', provider: 'p', modelId: 'm' } as const
    const model = async () => {
      asked++
      return [{ role: 'assistant' as const, content: 'done', error }]
    }
    const result = await playOut(conversation(), defineAgent({ model, retry: plain }), 'go')
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(asked).toBe(1)
  })

  it('A116: without jitter and server delay the delays are 2, 4, 8 s', async () => {
    const talk = conversation()
    const result = await playOut(talk, agentOf([busy, busy, busy, busy], { retry: plain }), 'go')
    expect(result).toMatchObject({ status: 'error', reason: 'model-error', error: { kind: 'overloaded' } })
    const starts = eventsOf(talk, 'retry-start')
    expect(starts.map(({ attempt, maxAttempts, delayMs }) => [attempt, maxAttempts, delayMs])).toEqual([
      [2, 4, 2_000],
      [3, 4, 4_000],
      [4, 4, 8_000],
    ])
    expect(starts.map(({ at, delayMs, notBefore }) => notBefore - at - delayMs)).toEqual([0, 0, 0])
    const calls = eventsOf(talk, 'message-start').map(({ at }) => at)
    expect(calls.slice(1).map((at, place) => at - (calls[place] ?? 0))).toEqual([2_000, 4_000, 8_000])
  })

  it('A116: own delays stop at maxDelayMs, and jitter makes them longer by at most its share', async () => {
    const talk = conversation()
    const steps = [...Array.from({ length: 6 }, () => busy), { text: 'done' }]
    await playOut(talk, agentOf(steps, { retry: { maxRetries: 6 } }), 'go', { random: half })
    expect(eventsOf(talk, 'retry-start').map(({ delayMs }) => delayMs)).toEqual(
      [2_000, 4_000, 8_000, 16_000, 30_000, 30_000].map((own) => own * 1.125),
    )
  })

  it('A117: a server delay is a minimum, and jitter is added to it', async () => {
    const talk = conversation()
    const steps = [{ error: refusal(429, { retryAfter: 20 }) }, { error: refusal(429, { retryAfter: 1 }) }, { text: 'done' }]
    await playOut(talk, agentOf(steps, { retry: { jitter: 0.25 } }), 'go', { random: half })
    expect(eventsOf(talk, 'retry-start').map(({ delayMs }) => delayMs)).toEqual([22_500, 4_500])
  })

  it.each([
    [60, 2, 'completed'],
    [61, 1, 'error'],
  ] as const)('A117: with a server delay of %i s there are %i calls', async (retryAfter, calls, status) => {
    const talk = conversation()
    const agent = agentOf([{ error: refusal(429, { retryAfter }) }, { text: 'done' }].slice(0, calls), { retry: plain })
    const result = await playOut(talk, agent, 'go')
    expect(result.status).toBe(status)
    if (status === 'error') expect(result.error).toMatchObject({ kind: 'rate-limit', retryAfterMs: 61_000 })
    expect(talk.clock.now()).toBeLessThan(status === 'error' ? 2_000 : 70_000)
  })

  it('A118: each retry-start comes before its wait and has exactly one retry-end', async () => {
    const talk = conversation()
    const run = talk.run(agentOf([busy, busy, { text: 'done' }], { retry: plain }), 'go')
    await until(() => typesOf(talk).includes('retry-start'))
    expect(typesOf(talk).filter((type) => type === 'message-start')).toHaveLength(1)
    expect(talk.view().retry).toMatchObject({ attempt: 2, cause: 'error', error: { kind: 'overloaded' } })
    await outwait(talk, run)
    expect(typesOf(talk).filter((type) => type.startsWith('retry') || type.startsWith('message'))).toEqual([
      ...['message-start', 'message-discarded', 'retry-start'],
      ...['message-start', 'message-discarded', 'retry-end', 'retry-start'],
      ...['message-start', 'message-end', 'retry-end'],
    ])
    expect(eventsOf(talk, 'retry-end')).toMatchObject([
      { attempt: 2, success: false, error: { kind: 'overloaded' } },
      { attempt: 3, success: true },
    ])
  })

  it('A118: hooks get starts and ends in their order, each once', async () => {
    const told: string[] = []
    const watch = defineExtension({
      name: 'watch',
      hooks: {
        onRetryStart: ({ attempt, delayMs, cause }) => void told.push(`start ${attempt} ${delayMs} ${cause}`),
        onRetryEnd: ({ attempt, success }) => void told.push(`end ${attempt} ${success}`),
      },
    })
    await playOut(conversation(), agentOf([busy, busy, { text: 'done' }], { retry: plain, extensions: [watch] }), 'go')
    expect(told).toEqual(['start 2 2000 error', 'end 2 false', 'start 3 4000 error', 'end 3 true'])
  })

  it('A118: a retry that is aborted in the model call has not succeeded', async () => {
    const talk = conversation()
    const run = talk.run(agentOf([busy, { text: 'so far', finish: false, hang: 'end' }], { retry: plain }), 'go')
    await until(() => typesOf(talk).includes('retry-start'))
    await talk.clock.advance(2_000)
    await until(() => talk.types().includes('text-delta'))
    run.abort()
    expect((await run.result()).status).toBe('aborted')
    expect(eventsOf(talk, 'retry-end')).toMatchObject([{ attempt: 2, success: false }])
  })

  it('A119: the waits of all steps of a turn together do not exceed maxTotalDelayMs', async () => {
    const talk = conversation()
    const steps = [busy, busy, { toolCalls: [call('x', 'a')] }, busy, busy]
    const result = await playOut(talk, agentOf(steps, { tools: [echo('a').tool], retry: { ...plain, maxTotalDelayMs: 8_000 } }), 'go')
    expect(result).toMatchObject({ status: 'error', steps: 2 })
    expect(eventsOf(talk, 'retry-start').map(({ delayMs }) => delayMs)).toEqual([2_000, 4_000, 2_000])
  })

  it('A120: a step begins with a fresh counter after a good answer', async () => {
    const talk = conversation()
    const steps = [busy, busy, { toolCalls: [call('x', 'a')] }, busy, busy, { text: 'done' }]
    const result = await playOut(talk, agentOf(steps, { tools: [echo('a').tool], retry: { ...plain, maxRetries: 2 } }), 'go')
    expect(result.status).toBe('completed')
    expect(eventsOf(talk, 'retry-start').map(({ step, attempt, delayMs }) => [step, attempt, delayMs])).toEqual([
      [1, 2, 2_000],
      [1, 3, 4_000],
      [2, 2, 2_000],
      [2, 3, 4_000],
    ])
    expect(eventsOf(talk, 'message-start').map(({ step, attempt }) => [step, attempt])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
      [2, 1],
      [2, 2],
      [2, 3],
    ])
  })

  it('A121: no tool call of a discarded attempt runs', async () => {
    const a = echo('a')
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('x', 'a')], finish: false }, { toolCalls: [call('x', 'a')] }, { text: 'done' }], {
      tools: [a.tool],
      retry: plain,
    })
    const result = await playOut(talk, agent, 'go')
    expect(result.status).toBe('completed')
    expect(a.calls.map(({ toolCallId }) => toolCallId)).toEqual(['x'])
    expect(typesOf(talk).indexOf('tool-execution-start')).toBeGreaterThan(typesOf(talk).indexOf('retry-end'))
  })

  it('A122: after the last retry the input and the error are stored, and the error is not sent again', async () => {
    const talk = conversation()
    const agent = agentOf([busy, busy, { text: 'fine' }], { retry: { ...plain, maxRetries: 1 } })
    const result = await playOut(talk, agent, 'go')
    expect(result.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', stopReason: 'error', error: { kind: 'overloaded' } }])
    expect(typesOf(talk).slice(-6)).toEqual(['message-end', 'retry-end', 'step-end', 'turn-end', 'save-point', 'settled'])
    expect(eventsOf(talk, 'turn-end')).toMatchObject([{ status: 'error', error: { kind: 'overloaded' } }])
    await playOut(talk, agent, 'again')
    expect(rolesOf(agent.model.calls[2])).toEqual(['user', 'user'])
  })

  it('A125: queued inputs and images of the input survive a retry', async () => {
    const talk = conversation()
    const image: ContentPart = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } }
    const agent = agentOf([busy, { text: 'seen' }, { text: 'done' }], { retry: plain })
    const run = talk.run(agent, [{ type: 'text', text: 'look' }, image])
    await until(() => typesOf(talk).includes('retry-start'))
    expect((await run.steer('and hurry')).ok).toBe(true)
    expect((await outwait(talk, run)).text).toBe('done')
    for (const request of agent.model.calls) expect(request.prompt[0]).toEqual(agent.model.calls[0]?.prompt[0])
    expect(JSON.stringify(agent.model.calls[1]?.prompt[0])).toContain('image/png')
    expect(textOfRequest(agent.model.calls[2])).toContain('and hurry')
  })

  it('A128: a provider that fails n times gets n + 1 calls, and one for an error that is not retryable', async () => {
    for (const [steps, status] of [
      [[busy, busy, { text: 'done' }], 'completed'],
      [[{ error: refusal(400) }], 'error'],
    ] as const) {
      const agent = agentOf(steps, { retry: plain })
      expect((await playOut(conversation(), agent, 'go')).status).toBe(status)
      expect(agent.model.calls).toHaveLength(steps.length)
    }
  })

  it('isRetryable of the agent decides; undefined leaves the decision to the error, and a throw is reported', async () => {
    const decide = (error: ModelError): boolean | undefined => (error.status === 400 ? true : error.status === 503 ? false : undefined)
    const retry = { ...plain, maxRetries: 1, isRetryable: decide }
    for (const [status, calls] of [
      [400, 2],
      [503, 1],
      [429, 2],
      [404, 1],
    ] as const) {
      const agent = agentOf(
        Array.from({ length: calls }, () => ({ error: refusal(status) })),
        { retry },
      )
      expect((await playOut(conversation(), agent, 'go')).status).toBe('error')
    }
    const talk = conversation()
    const broken = (): never => {
      throw new Error('bug')
    }
    await playOut(talk, agentOf([busy, { text: 'done' }], { retry: { ...plain, isRetryable: broken } }), 'go')
    expect(eventsOf(talk, 'error')).toMatchObject([{ name: 'retry.isRetryable', message: 'bug', fatal: false }])
    expect(talk.view().status).toBe('completed')
  })

  it.each(['jitter', 'maxRetries', 'rewind', 'typo'])('refuses a wrong %s', (key) => {
    expect(() => defineAgent({ model: model([]), retry: { [key]: -1 } })).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining(key) as string }),
    )
  })
})

describe('an abort in a retry wait', () => {
  it('A109: ends the wait at once', async () => {
    const talk = conversation()
    const run = talk.run(agentOf([busy], { retry: plain }), 'go')
    await until(() => typesOf(talk).includes('retry-start'))
    await talk.clock.advance(500)
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'abort', steps: 1 })
    expect(talk.clock.now()).toBe(1_500)
    expect(talk.clock.pendingTimers).toBe(0)
    expect(typesOf(talk).slice(-6)).toEqual(['retry-start', 'retry-end', 'step-end', 'turn-end', 'save-point', 'settled'])
    expect(eventsOf(talk, 'retry-end')).toMatchObject([{ attempt: 2, success: false }])
  })

  it('A109: starts no wait if it came while the retry was announced', async () => {
    const talk = conversation()
    const watch = defineExtension({ name: 'watch', hooks: { onRetryStart: () => run.abort() } })
    const run = talk.run(agentOf([busy], { retry: plain, extensions: [watch] }), 'go')
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'abort' })
    expect(talk.clock.now()).toBe(1_000)
  })

  it('A179: after a yield the next process waits for the rest', async () => {
    const talk = conversation({ unfinished: true })
    const stop = new AbortController()
    const run = talk.run(agentOf([busy], { retry: plain }), 'go', { abortSignal: stop.signal })
    await until(() => typesOf(talk).includes('retry-start'))
    await talk.clock.advance(500)
    stop.abort({ kind: 'yield' })
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'yielded' })
    expect(typesOf(talk).at(-1)).toBe('retry-start')
    expect((await playOut(talk, agentOf([{ text: 'done' }], { retry: plain }), undefined)).text).toBe('done')
    expect(eventsOf(talk, 'message-start').map(({ at, attempt }) => [at, attempt])).toEqual([
      [1_000, 1],
      [3_000, 2],
    ])
  })
})
