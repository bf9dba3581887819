import { describe, expect, it } from 'vitest'
import { defineExtension } from '../../src/index.ts'
import type { AgentInput, Journal } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import type { Conversation } from '../support/conversation.ts'
import { userTexts } from '../support/prompts.ts'
import { echo, gated, remote, until } from '../support/tools.ts'

const call = (id: string, name = 'wait') => ({ toolCalls: [{ id, name, input: {} }] })
const asMessage = (content: string) => ({ role: 'user', content })
const turnsOf = (talk: Conversation) =>
  talk.journal.events.flatMap((event) =>
    event.type === 'turn-start' || event.type === 'turn-end' ? [`${event.type} ${event.turn} ${event.runId}`] : [],
  )

describe('follow-ups', () => {
  it('A97: each is a turn of its own, one at a time, when the model would stop', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const agent = agentOf([call('w'), { text: 'one' }, { text: 'two' }, { text: 'three' }], { tools: [wait.tool] })
    const run = talk.run(agent, 'go')
    await until(() => wait.started.length === 1)
    await Promise.all([run.followUp('then'), run.followUp('and then'), run.steer('hurry')])
    wait.open('w')
    const result = await run.result()
    expect(agent.model.calls.map(userTexts)).toEqual([
      ['go'],
      ['go', 'hurry'],
      ['go', 'hurry', 'then'],
      ['go', 'hurry', 'then', 'and then'],
    ])
    expect(turnsOf(talk)).toEqual([
      ...['turn-start 1 run_1', 'turn-end 1 run_1', 'turn-start 2 run_2', 'turn-end 2 run_2', 'turn-start 3 run_3', 'turn-end 3 run_3'],
    ])
    expect([run.runId, result.runId, result.text, result.steps]).toEqual(['run_1', 'run_3', 'three', 1])
  })

  it.each([true, false])('A97: answers are refused as follow-ups, also with a queue in the journal (%s)', async (enqueues) => {
    const wrap = (journal: Journal): Journal =>
      enqueues ? { ...journal, enqueue: () => Promise.resolve({ ok: true, inputId: 'x' }) } : journal
    const talk = conversation({ wrap })
    const run = talk.run(agentOf([{ text: 'one' }]), 'go')
    expect(() => run.followUp({ toolResults: [{ toolCallId: 'x', output: 1 }] })).toThrow(
      expect.objectContaining({ code: 'invalid-input' }),
    )
    await run.result()
  })

  it('A16: the result has the messages of all its turns, and text and usage of the last one', async () => {
    const talk = conversation()
    const steps = [3, 5].map((tokens) => ({ text: `${tokens} tokens`, usage: { output: tokens } }))
    const run = talk.run(agentOf(steps), 'go')
    await run.followUp('then')
    const { messages, text, usage } = await run.result()
    expect(messages).toEqual((await talk.memory.load()).messages)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect([text, usage.outputTokens]).toEqual(['5 tokens', 5])
  })

  it('A97: its user message has the id of the input, and steering goes on', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const agent = agentOf([{ text: 'one' }, call('w'), { text: 'two' }], { tools: [wait.tool] })
    const run = talk.run(agent, 'go', { source: 'slack' })
    const given = await run.followUp('then')
    await until(() => wait.started.length === 1)
    expect((await run.steer('hurry')).ok).toBe(true)
    wait.open('w')
    await run.result()
    const messages = talk.journal.events.filter((event) => event.type === 'user-message')
    expect(messages[1]).toMatchObject({ source: 'slack', inputId: given.ok && given.inputId, turn: 2 })
    expect(userTexts(agent.model.calls[2])).toEqual(['go', 'then', 'hurry'])
  })

  it('A97: its limits start anew', async () => {
    const talk = conversation()
    const a = echo('a')
    const script = [call('x', 'a'), { text: 'one' }, call('y', 'a'), { text: 'two' }]
    const agent = agentOf(script, {
      tools: [a.tool],
      limits: { maxSteps: 2, maxToolCalls: 1, maxTotalTokens: 12_000, maxDurationMs: 1_000 },
    })
    const run = talk.run(agent, 'go')
    await run.followUp('then')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'two', steps: 2 })
  })

  it('A100: overlays of one turn are not in the next', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'one' }, { text: 'two' }])
    const run = talk.run(agent, 'go', { overlays: ['it is Monday'] })
    await run.followUp('then')
    await run.result()
    expect(agent.model.calls.map(userTexts)).toEqual([
      ['it is Monday', 'go'],
      ['go', 'then'],
    ])
    expect(talk.journal.events.flatMap((event) => (event.type === 'turn-end' ? [event.overlaysExpired] : []))).toEqual([1, 0])
  })

  it('A97: an input that an extension handles is followed by the next one', async () => {
    const talk = conversation()
    const extension = defineExtension({
      name: 'filter',
      hooks: {
        onInput: ({ input }) => (JSON.stringify(input).includes('secret') ? { action: 'handled', reply: 'no' } : { action: 'continue' }),
      },
    })
    const agent = agentOf([{ text: 'one' }, { text: 'three' }], { extensions: [extension] })
    const run = talk.run(agent, 'go')
    await Promise.all([run.followUp('secret'), run.followUp('then')])
    expect(await run.result()).toMatchObject({ text: 'three' })
    expect(agent.model.calls.map(userTexts)).toEqual([['go'], ['go', 'then']])
  })

  it('A43: settled comes only after the last turn', async () => {
    const talk = conversation()
    const run = talk.run(agentOf([{ text: 'one' }, { text: 'two' }]), 'go')
    await run.followUp('then')
    await run.result()
    expect(talk.journal.events.filter(({ type }) => type === 'settled' || type === 'turn-end').map(({ type }) => type)).toEqual([
      'turn-end',
      'turn-end',
      'settled',
    ])
  })

  it.each([
    ['an error', [{ error: new Error('no') }], {}, 'error'],
    ['a limit', [call('x', 'a')], { limits: { maxSteps: 1 } }, 'limit'],
    ['a suspension', [call('x', 'far')], {}, 'awaiting-tools'],
  ] as const)('A98: after %s they stay unsent', async (_what, steps, options, status) => {
    const talk = conversation()
    const run = talk.run(agentOf(steps, { tools: [echo('a').tool, remote('far')], ...options }), 'go')
    await run.followUp('then')
    expect(await run.result()).toMatchObject({ status, unusedInputs: [asMessage('then')] })
  })

  it('A98: a stop between two turns leaves the rest unsent', async () => {
    const talk = conversation()
    const extension = defineExtension({ name: 'stopper', hooks: { onAgentEnd: (_event, context) => context.abort() } })
    const run = talk.run(agentOf([{ text: 'one' }], { extensions: [extension] }), 'go')
    await run.followUp('then')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'one', unusedInputs: [asMessage('then')] })
  })

  it('A97: in a journal with a queue they become runs of their own, and this run ends', async () => {
    const queued: AgentInput[] = []
    const wrap = (journal: Journal): Journal => ({
      ...journal,
      commit: (records, expect) =>
        expect?.nothingQueued && queued.length > 0
          ? Promise.resolve({ ok: false, reason: 'runs-queued' })
          : journal.commit(records, expect),
      enqueue: (input) => Promise.resolve({ ok: true, inputId: `queued_${queued.push(input)}` }),
    })
    const talk = conversation({ wrap })
    const run = talk.run(agentOf([{ text: 'one' }]), 'go')
    expect(await run.followUp('then')).toEqual({ ok: true, inputId: 'queued_1' })
    expect(await run.result()).toMatchObject({ text: 'one', unusedInputs: [] })
    expect(queued).toEqual([asMessage('then')])
    expect(talk.types().slice(-2)).toEqual(['turn-end', 'save-point'])
  })
})
