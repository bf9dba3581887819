import type { JSONValue } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../src/index.ts'
import type { ApprovalDecision, ApprovalRequest, RunOptions, ToolOptions } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { resultsOf } from '../../support/prompts.ts'
import { echo, until } from '../../support/tools.ts'

type Schema = z.ZodObject<{ to: z.ZodString }>
type Options = Partial<ToolOptions<Schema>>

const call = (id: string, name = 'send', input: JSONValue = { to: 'a@b' }) => ({ id, name, input })
const errorsOf = (events: readonly { type: string }[]) => events.filter(({ type }) => type === 'error')

function sender(options: Options = {}) {
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

async function answeredBy(onApproval: RunOptions['onApproval'], steps: Parameters<typeof agentOf>[0] = [{ text: 'done' }]) {
  const talk = conversation()
  const { tool, sent } = sender()
  const agent = agentOf([{ toolCalls: [call('x')] }, ...steps], { tools: [tool] })
  const played = await talk.play(agent, 'go', { ...(onApproval && { onApproval }) })
  return { talk, agent, sent, ...played }
}

describe('onApproval', () => {
  it('A81: decides in place, after the question is committed and before the call runs', async () => {
    const seen: [ApprovalRequest, string | undefined][] = []
    const talk = conversation()
    const { tool, sent } = sender()
    const onApproval = (request: ApprovalRequest) => {
      seen.push([request, talk.types().at(-1)])
      return Promise.resolve({
        approvalId: request.approvalId,
        decision: 'approve' as const,
        input: { to: 'c@d' },
        inputHash: request.inputHash,
        by: 'eve',
      })
    }
    const agent = agentOf([{ toolCalls: [call('x')] }, { text: 'done' }], { tools: [tool] })
    const { result, events } = await talk.play(agent, 'go', { onApproval })
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(seen).toMatchObject([
      [{ approvalId: 'approval_1', toolCallId: 'x', input: { to: 'a@b' }, path: [], agent: [] }, 'approval-requested'],
    ])
    expect(sent).toEqual([{ to: 'c@d' }])
    const types = events.map(({ type }) => type).filter((type) => type.startsWith('approval') || type.startsWith('tool-execution'))
    expect(types).toEqual(['approval-requested', 'approval-resolved', 'tool-execution-start', 'tool-execution-end'])
    expect(events.find(({ type }) => type === 'approval-resolved')).toMatchObject({ editedInput: { to: 'c@d' }, by: 'eve' })
  })

  it('A81: a denial in place becomes the outcome of the call, and the turn goes on', async () => {
    const { result, agent, sent } = await answeredBy(({ approvalId }) =>
      Promise.resolve({ approvalId, decision: 'deny', reason: 'not now' }),
    )
    expect(result.status).toBe('completed')
    expect(sent).toEqual([])
    expect(resultsOf(agent.model.calls[1])).toMatchObject([{ output: { type: 'execution-denied', reason: 'not now' } }])
  })

  it.each<[string, NonNullable<RunOptions['onApproval']>, string | undefined]>([
    ['undefined', () => Promise.resolve(undefined), undefined],
    [
      'a throw',
      () => {
        throw new Error('no one there')
      },
      'no one there',
    ],
    ['a rejection', () => Promise.reject(new Error('no one there')), 'no one there'],
    ['a decision about something else', () => Promise.resolve({ approvalId: 'other', decision: 'approve' }), 'other'],
    ['a decision about another input', ({ approvalId }) => Promise.resolve({ approvalId, decision: 'approve', inputHash: 'x' }), 'input'],
    [
      'an edited input that is not valid',
      ({ approvalId }) => Promise.resolve({ approvalId, decision: 'approve', input: { to: 1 } }),
      'input',
    ],
    ['null', () => Promise.resolve(null as never), 'onApproval() must be an object; received null'],
    ['false', () => Promise.resolve(false as never), 'onApproval() must be an object; received false'],
    [
      'what is no decision',
      ({ approvalId }) => Promise.resolve({ approvalId, decision: 'yes' } as never),
      'onApproval().decision must be one of approve, deny; received "yes"',
    ],
    ['what is no JSON', ({ approvalId }) => Promise.resolve({ approvalId, decision: 'approve', input: { to: () => 1 } } as never), 'JSON'],
  ])('A81: %s suspends the run, and the question stays open', async (_what, onApproval, message) => {
    const { result, events, talk, agent, sent } = await answeredBy(onApproval)
    expect(result).toMatchObject({ status: 'awaiting-approval', pendingApprovals: [{ approvalId: 'approval_1' }] })
    expect(sent).toEqual([])
    const wanted =
      message === undefined
        ? []
        : [{ source: 'tool', name: 'send', hook: 'onApproval', message: expect.stringContaining(message) as string, fatal: false }]
    expect(errorsOf(events)).toMatchObject(wanted)
    expect((await talk.play(agent, { approvals: [{ approvalId: 'approval_1', decision: 'approve' }] })).result.status).toBe('completed')
  })

  it('A81: is asked the same question again at the next run', async () => {
    const { talk, agent, sent } = await answeredBy(() => Promise.resolve(undefined))
    const asked: string[] = []
    const onApproval = ({ approvalId }: ApprovalRequest) => (
      asked.push(approvalId),
      Promise.resolve({ approvalId, decision: 'approve' as const })
    )
    expect((await talk.play(agent, undefined, { onApproval })).result.status).toBe('completed')
    expect(asked).toEqual(['approval_1'])
    expect(sent).toHaveLength(1)
    expect(talk.types().filter((type) => type === 'approval-requested')).toHaveLength(1)
  })

  it('A55: a question takes no slot of the calls that run', async () => {
    const talk = conversation()
    const { tool, sent } = sender()
    const near = echo('near')
    const answer = Promise.withResolvers<ApprovalDecision>()
    const agent = agentOf([{ toolCalls: [call('x'), call('n', 'near'), call('m', 'near')] }, { text: 'done' }], {
      tools: [tool, near.tool],
      toolConcurrency: 1,
    })
    const run = talk.run(agent, 'go', { onApproval: () => answer.promise })
    await until(() => near.calls.length === 2)
    answer.resolve({ approvalId: 'approval_1', decision: 'approve' })
    expect((await run.result()).status).toBe('completed')
    expect(sent).toHaveLength(1)
  })

  it('A81: several questions are asked at once, and each call runs when it is approved', async () => {
    const talk = conversation()
    const { tool, sent } = sender()
    const answers = new Map<string, (decision: ApprovalDecision) => void>()
    const onApproval = ({ approvalId }: ApprovalRequest) => new Promise<ApprovalDecision>((resolve) => answers.set(approvalId, resolve))
    const run = talk.run(agentOf([{ toolCalls: [call('x'), call('y', 'send', { to: 'y' })] }, { text: 'done' }], { tools: [tool] }), 'go', {
      onApproval,
    })
    await until(() => answers.size === 2)
    answers.get('approval_2')?.({ approvalId: 'approval_2', decision: 'approve' })
    await until(() => sent.length === 1)
    expect(sent).toEqual([{ to: 'y' }])
    answers.get('approval_1')?.({ approvalId: 'approval_1', decision: 'deny' })
    expect((await run.result()).status).toBe('completed')
  })

  it('A81: a remote tool that is approved in place becomes a pending call', async () => {
    const talk = conversation()
    const far = defineTool({ name: 'send', description: '', inputSchema: z.object({ to: z.string() }), needsApproval: true })
    const agent = agentOf([{ toolCalls: [call('x')] }, { text: 'done' }], { tools: [far] })
    const { result } = await talk.play(agent, 'go', {
      onApproval: ({ approvalId }) => Promise.resolve({ approvalId, decision: 'approve' }),
    })
    expect(result).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'x' }] })
    expect((await talk.play(agent, { toolResults: [{ toolCallId: 'x', output: 'ok' }] })).result.status).toBe('completed')
  })

  it('A78: a decision in place after the deadline comes too late', async () => {
    const talk = conversation()
    const { tool, sent } = sender({ approvalTimeoutMs: 500 })
    const answer = Promise.withResolvers<ApprovalDecision>()
    let asked = false
    const agent = agentOf([{ toolCalls: [call('x')] }, { text: 'done' }], { tools: [tool] })
    const run = talk.run(agent, 'go', { onApproval: () => ((asked = true), answer.promise) })
    await until(() => asked)
    await talk.clock.advance(500)
    answer.resolve({ approvalId: 'approval_1', decision: 'approve' })
    expect((await run.result()).status).toBe('completed')
    expect(sent).toEqual([])
    expect(talk.journal.events.find(({ type }) => type === 'approval-resolved')).toMatchObject({ decision: 'deny' })
  })

  it('A107: an abort does not wait for a decision in place', async () => {
    const talk = conversation()
    const { tool } = sender()
    let asked = false
    const run = talk.run(agentOf([{ toolCalls: [call('x')] }], { tools: [tool] }), 'go', {
      onApproval: () => ((asked = true), new Promise(() => {})),
    })
    await until(() => asked)
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'aborted', pendingApprovals: [] })
    expect(talk.journal.events.filter(({ type }) => type === 'error')).toEqual([])
  })

  it('A107: if the run is stopped while an edited input is checked, nothing is decided and no error is reported', async () => {
    const talk = conversation()
    const inputSchema = z.object({ to: z.string() }).refine(async ({ to }) => to === 'a@b' || new Promise<boolean>(() => run.abort()))
    const { tool, sent } = sender({ inputSchema })
    const onApproval = ({ approvalId }: ApprovalRequest) =>
      Promise.resolve({ approvalId, decision: 'approve' as const, input: { to: 'c@d' } })
    const run = talk.run(agentOf([{ toolCalls: [call('x')] }], { tools: [tool] }), 'go', { onApproval })
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect(talk.journal.events.filter(({ type }) => type === 'error' || type === 'approval-resolved')).toMatchObject([
      { type: 'approval-resolved', decision: 'cancelled' },
    ])
    expect(sent).toEqual([])
  })

  it('A11: copies the decision', async () => {
    const input = { to: 'c@d' }
    const { talk } = await answeredBy(({ approvalId }) => Promise.resolve({ approvalId, decision: 'approve', input }))
    expect(Object.isFrozen(input)).toBe(false)
    input.to = 'changed'
    expect(JSON.stringify(talk.journal.events)).not.toContain('changed')
  })
})
