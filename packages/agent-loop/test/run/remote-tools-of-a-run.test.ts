import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineTool } from '../../src/index.ts'
import type { ToolDeclaration } from '../../src/index.ts'
import { agentOf, conversation, model } from '../support/conversation.ts'
import { echo } from '../support/tools.ts'

const locate: ToolDeclaration = {
  name: 'locate',
  description: 'Where the user is',
  inputSchema: { type: 'object', properties: { precise: { type: 'boolean' } }, required: ['precise'], additionalProperties: false },
}

describe('remote tools of a run', () => {
  it('A181: the model can call them beside the tools of the agent, and such a call suspends the run', async () => {
    const talk = conversation()
    const calls = [
      {
        toolCalls: [
          { id: 'x', name: 'a', input: {} },
          { id: 'y', name: 'locate', input: { precise: true } },
        ],
      },
    ]
    const agent = agentOf([...calls, { text: 'there' }], { tools: [echo('a').tool] })
    const first = await talk.play(agent, 'go', { remoteTools: [locate] })
    expect(first.result).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'y', input: { precise: true } }] })
    expect(agent.model.calls[0]?.tools).toMatchObject([
      { name: 'a' },
      { name: 'locate', description: 'Where the user is', inputSchema: locate.inputSchema },
    ])
    const answers = { toolResults: [{ toolCallId: 'y', output: 'Oslo' }] }
    const second = await talk.play(agent, answers, { remoteTools: [locate] })
    expect(second.result).toMatchObject({ status: 'completed', text: 'there' })
  })

  it('A181: their schema checks the input from the model', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [{ id: 'y', name: 'locate', input: { precise: 'very' } }] }, { text: 'sorry' }])
    const { result } = await talk.play(agent, 'go', { remoteTools: [locate] })
    expect(result.messages[2]).toMatchObject({ toolCallId: 'y', status: 'error' })
    expect(result.text).toBe('sorry')
  })

  it('A181: a remote tool may have the label and the effect that it has in its JSON form', async () => {
    const tool = defineTool({
      name: 'locate',
      description: 'Where the user is',
      label: 'Location',
      effect: 'pure',
      sequential: true,
      inputSchema: z.object({ precise: z.boolean() }),
    })
    const form = JSON.parse(JSON.stringify(tool)) as ToolDeclaration
    expect(form).toEqual({
      name: 'locate',
      description: 'Where the user is',
      label: 'Location',
      effect: 'pure',
      inputSchema: expect.objectContaining({ required: ['precise'] }) as unknown,
    })
    const agent = agentOf([
      {
        toolCalls: [
          { id: 'y', name: 'locate', input: { precise: 'very' } },
          { id: 'z', name: 'locate', input: { precise: true } },
        ],
      },
    ])
    const { result } = await conversation().play(agent, 'go', { remoteTools: [form] })
    expect(result).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'z', input: { precise: true } }] })
    for (const wrong of [{ effect: 'twice' }, { label: 5 }, { sequential: true }]) {
      expect(() => agent.run('go', { remoteTools: [{ ...form, ...wrong } as never] })).toThrow(/remoteTools\[0\]/)
    }
  })

  it('A181: another run of the agent does not have them', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'one' }, { text: 'two' }])
    await talk.play(agent, 'go', { remoteTools: [locate] })
    await talk.play(agent, 'again')
    expect(agent.model.calls.map(({ tools = [] }) => tools.length)).toEqual([1, 0])
  })

  it.each([
    ['a tool of the agent', [{ ...locate, name: 'a' }]],
    ['another one of them', [locate, locate]],
    ['the tool of a subagent', [{ ...locate, name: 'delegate_to_helper' }]],
  ])('A181: refuses a name that hides %s', (_what, remoteTools) => {
    const helper = defineAgent({ name: 'helper', description: 'Helps', model: model([]) })
    const agent = defineAgent({ model: model([]), tools: [echo('a').tool], subagents: [helper] })
    expect(() => agent.run('go', { remoteTools })).toThrow(expect.objectContaining({ code: 'invalid-config' }))
  })
})
