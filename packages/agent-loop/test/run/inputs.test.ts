import { describe, expect, it } from 'vitest'
import { AgentError, defineExtension, defineTool } from '../../src/index.ts'
import type { Journal } from '../../src/index.ts'
import { textOfRequest } from '../support/prompts.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { gated, until } from '../support/tools.ts'

const waitStep = { toolCalls: [{ id: 'w', name: 'wait', input: {} }] }
const asMessage = (content: string) => ({ role: 'user', content })

describe('inputs of a run in progress', () => {
  it('A94: inputs that are given in one tick are stored and shown in that order', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const agent = agentOf([waitStep, { text: 'x' }], { tools: [wait.tool] })
    const run = talk.run(agent, 'hi')
    await until(() => wait.started.length === 1)
    const given = await Promise.all([run.steer('one'), run.overlay('two'), run.steer('three')])
    wait.open('w')
    await run.result()
    const ids = talk.journal.events.flatMap((event) => (event.type === 'runtime-input' ? [event.inputId] : []))
    expect(ids).toEqual(given.map((accepted) => accepted.ok && accepted.inputId))
    expect(textOfRequest(agent.model.calls[1])).toMatch(/one.*three/)
  })

  it('A95: steer resolves while the tools still run, and to run-ended when the run has ended', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const run = talk.run(agentOf([waitStep, { text: 'x' }], { tools: [wait.tool] }), 'hi')
    await until(() => wait.started.length === 1)
    expect(await run.steer('more')).toMatchObject({ ok: true })
    wait.open('w')
    const result = await run.result()
    expect(result.unusedInputs).toEqual([])
    const late = [run.steer('late'), run.overlay('late'), run.followUp('late')]
    expect(await Promise.all(late)).toEqual(late.map(() => ({ ok: false, reason: 'run-ended' })))
  })

  it('A95: whenever it is given, an input is used, unused or refused, and never lost', async () => {
    for (let ticks = 0; ticks < 60; ticks++) {
      const talk = conversation()
      const run = talk.run(agentOf([{ text: 'x' }]), 'hi', { limits: { maxSteps: 1 } })
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
      const given = await run.steer('extra')
      const result = await run.result()
      const stored = JSON.stringify(result.messages).includes('extra')
      expect([stored, result.unusedInputs.length === 1].filter(Boolean)).toHaveLength(given.ok ? 1 : 0)
    }
  })

  it.each([
    [{ action: 'handled' }, [{ text: 'one' }]],
    [{ action: 'transform', input: 'other words' }, [{ text: 'one' }, { text: 'two' }]],
  ] as const)('A96: a follow-up that an extension answers with %o is used', async (decision, steps) => {
    const talk = conversation()
    const filter = defineExtension({
      name: 'filter',
      hooks: { onInput: ({ input }) => (JSON.stringify(input).includes('then') ? decision : { action: 'continue' }) },
    })
    const agent = agentOf(steps, { extensions: [filter] })
    const run = talk.run(agent, 'hi')
    await run.followUp('then')
    expect(await run.result()).toMatchObject({ status: 'completed', unusedInputs: [] })
  })

  it('I1: a follow-up with the id of an earlier message gets a new id', async () => {
    const talk = conversation()
    const message = { role: 'user', id: 'mine', content: 'again' } as const
    const run = talk.run(agentOf([{ text: 'one' }, { text: 'two' }]), message)
    await run.followUp(message)
    const result = await run.result()
    expect(result).toMatchObject({ status: 'completed', text: 'two', unusedInputs: [] })
    expect(result.messages.map(({ id }) => id === 'mine')).toEqual([true, false, false, false])
  })

  it('A96: an aborted run gives back its unused inputs, follow-ups included, in order', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const run = talk.run(agentOf([waitStep], { tools: [wait.tool], abortGraceMs: 0 }), 'hi')
    await until(() => wait.started.length === 1)
    await Promise.all([run.followUp('a'), run.steer('b'), run.overlay('c'), run.followUp('d')])
    run.abort()
    await talk.clock.advance(0)
    const result = await run.result()
    expect(result.status).toBe('aborted')
    expect(result.unusedInputs).toEqual(['a', 'b', 'c', 'd'].map(asMessage))
  })

  it('A96: an input whose commit failed is unused', async () => {
    let failing = false
    const wrap = (journal: Journal): Journal => ({
      ...journal,
      commit: (records, expect) => (failing ? Promise.reject(new AgentError('journal-failed', 'gone')) : journal.commit(records, expect)),
    })
    const talk = conversation({ unfinished: true, wrap })
    const tool = defineTool({
      name: 'wait',
      description: 'steers',
      inputSchema: { type: 'object' as const },
      effect: 'pure',
      execute: async (_input, context) => {
        await context.steer('taken')
        failing = true
        return 'ok'
      },
    })
    const result = await talk.run(agentOf([waitStep], { tools: [tool] }), 'hi').result()
    expect(result.reason).toBe('journal-error')
    expect(result.unusedInputs).toEqual([asMessage('taken')])
  })

  it('A96: an input given while a run is refused is unused or refused', async () => {
    for (let ticks = 0; ticks < 20; ticks++) {
      const run = conversation().run(agentOf([]), undefined)
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
      const given = await run.followUp('extra')
      expect((await run.result()).unusedInputs).toEqual(given.ok ? [asMessage('extra')] : [])
    }
  })

  it('A96: an input given while the journal fails is unused or refused', async () => {
    for (let ticks = 0; ticks < 20; ticks++) {
      const commit = (): Promise<never> => Promise.reject(new Error('gone'))
      const talk = conversation({ unfinished: true, wrap: (journal) => ({ ...journal, commit }) })
      const run = talk.run(agentOf([]), 'hi')
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
      const given = await run.followUp('extra')
      expect((await run.result()).unusedInputs).toEqual(given.ok ? [asMessage('extra')] : [])
    }
  })
})
