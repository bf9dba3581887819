import { getEventListeners } from 'node:events'
import { jsonSchema } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/index.ts'
import type { ToolEffect } from '../../src/index.ts'
import { agentOf, conversation, readAll } from '../support/conversation.ts'
import { textOfRequest } from '../support/prompts.ts'
import { echo, gated, latch, remote, until } from '../support/tools.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })

const facts = { name: 't', description: '' }
const never = new Promise(() => {})

/** Creates a tool that settles at the abort, or never. */
function stubborn(name: string, effect: ToolEffect, atAbort?: () => string) {
  const signals: AbortSignal[] = []
  const tool = defineTool({
    name,
    description: '',
    inputSchema: {},
    effect,
    execute: (_input, { abortSignal }) => {
      signals.push(abortSignal)
      return new Promise<string>((resolve) => {
        if (atAbort) abortSignal.addEventListener('abort', () => resolve(Promise.resolve().then(atAbort)))
      })
    },
  })
  return { tool, signals }
}

describe('abort', () => {
  it('A104: a signal aborted before the start gives no model call and one commit', async () => {
    const talk = conversation()
    const agent = agentOf([])
    const { result } = await talk.play(agent, 'go', { abortSignal: AbortSignal.abort() })
    expect(result).toMatchObject({ status: 'aborted', reason: 'abort', steps: 0 })
    expect(agent.model.calls).toEqual([])
    expect(talk.types()).toEqual(['user-message', 'turn-start', 'turn-end', 'save-point', 'settled'])
    expect(talk.journal.commits).toHaveLength(1)
  })

  it('A105, A110: an abort in the model call stores what had arrived, and the next request contains it', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'one two three', chunk: 4, hang: 'middle' }, { text: 'fine' }])
    const run = talk.run(agent, 'go')
    for await (const event of run) {
      if (event.type === 'text-delta') {
        run.abort('enough')
        break
      }
    }
    const result = await run.result()
    expect(result).toMatchObject({ status: 'aborted', reason: 'abort' })
    const message = result.messages.at(-1)
    expect(message).toMatchObject({ role: 'assistant', stopReason: 'aborted', abortReason: 'enough', usage: { estimated: true } })
    expect(result.text).not.toBe('')
    expect('one two three'.startsWith(result.text)).toBe(true)
    expect(talk.journal.events.find((event) => event.type === 'turn-end')).toMatchObject({ receipt: [] })
    expect((await talk.play(agent, 'again')).result.status).toBe('completed')
    expect(textOfRequest(agent.model.calls[1])).toContain(result.text)
  })

  it('A107: a tool whose schema never loads does not keep a stopped run from ending', async () => {
    const talk = conversation()
    const reading = latch()
    const inputSchema = jsonSchema(() => {
      reading.resolve()
      return new Promise(() => {})
    })
    const agent = agentOf([], { tools: [defineTool({ ...facts, inputSchema, execute: () => 'done' })] })
    const run = talk.run(agent, 'go')
    await reading.promise
    run.abort('enough')
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'abort' })
    expect(agent.model.calls).toEqual([])
  })

  it('A105: complete calls of a stopped answer are cancelled', async () => {
    const talk = conversation()
    const a = echo('a')
    const agent = agentOf([{ toolCalls: [call('x', 'a')], hang: 'end', finish: false }], { tools: [a.tool] })
    const run = talk.run(agent, 'go')
    await until(() => talk.types().includes('tool-call-end'))
    run.abort()
    const result = await run.result()
    expect(result.messages.at(-1)).toMatchObject({
      toolCallId: 'x',
      status: 'cancelled',
      output: { value: expect.stringMatching(/^not run: /) as string },
    })
    expect(talk.journal.events.find((event) => event.type === 'turn-end')).toMatchObject({
      receipt: [{ toolCallId: 'x', status: 'cancelled' }],
    })
    expect(a.calls).toEqual([])
  })

  it('A106: a model that answers after the abort does not change the result', async () => {
    const talk = conversation()
    const late = latch()
    const agent = agentOf([{ parts: [{ wait: late.promise }], text: 'early', ignoreAbort: true }])
    const run = talk.run(agent, 'go')
    await until(() => talk.types().includes('text-delta'))
    run.abort()
    await until(() => talk.clock.pendingTimers > 0 || talk.types().includes('turn-end'))
    await talk.clock.advance(100)
    const result = await run.result()
    expect(result).toMatchObject({ status: 'aborted', text: 'early' })
    const before = talk.memory.snapshot()
    late.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(talk.memory.snapshot()).toEqual(before)
    expect(await run.result()).toBe(result)
  })

  it('A107: a run ends within its grace period when a tool never settles, and makes no model call', async () => {
    const talk = conversation()
    const never = stubborn('never', 'pure')
    const agent = agentOf([{ toolCalls: [call('x', 'never')] }], { tools: [never.tool], abortGraceMs: 300 })
    const run = talk.run(agent, 'go')
    await until(() => never.signals.length === 1)
    run.abort()
    expect(never.signals[0]?.aborted).toBe(true)
    await talk.clock.advance(299)
    expect(talk.types()).not.toContain('turn-end')
    await talk.clock.advance(1)
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect(agent.model.calls).toHaveLength(1)
  })

  it('A108: each started call gets its real outcome if it comes in the grace period, else cancelled, or unknown for once', async () => {
    const talk = conversation()
    const wait = gated('wait', { sequential: true })
    const tools = [
      ...[
        stubborn('quick', 'once', () => 'saved'),
        stubborn('fails', 'once', () => {
          throw new Error('broke')
        }),
      ],
      ...[stubborn('pure', 'pure'), stubborn('once', 'once')],
    ]
    const calls = [call('q', 'quick'), call('f', 'fails'), call('p', 'pure'), call('o', 'once'), call('r', 'far'), call('w', 'wait')]
    const agent = agentOf([{ toolCalls: calls }], { tools: [...tools.map(({ tool }) => tool), remote('far'), wait.tool] })
    const run = talk.run(agent, 'go')
    await until(() => tools.every(({ signals }) => signals.length === 1))
    run.abort('stop it')
    await talk.clock.advance(2_000)
    const result = await run.result()
    expect(result).toMatchObject({ status: 'aborted', reason: 'abort', pendingToolCalls: [] })
    const outcomes = ['q:result', 'f:error', 'p:cancelled', 'o:unknown', 'r:cancelled', 'w:cancelled']
    const end = talk.journal.events.find((event) => event.type === 'turn-end')
    expect(end?.receipt?.map(({ toolCallId, status }) => `${toolCallId}:${status}`)).toEqual(outcomes)
    expect(wait.started).toEqual([])
    expect(
      result.messages.flatMap((message) => (message.role === 'tool-result' ? [`${message.toolCallId}:${message.status}`] : [])),
    ).toEqual(outcomes)
  })

  it('A110: after an abort while tools ran, the transcript accepts new input', async () => {
    const talk = conversation()
    const once = stubborn('once', 'once')
    const agent = agentOf([{ toolCalls: [call('o', 'once')] }, { text: 'fine' }], { tools: [once.tool], abortGraceMs: 0 })
    const run = talk.run(agent, 'go')
    await until(() => once.signals.length === 1)
    run.abort()
    await talk.clock.advance(0)
    await run.result()
    expect((await talk.play(agent, 'again')).result.text).toBe('fine')
    expect(textOfRequest(agent.model.calls[1])).toContain('may or may not have happened')
  })

  it('A111: an abort error from the provider is an error if the run was not stopped', async () => {
    const talk = conversation()
    const error = new DOMException('aborted by the other side', 'AbortError')
    const { result } = await talk.play(agentOf([{ error }]), 'go')
    expect(result).toMatchObject({ status: 'error', reason: 'model-error', error: { kind: 'network' } })
  })

  it('A112: no listener and no timer remain after a run', async () => {
    const talk = conversation()
    const controller = new AbortController()
    const stop = new AbortController()
    const journal = { ...talk.journal, abortSignal: stop.signal }
    const agent = agentOf([{ toolCalls: [call('x', 'a')] }, { text: 'done' }], { tools: [echo('a').tool] })
    const run = talk.run(agent, 'go', { journal, abortSignal: controller.signal })
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    await run.result()
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
    expect(talk.clock.pendingTimers).toBe(0)
  })

  it('A108: an abort of a suspended turn cancels its open calls, without a model call', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('r', 'far')] }], { tools: [remote('far')] })
    await talk.play(agent, 'go')
    const before = talk.types().length
    const run = talk.run(agent, undefined, { abortSignal: AbortSignal.abort('not needed') })
    const events = await readAll(run)
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'abort', pendingToolCalls: [] })
    expect(events.map(({ type }) => type)).toEqual(['turn-start', 'tool-execution-end', 'step-end', 'turn-end', 'save-point', 'settled'])
    expect(talk.types().slice(before)).toEqual(events.map(({ type }) => type))
    expect(events[1]).toMatchObject({ executed: 'no', message: { status: 'cancelled' } })
  })

  it.each([
    ['toModelOutput', defineTool({ ...facts, inputSchema: {}, execute: () => 'done', toModelOutput: () => never as never }), 'unknown'],
    ['schema', defineTool({ ...facts, inputSchema: z.object({}).refine(() => never), execute: () => 'done' }), 'cancelled'],
  ] as const)('A107: a %s that never answers does not keep the run from ending', async (_what, tool, status) => {
    const talk = conversation()
    const run = talk.run(agentOf([{ toolCalls: [call('x', 't')] }], { tools: [tool], abortGraceMs: 50 }), 'go')
    await until(() => talk.types().includes('message-start'))
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    run.abort()
    await talk.clock.advance(50)
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect((await talk.memory.load()).messages.at(-1)).toMatchObject({ toolCallId: 'x', status })
  })
})
