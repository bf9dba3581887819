import type { Message } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { defineExtension, defineTool } from '../../../src/index.ts'
import type { PrepareStep, StepContext, StepState } from '../../../src/index.ts'
import { agentOf, conversation, model } from '../../support/conversation.ts'
import { rolesOf, textOfRequest } from '../../support/prompts.ts'
import { echo, remote, until } from '../../support/tools.ts'
import { eventsOf, outwait, playOut, refusal, typesOf } from '../../support/waiting.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })

describe('maxDurationMs', () => {
  const limits = { maxDurationMs: 5_000 }

  it('A88: ends a model call as limit, with what had arrived', async () => {
    const talk = conversation()
    const run = talk.run(agentOf([{ text: 'so far', finish: false, hang: 'end' }], { limits }), 'go')
    await until(() => talk.types().includes('text-delta'))
    await talk.clock.advance(4_999)
    expect(typesOf(talk)).not.toContain('turn-end')
    await talk.clock.advance(1)
    expect(await run.result()).toMatchObject({ status: 'limit', reason: 'max-duration', text: 'so far' })
    expect(eventsOf(talk, 'message-end')).toMatchObject([{ message: { stopReason: 'aborted' } }])
    expect(eventsOf(talk, 'turn-end')[0]).not.toHaveProperty('receipt')
    expect(talk.clock.pendingTimers).toBe(0)
  })

  it('A88: ends a running tool, and the transcript accepts the next input', async () => {
    const talk = conversation()
    const signals: AbortSignal[] = []
    const inputSchema = { type: 'object' } as const
    const slow = defineTool({
      name: 'slow',
      description: '',
      inputSchema,
      effect: 'pure',
      execute: (_input, { abortSignal }) => (signals.push(abortSignal), new Promise<string>(() => {})),
    })
    const agent = agentOf([{ toolCalls: [call('x', 'slow')] }, { text: 'fine' }], { tools: [slow], limits, abortGraceMs: 300 })
    const run = talk.run(agent, 'go')
    await until(() => signals.length === 1)
    const result = await outwait(talk, run)
    expect(signals[0]?.reason).toMatchObject({ name: 'AbortError', message: 'the turn reached its time limit (maxDurationMs)' })
    expect(result).toMatchObject({ status: 'limit', reason: 'max-duration' })
    expect(talk.clock.now()).toBe(6_500)
    expect(result.messages.at(-1)).toMatchObject({ toolCallId: 'x', status: 'cancelled' })
    expect((await playOut(talk, agent, 'more')).text).toBe('fine')
  })

  it('A88: ends a retry wait', async () => {
    const talk = conversation()
    const steps = [{ error: refusal(429, { retryAfter: 30 }) }]
    expect(await playOut(talk, agentOf(steps, { limits, retry: { jitter: 0 } }), 'go')).toMatchObject({
      status: 'limit',
      reason: 'max-duration',
    })
    expect(eventsOf(talk, 'retry-end')).toMatchObject([{ at: 6_000, success: false }])
    expect(talk.clock.pendingTimers).toBe(0)
  })

  it('A88: suspended time does not count, and the time of earlier segments does', async () => {
    const talk = conversation()
    const options = { tools: [remote('far')], limits, retry: { jitter: 0, baseDelayMs: 3_000 } }
    const first = agentOf([{ error: refusal(503) }, { toolCalls: [call('x', 'far')] }], options)
    expect((await playOut(talk, first, 'go')).status).toBe('awaiting-tools')
    expect((await talk.memory.load()).open).toMatchObject({ elapsedMs: 3_000 })
    await talk.clock.advance(60_000)
    const resumedAt = talk.clock.now()
    const second = agentOf([{ text: 'so far', finish: false, hang: 'end' }], options)
    expect(await playOut(talk, second, { toolResults: [{ toolCallId: 'x', output: 'y' }] })).toMatchObject({
      status: 'limit',
      reason: 'max-duration',
      text: 'so far',
    })
    expect(talk.clock.now() - resumedAt).toBe(2_000)
  })

  it('A88, A97: each turn has its own time', async () => {
    const talk = conversation()
    const wait = { jitter: 0, baseDelayMs: 4_000 }
    const busy = { error: refusal(503) }
    const run = talk.run(agentOf([busy, { text: 'one' }, busy, { text: 'two' }], { limits, retry: wait }), 'go')
    await run.followUp('next')
    expect((await outwait(talk, run)).text).toBe('two')
    expect(eventsOf(talk, 'turn-end').map(({ status }) => status)).toEqual(['completed', 'completed'])
  })

  it('A88: does not end work after the end of the turn', async () => {
    const talk = conversation()
    const slow = defineExtension({
      name: 'slow',
      timeoutMs: 20_000,
      hooks: {
        onAgentEnd: (_event, { abortSignal }) =>
          new Promise<void>((resolve, reject) => {
            talk.clock.setTimer(talk.clock.now() + 8_000, resolve)
            abortSignal.addEventListener('abort', () => reject(new Error('cut off')))
          }),
      },
    })
    const run = talk.run(agentOf([{ text: 'one' }, { text: 'two' }], { limits, extensions: [slow] }), 'go')
    await run.followUp('next')
    expect((await outwait(talk, run)).text).toBe('two')
    expect(eventsOf(talk, 'error')).toEqual([])
  })
})

describe('stopWhen', () => {
  it('A89: is asked once after each step, with its results, and true ends the turn', async () => {
    const asked: StepState[] = []
    const talk = conversation()
    const steps = [{ toolCalls: [call('x', 'a')] }, { toolCalls: [call('y', 'a')] }, { text: 'next turn' }]
    const agent = agentOf(steps, { tools: [echo('a').tool], stopWhen: (state) => asked.push(state) === 2 })
    const result = await playOut(talk, agent, 'go', { context: { mine: 1 } })
    expect(result).toMatchObject({ status: 'completed', reason: 'stop-when', steps: 2 })
    expect(asked.map(({ step, turn }) => [turn, step])).toEqual([
      [1, 1],
      [1, 2],
    ])
    expect(asked.map(({ lastOutcomes }) => lastOutcomes.map(({ toolCallId, status }) => `${toolCallId} ${status}`))).toEqual([
      ['x result'],
      ['y result'],
    ])
    expect(asked[1]).toMatchObject({ usage: { inputTokens: 20 }, context: { mine: 1 }, lastAnswer: { role: 'assistant' } })
    expect((await playOut(talk, agent, 'more')).text).toBe('next turn')
  })

  it('A89: several conditions are asked in order until one is true', async () => {
    const asked: string[] = []
    const ask = (name: string, is: boolean) => () => (asked.push(name), Promise.resolve(is))
    const agent = agentOf([{ toolCalls: [call('x', 'a')] }], {
      tools: [echo('a').tool],
      stopWhen: [ask('one', false), ask('two', true), ask('three', true)],
    })
    expect((await playOut(conversation(), agent, 'go')).reason).toBe('stop-when')
    expect(asked).toEqual(['one', 'two'])
  })

  it('A89: a final answer stays final, and an input that was steered then stays unused', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'done' }], { stopWhen: async () => (await run.steer('wait'), true) })
    const run = talk.run(agent, 'go')
    expect(await run.result()).toMatchObject({ status: 'completed', reason: 'stop', text: 'done', unusedInputs: [{ content: 'wait' }] })
  })

  it('A89: is not asked about a step that waits for answers until the answers are there', async () => {
    let asked = 0
    const talk = conversation()
    const options = { tools: [remote('far')], stopWhen: () => ++asked > 0 }
    await playOut(talk, agentOf([{ toolCalls: [call('x', 'far')] }], options), 'go')
    expect(asked).toBe(0)
    const result = await playOut(talk, agentOf([], options), { toolResults: [{ toolCallId: 'x', output: 'y' }] })
    expect(result).toMatchObject({ status: 'completed', reason: 'stop-when' })
    expect(asked).toBe(1)
  })

  it.each([
    ['a call', [{ toolCalls: [call('x', 'a')] }]],
    ['a final answer', [{ text: 'done' }]],
  ] as const)('a condition that throws after %s ends the turn as error', async (_what, steps) => {
    const talk = conversation()
    const after: string[] = []
    const broken = (): never => {
      throw new Error('bug')
    }
    const agent = agentOf(steps, { tools: [echo('a').tool], stopWhen: [broken, () => after.push('asked') > 0] })
    expect(await playOut(talk, agent, 'go')).toMatchObject({
      status: 'error',
      reason: 'extension-error',
      error: { message: 'stopWhen: bug' },
    })
    expect(eventsOf(talk, 'error')).toMatchObject([{ name: 'stopWhen', fatal: true, message: 'bug' }])
    expect(eventsOf(talk, 'step-end')).toMatchObject([{ continues: false }])
    expect(after).toEqual([])
  })

  it('a condition that hangs does not keep a stopped run from ending', async () => {
    const talk = conversation()
    const hang = Promise.withResolvers<boolean>()
    const run = talk.run(agentOf([{ text: 'done' }], { stopWhen: () => hang.promise }), 'go')
    await until(() => typesOf(talk).includes('message-end'))
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'aborted', text: 'done' })
    hang.reject(new Error('late'))
  })
})

describe('prepareStep', () => {
  it('A90: affects one call only, and nothing of it is stored', async () => {
    const talk = conversation()
    const other = model([{ toolCalls: [call('x', 'a'), call('y', 'b')] }])
    const messages: readonly Message[] = [{ role: 'user', content: 'something else' }]
    const patch = {
      model: other,
      runtimeParams: { temperature: 0.5 },
      toolChoice: { type: 'tool', toolName: 'a' },
      activeTools: ['a'],
      instructions: 'Only now.',
      messages,
    } as const
    const [a, b] = [echo('a'), echo('b')]
    const prepareStep: PrepareStep = ({ step }) => (step === 1 ? patch : undefined)
    const agent = agentOf([{ text: 'done' }], {
      tools: [a.tool, b.tool],
      instructions: 'Always.',
      prepareStep,
      runtimeParams: { temperature: 0.1 },
    })
    const result = await playOut(talk, agent, 'go')
    expect(result.status).toBe('completed')
    const [first, second] = [other.calls[0], agent.model.calls[0]]
    expect(first).toMatchObject({ temperature: 0.5, toolChoice: { type: 'tool', toolName: 'a' }, tools: [{ name: 'a' }] })
    expect(textOfRequest(first)).toMatch(/Only now\..*something else/)
    expect(textOfRequest(first)).not.toContain('go')
    expect(second).toMatchObject({ temperature: 0.1, tools: [{ name: 'a' }, { name: 'b' }] })
    expect(second?.toolChoice).not.toMatchObject({ type: 'tool' })
    expect(rolesOf(second)).toEqual(['system', 'user', 'assistant', 'tool'])
    expect(textOfRequest(second)).not.toContain('something else')
    expect(result.messages).toMatchObject([
      { content: 'go' },
      {},
      { toolCallId: 'x', status: 'result' },
      { toolCallId: 'y', status: 'error' },
      {},
    ])
    expect(JSON.stringify(talk.memory.snapshot())).not.toContain('something else')
  })

  it('A90: is asked once per step, also when its call is repeated', async () => {
    const asked: StepContext[] = []
    const talk = conversation()
    const steps = [{ error: refusal(503) }, { toolCalls: [call('x', 'a')] }, { text: 'done' }]
    const prepareStep: PrepareStep = (context) => (asked.push(context), { instructions: `Step ${context.step}.` })
    const agent = agentOf(steps, { tools: [echo('a').tool], retry: { jitter: 0 }, prepareStep })
    await playOut(talk, agent, 'go')
    expect(asked.map(({ step }) => step)).toEqual([1, 2])
    expect(agent.model.calls.map((request) => request.prompt[0]?.content)).toEqual(['Step 1.', 'Step 1.', 'Step 2.'])
    expect(asked[1]?.lastOutcomes).toMatchObject([{ toolCallId: 'x' }])
  })

  it('a model among its runtime params counts as its model', async () => {
    const talk = conversation()
    const agent = agentOf([], { prepareStep: () => ({ runtimeParams: { model: 'nobody:knows' } }) })
    expect(await playOut(talk, agent, 'go')).toMatchObject({ status: 'error', reason: 'extension-error' })
  })

  it.each<[string, PrepareStep]>([
    [
      'throws',
      () => {
        throw new Error('bug')
      },
    ],
    ['rejects', () => Promise.reject(new Error('bug'))],
    ['names no model', () => ({ model: 'nobody:knows' })],
    ['has an unknown key', () => ({ typo: 1 }) as never],
    ['has no list', () => ({ activeTools: 'a' }) as never],
    ['is no object', () => 'patch' as never],
    ['is null', () => null as never],
    ['has messages of another kind', () => ({ messages: [{ role: 'system', content: 'x' }] }) as never],
    ['has a text for a message', () => ({ messages: ['x'] }) as never],
    ['has an unknown tool choice', () => ({ toolChoice: 'any' }) as never],
    ['has wrong runtime params', () => ({ runtimeParams: { temperature: 'hot' } }) as never],
  ])('a prepareStep that %s ends the turn as error before any step', async (_what, prepareStep) => {
    const talk = conversation()
    expect(await playOut(talk, agentOf([], { prepareStep }), 'go')).toMatchObject({ status: 'error', reason: 'extension-error', steps: 0 })
    expect(eventsOf(talk, 'error')).toMatchObject([{ source: 'extension', name: 'prepareStep', fatal: true }])
    expect(typesOf(talk)).not.toContain('step-start')
  })

  it('an error it throws after an abort is dropped', async () => {
    const talk = conversation()
    const stop = new AbortController()
    const prepareStep: PrepareStep = () => (stop.abort(), Promise.reject(new Error('late')))
    expect(await playOut(talk, agentOf([], { prepareStep }), 'go', { abortSignal: stop.signal })).toMatchObject({
      status: 'aborted',
      steps: 0,
    })
    expect(eventsOf(talk, 'error')).toEqual([])
  })

  it('A86: retries and fallbacks do not count as steps', async () => {
    const busy = { error: refusal(503) }
    const agent = agentOf([busy, busy, { toolCalls: [call('x', 'a')] }], {
      tools: [echo('a').tool],
      retry: { jitter: 0 },
      limits: { maxSteps: 1 },
    })
    expect(await playOut(conversation(), agent, 'go')).toMatchObject({ status: 'limit', reason: 'max-steps', steps: 1 })
  })
})
