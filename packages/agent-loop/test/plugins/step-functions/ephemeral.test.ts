import type { Message } from '@bowline/llm'
import { APICallError } from 'ai'
import { describe, expect, it } from 'vitest'
import { defineExtension } from '../../../src/index.ts'
import type { AgentOptions } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import type { Conversation } from '../../support/conversation.ts'
import { rolesOf, userTexts } from '../../support/prompts.ts'
import { echo, until } from '../../support/tools.ts'

const call = (id: string) => ({ toolCalls: [{ id, name: 'a', input: {} }] })
const overloaded = new APICallError({ message: 'busy', url: 'http://x', requestBodyValues: {}, statusCode: 503, isRetryable: true })
const errorsOf = (talk: Conversation) => talk.journal.events.flatMap((event) => (event.type === 'error' ? [event] : []))

describe('ephemeral messages', () => {
  it('A102: are last in one request and in no other, and are never stored', async () => {
    const talk = conversation()
    const { tool } = echo('a')
    const ephemeral: AgentOptions['ephemeral'] = ({ step, turn }) => [
      { role: 'user', content: `now ${turn}.${step}` },
      { role: 'user', content: 'and here' },
    ]
    const agent = agentOf([call('x'), { text: 'one' }, { text: 'two' }], { tools: [tool], ephemeral })
    await talk.play(agent, 'go', { overlays: ['above'] })
    await talk.play(agent, 'again')
    expect(agent.model.calls.map(userTexts)).toEqual([
      ['above', 'go', 'now 1.1', 'and here'],
      ['above', 'go', 'now 1.2', 'and here'],
      ['go', 'again', 'now 2.1', 'and here'],
    ])
    expect(rolesOf(agent.model.calls[1])).toEqual(['user', 'user', 'assistant', 'tool', 'user', 'user'])
    expect(JSON.stringify([talk.journal.commits, talk.journal.log, talk.memory.snapshot()])).not.toContain('now ')
  })

  it('A102: are asked for again at each attempt', async () => {
    const talk = conversation()
    let asked = 0
    const ephemeral = () => Promise.resolve([{ role: 'user', content: `asked ${++asked}` }] as const)
    const agent = agentOf([{ error: overloaded }, { text: 'x' }], { ephemeral, retry: { maxRetries: 1, baseDelayMs: 0, jitter: 0 } })
    await talk.play(agent, 'go')
    expect(agent.model.calls.map(userTexts)).toEqual([
      ['go', 'asked 1'],
      ['go', 'asked 2'],
    ])
  })

  it('A102: hooks change the messages before them, and see the whole request', async () => {
    const talk = conversation()
    const seen: number[] = []
    const extension = defineExtension({
      name: 'short',
      hooks: {
        transformContext: ({ messages }) => ({ messages: messages.slice(-1) }),
        beforeModelCall: ({ messages }) => void seen.push(messages.length),
      },
    })
    const agent = agentOf([{ text: 'one' }, { text: 'two' }], {
      ephemeral: () => [{ role: 'user', content: 'now' }],
      extensions: [extension],
    })
    await talk.play(agent, 'go')
    await talk.play(agent, 'again')
    expect(userTexts(agent.model.calls[1])).toEqual(['again', 'now'])
    expect(seen).toEqual([2, 2])
  })

  it.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no idea')
      },
      'no idea',
    ],
    ['rejects', () => Promise.reject(new Error('no idea')), 'no idea'],
    ['gives no list', () => 'now', 'ephemeral() must be a list of messages; received a text of 3 characters'],
    ['gives nothing', () => undefined, 'ephemeral() must be a list of messages; received undefined'],
    [
      'gives a role that there is not',
      () => [{ role: 'system', content: 'now' }],
      'ephemeral()[0] has a role other than user, assistant and tool-result',
    ],
    ['gives a message without content', () => [{ role: 'user' }], 'ephemeral()[0] has content that is neither text nor parts'],
    [
      'gives parts that are none',
      () =>
        Promise.resolve([
          { role: 'user', content: 'x' },
          { role: 'user', content: [{ type: 'video' }] },
        ]),
      'ephemeral()[1] has content that is neither text nor parts',
    ],
    [
      'gives a message that throws when it is read',
      () => [
        new Proxy(
          {},
          {
            get: () => {
              throw new Error('no idea')
            },
          },
        ),
      ],
      'no idea',
    ],
  ])('A102: a source that %s is left out and said', async (_what, source, message) => {
    const talk = conversation()
    const agent = agentOf([{ text: 'x' }], { ephemeral: source as NonNullable<AgentOptions['ephemeral']> })
    expect((await talk.play(agent, 'go')).result.status).toBe('completed')
    expect(userTexts(agent.model.calls[0])).toEqual(['go'])
    expect(errorsOf(talk)).toMatchObject([{ source: 'ephemeral', message, fatal: false }])
  })

  it('A102: a slow source is left out after five seconds, and its late messages are dropped', async () => {
    const talk = conversation()
    const { promise, resolve } = Promise.withResolvers<readonly Message[]>()
    const { tool } = echo('a')
    let asked = 0
    const agent = agentOf([call('x'), { text: 'x' }], { tools: [tool], ephemeral: () => (asked++ === 0 ? promise : []) })
    const run = talk.run(agent, 'go')
    await until(() => asked === 1)
    await talk.clock.advance(4_999)
    expect(agent.model.calls).toHaveLength(0)
    await talk.clock.advance(1)
    resolve([{ role: 'user', content: 'late' }])
    await run.result()
    expect(errorsOf(talk)).toMatchObject([{ source: 'ephemeral', message: 'no answer within 5000 ms' }])
    expect(agent.model.calls.map(userTexts)).toEqual([['go'], ['go']])
  })

  it('A102: a source that hangs does not keep a stopped run from ending', async () => {
    const talk = conversation()
    let asked = false
    const agent = agentOf([], {
      ephemeral: () =>
        new Promise<never>(() => {
          asked = true
        }),
    })
    const run = talk.run(agent, 'go')
    await until(() => asked)
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect(errorsOf(talk)).toEqual([])
  })
})
