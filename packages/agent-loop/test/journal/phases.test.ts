import { describe, expect, it } from 'vitest'
import { createMemoryJournal, phaseOf } from '../../src/index.ts'
import { crashingJournal } from '@bowline/testing'
import { agentOf, conversation } from '../support/conversation.ts'
import { gated, remote, until } from '../support/tools.ts'

describe('phases', () => {
  it('A29, A31: if two runs use one journal, one runs, and the other throws busy and changes nothing', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'x' }])
    const first = talk.run(agent, 'one')
    expect(() => talk.run(agent, 'two')).toThrow(expect.objectContaining({ code: 'busy' }) as Error)
    expect(phaseOf(talk.journal)).toBe('turn')
    expect((await first.result()).status).toBe('completed')
    expect(talk.types().filter((type) => type === 'user-message')).toHaveLength(1)
  })

  it('A32: runs of one agent on different journals do not block or see each other', async () => {
    const wait = gated('wait')
    const steps = (id: string) => ({ toolCalls: [{ id, name: 'wait', input: {} }] })
    const agent = agentOf([steps('a'), steps('b'), { text: 'x' }, { text: 'y' }], { tools: [wait.tool] })
    const [one, two] = [conversation(), conversation()]
    const first = one.run(agent, 'one')
    await until(() => wait.started.includes('a'))
    const second = two.run(agent, 'two')
    await until(() => wait.started.includes('b'))
    wait.open('b')
    expect((await second.result()).text).toBe('x')
    expect(phaseOf(one.journal)).toBe('turn')
    wait.open('a')
    expect((await first.result()).text).toBe('y')
    expect((await two.memory.load()).messages).toHaveLength(4)
  })

  it('A33: the phase is idle after every ending', async () => {
    const good = createMemoryJournal()
    const failing = crashingJournal(createMemoryJournal(), { commit: 1, when: 'before' })
    const broken = { load: () => Promise.reject(new Error('no')), commit: () => Promise.reject(new Error('no')) }
    const suspended = createMemoryJournal()
    await agentOf([{ text: 'x' }])
      .run('hi', { journal: good })
      .result()
    await agentOf([]).run('hi', { journal: failing }).result()
    await agentOf([]).run('hi', { journal: broken }).result()
    await agentOf([{ toolCalls: [{ name: 'far', input: {} }] }], { tools: [remote('far')] })
      .run('hi', { journal: suspended })
      .result()
    expect([good, failing, broken, suspended].map(phaseOf)).toEqual(['idle', 'idle', 'idle', 'idle'])
  })

  it('A33: the phase is idle after a run that is refused at once', () => {
    const journal = createMemoryJournal()
    const circle: { self?: unknown } = {}
    circle.self = circle
    expect(() => agentOf([]).run('hi', { journal, context: circle as never })).toThrow('context')
    expect(() => agentOf([]).run('hi', { journal, abortSignal: {} as never })).toThrow('abortSignal')
    expect(phaseOf(journal)).toBe('idle')
  })
})
