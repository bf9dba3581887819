import type { JSONValue } from '@bowline/llm'
import { tool as sdkTool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../src/index.ts'
import type { AgentOptions, ApprovalDecision, ToolOptions } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import type { Conversation } from '../../support/conversation.ts'
import { resultsOf } from '../../support/prompts.ts'
import { echo, until } from '../../support/tools.ts'
import { extension } from '../extensions/support.ts'

type Schema = z.ZodObject<{ to: z.ZodString }>

const call = (id: string, name = 'send', input: JSONValue = { to: 'a@b' }) => ({ id, name, input })
const approve = (more: Partial<ApprovalDecision> = {}): { approvals: ApprovalDecision[] } => ({
  approvals: [{ approvalId: 'approval_1', decision: 'approve', ...more }],
})
const deny = (reason?: string) => ({
  approvals: [{ approvalId: 'approval_1', decision: 'deny' as const, ...(reason !== undefined && { reason }) }],
})

/** Creates a tool that must be approved, and a list of its inputs. */
function sender(options: Partial<ToolOptions<Schema>> = {}) {
  const sent: { to: string }[] = []
  const tool = defineTool({
    name: 'send',
    description: 'sends',
    inputSchema: z.object({ to: z.string() }),
    needsApproval: true,
    ...options,
    execute: (input) => {
      sent.push(input)
      return `sent to ${input.to}`
    },
  })
  return { tool, sent }
}

async function asked(
  options: Partial<ToolOptions<Schema>> = {},
  more: Parameters<typeof agentOf>[0] = [{ text: 'done' }],
  agentOptions: Partial<AgentOptions> = {},
) {
  const talk = conversation()
  const { tool, sent } = sender(options)
  const agent = agentOf([{ toolCalls: [call('x')] }, ...more], { tools: [tool], ...agentOptions })
  const { result, events } = await talk.play(agent, 'go')
  return { talk, agent, sent, result, events }
}

const typesSince = (talk: Conversation, count: number) => talk.types().slice(count)

describe('approvals', () => {
  it('A77: a call that needs approval suspends the run, and runs when its approval is committed', async () => {
    const { talk, agent, sent, result } = await asked()
    expect(result).toMatchObject({ status: 'awaiting-approval', reason: 'pending', pendingToolCalls: [] })
    expect(result.pendingApprovals).toEqual([
      {
        approvalId: 'approval_1',
        toolCallId: 'x',
        toolName: 'send',
        input: { to: 'a@b' },
        path: [],
        agent: [],
        inputHash: expect.stringMatching(/^[\w-]{43}$/) as string,
      },
    ])
    expect(sent).toEqual([])
    expect(talk.types().slice(-3)).toEqual(['approval-requested', 'turn-end', 'save-point'])
    expect(talk.view()).toMatchObject({ status: 'waiting-for-user', pendingApprovals: [{ approvalId: 'approval_1' }] })
    const before = talk.types().length
    const { result: done } = await talk.play(agent, approve({ reason: 'fine', by: 'eve' }))
    expect(done).toMatchObject({ status: 'completed', text: 'done', submission: { accepted: ['approval_1'], repeated: [], missing: [] } })
    expect(typesSince(talk, before).slice(0, 5)).toEqual([
      'turn-start',
      'approval-resolved',
      'tool-execution-start',
      'tool-execution-end',
      'step-end',
    ])
    expect(talk.journal.events.find(({ type }) => type === 'approval-resolved')).toMatchObject({
      decision: 'approve',
      reason: 'fine',
      by: 'eve',
      step: 1,
    })
    expect(sent).toEqual([{ to: 'a@b' }])
    expect(talk.view().pendingApprovals).toEqual([])
  })

  it('A77: the tool does not run when the commit with the approval fails', async () => {
    let dead = false
    const talk = conversation({
      unfinished: true,
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) => (dead ? Promise.reject(new Error('died')) : journal.commit(records, expect)),
      }),
    })
    const { tool, sent } = sender()
    await talk.play(agentOf([{ toolCalls: [call('x')] }], { tools: [tool] }), 'go')
    dead = true
    const { result } = await talk.play(agentOf([], { tools: [tool] }), approve())
    expect(result).toMatchObject({ status: 'error', reason: 'journal-error' })
    expect(result).not.toHaveProperty('submission')
    expect(sent).toEqual([])
  })

  it('A104: an edited input that is valid is not refused because the run is stopped', async () => {
    const { talk, agent } = await asked({}, [])
    const answers = { approvals: [{ approvalId: 'approval_1', decision: 'approve', input: { to: 'c' } }] } as const
    const { result } = await talk.play(agent, answers, { abortSignal: AbortSignal.abort() })
    expect(result).toMatchObject({ status: 'aborted' })
    expect(result.error).toBeUndefined()
  })

  it.each<[string, Partial<ToolOptions<Schema>>['needsApproval'], string]>([
    ['a function that says yes', ({ to }) => to === 'a@b', 'awaiting-approval'],
    ['one that says so later', () => Promise.resolve(true), 'awaiting-approval'],
    ['a function that says no', ({ to }) => to !== 'a@b', 'completed'],
    ['false', false, 'completed'],
  ])('A77: needsApproval may be %s', async (_what, needsApproval, status) => {
    const { result, sent } = await asked({ needsApproval: needsApproval as never }, status === 'completed' ? [{ text: 'done' }] : [])
    expect(result.status).toBe(status)
    expect(sent).toHaveLength(status === 'completed' ? 1 : 0)
  })

  it('A77: asks for approval if needsApproval throws', async () => {
    const { result, events, sent } = await asked(
      {
        needsApproval: () => {
          throw new Error('no idea')
        },
      },
      [],
    )
    expect(result.status).toBe('awaiting-approval')
    expect(sent).toEqual([])
    expect(events.filter(({ type }) => type === 'error')).toMatchObject([
      { source: 'tool', name: 'send', hook: 'needsApproval', message: 'no idea' },
    ])
  })

  it('A107: a needsApproval that hangs does not keep a stopped run from ending', async () => {
    const talk = conversation()
    let waits = false
    const { tool } = sender({ needsApproval: () => ((waits = true), new Promise<boolean>(() => {})) })
    const run = talk.run(agentOf([{ toolCalls: [call('x')] }], { tools: [tool] }), 'go')
    await until(() => waits)
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect((await run.result()).messages.at(-1)).toMatchObject({ role: 'tool-result', status: 'cancelled' })
    expect(talk.types()).not.toContain('approval-requested')
  })

  it('A79: an edited input is recorded, stored in the intent and the row, and passed to the tool', async () => {
    const { talk, agent, sent } = await asked()
    const { result, events } = await talk.play(agent, approve({ input: { to: 'c@d', extra: 1 } }))
    expect(result.status).toBe('completed')
    expect(sent).toEqual([{ to: 'c@d' }])
    expect(events.find(({ type }) => type === 'approval-resolved')).toMatchObject({ editedInput: { to: 'c@d', extra: 1 } })
    expect(events.find(({ type }) => type === 'tool-execution-start')).toMatchObject({ input: { to: 'c@d', extra: 1 } })
    const rows = talk.journal.commits.flat().flatMap((record) => (record.type === 'call' ? record.call : []))
    expect(rows.filter(({ state }) => state === 'started')).toMatchObject([{ input: { to: 'c@d', extra: 1 } }])
    expect(talk.view().messages[1]).toMatchObject({ content: [{ type: 'tool-call', input: { to: 'a@b' } }] })
  })

  it('A79: an edited input that is not valid refuses the submission and changes nothing', async () => {
    const { talk, agent } = await asked({}, [])
    const before = talk.memory.snapshot()
    const { result, events } = await talk.play(agent, approve({ input: { to: 1 } }))
    expect(result).toMatchObject({
      reason: 'refused',
      error: { code: 'invalid-input', refused: [{ id: 'approval_1', code: 'invalid-input' }] },
    })
    expect(events).toEqual([])
    expect(talk.memory.snapshot()).toEqual(before)
  })

  it.each([
    ['a reason', 'too far'],
    ['none', undefined],
  ])('A80: a denied call is denied with %s, and the turn goes on', async (_what, reason) => {
    const { talk, agent, sent } = await asked()
    const { result, events } = await talk.play(agent, deny(reason))
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(sent).toEqual([])
    expect(events.map(({ type }) => type).slice(0, 4)).toEqual(['turn-start', 'approval-resolved', 'tool-execution-end', 'step-end'])
    expect(events[2]).toMatchObject({ executed: 'no', message: { status: 'denied' } })
    expect(JSON.stringify(resultsOf(agent.model.calls[1]))).toContain(reason ?? 'denied')
  })

  it('A78: after its deadline an approval counts as denied at the next run, and a decision comes too late', async () => {
    const { talk, agent, result, sent } = await asked({ approvalTimeoutMs: 500 })
    expect(result.pendingApprovals).toMatchObject([{ deadlineAt: 1_500 }])
    expect(talk.journal.events.find(({ type }) => type === 'approval-requested')).toMatchObject({ deadlineAt: 1_500 })
    await talk.clock.advance(499)
    expect((await talk.play(agent, undefined)).result.status).toBe('awaiting-approval')
    await talk.clock.advance(1)
    const late = await talk.play(agent, approve())
    expect(late.result).toMatchObject({ reason: 'refused', error: { code: 'approval-conflict' } })
    const next = await talk.play(agent, undefined)
    expect(next.result.status).toBe('completed')
    expect(next.events.find(({ type }) => type === 'approval-resolved')).toMatchObject({
      decision: 'deny',
      reason: 'there was no decision in time',
    })
    expect(next.events.find(({ type }) => type === 'tool-execution-end')).toMatchObject({ message: { status: 'denied' } })
    expect(sent).toEqual([])
  })

  it('A78: the time that a call waits for approval does not count towards its timeout', async () => {
    const { talk, agent } = await asked({ approvalTimeoutMs: 10_000, timeoutMs: 2_000 })
    await talk.clock.advance(5_000)
    expect((await talk.play(agent, approve())).result.status).toBe('completed')
    const rows = talk.journal.commits.flat().flatMap((record) => (record.type === 'call' ? record.call : []))
    expect(rows.find(({ state }) => state === 'started')).toMatchObject({ startedAt: 6_000, deadlineAt: 8_000 })
  })

  it('A110: an aborted approval is cancelled, and the transcript accepts new input', async () => {
    const { talk, agent } = await asked()
    const { result, events } = await talk.play(agent, undefined, { abortSignal: AbortSignal.abort() })
    expect(result).toMatchObject({ status: 'aborted', pendingApprovals: [] })
    expect(events.map(({ type }) => type)).toEqual([
      'turn-start',
      'approval-resolved',
      'tool-execution-end',
      'step-end',
      'turn-end',
      'save-point',
      'settled',
    ])
    expect(events[1]).toMatchObject({ decision: 'cancelled' })
    expect(events[2]).toMatchObject({ executed: 'no', message: { status: 'cancelled' } })
    expect(events[4]).toMatchObject({ receipt: [{ toolCallId: 'x', toolName: 'send', status: 'cancelled' }] })
    expect((await talk.play(agent, 'next')).result.text).toBe('done')
  })

  it('A66: calls needsApproval of an AI SDK tool', async () => {
    const talk = conversation()
    const ran: string[] = []
    const execute = ({ to }: { to: string }) => (ran.push(to), Promise.resolve('sent'))
    const send = sdkTool({ description: '', inputSchema: z.object({ to: z.string() }), needsApproval: ({ to }) => to === 'a@b', execute })
    const agent = agentOf([{ toolCalls: [call('x'), call('y', 'send', { to: 'me' })] }, { text: 'done' }], { tools: { send } })
    expect((await talk.play(agent, 'go')).result.status).toBe('awaiting-approval')
    expect(ran).toEqual(['me'])
    expect((await talk.play(agent, approve())).result.status).toBe('completed')
    expect(ran).toEqual(['me', 'a@b'])
  })

  it('A77: hooks and guardrails run before the approval, and not again after it', async () => {
    const seen: unknown[] = []
    const watch = extension('watch', { onToolCall: ({ input }) => (seen.push(input), { action: 'modify', input: { to: 'hook@d' } }) })
    const { talk, agent, sent, result } = await asked({}, [{ text: 'done' }], { extensions: [watch] })
    expect(result.pendingApprovals).toMatchObject([{ input: { to: 'hook@d' } }])
    await talk.play(agent, approve())
    expect(seen).toEqual([{ to: 'a@b' }])
    expect(sent).toEqual([{ to: 'hook@d' }])
  })
})

describe('approvals beside other calls', () => {
  it('A77: other calls run while one waits for approval', async () => {
    const talk = conversation()
    const { tool } = sender()
    const near = echo('near')
    const agent = agentOf([{ toolCalls: [call('x'), call('n', 'near')] }, { text: 'done' }], {
      tools: [tool, near.tool],
      toolConcurrency: 1,
    })
    expect((await talk.play(agent, 'go')).result.status).toBe('awaiting-approval')
    expect(near.calls).toHaveLength(1)
    await talk.play(agent, approve())
    expect(near.calls).toHaveLength(1)
    expect(resultsOf(agent.model.calls[1]).map(({ id }) => id)).toEqual(['x', 'n'])
  })

  it('A56: sequential calls wait for an earlier one that waits for approval', async () => {
    const talk = conversation()
    const { tool } = sender()
    const last = echo('last', { sequential: true })
    const agent = agentOf([{ toolCalls: [call('x'), call('s', 'last')] }, { text: 'done' }], { tools: [tool, last.tool] })
    await talk.play(agent, 'go')
    expect(last.calls).toEqual([])
    await talk.play(agent, approve())
    expect(last.calls).toHaveLength(1)
    const ends = talk.journal.events.flatMap((event) => (event.type === 'tool-execution-end' ? event.toolCallId : []))
    expect(ends).toEqual(['x', 's'])
  })

  it('a remote tool that was approved becomes a pending call and waits for its result', async () => {
    const talk = conversation()
    const far = defineTool({
      name: 'send',
      description: '',
      inputSchema: z.object({ to: z.string() }),
      needsApproval: true,
      timeoutMs: 100,
      approvalTimeoutMs: 900,
    })
    const agent = agentOf([{ toolCalls: [call('x')] }, { text: 'done' }], { tools: [far] })
    await talk.play(agent, 'go')
    const early = await talk.play(agent, { toolResults: [{ toolCallId: 'x', output: 1 }] })
    expect(early.result).toMatchObject({ reason: 'refused', error: { code: 'unknown-tool-call' } })
    await talk.clock.advance(500)
    const { result } = await talk.play(agent, approve({ input: { to: 'c@d' } }))
    expect(result).toMatchObject({
      status: 'awaiting-tools',
      pendingApprovals: [],
      pendingToolCalls: [{ toolCallId: 'x', input: { to: 'c@d' }, deadlineAt: 1_600 }],
    })
    // Sent back as it is listed, with the edited input or with the model's.
    const [listed] = result.pendingToolCalls
    if (!listed) throw new Error('one call waits')
    const refused = await talk.play(agent, { toolResults: [{ ...listed, input: { to: 'e@f' }, output: 'ok' }] })
    expect(refused.result).toMatchObject({ reason: 'refused', error: { code: 'invalid-input' } })
    const answered = await talk.play(agent, {
      toolResults: [
        { ...listed, output: 'ok' },
        { ...listed, input: { to: 'a@b' }, output: 'ok' },
      ],
    })
    expect(answered.result).toMatchObject({ status: 'completed', submission: { accepted: ['x'] } })
  })
})
