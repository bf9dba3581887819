import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import type { RetryPolicy } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { rolesOf, textOfRequest } from '../../support/prompts.ts'
import { echo } from '../../support/tools.ts'
import { eventsOf, outwait, playOut, refusal } from '../../support/waiting.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })
const plain: Partial<RetryPolicy> = { jitter: 0 }
const busy: Step = { error: refusal(503) }

describe('rewind', () => {
  const pure = () => echo('pure', { effect: 'pure' })

  it('A124: turn goes back to the last tool that is not pure', async () => {
    const talk = conversation()
    const once = echo('once')
    const p = pure()
    const steps: Step[] = [
      { toolCalls: [call('o', 'once')] },
      { toolCalls: [call('p', 'pure')] },
      { text: 'hm', toolCalls: [call('q', 'pure')] },
      busy,
      { text: 'done' },
    ]
    const agent = agentOf(steps, { tools: [once.tool, p.tool], retry: { ...plain, rewind: 'turn' } })
    const result = await playOut(talk, agent, 'go')
    expect(result).toMatchObject({ status: 'completed', text: 'done', steps: 4 })
    expect(rolesOf(agent.model.calls[4])).toEqual(['user', 'assistant', 'tool'])
    expect(textOfRequest(agent.model.calls[4])).toContain('once said')
    expect(eventsOf(talk, 'message-discarded').map(({ reason }) => reason)).toEqual(['retry', 'rewind', 'rewind', 'rewind', 'rewind'])
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'assistant'])
  })

  it('A124: attempt keeps the results of pure tools', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('p', 'pure')] }, busy, { text: 'done' }], { tools: [pure().tool], retry: plain })
    await playOut(talk, agent, 'go')
    expect(rolesOf(agent.model.calls[2])).toEqual(['user', 'assistant', 'tool'])
  })

  it('A124, A100: a steered input stays when its step is rewound, and so does an overlay', async () => {
    const talk = conversation()
    const p = pure()
    const agent = agentOf([{ toolCalls: [call('p', 'pure')] }, busy, { text: 'done' }], {
      tools: [p.tool],
      retry: { ...plain, rewind: 'turn' },
    })
    const run = talk.run(agent, 'go')
    await Promise.all([run.steer('steered'), run.overlay('overlaid')])
    await outwait(talk, run)
    const last = textOfRequest(agent.model.calls[2])
    expect(last).toContain('steered')
    expect(last).toContain('overlaid')
    expect(last).not.toContain('pure said')
  })

  it.each([
    ['once', true],
    ['idempotent', true],
    ['pure', false],
  ] as const)('A123: onFailedTurn rewind after a tool that is %s', async (effect, stays) => {
    const talk = conversation()
    const tool = echo('t', { effect })
    await playOut(talk, agentOf([{ text: 'before' }], {}), 'first')
    const before = (await talk.memory.load()).messages
    const agent = agentOf([{ toolCalls: [call('t', 't')] }, busy], { tools: [tool.tool], onFailedTurn: 'rewind' })
    const result = await playOut(talk, agent, 'go')
    expect(result).toMatchObject({ status: 'error', reason: 'model-error' })
    const { messages } = await talk.memory.load()
    if (stays) expect(messages.length).toBe(before.length + 4)
    else {
      expect(messages).toEqual(before)
      expect(result.messages).toEqual([])
      expect(eventsOf(talk, 'message-discarded').map(({ reason }) => reason)).toEqual(Array.from({ length: 4 }, () => 'failed'))
    }
    expect((await playOut(talk, agentOf([{ text: 'fine' }]), 'next')).status).toBe('completed')
  })

  it('A123: steered inputs are withdrawn too, and the usage of withdrawn messages stays booked', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('p', 'pure')] }, busy], { tools: [pure().tool], onFailedTurn: 'rewind' })
    const run = talk.run(agent, 'go')
    await run.steer('steered')
    const result = await outwait(talk, run)
    expect((await talk.memory.load()).messages).toEqual([])
    expect(result.usage.inputTokens).toBe(10)
  })

  it('A123: an input that was logged before the turn is withdrawn too', async () => {
    const talk = conversation()
    const message = { role: 'user' as const, id: 'in', content: 'go', at: 1 }
    const journal = {
      ...talk.memory,
      load: async () => ({ ...(await talk.memory.load()), input: { messageId: 'in', message, source: 'user' } }),
    }
    await talk.memory.commit([
      { type: 'event', event: { type: 'user-message', at: 1, runId: 'run_1', turn: 1, messageId: 'in', message, source: 'user' } },
      { type: 'append', message },
    ])
    const run = talk.run(agentOf([busy], { onFailedTurn: 'rewind' }), undefined, { journal })
    expect((await run.result()).status).toBe('error')
    expect((await talk.memory.load()).messages).toEqual([])
  })

  it('A123: a run can set it in place of its agent', async () => {
    const talk = conversation()
    await playOut(talk, agentOf([busy]), 'go', { onFailedTurn: 'rewind' })
    expect((await talk.memory.load()).messages).toEqual([])
  })
})
