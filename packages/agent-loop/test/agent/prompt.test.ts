import type { LanguageModelV4CallOptions } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import '../../src/node/index.ts'
import type { AgentEvent } from '../../src/index.ts'
import { extension } from '../plugins/extensions/support.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { echo, until } from '../support/tools.ts'

const systemOf = ({ prompt }: LanguageModelV4CallOptions) => prompt.filter(({ role }) => role === 'system').map(({ content }) => content)
const errorsOf = (events: readonly AgentEvent[]) => events.filter((event) => event.type === 'error')

describe('the system prompt of a run', () => {
  it('A157: contains the sections of the agent and of its extensions, in the given order', async () => {
    const agent = agentOf([{ text: 'ok' }], {
      instructions: { system: 'SYSTEM', append: 'APPEND', user: 'USER', platform: { chat: 'CHAT' }, footer: { lines: ['FOOTER'] } },
      extensions: [extension('more', {}, { promptSections: { append: 'MORE', memory: 'MEMORY' } })],
    })
    await agent.run('go', { channel: 'chat' }).result()
    expect(agent.model.calls.map(systemOf)).toEqual([['SYSTEM\n\nAPPEND\n\nMORE\n\nMEMORY\n\nUSER\n\nCHAT\n\nFOOTER']])
  })

  it('A157: is absent without instructions', async () => {
    const agent = agentOf([{ text: 'ok' }], { tools: [echo('a').tool] })
    await agent.run('go').result()
    expect(agent.model.calls.map(systemOf)).toEqual([[]])
  })

  it('A158: is built once per channel, and again after it was invalidated', async () => {
    const asked: (string | undefined)[] = []
    const agent = agentOf(
      Array.from({ length: 6 }, () => ({ text: 'ok' })),
      {
        instructions: ({ channel }) => (asked.push(channel), `for ${channel ?? 'all'}: ${asked.length}`),
      },
    )
    const run = (channel?: string) => agent.run('go', channel === undefined ? {} : { channel }).result()
    for (const channel of [undefined, 'a', undefined, 'a']) await run(channel)
    expect(asked).toEqual([undefined, 'a'])
    agent.invalidatePrompt('a')
    await run('a')
    await run()
    expect(agent.model.calls.map((request) => systemOf(request)[0])).toEqual([
      'for all: 1',
      'for a: 2',
      'for all: 1',
      'for a: 2',
      'for a: 3',
      'for all: 1',
    ])
  })

  it('A159: leaves out a section that throws and a file that is missing, each with an error event after the turn-start', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'ok' }], {
      instructions: {
        system: 'SYSTEM',
        memory: () => {
          throw new Error('no memory')
        },
        user: { file: '/nowhere/user.md' },
        append: 'APPEND',
      },
    })
    const { result } = await talk.play(agent, 'go')
    expect(result.status).toBe('completed')
    expect(agent.model.calls.map(systemOf)).toEqual([['SYSTEM\n\nAPPEND']])
    expect(errorsOf(talk.journal.log)).toMatchObject([
      { source: 'prompt', name: 'memory', message: 'no memory', fatal: false },
      { source: 'prompt', name: 'user', fatal: false },
    ])
    expect(talk.types().indexOf('error')).toBeGreaterThan(talk.types().indexOf('turn-start'))
  })

  it('A159: leaves out a section that hangs after 30 s, and events before it are stored meanwhile', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'ok' }], { instructions: { system: 'SYSTEM', memory: () => new Promise<never>(() => undefined) } })
    const run = talk.run(agent, 'go')
    await until(() => talk.clock.pendingTimers === 1)
    expect(talk.types()).toEqual(['user-message', 'turn-start'])
    await talk.clock.advance(30_000)
    expect((await run.result()).status).toBe('completed')
    expect(errorsOf(talk.journal.log)).toMatchObject([{ source: 'prompt', name: 'memory' }])
  })
})
