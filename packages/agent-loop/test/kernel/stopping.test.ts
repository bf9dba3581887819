import { systemClock } from '@bowline/llm'
import { APICallError } from 'ai'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineTool } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { resultsOf, rolesOf, textOfRequest } from '../support/prompts.ts'
import { echo, remote } from '../support/tools.ts'

const call = (id: string, name = 'a') => ({ id, name, input: {} })

const busyMs = 3

/** Holds the thread, as a model and tools do together if they wait for nothing. */
const busy = defineTool({
  name: 'a',
  description: 'works',
  inputSchema: z.object({}),
  execute() {
    for (const start = performance.now(); performance.now() - start < busyMs;);
    return 'worked'
  },
})

describe('when the loop continues', () => {
  it('A82: the content decides whether tools run, not the stop reason', async () => {
    const a = echo('a')
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('x')], finish: 'stop' }, { text: 'done' }], { tools: [a.tool] })
    expect((await talk.play(agent, 'go')).result).toMatchObject({ status: 'completed', text: 'done' })
    expect(a.calls).toHaveLength(1)
  })

  it('A83: no call of a truncated answer runs, and each result says so', async () => {
    const a = echo('a')
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('x'), call('y')], finish: 'length' }, { text: 'done' }], { tools: [a.tool] })
    const { result } = await talk.play(agent, 'go')
    expect(a.calls).toEqual([])
    expect(result.status).toBe('completed')
    expect(resultsOf(agent.model.calls[1]).map(({ output }) => output)).toEqual(
      [1, 2].map(() => ({ type: 'error-text', value: expect.stringContaining('cut off') as string })),
    )
    expect(talk.types()).not.toContain('tool-execution-start')
  })

  it('A84: two truncated answers with calls in a row end the turn as limit', async () => {
    const talk = conversation()
    const cut = { toolCalls: [call('x')], finish: 'length' } as const
    const agent = agentOf([cut, { ...cut, toolCalls: [call('y')] }], { tools: [echo('a').tool] })
    expect((await talk.play(agent, 'go')).result).toMatchObject({ status: 'limit', reason: 'output-length', steps: 2 })
    const apart = conversation()
    const steps = [cut, { toolCalls: [call('y')] }, { ...cut, toolCalls: [call('z')] }, { text: 'done' }]
    expect((await apart.play(agentOf(steps, { tools: [echo('a').tool] }), 'go')).result.status).toBe('completed')
  })

  it('a truncated text completes with reason length', async () => {
    const { result } = await conversation().play(agentOf([{ text: 'half', finish: 'length' }]), 'go')
    expect(result).toMatchObject({ status: 'completed', reason: 'length', text: 'half' })
  })

  it('A85: a paused answer leads to one more call with no message added between', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'so far', finish: { unified: 'stop', raw: 'pause_turn' } }, { text: 'done' }])
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'completed', steps: 2, text: 'done' })
    expect(rolesOf(agent.model.calls[1])).toEqual(['user', 'assistant'])
  })

  it('A85: a paused answer adds no ephemeral message either', async () => {
    const talk = conversation()
    const steps = [{ text: 'so far', finish: { unified: 'stop', raw: 'pause_turn' } }, { text: 'done' }] as const
    const agent = agentOf(steps, { ephemeral: () => [{ role: 'user', content: 'now' }] })
    await talk.play(agent, 'go')
    expect(agent.model.calls.map(rolesOf)).toEqual([
      ['user', 'user'],
      ['user', 'assistant'],
    ])
  })

  it('A85: an input that is given meanwhile waits until the model has gone on', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'so far', finish: { unified: 'stop', raw: 'pause_turn' } }, { text: 'done' }, { text: 'and more' }])
    const run = talk.run(agent, 'go')
    for await (const event of run) {
      if (event.type === 'message-start' && event.step === 1) await Promise.all([run.steer('hurry'), run.overlay('it is late')])
    }
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'and more', unusedInputs: [] })
    expect(agent.model.calls.map(rolesOf)).toEqual([['user'], ['user', 'assistant'], ['user', 'assistant', 'assistant', 'user', 'user']])
  })

  it('A86: a run makes at most maxSteps model calls, and its transcript accepts the next input', async () => {
    const talk = conversation()
    const steps = [1, 2, 3].map((step) => ({ toolCalls: [call(`c${step}`)] }))
    const agent = agentOf([...steps, { text: 'next turn' }], { tools: [echo('a').tool], limits: { maxSteps: 3 } })
    expect((await talk.play(agent, 'go')).result).toMatchObject({ status: 'limit', reason: 'max-steps', steps: 3 })
    expect((await talk.play(agent, 'more')).result).toMatchObject({ status: 'completed', text: 'next turn', steps: 1 })
  })

  it('counts the calls of earlier segments, also before a steering input', async () => {
    const talk = conversation()
    const a = echo('a')
    const agent = agentOf([{ toolCalls: [call('x')] }, { toolCalls: [call('y', 'far')] }, { toolCalls: [call('z')] }], {
      tools: [a.tool, remote('far')],
      limits: { maxToolCalls: 2 },
    })
    const run = talk.run(agent, 'go')
    for await (const event of run) if (event.type === 'tool-execution-start') await run.steer('more')
    expect((await run.result()).status).toBe('awaiting-tools')
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'y', output: 'ok' }] })
    expect(result).toMatchObject({ status: 'limit', reason: 'max-tool-calls' })
    expect(a.calls).toHaveLength(1)
  })

  it('runs at most maxToolCalls calls in a turn', async () => {
    const a = echo('a')
    const talk = conversation()
    const steps = [{ toolCalls: [call('x')] }, { toolCalls: [call('y'), call('z')] }]
    const agent = agentOf([...steps, { text: 'fine' }], { tools: [a.tool], limits: { maxToolCalls: 2 } })
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'limit', reason: 'max-tool-calls' })
    expect(a.calls.map(({ toolCallId }) => toolCallId)).toEqual(['x', 'y'])
    expect(result.messages.at(-1)).toMatchObject({ toolCallId: 'z', status: 'cancelled' })
    expect((await talk.play(agent, 'more')).result.text).toBe('fine')
  })

  it('A91: a model and tools that answer at once do not starve timers: a run that blocks the thread yields it', async () => {
    const talk = conversation()
    let timers = 0
    const steps = Array.from({ length: 20 }, (_, step) => ({ toolCalls: [call(`c${step}`)] }))
    const interval = setInterval(() => timers++, 0)
    const immediate = new Promise((resolve) => setImmediate(resolve))
    const run = talk.run(agentOf([...steps, { text: 'done' }], { tools: [busy] }), 'go', { clock: systemClock })
    const first = await Promise.race([run.result(), immediate.then(() => 'macrotask')])
    await run.result()
    clearInterval(interval)
    expect(first).toBe('macrotask')
    expect(timers).toBeGreaterThan(0)
  })

  it('A91: short runs one after the other yield the thread together: once in ten milliseconds, not once per run', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const letGo = vi.spyOn(globalThis, 'setImmediate')
    onTestFinished(() => void (vi.useRealTimers(), letGo.mockRestore()))
    const agent = defineAgent({ model: async () => [{ role: 'assistant', content: 'done' }] })
    const timesOf = async (runs: number) => {
      letGo.mockClear()
      for (let run = 0; run < runs; run++) expect((await agent.run('go').result()).text).toBe('done')
      return letGo.mock.calls.length
    }
    vi.setSystemTime(Date.now() + 10)
    expect(await timesOf(20)).toBe(1)
    vi.setSystemTime(Date.now() + 9)
    expect(await timesOf(20)).toBe(0)
    vi.setSystemTime(Date.now() + 1)
    expect(await timesOf(20)).toBe(1)
  })

  it('the model gets instructions, tools and the earlier transcript', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'one' }, { text: 'two' }], { instructions: 'Be kind.', tools: [echo('a').tool] })
    await talk.play(agent, 'first')
    await talk.play(agent, 'second')
    expect(rolesOf(agent.model.calls[1])).toEqual(['system', 'user', 'assistant', 'user'])
    expect(textOfRequest(agent.model.calls[1])).toContain('Be kind.')
    expect(agent.model.calls[1]?.tools).toMatchObject([{ type: 'function', name: 'a', description: 'says a' }])
  })
})

describe('a failed model call', () => {
  const refused = (statusCode: number) =>
    new APICallError({ message: 'refused', url: 'http://x', requestBodyValues: {}, statusCode, isRetryable: statusCode === 503 })

  it('A122: the input and the error are stored, and the error is not sent again', async () => {
    const talk = conversation()
    const agent = agentOf([{ error: refused(400) }, { text: 'fine' }])
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'error', reason: 'model-error', error: { kind: 'bad-request', status: 400 } })
    expect(result.messages.map((message) => message.role === 'assistant' && message.stopReason)).toEqual([false, 'error'])
    expect(talk.journal.events.find((event) => event.type === 'turn-end')).toMatchObject({
      status: 'error',
      error: { kind: 'bad-request' },
    })
    expect((await talk.play(agent, 'again')).result.text).toBe('fine')
    expect(rolesOf(agent.model.calls[1])).toEqual(['user', 'user'])
  })

  it('A122: a broken stream keeps what had arrived, and its calls are cancelled', async () => {
    const talk = conversation()
    const a = echo('a')
    const broken = { text: 'so far', toolCalls: [call('x')], finish: false } as const
    const agent = agentOf([broken, { text: 'fine' }], { tools: [a.tool] })
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'error', text: 'so far', error: { kind: 'stream-broken' } })
    expect(result.messages.at(-1)).toMatchObject({ toolCallId: 'x', status: 'cancelled' })
    expect(a.calls).toEqual([])
    await talk.play(agent, 'again')
    expect(rolesOf(agent.model.calls[1])).toEqual(['user', 'user'])
  })

  it.each([400, 503])('A128: the runtime calls a provider that fails with %i exactly once', async (status) => {
    const agent = agentOf([{ error: refused(status) }])
    expect((await conversation().play(agent, 'go')).result.status).toBe('error')
    expect(agent.model.calls).toHaveLength(1)
  })
})
