import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryJournal, defineTool } from '../../../src/index.ts'
import type { AgentOptions, Answers, Tool, ToolEffect } from '../../../src/index.ts'
import { fakeIds } from '@bowline/testing'
import { agentOf, conversation, readAll } from '../../support/conversation.ts'
import { resultsOf } from '../../support/prompts.ts'
import { echo, gated, remote, until } from '../../support/tools.ts'
import { handOver, helper, lead, plainCall, toldOf } from './support.ts'

/** Creates a tool that must be approved. */
function risky(name: string, ran: unknown[] = [], options: { approvalTimeoutMs?: number; effect?: ToolEffect } = {}): Tool {
  return defineTool({
    name,
    description: `${name} is risky`,
    inputSchema: z.strictObject({ to: z.string().optional() }),
    needsApproval: true,
    ...options,
    execute: (input) => {
      ran.push(input)
      return `${name} ran`
    },
  })
}

function asker(
  name: string,
  calls: NonNullable<Step['toolCalls']>,
  tools: readonly Tool[],
  last: readonly Step[] = [{ text: `${name} is done` }],
  options: Partial<AgentOptions> = {},
) {
  return helper(name, [{ toolCalls: calls }, ...last], { tools, ...options })
}

/** Plays a turn with two subagents: one waits for a result, one for a decision. */
async function twoWaiting(last: readonly Step[] = [{ text: 'done' }], steps: { far?: readonly Step[]; near?: readonly Step[] } = {}) {
  const talk = conversation()
  const ran: unknown[] = []
  const far = asker('far', [plainCall('r', 'fetch')], [remote('fetch')], steps.far)
  const near = asker('near', [{ id: 'q', name: 'send', input: { to: 'me' } }], [risky('send', ran)], steps.near)
  const agent = agentOf([{ toolCalls: [handOver('f', 'far'), handOver('n', 'near')] }, ...last], { subagents: [far, near] })
  const { result } = await talk.play(agent, 'go')
  return { talk, agent, far, near, ran, result }
}

function statusesOf({ journal }: Pick<ReturnType<typeof conversation>, 'journal'>): readonly string[] {
  return journal.events.flatMap((event) => (event.type === 'child-update' ? event.status : []))
}

const fetched: Answers = { toolResults: [{ toolCallId: 'r', path: ['f'], output: 'fetched' }] }
const approved: Answers = { approvals: [{ approvalId: 'approval_1', decision: 'approve' }] }

describe('a subagent that waits', () => {
  it('A164: a pending call of a child suspends the root with its path', async () => {
    const talk = conversation()
    const child = asker('far', [{ id: 'r', name: 'fetch', input: { a: 1 } }], [remote('fetch')], [])
    const { result } = await talk.play(lead(child, {}, []), 'go')
    const pending = { toolCallId: 'r', toolName: 'fetch', input: { a: 1 }, path: ['d'], agent: ['far'] }
    expect(result).toMatchObject({ status: 'awaiting-tools', reason: 'pending', pendingToolCalls: [pending], pendingApprovals: [] })
    expect(talk.view()).toMatchObject({ status: 'waiting-for-user', pendingToolCalls: [pending] })
    expect(talk.view().children).toMatchObject([{ status: 'waiting-for-user', outcome: 'awaiting-tools', step: 1, toolNames: ['fetch'] }])
    expect(await toldOf(talk, 'd')).toBeUndefined()
  })

  it("A164: an approval of a child's child reaches the root, and its answer only that child", async () => {
    const talk = conversation()
    const ran: unknown[] = []
    const inner = asker('inner', [{ id: 'q', name: 'send', input: { to: 'me' } }], [risky('send', ran)])
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'inner')] }, { text: 'outer is done' }], { subagents: [inner] })
    const agent = lead(outer)
    const { result } = await talk.play(agent, 'go')
    const [request] = result.pendingApprovals
    expect(result).toMatchObject({ status: 'awaiting-approval', pendingToolCalls: [] })
    expect(request).toMatchObject({
      approvalId: 'approval_1',
      toolCallId: 'q',
      toolName: 'send',
      path: ['d', 'i'],
      agent: ['outer', 'inner'],
    })
    expect(talk.view().pendingApprovals).toEqual([request])
    expect(ran).toEqual([])
    expect(talk.view().children).toMatchObject([{ status: 'waiting-for-user', outcome: 'awaiting-approval' }])
    const last = await talk.play(agent, {
      approvals: [{ approvalId: 'approval_1', decision: 'approve', inputHash: request?.inputHash ?? '', by: 'me' }],
    })
    expect(last.result).toMatchObject({ status: 'completed', submission: { accepted: ['approval_1'], missing: [] } })
    expect(ran).toEqual([{ to: 'me' }])
    expect(statusesOf(talk)).toEqual(['running', 'awaiting-approval', 'running', 'running'])
    expect(talk.view()).toMatchObject({ pendingApprovals: [], status: 'completed' })
    expect(await toldOf(talk, 'd')).toMatchObject({ output: { value: { text: 'outer is done' } } })
    expect(talk.journal.events.filter(({ type }) => type === 'approval-resolved')).toMatchObject([
      { approvalId: 'approval_1', toolCallId: 'q', decision: 'approve', by: 'me', agent: ['outer', 'inner'] },
    ])
  })

  it('A164: calls and approvals of several children are listed together, calls first', async () => {
    const { result, talk } = await twoWaiting([], { far: [], near: [] })
    expect(result).toMatchObject({
      status: 'awaiting-tools',
      pendingToolCalls: [{ toolCallId: 'r', path: ['f'] }],
      pendingApprovals: [{ toolCallId: 'q', path: ['n'] }],
    })
    expect(talk.view().pendingApprovals).toHaveLength(1)
  })

  it('A164, A71: an answer goes to its child, and the other child is not run', async () => {
    const { talk, agent, near } = await twoWaiting()
    const before = talk.journal.childJournals.get('run_1/n')?.commits.length
    const { result } = await talk.play(agent, fetched)
    expect(result).toMatchObject({
      status: 'awaiting-approval',
      submission: { accepted: ['r'], repeated: [], missing: ['approval_1'] },
      pendingToolCalls: [],
      pendingApprovals: [{ toolCallId: 'q', path: ['n'], agent: ['near'] }],
    })
    expect(talk.view()).toMatchObject({ status: 'waiting-for-user', pendingToolCalls: [], pendingApprovals: [{ toolCallId: 'q' }] })
    expect(talk.journal.childJournals.get('run_1/n')?.commits).toHaveLength(before ?? 0)
    expect(near.model.calls).toHaveLength(1)
    const last = await talk.play(agent, approved)
    expect(last.result.status).toBe('completed')
    expect(resultsOf(agent.model.calls[1]).map(({ id }) => id)).toEqual(['f', 'n'])
    expect(talk.journal.events.filter(({ type }) => type === 'tool-execution-start')).toHaveLength(2)
    expect(talk.journal.events.filter(({ type }) => type === 'approval-requested')).toHaveLength(1)
  })

  it('A164: answers to both children go to each', async () => {
    const { talk, agent, ran } = await twoWaiting()
    const { result } = await talk.play(agent, { ...fetched, ...approved })
    expect(result).toMatchObject({ status: 'completed', submission: { accepted: ['r', 'approval_1'], missing: [] } })
    expect(ran).toHaveLength(1)
    expect(talk.types().filter((type) => type === 'child-start')).toHaveLength(2)
  })

  it('without answers the turn stays suspended, and no child is run', async () => {
    const { talk, agent, far, near } = await twoWaiting([], { far: [], near: [] })
    const before = ['run_1/f', 'run_1/n'].map((key) => talk.journal.childJournals.get(key)?.commits.length)
    const { result } = await talk.play(agent, undefined)
    expect(result).toMatchObject({
      status: 'awaiting-tools',
      pendingToolCalls: [{ toolCallId: 'r' }],
      pendingApprovals: [{ toolCallId: 'q' }],
    })
    expect(['run_1/f', 'run_1/n'].map((key) => talk.journal.childJournals.get(key)?.commits.length)).toEqual(before)
    expect([far.model.calls, near.model.calls]).toMatchObject([{ length: 1 }, { length: 1 }])
  })

  it('waits again, for its next pending call', async () => {
    const talk = conversation()
    const child = asker(
      'far',
      [plainCall('r', 'fetch')],
      [remote('fetch'), risky('send')],
      [{ toolCalls: [plainCall('q', 'send')] }, { text: 'so' }],
    )
    const agent = lead(child)
    await talk.play(agent, 'go')
    const second = await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['d'], output: 1 }] })
    expect(second.result).toMatchObject({ status: 'awaiting-approval', pendingToolCalls: [], pendingApprovals: [{ toolCallId: 'q' }] })
    expect(talk.view()).toMatchObject({ pendingToolCalls: [], pendingApprovals: [{ toolCallId: 'q', path: ['d'] }] })
    expect((await talk.play(agent, approved)).result.status).toBe('completed')
  })

  it.each<[string, Answers, string, readonly string[]]>([
    ['an unknown path', { toolResults: [{ toolCallId: 'r', path: ['x'], output: 1 }] }, 'unknown-tool-call', ['r']],
    ['a path that goes too far', { toolResults: [{ toolCallId: 'r', path: ['f', 'r'], output: 1 }] }, 'unknown-tool-call', ['r']],
    ['no path', { toolResults: [{ toolCallId: 'r', output: 1 }] }, 'unknown-tool-call', ['r']],
    ['the call of the child itself', { toolResults: [{ toolCallId: 'f', output: 1 }] }, 'unknown-tool-call', ['f']],
    ['an unknown call of a child', { toolResults: [{ toolCallId: 'z', path: ['f'], output: 1 }] }, 'unknown-tool-call', ['z']],
    ['an unknown approval', { approvals: [{ approvalId: 'approval_9', decision: 'deny' }] }, 'unknown-approval', ['approval_9']],
    [
      'an approval of another input',
      { approvals: [{ approvalId: 'approval_1', decision: 'approve', inputHash: 'x' }] },
      'approval-conflict',
      ['approval_1'],
    ],
    [
      'an edited input that is not valid',
      { approvals: [{ approvalId: 'approval_1', decision: 'approve', input: { to: 7 } }] },
      'invalid-input',
      ['approval_1'],
    ],
    ['unknown for a remote call', { toolResults: [{ toolCallId: 'r', path: ['f'], unknown: true }] }, 'invalid-input', ['r']],
  ])('A72: %s refuses the whole submission, in the child too', async (_what, answers, code, ids) => {
    const { talk, agent } = await twoWaiting([], { far: [], near: [] })
    const before = talk.memory.snapshot()
    const both: Answers = {
      toolResults: [...(answers.approvals ? (fetched.toolResults ?? []) : []), ...(answers.toolResults ?? [])],
      approvals: [...(answers.toolResults ? (approved.approvals ?? []) : []), ...(answers.approvals ?? [])],
    }
    const { result, events } = await talk.play(agent, both)
    expect(result).toMatchObject({ status: 'error', reason: 'refused', error: { code, refused: ids.map((id) => ({ id, code })) } })
    expect(events).toEqual([])
    expect(talk.memory.snapshot()).toEqual(before)
  })

  it('A72: a repeat is recognized while the child waits, after it has gone on, and after the turn has', async () => {
    const { talk, agent } = await twoWaiting()
    await talk.play(agent, fetched)
    const commits = talk.journal.commits.length
    const repeat = await talk.play(agent, fetched)
    expect(repeat).toMatchObject({
      events: [],
      result: { status: 'awaiting-approval', submission: { accepted: [], repeated: ['r'], missing: ['approval_1'] } },
    })
    const other = await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['f'], output: 'other' }] })
    expect(other.result).toMatchObject({ reason: 'refused', error: { code: 'tool-result-conflict' } })
    expect(talk.journal.commits).toHaveLength(commits)
    const rest = await talk.play(agent, { ...fetched, ...approved })
    expect(rest.result).toMatchObject({ status: 'completed', submission: { accepted: ['approval_1'], repeated: ['r'] } })
    const late = await talk.play(agent, fetched)
    expect(late).toMatchObject({ events: [], result: { reason: 'handled', submission: { repeated: ['r'] } } })
    expect((await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['f'], output: 'other' }] })).result).toMatchObject({
      error: { code: 'tool-result-conflict' },
    })
  })

  it('A71: a child that waits for two answers goes on with one', async () => {
    const talk = conversation()
    const child = asker('far', [plainCall('a', 'fetch'), plainCall('b', 'fetch')], [remote('fetch')])
    const agent = lead(child)
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'b', path: ['d'], output: 2 }] })
    expect(result).toMatchObject({
      status: 'awaiting-tools',
      submission: { accepted: ['b'], missing: ['a'] },
      pendingToolCalls: [{ toolCallId: 'a', path: ['d'] }],
    })
    const repeat = await talk.play(agent, { toolResults: [{ toolCallId: 'b', path: ['d'], output: 2 }] })
    expect(repeat.result).toMatchObject({
      status: 'awaiting-tools',
      submission: { repeated: ['b'], missing: ['a'] },
      pendingToolCalls: [{ toolCallId: 'a' }],
    })
    const last = await talk.play(agent, { toolResults: [{ toolCallId: 'a', path: ['d'], output: 1 }] })
    expect(last.result.status).toBe('completed')
    expect(resultsOf(child.model.calls[1])).toMatchObject([
      { id: 'a', output: { value: 1 } },
      { id: 'b', output: { value: 2 } },
    ])
  })

  it('A79, A80: an edited input and a denial reach the child', async () => {
    const talk = conversation()
    const ran: unknown[] = []
    const child = asker('near', [plainCall('a', 'send'), plainCall('b', 'send')], [risky('send', ran)])
    const agent = lead(child)
    await talk.play(agent, 'go')
    await talk.play(agent, {
      approvals: [
        { approvalId: 'approval_1', decision: 'approve', input: { to: 'you' } },
        { approvalId: 'approval_2', decision: 'deny', reason: 'not now' },
      ],
    })
    expect(ran).toEqual([{ to: 'you' }])
    expect(resultsOf(child.model.calls[1])).toMatchObject([
      { id: 'a' },
      { id: 'b', output: { type: 'execution-denied', reason: 'not now' } },
    ])
    expect(talk.journal.events.filter(({ type }) => type === 'approval-resolved')).toMatchObject([
      { decision: 'approve', editedInput: { to: 'you' } },
      { decision: 'deny', reason: 'not now' },
    ])
  })

  it('A81: onApproval is asked in place, with the path of the child', async () => {
    const talk = conversation()
    const ran: unknown[] = []
    const child = asker('near', [plainCall('q', 'send')], [risky('send', ran)])
    const asked: unknown[] = []
    const { result } = await talk.play(lead(child), 'go', {
      onApproval: (request) => {
        asked.push(request)
        return Promise.resolve({ approvalId: request.approvalId, decision: 'approve' })
      },
    })
    expect(result.status).toBe('completed')
    expect(asked).toMatchObject([{ toolCallId: 'q', path: ['d'], agent: ['near'] }])
    expect(ran).toHaveLength(1)
    expect(talk.types()).not.toContain('approval-requested')
  })

  it('A73, A78: a call without an answer in time ends at the next run', async () => {
    const talk = conversation()
    const far = asker('far', [plainCall('r', 'fetch')], [remote('fetch', { timeoutMs: 1_000 })])
    const near = asker('near', [plainCall('q', 'send')], [risky('send', [], { approvalTimeoutMs: 1_000 })])
    const agent = agentOf([{ toolCalls: [handOver('f', 'far'), handOver('n', 'near')] }, { text: 'done' }], { subagents: [far, near] })
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ pendingToolCalls: [{ deadlineAt: 2_000 }], pendingApprovals: [{ deadlineAt: 2_000 }] })
    await talk.clock.advance(1_000)
    const late = await talk.play(agent, fetched)
    expect(late.result).toMatchObject({ reason: 'refused', error: { code: 'tool-result-conflict' } })
    expect((await talk.play(agent, undefined)).result.status).toBe('completed')
    expect(resultsOf(far.model.calls[1])[0]?.output).toMatchObject({ type: 'error-text', value: expect.stringContaining('deadline') })
    expect(resultsOf(near.model.calls[1])[0]?.output).toMatchObject({ type: 'execution-denied' })
    expect(talk.journal.events.find(({ type }) => type === 'approval-resolved')).toMatchObject({
      approvalId: 'approval_1',
      decision: 'deny',
    })
  })

  it('A164: calls of the parent itself are settled beside the child', async () => {
    const talk = conversation()
    const look = echo('look')
    const child = asker('far', [plainCall('r', 'fetch')], [remote('fetch')])
    const calls = [plainCall('l', 'look'), handOver('d', 'far'), plainCall('r', 'fetch')]
    const agent = agentOf([{ toolCalls: calls }, { text: 'done' }], { subagents: [child], tools: [look.tool, remote('fetch')] })
    const { result } = await talk.play(agent, 'go')
    expect(result.pendingToolCalls).toMatchObject([
      { toolCallId: 'r', path: ['d'] },
      { toolCallId: 'r', path: [] },
    ])
    await talk.play(agent, { toolResults: [{ toolCallId: 'r', output: 'mine' }] })
    const last = await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['d'], output: 'theirs' }] })
    expect(last.result.status).toBe('completed')
    expect(resultsOf(child.model.calls[1])).toMatchObject([{ output: { value: 'theirs' } }])
    expect(resultsOf(agent.model.calls[1])).toMatchObject([{ id: 'l' }, { id: 'd' }, { id: 'r', output: { value: 'mine' } }])
    expect(look.calls).toHaveLength(1)
  })

  it('A55: of children that are answered at the same time, at most as many as may run go on at once', async () => {
    const talk = conversation()
    const names = ['one', 'two', 'three']
    const most: number[] = []
    let inside = 0
    const slow = defineTool({
      name: 'slow',
      description: '',
      inputSchema: {},
      effect: 'pure',
      execute: async () => {
        most.push(++inside)
        await new Promise((resolve) => setImmediate(resolve))
        inside--
        return 'so'
      },
    })
    const children = names.map((name) =>
      asker(name, [plainCall('r', 'fetch')], [remote('fetch'), slow], [{ toolCalls: [plainCall('s', 'slow')] }, { text: name }]),
    )
    const agent = agentOf([{ toolCalls: names.map((name) => handOver(name, name)) }, { text: 'done' }], {
      subagents: children,
      toolConcurrency: 2,
    })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, { toolResults: names.map((name) => ({ toolCallId: 'r', path: [name], output: 1 })) })
    expect(result.status).toBe('completed')
    expect(most).toHaveLength(3)
    expect(Math.max(...most)).toBe(2)
  })

  it('A164: a child that needs recovery makes its root need recovery', async () => {
    const talk = conversation()
    const stuck = defineTool({
      name: 'pay',
      description: '',
      inputSchema: {},
      timeoutMs: 1_000,
      execute: () => new Promise<string>(() => undefined),
    })
    const child = asker('payer', [plainCall('p', 'pay'), plainCall('r', 'fetch')], [stuck, remote('fetch')])
    const agent = lead(child)
    const run = talk.run(agent, 'go')
    await until(() => talk.journal.childJournals.get('run_1/d')?.events.some(({ type }) => type === 'tool-execution-start') === true)
    await talk.clock.advance(3_000)
    expect(await run.result()).toMatchObject({
      status: 'needs-recovery',
      reason: 'unknown-outcome',
      pendingToolCalls: [{ toolCallId: 'p', path: ['d'], unknown: true }, { toolCallId: 'r' }],
    })
    const answered = await talk.play(agent, { toolResults: [{ toolCallId: 'p', path: ['d'], unknown: true }] })
    expect(answered.result).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'r' }] })
    const last = await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['d'], output: 1 }] })
    expect(last.result.status).toBe('completed')
  })

  it('A76: resumes in another process from its JSON with the same events', async () => {
    const here = await twoWaiting()
    const snapshot: unknown = JSON.parse(JSON.stringify(here.talk.memory.snapshot()))
    const answers = { ...fetched, ...approved }
    const there = await twoWaiting()
    const journal = createMemoryJournal({ snapshot: snapshot as never })
    const ids = fakeIds()
    for (let used = 0; used < 100; used++) ids.next('msg')
    const resumed = here.agent.run(answers, { journal, clock: here.talk.clock, ids })
    const events = await readAll(resumed)
    const expected = await there.talk.play(there.agent, answers)
    const types = (list: readonly { type: string }[]) => list.map(({ type }) => type)
    expect(types(events)).toEqual(types(expected.events))
    expect(await resumed.result()).toMatchObject({ status: 'completed', text: 'done' })
  })

  it('A162: usage of a child before it waited is in the budget of its parent afterwards', async () => {
    const talk = conversation()
    const usage = { input: 2_000, output: 1 }
    const child = helper('far', [{ toolCalls: [plainCall('r', 'fetch')], usage }], { tools: [remote('fetch')] })
    const agent = agentOf([{ toolCalls: [handOver('d', 'far')], usage }], { subagents: [child], limits: { maxTotalTokens: 9_000 } })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['d'], output: 1 }] })
    expect(await toldOf(talk, 'd')).toMatchObject({ output: { value: { result: 'limit' } } })
    expect(result).toMatchObject({ status: 'limit', usage: { inputTokens: 4_000 } })
  })

  it("A162: so is usage of a child's child", async () => {
    const talk = conversation()
    const usage = { input: 2_000, output: 1 }
    const inner = helper('inner', [{ toolCalls: [plainCall('r', 'fetch')], usage }], { tools: [remote('fetch')] })
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'inner')], usage }], { subagents: [inner] })
    const agent = agentOf([{ toolCalls: [handOver('d', 'outer')], usage }], { subagents: [outer], limits: { maxTotalTokens: 11_000 } })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['d', 'i'], output: 1 }] })
    expect(result).toMatchObject({ status: 'limit', usage: { inputTokens: 6_000 } })
    expect(await toldOf(talk, 'd')).toMatchObject({ output: { value: { result: 'limit' } } })
  })

  it('A162: the turns before a follow-up that waits are booked with it', async () => {
    const talk = conversation()
    const gate = gated('wait')
    const usage = { input: 100, output: 1 }
    const steps = [
      { toolCalls: [plainCall('w', 'wait')], usage },
      { text: 'first', usage },
      { toolCalls: [plainCall('r', 'fetch')], usage },
      { text: 'second', usage },
    ]
    const child = helper('far', steps, { tools: [gate.tool, remote('fetch')] })
    const agent = lead(child)
    const run = talk.run(agent, 'go')
    await until(() => gate.started.length === 1)
    await run.child('d')?.followUp('and then')
    gate.open('w')
    expect((await run.result()).status).toBe('awaiting-tools')
    await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['d'], output: 1 }] })
    expect(talk.journal.events.find(({ type }) => type === 'child-end')).toMatchObject({ usage: { inputTokens: 400 } })
  })

  it('A164: an answer whose deadline passes while it is stored ends its call', async () => {
    const state = { late: false }
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        commit: async (records, expect) => {
          const outcome = await journal.commit(records, expect)
          if (state.late) await talk.clock.advance(1_000)
          state.late = false
          return outcome
        },
      }),
    })
    const far = asker('far', [plainCall('r', 'fetch')], [remote('fetch', { timeoutMs: 1_000 })])
    const agent = lead(far)
    await talk.play(agent, 'go')
    state.late = true
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['d'], output: 1 }] })
    expect(result.status).toBe('completed')
    expect(resultsOf(far.model.calls[1])[0]?.output).toMatchObject({ type: 'error-text', value: expect.stringContaining('deadline') })
  })

  it('A164: a decision that only the child has stored is reported when its parent goes on', async () => {
    const state = { dies: false }
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) => {
          const tells = records.some((record) => record.type === 'event' && record.event.type === 'approval-resolved')
          return state.dies && tells ? Promise.reject(new Error('the process died')) : journal.commit(records, expect)
        },
      }),
    })
    const near = asker('near', [plainCall('a', 'send'), plainCall('b', 'send')], [risky('send', [], { effect: 'idempotent' })])
    const agent = lead(near)
    await talk.play(agent, 'go')
    state.dies = true
    expect((await talk.play(agent, approved)).result).toMatchObject({ reason: 'journal-error' })
    state.dies = false
    const { result } = await talk.play(agent, undefined)
    expect(result.pendingApprovals).toMatchObject([{ approvalId: 'approval_2' }])
    expect(talk.view().pendingApprovals).toHaveLength(1)
    expect(talk.journal.events.find(({ type }) => type === 'approval-resolved')).toMatchObject({
      approvalId: 'approval_1',
      decision: 'approve',
    })
    const last = await talk.play(agent, { approvals: [{ approvalId: 'approval_2', decision: 'approve' }] })
    expect(last.result.status).toBe('completed')
  })
})
