import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineAgent, defineExtension, defineTool } from '../../../src/index.ts'
import type { AgentOptions } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { handOver, helper, toldOf } from './support.ts'

const make = (options: Partial<AgentOptions>) => defineAgent({ model: scriptedModel([]), ...options })
const sub = (name: string, description = 'helps') => make({ name, description })

function tool(name: string) {
  return defineTool({ name, description: 'own', inputSchema: { type: 'object' }, execute: () => 'own' })
}

describe('delegate tools', () => {
  it('are named after their subagent, and have its description', () => {
    const agent = make({ subagents: [sub('deep-diver_2', 'dives deep')] })
    expect(agent.tools).toMatchObject([
      { name: 'delegate_to_deep_diver_2', description: 'dives deep', effect: 'idempotent', timeoutMs: null },
    ])
  })

  it.each([
    ['', 'a name'],
    ['Upper', 'a name'],
    ['2nd', 'a name'],
    ['a b', 'a name'],
    ['a'.repeat(53), 'a name'],
    ['ü', 'a name'],
  ])('refuse the name %j', (name, message) => {
    expect(() => make({ subagents: [sub(name)] })).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining(message) }),
    )
  })

  it('accept a name of 52 characters, which makes a tool name of 64', () => {
    expect(make({ subagents: [sub('a'.repeat(52))] }).tools[0]?.name).toHaveLength(64)
  })

  it('refuse an agent without a name or a description, and a value that is no agent', () => {
    const refusal = (message: string) =>
      expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining(message) }) as Error
    expect(() => make({ subagents: [make({ description: 'helps' })] })).toThrow(refusal('a name'))
    expect(() => make({ subagents: [sub('plain', ' \n')] })).toThrow(refusal('description'))
    expect(() => make({ subagents: [make({ name: 'plain' })] })).toThrow(refusal('description'))
    expect(() => make({ subagents: [{ name: 'plain' } as never] })).toThrow(refusal('subagents[0]'))
  })

  it('A4: refuses two names that give one tool name, and a tool of that name', () => {
    const refusal = expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining('delegate_to_a_b') })
    expect(() => make({ subagents: [sub('a-b'), sub('a_b')] })).toThrow(refusal)
    expect(() => make({ subagents: [sub('a-b')], tools: [tool('delegate_to_a_b')] })).toThrow(refusal)
  })

  it('A5: a delegate tool wins over a tool of an extension, which is reported', () => {
    const extension = defineExtension({ name: 'rival', tools: [tool('delegate_to_plain')], hooks: {} })
    const agent = make({ subagents: [sub('plain')], extensions: [extension] })
    expect(agent.diagnostics).toMatchObject([{ kind: 'tool', name: 'delegate_to_plain' }])
    expect(agent.tools).toMatchObject([{ description: 'helps' }])
  })

  it.each<[string, object]>([
    ['no prompt', {}],
    ['an empty prompt', { prompt: '' }],
    ['no parts', { prompt: [] }],
    ['a number', { prompt: 7 }],
    ['texts', { prompt: ['a', 'b'] }],
    [
      'an unknown part',
      {
        prompt: [
          { type: 'text', text: 'a' },
          { type: 'image', data: '' },
        ],
      },
    ],
    ['a part with more', { prompt: [{ type: 'text', text: 'a', more: 1 }] }],
    ['a file without data', { prompt: [{ type: 'file', mediaType: 'text/plain' }] }],
    ['a description that is none', { prompt: 'a', description: 1 }],
    ['another key', { prompt: 'a', model: 'big' }],
    ['a session key', { prompt: 'a', sessionKey: 'k' }],
    ['the background', { prompt: 'a', run_in_background: false }],
  ])('A161: %s is refused before a child exists', async (_what, input) => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [handOver('d', 'scout', input)] }, { text: 'done' }], { subagents: [helper('scout', [])] })
    await talk.play(agent, 'go')
    expect(await toldOf(talk, 'd')).toMatchObject({
      status: 'error',
      output: { value: expect.stringContaining('the arguments are not valid') },
    })
    expect(talk.types()).not.toContain('child-start')
    expect(talk.memory.snapshot()).toMatchObject({ children: {} })
  })

  it('accept parts as well as text', async () => {
    const talk = conversation()
    const prompt = [
      { type: 'text', text: 'what is this?' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' }, filename: 'a.png' },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://example.com/a.png' } },
    ]
    const scout = helper('scout', [{ text: 'a picture' }])
    const agent = agentOf([{ toolCalls: [handOver('d', 'scout', { prompt, description: 'look' })] }, { text: 'done' }], {
      subagents: [scout],
    })
    await talk.play(agent, 'go')
    expect(talk.journal.childJournals.get('run_1/d')?.events[0]).toMatchObject({
      type: 'user-message',
      source: 'agent',
      message: { content: prompt },
    })
    expect(talk.journal.events.find(({ type }) => type === 'child-start')).toMatchObject({
      subagent: 'scout',
      description: 'look',
      childRunId: 'run_1/d',
    })
  })
})
