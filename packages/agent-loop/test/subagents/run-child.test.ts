import { describe, expect, it } from 'vitest'
import { agentOf, conversation } from '../support/conversation.ts'
import { handOver, helper, lead, outline, toldOf } from './support.ts'

describe('a subagent in place', () => {
  it('A160: gives its parent compact text, and its events stay its own', async () => {
    const talk = conversation()
    const child = helper('scout', [{ text: 'found it' }])
    const { result } = await talk.play(lead(child), 'go')
    expect(result.error).toBeUndefined()
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(await toldOf(talk, 'd')).toMatchObject({
      status: 'result',
      output: { type: 'json', value: { result: 'completed', text: 'found it', steps: 1 } },
      details: { childRunId: `${result.runId}/d` },
    })
    expect(outline(talk)).toEqual([
      ...['user-message', 'turn-start', 'step-start', 'message-start', 'message-end', 'tool-execution-start', 'child-start'],
      ...['child-update', 'child-end', 'usage', 'tool-execution-end', 'step-end', 'step-start', 'message-start', 'message-end'],
      ...['step-end', 'turn-end', 'save-point', 'settled'],
    ])
    expect(child.model.calls[0]?.prompt.at(-1)).toMatchObject({ role: 'user', content: [{ text: 'do d' }] })
  })

  it('runs those of one answer at once', async () => {
    const talk = conversation()
    const children = ['one', 'two'].map((name) => helper(name, [{ text: `${name} done` }]))
    const agent = agentOf([{ toolCalls: [handOver('a', 'one'), handOver('b', 'two')] }, { text: 'both' }], { subagents: children })
    const { result } = await talk.play(agent, 'go')
    expect(result.status).toBe('completed')
    expect(await toldOf(talk, 'b')).toMatchObject({ output: { value: { text: 'two done' } } })
  })
})
