import { describe, expect, it } from 'vitest'
import { agentOf, conversation } from '../support/conversation.ts'
import { echo, remote } from '../support/tools.ts'

const live = /^(text|reasoning|tool-call|content-part|tool-execution-delta)/

/** The sequences in the specification's table of cases, without deltas. */
describe('event order', () => {
  it('A35: a plain answer', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ text: 'hello' }]), 'hi')
    expect(durable(talk.types())).toEqual([
      ...['user-message', 'turn-start', 'step-start', 'message-start', 'message-end', 'step-end'],
      ...['turn-end', 'save-point', 'settled'],
    ])
  })

  it('A35: one tool', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [{ name: 'a', input: {} }] }, { text: 'done' }], { tools: [echo('a').tool] })
    await talk.play(agent, 'go')
    expect(durable(talk.types())).toEqual([
      ...['user-message', 'turn-start', 'step-start', 'message-start', 'message-end', 'tool-execution-start'],
      ...['tool-execution-end', 'step-end', 'step-start', 'message-start', 'message-end', 'step-end'],
      ...['turn-end', 'save-point', 'settled'],
    ])
  })

  it('A35: a call that is not executed has only its end event', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [{ name: 'nobody', input: {} }] }, { text: 'done' }])
    await talk.play(agent, 'go')
    expect(durable(talk.types()).slice(4, 7)).toEqual(['message-end', 'tool-execution-end', 'step-end'])
  })

  it('A35: a remote tool and its result', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [{ id: 'r', name: 'far', input: {} }] }, { text: 'done' }], { tools: [remote('far')] })
    await talk.play(agent, 'go')
    expect(durable(talk.types()).slice(4)).toEqual(['message-end', 'awaiting-tools', 'turn-end', 'save-point'])
    await talk.play(agent, { toolResults: [{ toolCallId: 'r', output: 'yes' }] })
    expect(durable(talk.types()).slice(8)).toEqual([
      ...['turn-start', 'tool-execution-end', 'step-end', 'step-start', 'message-start', 'message-end', 'step-end'],
      ...['turn-end', 'save-point', 'settled'],
    ])
  })

  it('A35: a model error', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ error: new Error('no') }]), 'hi')
    expect(durable(talk.types()).slice(3)).toEqual([...['message-start', 'message-end', 'step-end', 'turn-end', 'save-point', 'settled']])
  })
})

function durable(types: readonly string[]): readonly string[] {
  return types.filter((type) => !live.test(type))
}
