import { createModels } from '@bowline/llm'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { createBudget, defineAgent } from '../../../src/index.ts'
import type { Agent, AgentOptions, ApprovalDecision, Budget } from '../../../src/index.ts'
import { conversation, model } from '../../support/conversation.ts'
import { mortal } from '../../support/mortal.ts'
import { echo, latch, remote } from '../../support/tools.ts'
import { handOver } from '../subagents/support.ts'

const usage = { input: 1_000, output: 100 }
const toolStep = (id: string): Step => ({ toolCalls: [{ id, name: 'echo', input: { text: id } }], usage })

/**
 * Creates an agent whose model costs a dollar per thousand input tokens and two per thousand output tokens, and writes at most 100
 * tokens: a step costs 1.20.
 */
function paidAgent(steps: readonly Step[], options: Partial<AgentOptions> = {}): Agent {
  const scripted = model(steps)
  const models = createModels({
    providers: { test: { languageModel: () => scripted } },
    models: { 'test:m': { price: { input: '1000', output: '2000' }, maxOutputTokens: 100 } },
  })
  return defineAgent({
    model: 'test:m',
    models,
    retry: false,
    tools: [echo('echo').tool],
    ...options,
    limits: { onBudget: 'ask', ...options.limits },
  })
}

const approve = (more: Partial<ApprovalDecision> = {}) => ({
  approvals: [{ approvalId: 'approval_1', decision: 'approve' as const, ...more }],
})
const deny = (approvalId = 'approval_1') => ({ approvals: [{ approvalId, decision: 'deny' as const, reason: 'too dear' }] })

describe('a budget that asks', () => {
  it('A196: a call that does not fit the budget suspends the run before it is made, and reports what was spent and what is left', async () => {
    const talk = conversation()
    const { result } = await talk.play(paidAgent([toolStep('a')], { limits: { maxCost: '1.5' } }), 'go')
    expect(result).toMatchObject({ status: 'awaiting-approval', reason: 'pending', steps: 2, pendingToolCalls: [] })
    expect(result.pendingApprovals).toMatchObject([{ approvalId: 'approval_1', toolName: 'budget', about: 'budget', path: [], agent: [] }])
    const { input } = result.pendingApprovals[0] ?? {}
    expect(input).toMatchObject({ tokens: expect.any(Number) as number, cost: expect.stringMatching(/^\d+(\.\d+)?$/) as string })
    expect(input).toMatchObject({
      budgets: [{ name: 'run', left: { cost: 0.3 }, spent: { tokens: 1_100, cost: 1.2 }, reserved: { tokens: 0, cost: 0 } }],
    })
    expect(talk.types().slice(-4)).toEqual(['step-start', 'approval-requested', 'turn-end', 'save-point'])
    expect(talk.view()).toMatchObject({ status: 'waiting-for-user', pendingApprovals: [{ approvalId: 'approval_1', about: 'budget' }] })
  })

  it('A196: an approval grants what the call needs, and the turn goes on', async () => {
    const talk = conversation()
    const agent = paidAgent([toolStep('a'), { text: 'done', usage }], { limits: { maxCost: '1.5' } })
    await talk.play(agent, 'go')
    const before = talk.types().length
    const { result } = await talk.play(agent, approve({ by: 'eve' }))
    expect(result).toMatchObject({ status: 'completed', text: 'done', steps: 2, submission: { accepted: ['approval_1'], missing: [] } })
    expect(talk.types().slice(before, before + 3)).toEqual(['turn-start', 'approval-resolved', 'message-start'])
    expect(talk.types().filter((type) => type.startsWith('tool-execution'))).toEqual(['tool-execution-start', 'tool-execution-end'])
    expect(talk.view().pendingApprovals).toEqual([])
  })

  it('A196: a grant lasts for the turn, in whichever process it goes on', async () => {
    const talk = conversation()
    const steps = [toolStep('a'), toolStep('b'), toolStep('c'), { text: 'done', usage }]
    const agent = paidAgent(steps, { limits: { maxCost: '1.5' } })
    await talk.play(agent, 'go')
    const { result: second } = await talk.play(agent, approve({ input: { cost: '2' } }))
    expect(second).toMatchObject({
      status: 'awaiting-approval',
      pendingApprovals: [{ approvalId: 'approval_2', input: { budgets: [{ left: { cost: 1.1 } }] } }],
    })
    const { result: third } = await talk.play(agent, {
      approvals: [{ approvalId: 'approval_2', decision: 'approve', input: { cost: 10.5 } }],
    })
    expect(third).toMatchObject({ status: 'completed', text: 'done', steps: 4 })
  })

  it('A196: a run that waits for something else goes on with what it was granted', async () => {
    const talk = conversation()
    const far: Step = { toolCalls: [{ id: 'far', name: 'far', input: {} }], usage }
    const agent = paidAgent([toolStep('a'), far, { text: 'done', usage }], {
      tools: [echo('echo').tool, remote('far')],
      limits: { maxCost: '1.5' },
    })
    await talk.play(agent, 'go')
    expect((await talk.play(agent, approve({ input: { cost: '20' } }))).result.status).toBe('awaiting-tools')
    expect((await talk.play(agent, { toolResults: [{ toolCallId: 'far', output: 'here' }] })).result).toMatchObject({
      status: 'completed',
      text: 'done',
    })
  })

  it('A196: a process that dies in the call leaves the grant, and the question is not asked again', async () => {
    const { talk, revive } = mortal('message-end', 'before', 2)
    const agent = paidAgent([toolStep('a'), { text: 'lost', usage }, { text: 'done', usage }], { limits: { maxCost: '1.5' } })
    await talk.play(agent, 'go')
    expect((await talk.play(agent, approve({ input: { cost: '20' } }))).result.reason).toBe('journal-error')
    revive()
    expect((await talk.play(agent, undefined)).result).toMatchObject({ status: 'completed', text: 'done' })
    expect(talk.types().filter((type) => type === 'approval-requested')).toHaveLength(1)
  })

  it('A196: a grant that is not enough leads to another question', async () => {
    const talk = conversation()
    const agent = paidAgent([toolStep('a')], { limits: { maxCost: '1.5' } })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, approve({ input: { cost: '0.1' } }))
    expect(result).toMatchObject({
      status: 'awaiting-approval',
      pendingApprovals: [{ approvalId: 'approval_2', input: { budgets: [{ left: { cost: 0.4 } }] } }],
    })
    const { result: denied } = await talk.play(agent, deny('approval_2'))
    expect(denied).toMatchObject({ status: 'limit', reason: 'max-cost' })
  })

  it.each([
    ['money', { maxCost: '1.5' }, 'max-cost'],
    ['tokens', { maxTotalTokens: 1_150 }, 'max-total-tokens'],
  ] as const)('A196: a denial ends the turn as limit: %s', async (_what, limits, reason) => {
    const talk = conversation()
    const agent = paidAgent([toolStep('a')], { limits })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, deny())
    expect(result).toMatchObject({ status: 'limit', reason, steps: 2, pendingApprovals: [] })
    expect(talk.types().slice(-5)).toEqual(['approval-resolved', 'step-end', 'turn-end', 'save-point', 'settled'])
  })

  it('A196: the first call of a turn asks too, if the budget is empty', async () => {
    const talk = conversation()
    const agent = paidAgent([{ text: 'done', usage }], { limits: { maxCost: 0 } })
    expect((await talk.play(agent, 'go')).result).toMatchObject({ status: 'awaiting-approval', steps: 1 })
    expect((await talk.play(agent, approve())).result).toMatchObject({ status: 'completed', text: 'done' })
  })

  it.each([
    ['a cost below nothing', { cost: '-1' }, /cost/],
    ['half a token', { tokens: 1.5 }, /tokens/],
    ['what is no amount', { cost: '1', euro: '2' }, /euro|additional/i],
  ])('A196: refuses a grant of %s', async (_what, input, message) => {
    const talk = conversation()
    const agent = paidAgent([toolStep('a')], { limits: { maxCost: '1.5' } })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, approve({ input: input as never }))
    expect(result).toMatchObject({
      status: 'error',
      reason: 'refused',
      error: { code: 'invalid-input', message: expect.stringMatching(message) as string },
    })
    expect((await talk.memory.load()).open?.calls).toMatchObject([{ about: 'budget', state: 'pending', approval: { state: 'requested' } }])
  })

  it('A196: the same decision twice counts as one, a different one is refused', async () => {
    const talk = conversation()
    const agent = paidAgent([toolStep('a'), { text: 'done', usage }], { limits: { maxCost: '1.5' } })
    await talk.play(agent, 'go')
    await talk.play(agent, approve({ input: { cost: '5' } }))
    const { result: again } = await talk.play(agent, approve({ input: { cost: '5' } }))
    expect(again.submission).toMatchObject({ accepted: [], repeated: ['approval_1'] })
    const { result: other } = await talk.play(agent, approve({ input: { cost: '6' } }))
    expect(other).toMatchObject({ reason: 'refused', error: { code: 'approval-conflict' } })
  })

  it('A196: a run that is resumed before a decision asks nothing new, and goes on when the budget has room', async () => {
    const talk = conversation()
    const budget = createBudget({ maxCost: '0.1' })
    const agent = paidAgent([{ text: 'done', usage }])
    await talk.play(agent, 'go', { budget })
    expect((await talk.play(agent, undefined, { budget })).result.pendingApprovals).toMatchObject([
      { approvalId: 'approval_1', input: { budgets: [{ name: 'shared' }] } },
    ])
    budget.grant('by its owner', { cost: '9' })
    const { result, events } = await talk.play(agent, undefined, { budget })
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(events.find(({ type }) => type === 'approval-resolved')).toMatchObject({ approvalId: 'approval_1', decision: 'cancelled' })
  })

  it('A196: each budget without room is raised once per decision, under the id of the question', async () => {
    const talk = conversation()
    const grants: [string, unknown][] = []
    const inner = createBudget({ maxCost: '0.1' })
    const budget: Budget = {
      reserve: (each) => inner.reserve(each),
      charge: (each) => inner.charge(each),
      get left() {
        return inner.left
      },
      name: 'team',
      grant: (id, amount) => (grants.push([id, amount]), inner.grant(id, amount)),
    }
    const agent = paidAgent([{ text: 'done', usage }], { limits: { maxCost: '0.1' } })
    const { result } = await talk.play(agent, 'go', { budget })
    expect(result.pendingApprovals).toMatchObject([{ input: { budgets: [{ name: 'run' }, { name: 'team' }] } }])
    expect((await talk.play(agent, approve({ input: { cost: '3' } }), { budget })).result.status).toBe('completed')
    expect(grants).toEqual([['approval_1', { cost: '3' }]])
    expect(inner.granted).toEqual({ tokens: 0, cost: '3' })
  })

  it('A196: a budget that cannot be raised asks again', async () => {
    const talk = conversation()
    const inner = createBudget({ maxCost: '0.1' })
    const budget: Budget = { reserve: (each) => inner.reserve(each), charge: (each) => inner.charge(each), left: {} }
    const agent = paidAgent([])
    await talk.play(agent, 'go', { budget })
    expect((await talk.play(agent, approve(), { budget })).result).toMatchObject({
      status: 'awaiting-approval',
      pendingApprovals: [{ approvalId: 'approval_2' }],
    })
  })

  it('A196: a budget whose grant fails ends the turn', async () => {
    const talk = conversation()
    const inner = createBudget({ maxCost: '0.1' })
    const budget: Budget = {
      reserve: (each) => inner.reserve(each),
      charge: (each) => inner.charge(each),
      left: {},
      grant: () => Promise.reject(new Error('no bank')),
    }
    const agent = paidAgent([])
    await talk.play(agent, 'go', { budget })
    const { result } = await talk.play(agent, approve(), { budget })
    expect(result).toMatchObject({ status: 'error', reason: 'extension-error', error: { message: 'budget.grant failed: no bank' } })
    expect(talk.view().pendingApprovals).toEqual([])
  })

  it('A196: a run that is yielded while it raises a budget keeps its decision, and the next process raises it under the same id', async () => {
    const talk = conversation()
    const inner = createBudget({ maxCost: '0.1' })
    const ids: string[] = []
    const begun = latch()
    const grant: Budget['grant'] = (id, amount) => {
      ids.push(id)
      if (ids.length > 1) return inner.grant(id, amount)
      begun.resolve()
      return new Promise<void>(() => undefined)
    }
    const budget: Budget = { reserve: (each) => inner.reserve(each), charge: (each) => inner.charge(each), left: {}, grant }
    const agent = paidAgent([{ text: 'done', usage }])
    await talk.play(agent, 'go', { budget })
    const leaving = new AbortController()
    const run = talk.run(agent, approve(), { budget, abortSignal: leaving.signal })
    await begun.promise
    leaving.abort({ kind: 'yield' })
    expect(await run.result()).toMatchObject({ reason: 'yielded' })
    expect((await talk.play(agent, undefined, { budget })).result).toMatchObject({ status: 'completed', text: 'done' })
    expect(ids).toEqual(['approval_1', 'approval_1'])
    expect(talk.types().filter((type) => type === 'approval-requested')).toHaveLength(1)
  })

  it('A196: onApproval decides in place if the run has it', async () => {
    const talk = conversation()
    const asked: unknown[] = []
    const agent = paidAgent([toolStep('a'), { text: 'done', usage }], { limits: { maxCost: '1.5' } })
    const { result } = await talk.play(agent, 'go', {
      onApproval: (request) => (
        asked.push([request.about, talk.types().at(-1)]),
        Promise.resolve({ approvalId: request.approvalId, decision: 'approve', input: { cost: '5' } })
      ),
    })
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(asked).toEqual([['budget', 'approval-requested']])
  })

  it('A196: a decision in place that grants nothing leaves the next question open', async () => {
    const talk = conversation()
    let asked = 0
    const agent = paidAgent([toolStep('a')], { limits: { maxCost: '1.5' } })
    const { result } = await talk.play(agent, 'go', {
      onApproval: ({ approvalId }) => (asked++, Promise.resolve({ approvalId, decision: 'approve', input: {} })),
    })
    expect(result).toMatchObject({ status: 'awaiting-approval', pendingApprovals: [{ approvalId: 'approval_2' }] })
    expect(asked).toBe(1)
  })

  it('A196: a stop while the question is open ends the turn without an approval', async () => {
    const talk = conversation()
    const agent = paidAgent([toolStep('a')], { limits: { maxCost: '1.5' } })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, undefined, { abortSignal: AbortSignal.abort() })
    expect(result).toMatchObject({ status: 'aborted', steps: 2, pendingApprovals: [] })
    expect(talk.view().pendingApprovals).toEqual([])
    expect(talk.types().slice(-6)).toEqual(['turn-start', 'approval-resolved', 'step-end', 'turn-end', 'save-point', 'settled'])
  })

  it('A196: a stop while the question is asked in place ends the turn without the question', async () => {
    const talk = conversation()
    const agent = paidAgent([toolStep('a')], { limits: { maxCost: '1.5' } })
    const asked = latch()
    const run = talk.run(agent, 'go', { onApproval: () => (asked.resolve(), new Promise(() => undefined)) })
    await asked.promise
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'aborted', pendingApprovals: [] })
    expect(talk.view().pendingApprovals).toEqual([])
  })

  it('A196: a budget counts a grant with the same id once, exactly', () => {
    const budget = createBudget({ maxCost: '1', maxTotalTokens: 10 })
    budget.grant('a', { cost: '0.1', tokens: 5 })
    budget.grant('a', { cost: '0.1', tokens: 5 })
    budget.grant('b', { cost: '0.2' })
    expect(budget.left).toEqual({ tokens: 15, cost: 1.3 })
    expect(budget.granted).toEqual({ tokens: 5, cost: '0.3' })
    for (const amount of [{ cost: '-1' }, { tokens: 0.5 }, { money: 1 }])
      expect(() => budget.grant('c', amount as never)).toThrow(expect.objectContaining({ code: 'invalid-config' }))
    expect(() => budget.grant('', {})).toThrow(/^id/)
  })

  it('A196: a new input replaces the turn, and its question is cancelled', async () => {
    const talk = conversation()
    const agent = paidAgent([toolStep('a'), { text: 'new', usage }], { limits: { maxCost: '1.5' } })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, 'something else', { onInputWhilePending: 'cancel', limits: { maxCost: '99' } })
    expect(result).toMatchObject({ status: 'completed', text: 'new' })
    expect(talk.view().pendingApprovals).toEqual([])
  })

  it('A196: with onBudget end the turn ends without a question', async () => {
    const talk = conversation()
    const { result } = await talk.play(paidAgent([toolStep('a')], { limits: { maxCost: '1.5', onBudget: 'end' } }), 'go')
    expect(result).toMatchObject({ status: 'limit', reason: 'max-cost', steps: 1 })
  })
})

describe('a budget that asks, and subagents', () => {
  const tree = (childSteps: readonly Step[], rootSteps: readonly Step[], limits: { readonly maxCost: `${number}` } = { maxCost: '3' }) => {
    const helper = paidAgent(childSteps, { name: 'helper', description: 'helps', limits: { onBudget: 'end' } })
    return paidAgent(rootSteps, { subagents: [helper], limits })
  }

  it('A196: a subagent asks at the root, and the grant holds for the whole tree', async () => {
    const talk = conversation()
    const agent = tree(
      [toolStep('x'), { text: 'found', usage }],
      [
        { toolCalls: [handOver('a', 'helper')], usage },
        { text: 'done', usage },
      ],
    )
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'awaiting-approval', pendingApprovals: [{ about: 'budget', path: ['a'], agent: ['helper'] }] })
    expect(talk.view().pendingApprovals).toMatchObject([{ about: 'budget', path: ['a'] }])
    const [{ approvalId } = { approvalId: '' }] = result.pendingApprovals
    const { result: done } = await talk.play(agent, { approvals: [{ approvalId, decision: 'approve', input: { cost: '20' } }] })
    expect(done).toMatchObject({ status: 'completed', text: 'done' })
    expect(talk.view().pendingApprovals).toEqual([])
  })

  it('A196: if the question of a subagent is denied, the subagent ends as limit and the parent goes on if it can', async () => {
    const talk = conversation()
    const agent = tree([toolStep('x')], [{ toolCalls: [handOver('a', 'helper')], usage }], { maxCost: '3' })
    const { result } = await talk.play(agent, 'go')
    const [{ approvalId } = { approvalId: '' }] = result.pendingApprovals
    const { result: after } = await talk.play(agent, { approvals: [{ approvalId, decision: 'deny' }] })
    expect(after).toMatchObject({ status: 'awaiting-approval', pendingApprovals: [{ about: 'budget', path: [] }] })
    expect(talk.view().messages.at(-1)).toMatchObject({ role: 'tool-result', output: { value: { result: 'limit' } } })
  })

  it('A196: one grant serves all runs of the tree that wait for it', async () => {
    const talk = conversation()
    const both: Step = { toolCalls: [handOver('a', 'helper'), handOver('b', 'helper')], usage }
    const agent = tree([toolStep('x'), toolStep('y'), { text: 'one', usage }, { text: 'two', usage }], [both, { text: 'done', usage }], {
      maxCost: '3.5',
    })
    const { result } = await talk.play(agent, 'go')
    expect(result.pendingApprovals.map(({ path }) => path)).toEqual([['a'], ['b']])
    const [{ approvalId } = { approvalId: '' }] = result.pendingApprovals
    const { result: done } = await talk.play(agent, { approvals: [{ approvalId, decision: 'approve', input: { cost: '50' } }] })
    expect(done).toMatchObject({ status: 'completed', text: 'done' })
  })
})
