import { describe, expect, it } from 'vitest'
import { createMemoryJournal } from '../../../src/index.ts'
import type { Budget, BudgetEstimate, Journal, Spending } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { latch, until } from '../../support/tools.ts'
import { playOut } from '../../support/waiting.ts'
import { handOver, helper } from '../subagents/support.ts'

/** Creates a budget that is kept elsewhere: each answer waits for its latch. */
function elsewhere() {
  const asked: string[] = []
  const gates = { reserve: latch(), settle: latch() }
  const budget: Budget = {
    async reserve(_estimate: BudgetEstimate) {
      asked.push('reserve')
      await gates.reserve.promise
      return {
        async settle({ usage }: Spending) {
          asked.push(`settle ${usage.totalTokens ?? 0}`)
          await gates.settle.promise
        },
      }
    },
    async charge({ usage }) {
      asked.push(`charge ${usage.totalTokens ?? 0}`)
    },
    left: {},
  }
  return { budget, asked, gates }
}

describe('a budget that answers asynchronously', () => {
  it('A197: the model is called after the budget has reserved, and the answer is stored after the budget has settled', async () => {
    const talk = conversation()
    const { budget, asked, gates } = elsewhere()
    const agent = agentOf([{ text: 'hi', usage: { input: 3, output: 2 } }])
    const run = talk.run(agent, 'go', { budget })
    await until(() => asked.length === 1)
    expect(agent.model.calls).toHaveLength(0)
    gates.reserve.resolve()
    await until(() => asked.length === 2)
    await new Promise(setImmediate)
    expect(talk.types()).not.toContain('message-end')
    gates.settle.resolve()
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'hi' })
    expect(asked).toEqual(['reserve', 'settle 5'])
  })

  it('A197: a run that is stopped meanwhile ends, and a later reservation is released', async () => {
    const talk = conversation()
    const { budget, asked, gates } = elsewhere()
    const agent = agentOf([])
    const run = talk.run(agent, 'go', { budget })
    await until(() => asked.length === 1)
    run.abort()
    expect((await run.result()).status).toBe('aborted')
    gates.reserve.resolve()
    await until(() => asked.length === 2)
    expect(asked).toEqual(['reserve', 'settle 0'])
    expect(agent.model.calls).toHaveLength(0)
  })

  it('A87: a reservation on one budget is released when the next budget has no room', async () => {
    const { budget, asked, gates } = elsewhere()
    gates.reserve.resolve()
    gates.settle.resolve()
    const full: Budget = { ...budget, reserve: async () => undefined }
    const helping = helper('helping', [])
    const agent = agentOf(
      [
        { toolCalls: [handOver('h', 'helping')], usage: { input: 1, output: 1 } },
        { text: 'done', usage: { input: 1, output: 1 } },
      ],
      { subagents: [helping] },
    )
    let calls = 0
    const filling: Budget = { ...budget, reserve: (estimate) => (++calls === 2 ? full : budget).reserve(estimate) }
    expect(await playOut(conversation(), agent, 'go', { budget: filling })).toMatchObject({ status: 'completed' })
    expect(asked).toEqual(['reserve', 'settle 2', 'reserve', 'settle 2'])
  })

  it.each([
    [true, []],
    [false, ['charge 7']],
  ] as const)('A197: with coversChildren %s a subagent run by the host is charged as %j', async (coversChildren, charged) => {
    const { budget, asked, gates } = elsewhere()
    gates.reserve.resolve()
    gates.settle.resolve()
    const journal: Journal = Object.assign(createMemoryJournal(), {
      children: {
        sessionKeys: false,
        background: false,
        start: async () =>
          ({ kind: 'ended', childRunId: 'child', status: 'completed', text: 'helped', steps: 1, usage: { totalTokens: 7 } }) as const,
      },
    })
    const agent = agentOf([{ toolCalls: [handOver('h', 'hosted')] }, { text: 'done' }], { subagents: [helper('hosted', [])] })
    const result = await agent.run('go', { journal, budget: { ...budget, left: {}, coversChildren } }).result()
    expect(result.text).toBe('done')
    expect(asked.filter((each) => each.startsWith('charge'))).toEqual(charged)
  })
})
