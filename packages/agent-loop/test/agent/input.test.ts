import { describe, expect, it } from 'vitest'
import { AgentError, parseInput } from '../../src/index.ts'
import type { AgentInput } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'

const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } } as const

describe('input', () => {
  it.each<[string, AgentInput, AgentInput]>([
    ['a text', 'hi', { role: 'user', content: 'hi' }],
    ['texts', ['a', 'b'], { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] }],
    ['parts', [{ type: 'text', text: 'a' }, image], { role: 'user', content: [{ type: 'text', text: 'a' }, image] }],
  ])('A9: %s gives the same stored message as its long form', async (_name, short, long) => {
    const stored = await Promise.all([short, long].map(async (input) => {
      const { result } = await conversation().play(agentOf([{ text: 'ok' }]), input)
      return result.messages[0]
    }))
    expect(stored[0]).toEqual(stored[1])
    expect(stored[0]).toMatchObject({ role: 'user', id: 'msg_1', at: 1_000 })
  })

  it.each<[string, unknown]>([
    ['an empty list', []],
    ['a mixed list', ['a', { type: 'text', text: 'b' }]],
    // eslint-disable-next-line no-sparse-arrays
    ['a list with holes', ['a', , 'b']],
    ['an unknown part', [{ type: 'video', url: 'x' }]],
    ['a file without data', [{ type: 'file', mediaType: 'image/png' }]],
    ['a number', 7],
    ['null', null],
    ['an assistant message', { role: 'assistant', content: 'x' }],
    ['a message without content', { role: 'user' }],
    ['a message with a live object', { role: 'user', content: 'x', providerOptions: { when: new Date(0) } }],
    ['no results', { toolResults: [] }],
    ['a result without a form', { toolResults: [{ toolCallId: 'a' }] }],
    ['a result of two forms', { toolResults: [{ toolCallId: 'a', output: 1, error: 'x' }] }],
    ['a result that is not JSON', { toolResults: [{ toolCallId: 'a', output: () => 1 }] }],
  ])('A10: %s is refused at once and stores nothing', async (_name, input) => {
    const talk = conversation()
    const agent = agentOf([])
    let thrown: unknown
    try {
      talk.run(agent, input as AgentInput)
    } catch (error) {
      thrown = error
    }
    expect(AgentError.isInstance(thrown) && thrown.code).toBe('invalid-input')
    expect(talk.journal.commits).toEqual([])
    expect((await talk.memory.load()).messages).toEqual([])
  })

  it('A11: input is copied at acceptance', async () => {
    const input = { role: 'user' as const, content: [{ type: 'text' as const, text: 'before' }] }
    const talk = conversation()
    const run = talk.run(agentOf([{ text: 'ok' }]), input)
    input.content[0] = { type: 'text', text: 'after' }
    input.content.push({ type: 'text', text: 'more' })
    const { messages } = await run.result()
    expect(messages[0]?.role === 'user' && messages[0].content).toEqual([{ type: 'text', text: 'before' }])
  })

  it('parseInput gives the one stored form of an input, or refuses it', () => {
    expect(parseInput(['a'])).toEqual({ role: 'user', content: [{ type: 'text', text: 'a' }] })
    expect(parseInput({ toolResults: [{ toolCallId: 'a', output: 1 }] })).toEqual({ toolResults: [{ toolCallId: 'a', output: 1 }] })
    expect(() => parseInput([])).toThrow(AgentError)
  })
})
