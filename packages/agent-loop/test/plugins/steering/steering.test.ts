import { APICallError } from 'ai'
import { describe, expect, it } from 'vitest'
import { defineExtension, defineTool } from '../../../src/index.ts'
import type { AgentEvent } from '../../../src/index.ts'
import { agentOf, conversation, readAll } from '../../support/conversation.ts'
import type { Conversation } from '../../support/conversation.ts'
import { outerInbox } from '../../support/outer-inbox.ts'
import { rolesOf, userTexts } from '../../support/prompts.ts'
import { echo, gated, latch, remote, until } from '../../support/tools.ts'

const call = (id: string, name = 'wait') => ({ toolCalls: [{ id, name, input: {} }] })
const overloaded = new APICallError({ message: 'busy', url: 'http://x', requestBodyValues: {}, statusCode: 503, isRetryable: true })

/** Returns steps and inputs as a reader sees them. */
function windowsOf(events: readonly AgentEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.type === 'step-end') return [`step-end ${event.continues}`]
    if (event.type === 'runtime-input') return [`${event.source} at ${event.placement}`]
    return event.type === 'step-start' || event.type === 'turn-end' ? [event.type] : []
  })
}

const placements = (talk: Conversation) => windowsOf(talk.journal.events)

describe('steering', () => {
  it('A92: an input that a hook steers in the input slots before a call is in that very call', async () => {
    const talk = conversation()
    const extension = defineExtension({
      name: 'guide',
      hooks: {
        onTurnStart: async (_event, context) => void (await context.steer('from onTurnStart')),
        onStepStart: async ({ step }, context) => void (await context.steer(`from onStepStart ${step}`)),
      },
    })
    const agent = agentOf([{ text: 'x' }], { extensions: [extension] })
    await talk.play(agent, 'go')
    expect(userTexts(agent.model.calls[0])).toEqual(['go', 'from onTurnStart', 'from onStepStart 1'])
    expect(placements(talk)).toEqual(['steer at turn-start', 'step-start', 'steer at step-start', 'step-end false', 'turn-end'])
  })

  it('A92, A93: an input that comes while tools run waits for all of them, and is in the next request after their results', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const two = {
      toolCalls: [
        { id: 'a', name: 'wait', input: {} },
        { id: 'b', name: 'wait', input: {} },
      ],
    }
    const agent = agentOf([two, { text: 'x' }], { tools: [wait.tool] })
    const run = talk.run(agent, 'go')
    const reading = readAll(run)
    await until(() => wait.started.length === 2)
    await run.steer('hurry')
    wait.open('a')
    await until(() => talk.types().includes('tool-execution-end'))
    expect(agent.model.calls).toHaveLength(1)
    wait.open('b')
    await run.result()
    expect(rolesOf(agent.model.calls[1])).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(windowsOf(await reading)).toEqual([
      'step-start',
      'step-end true',
      'steer at step-end',
      'step-start',
      'step-end false',
      'turn-end',
    ])
    expect(talk.types().slice(talk.types().lastIndexOf('tool-execution-end'), -8).slice(0, 5)).toEqual([
      ...['tool-execution-end', 'step-end', 'runtime-input', 'step-start', 'message-start'],
    ])
  })

  it('A93: at a final answer it leads to one more step', async () => {
    const talk = conversation()
    const spoken = latch()
    const agent = agentOf([{ text: 'bye', expect: () => spoken.resolve() }, { text: 'still here' }])
    const run = talk.run(agent, 'go')
    await spoken.promise
    await run.steer('one more thing')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'still here', steps: 2, unusedInputs: [] })
    expect(placements(talk)).toEqual(['step-start', 'step-end false', 'steer at step-end', 'step-start', 'step-end false', 'turn-end'])
    expect(userTexts(agent.model.calls[1])).toEqual(['go', 'one more thing'])
  })

  it('A93: also at a truncated answer', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'so', finish: 'length', expect: () => void run.steer('go on') }, { text: 'and so on' }])
    const run = talk.run(agent, 'go')
    expect(await run.result()).toMatchObject({ reason: 'stop', text: 'and so on' })
  })

  it('A92: an input that comes in a retry wait is not in the repeated request, but in the one after it', async () => {
    const talk = conversation()
    const agent = agentOf([{ error: overloaded }, { text: 'bye' }, { text: 'still here' }], {
      retry: { maxRetries: 1, baseDelayMs: 100, jitter: 0 },
    })
    const run = talk.run(agent, 'go')
    await until(() => talk.types().includes('retry-start'))
    await run.steer('hurry')
    await talk.clock.advance(100)
    await run.result()
    expect(agent.model.calls.map(userTexts)).toEqual([['go'], ['go'], ['go', 'hurry']])
  })

  it('A93: a turn that its tools end makes no further step; the input is unused', async () => {
    const talk = conversation()
    const quit = defineTool({
      name: 'quit',
      description: '',
      inputSchema: {},
      execute: async (_input, context) => {
        await context.steer('too late')
        return { output: 'bye', terminate: true }
      },
    })
    const { result } = await talk.play(agentOf([call('q', 'quit')], { tools: [quit] }), 'go')
    expect(result).toMatchObject({ reason: 'terminated', unusedInputs: [{ role: 'user', content: 'too late' }] })
  })

  it.each([
    ['a final answer', { text: 'bye' }, { status: 'completed', reason: 'stop' }],
    ['an answer with calls', call('e', 'echo'), { status: 'limit', reason: 'max-steps' }],
  ])('A86, A96: at the last step, %s, the input is unused', async (_what, step, ending) => {
    const talk = conversation()
    const agent = agentOf([{ ...step, expect: () => void run.steer('too late') }], { tools: [echo('echo').tool], limits: { maxSteps: 1 } })
    const run = talk.run(agent, 'go')
    expect(await run.result()).toMatchObject({ ...ending, unusedInputs: [{ role: 'user', content: 'too late' }] })
    expect(agent.model.calls).toHaveLength(1)
  })

  it('A96: a turn that is suspended gives back its unused inputs', async () => {
    const talk = conversation()
    const give = () => void Promise.all([run.steer('a'), run.overlay('b'), run.followUp('c')])
    const run = talk.run(agentOf([{ ...call('r', 'far'), expect: give }], { tools: [remote('far')] }), 'go')
    const { status, unusedInputs } = await run.result()
    expect([status, unusedInputs.map((input) => (input as { content: string }).content)]).toEqual(['awaiting-tools', ['a', 'b', 'c']])
  })

  it('A92: no input comes between an answer and its results, also when the turn is resumed', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    const agent = agentOf([call('r', 'far'), { text: 'x' }], { tools: [remote('far')] })
    await talk.run(agent, 'go').result()
    outer.give('steer', 'by the way')
    await talk.run(agent, { toolResults: [{ toolCallId: 'r', output: 1 }] }).result()
    expect(rolesOf(agent.model.calls[1])).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(placements(talk).slice(-6)).toEqual([
      'turn-end',
      'step-end true',
      'steer at step-end',
      'step-start',
      'step-end false',
      'turn-end',
    ])
  })

  it('A92: after a process died after a final answer, the next one shows the inputs that came meanwhile', async () => {
    const outer = outerInbox()
    let dead = false
    const talk = conversation({
      unfinished: true,
      wrap: (journal) =>
        outer.wrap({
          ...journal,
          commit: (records, expect) => (dead ? Promise.reject(new Error('died')) : journal.commit(records, expect)),
        }),
    })
    const dying = defineExtension({ name: 'dying', hooks: { afterModelCall: () => void (dead = true) } })
    expect((await talk.play(agentOf([{ text: 'bye' }], { extensions: [dying] }), 'go')).result.reason).toBe('journal-error')
    dead = false
    outer.give('steer', 'one more thing')
    const agent = agentOf([{ text: 'still here' }])
    expect((await talk.play(agent, undefined)).result).toMatchObject({ status: 'completed', text: 'still here', steps: 2 })
    expect(userTexts(agent.model.calls[0])).toEqual(['go', 'one more thing'])
  })

  it('A94: an input slot takes inputs from the hooks of its boundary after the earlier ones', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const extension = defineExtension({
      name: 'guide',
      hooks: { onStepEnd: async ({ step }, context) => void (step === 1 && (await context.steer('three'))) },
    })
    const agent = agentOf([call('w'), { text: 'x' }], { tools: [wait.tool], extensions: [extension] })
    const run = talk.run(agent, 'go')
    await until(() => wait.started.length === 1)
    await Promise.all([run.steer('one'), run.steer(['two', 'parts'])])
    wait.open('w')
    await run.result()
    expect(userTexts(agent.model.calls[1])).toEqual(['go', 'one', 'two', 'parts', 'three'])
  })

  it('A75: a turn that replaces a suspended one can be steered, and has the id of its run', async () => {
    const talk = conversation()
    const first = agentOf([call('r', 'far')], { tools: [remote('far')] })
    await talk.run(first, 'go').result()
    const wait = gated('wait')
    const agent = agentOf([call('w'), { text: 'x' }], { tools: [wait.tool, remote('far')] })
    const run = talk.run(agent, 'never mind', { onInputWhilePending: 'cancel', runId: 'mine', overlays: ['it is Monday'] })
    await until(() => wait.started.length === 1)
    expect([run.runId, await run.steer('hurry')]).toEqual(['mine', { ok: true, inputId: expect.any(String) as string }])
    wait.open('w')
    const result = await run.result()
    expect(result).toMatchObject({ runId: 'mine', status: 'completed', unusedInputs: [] })
    expect(result.messages.map(({ role }) => role)).toEqual(['tool-result', 'user', 'assistant', 'tool-result', 'user', 'assistant'])
    expect(userTexts(agent.model.calls[1])).toEqual(['go', 'it is Monday', 'never mind', 'hurry'])
  })

  it('A75: an input steered before the suspended turn is closed goes to the new turn', async () => {
    const talk = conversation()
    await talk.run(agentOf([call('r', 'far')], { tools: [remote('far')] }), 'go').result()
    const agent = agentOf([{ text: 'x' }], { tools: [remote('far')] })
    const run = talk.run(agent, 'never mind', { onInputWhilePending: 'cancel' })
    await run.steer('hurry')
    await run.result()
    expect(userTexts(agent.model.calls[0])).toEqual(['go', 'never mind', 'hurry'])
  })

  it('A75, A43: hooks are notified of both ends, and of settled only after the second', async () => {
    const talk = conversation()
    await talk.run(agentOf([call('r', 'far')], { tools: [remote('far')] }), 'go').result()
    const told: string[] = []
    const extension = defineExtension({
      name: 'ears',
      hooks: { onAgentEnd: ({ status }) => void told.push(status), onSettled: () => void told.push('settled') },
    })
    const agent = agentOf([{ text: 'x' }], { tools: [remote('far')], extensions: [extension] })
    const { events } = await talk.play(agent, 'never mind', { onInputWhilePending: 'cancel' })
    expect(told).toEqual(['aborted', 'completed', 'settled'])
    expect(events.filter(({ type }) => type === 'settled')).toHaveLength(1)
  })
})
