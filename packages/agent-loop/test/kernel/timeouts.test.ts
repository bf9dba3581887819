import type { Clock } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { defineTool } from '../../src/index.ts'
import type { AgentOptions, ToolEffect } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { until } from '../support/tools.ts'

/** Returns the rejections that were unhandled after `act`. */
async function unhandledAfter(act: () => void): Promise<readonly unknown[]> {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  act()
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  return unhandled
}

async function outOfTime(effect: ToolEffect, options: Partial<AgentOptions> = {}, settles = false) {
  const signals: AbortSignal[] = []
  const tool = defineTool({
    name: 'slow',
    description: '',
    inputSchema: {},
    timeoutMs: 500,
    effect,
    execute: (_input, { abortSignal, deadlineAt }) => {
      expect(deadlineAt).toBe(1_500)
      signals.push(abortSignal)
      return new Promise<string>((resolve) => {
        if (settles) abortSignal.addEventListener('abort', () => resolve('too late'))
      })
    },
  })
  const talk = conversation()
  const steps = [{ toolCalls: [{ id: 'x', name: 'slow', input: {} }] }]
  const goesOn = !(effect === 'once' && !settles && options.onUnknownOutcome !== 'tell-model')
  const agent = agentOf(goesOn ? [...steps, { text: 'done' }] : steps, { tools: [tool], abortGraceMs: 50, ...options })
  const run = talk.run(agent, 'go')
  await until(() => signals.length === 1)
  await talk.clock.advance(499)
  expect(signals[0]?.aborted).toBe(false)
  await talk.clock.advance(1)
  expect(signals[0]?.aborted).toBe(true)
  await talk.clock.advance(50)
  const result = await run.result()
  return { result, outcome: result.messages.find((message) => message.role === 'tool-result') }
}

describe('time limits', () => {
  it('A59: a tool past its timeout gets its signal and ends as error within the grace period', async () => {
    const { outcome, result } = await outOfTime('pure')
    expect(outcome).toMatchObject({ status: 'error', output: { value: 'timed out after 500 ms' } })
    expect(result.status).toBe('completed')
  })

  it('A59: a once tool that settles in the grace period is an error', async () => {
    const { outcome } = await outOfTime('once', {}, true)
    expect(outcome).toMatchObject({ status: 'error', output: { value: 'timed out after 500 ms' } })
  })

  it('A59: a once tool that does not settle needs recovery with stop', async () => {
    const { result } = await outOfTime('once')
    expect(result).toMatchObject({
      status: 'needs-recovery',
      reason: 'unknown-outcome',
      pendingToolCalls: [{ toolCallId: 'x', unknown: true }],
    })
  })

  it('A59: a once tool that does not settle is unknown with tell-model', async () => {
    const { outcome } = await outOfTime('once', { onUnknownOutcome: 'tell-model' })
    expect(outcome).toMatchObject({
      status: 'unknown',
      output: { value: expect.stringContaining('may or may not have happened') as string },
    })
  })

  it.each([
    ['pure', {}, 'error', 'the tool has run, but toModelOutput returned no answer: timed out after 500 ms'],
    ['once', { onUnknownOutcome: 'tell-model' }, 'unknown', 'may or may not have happened: timed out after 500 ms'],
  ] as const)(
    'A59: the error names a toModelOutput that hangs, and its late rejection is dropped: %s',
    async (effect, options, status, value) => {
      const talk = conversation()
      const shown = Promise.withResolvers<never>()
      let asked = 0
      const tool = defineTool({
        name: 'slow',
        description: '',
        inputSchema: {},
        timeoutMs: 500,
        effect,
        execute: () => 'done',
        toModelOutput: () => (asked++, shown.promise as never),
      })
      const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'slow', input: {} }] }, { text: 'went on' }], {
        tools: [tool],
        abortGraceMs: 50,
        ...options,
      })
      const run = talk.run(agent, 'go')
      await until(() => asked === 1)
      await talk.clock.advance(500)
      await talk.clock.advance(50)
      const result = await run.result()
      expect(result).toMatchObject({ status: 'completed', text: 'went on' })
      expect(result.messages.find((message) => message.role === 'tool-result')).toMatchObject({ status, output: { value } })
      expect(await unhandledAfter(() => shown.reject(new Error('too late')))).toEqual([])
      expect(talk.clock.pendingTimers).toBe(0)
    },
  )

  it('A52: a tool whose time limit cannot be set ends as error, and the turn goes on', async () => {
    const talk = conversation()
    const clock: Clock = {
      now: () => talk.clock.now(),
      setTimer: (at, run) => {
        if (at === 1_500) throw new Error('no timer is left')
        return talk.clock.setTimer(at, run)
      },
    }
    const tool = defineTool({ name: 'slow', description: '', inputSchema: {}, timeoutMs: 500, effect: 'pure', execute: () => 'done' })
    const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'slow', input: {} }] }, { text: 'went on' }], { tools: [tool] })
    const { result } = await talk.play(agent, 'go', { clock })
    expect(result).toMatchObject({ status: 'completed', text: 'went on' })
    expect(result.messages.find((message) => message.role === 'tool-result')).toMatchObject({
      status: 'error',
      output: { value: 'no timer is left' },
    })
  })
})
