import { describe, expect, it } from 'vitest'
import { agentOf, conversation } from '../support/conversation.ts'
import type { Conversation } from '../support/conversation.ts'
import { resultsOf } from '../support/prompts.ts'
import { gated, until } from '../support/tools.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })

function starts(talk: Conversation): readonly string[] {
  return talk.journal.events.flatMap((event) => (event.type === 'tool-execution-start' ? [event.toolCallId] : []))
}

function rows(talk: Conversation): readonly string[] {
  return talk.journal.commits.flatMap((records) =>
    records.flatMap((record) => (record.type === 'call' ? [`${record.call.toolCallId}:${record.call.state}`] : [])),
  )
}

describe('scheduling', () => {
  it('A55: ready calls run in parallel, at most toolConcurrency at once', async () => {
    const wait = gated('wait')
    const talk = conversation()
    const calls = ['a', 'b', 'c'].map((id) => call(id, 'wait'))
    const run = talk.run(agentOf([{ toolCalls: calls }, { text: 'done' }], { tools: [wait.tool], toolConcurrency: 2 }), 'go')
    await until(() => wait.started.length === 2)
    expect(starts(talk)).toEqual(['a', 'b'])
    expect(rows(talk).toSorted()).toEqual(['a:started', 'b:started', 'c:pending'])
    wait.open('b')
    await until(() => wait.started.length === 3)
    wait.open('a')
    wait.open('c')
    expect((await run.result()).status).toBe('completed')
    expect(rows(talk).filter((row) => row.startsWith('c'))).toEqual(['c:pending', 'c:started', 'c:result'])
  })

  it('A55: at most concurrency calls of one tool run at once, and calls of other tools pass them', async () => {
    const [one, two] = [gated('one', { concurrency: 1 }), gated('two')]
    const talk = conversation()
    const calls = [call('a', 'one'), call('b', 'one'), call('c', 'two')]
    const run = talk.run(agentOf([{ toolCalls: calls }, { text: 'done' }], { tools: [one.tool, two.tool] }), 'go')
    await until(() => two.started.length === 1)
    expect(starts(talk)).toEqual(['a', 'c'])
    one.open('a')
    await until(() => one.started.length === 2)
    one.open('b')
    two.open('c')
    expect((await run.result()).status).toBe('completed')
  })

  it('A55: the end of another call starts no call of a tool that is at its concurrency', async () => {
    const [one, two] = [gated('one', { concurrency: 1 }), gated('two')]
    const talk = conversation()
    const calls = [call('a', 'one'), call('b', 'one'), call('c', 'two')]
    const run = talk.run(agentOf([{ toolCalls: calls }, { text: 'done' }], { tools: [one.tool, two.tool] }), 'go')
    await until(() => two.started.length === 1)
    two.open('c')
    await until(() => rows(talk).includes('c:result'))
    expect(starts(talk)).toEqual(['a', 'c'])
    one.open('a')
    await until(() => one.started.length === 2)
    expect(rows(talk).indexOf('a:result')).toBeLessThan(rows(talk).indexOf('b:started'))
    one.open('b')
    expect((await run.result()).status).toBe('completed')
  })

  it('A56: a sequential call starts after all earlier ones have ended, later ones after it', async () => {
    const [free, alone] = [gated('free'), gated('alone', { sequential: true })]
    const talk = conversation()
    const calls = [call('a', 'free'), call('b', 'free'), call('c', 'alone'), call('d', 'free'), call('e', 'free')]
    const run = talk.run(agentOf([{ toolCalls: calls }, { text: 'done' }], { tools: [free.tool, alone.tool] }), 'go')
    await until(() => free.started.length === 2)
    free.open('b')
    await until(() => talk.types().includes('tool-execution-end'))
    expect(starts(talk)).toEqual(['a', 'b'])
    free.open('a')
    await until(() => alone.started.length === 1)
    expect(starts(talk)).toEqual(['a', 'b', 'c'])
    alone.open('c')
    await until(() => free.started.length === 4)
    free.open('e')
    free.open('d')
    expect((await run.result()).status).toBe('completed')
  })

  it('A57: results are in call order in the transcript and in the request', async () => {
    const wait = gated('wait')
    const talk = conversation()
    const agent = agentOf([{ toolCalls: ['a', 'b', 'c'].map((id) => call(id, 'wait')) }, { text: 'done' }], { tools: [wait.tool] })
    const run = talk.run(agent, 'go')
    await until(() => wait.started.length === 3)
    for (const id of ['c', 'a', 'b']) {
      const ended = talk.types().filter((type) => type === 'tool-execution-end').length
      wait.open(id)
      await until(() => talk.types().filter((type) => type === 'tool-execution-end').length > ended)
    }
    const { messages } = await run.result()
    const ends = talk.journal.events.flatMap((event) => (event.type === 'tool-execution-end' ? [event.toolCallId] : []))
    expect(ends).toEqual(['c', 'a', 'b'])
    expect(messages.flatMap((message) => (message.role === 'tool-result' ? [message.toolCallId] : []))).toEqual(['a', 'b', 'c'])
    expect(resultsOf(agent.model.calls[1]).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(talk.view().messages.flatMap((message) => (message.role === 'tool-result' ? [message.toolCallId] : []))).toEqual(['a', 'b', 'c'])
  })
})
