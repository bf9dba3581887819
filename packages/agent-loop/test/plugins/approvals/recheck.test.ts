import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineTool } from '../../../src/index.ts'
import type { AgentInput, JournalRecord, ToolOptions } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import type { Conversation } from '../../support/conversation.ts'

const asks = { toolCalls: [{ id: 'a', name: 'pay', input: { sum: 5 } }] }

/** Creates one version of the code of a tool. */
function version(options: Partial<ToolOptions<object>> = {}) {
  const paid: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    inputSchema: { type: 'object' },
    needsApproval: true,
    recheck: true,
    ...options,
    execute: (input) => void paid.push(input),
  })
  return { pay, paid }
}

type Version = ReturnType<typeof version>

/** Plays a turn with this version of the tool. Returns its result. */
async function asked(
  talk: Conversation,
  { pay }: Version,
  input: AgentInput | undefined,
  answers: readonly ({ text: string } | typeof asks)[] = [],
) {
  const { result } = await talk.play(agentOf(answers, { tools: [pay] }), input)
  return result
}

const approve = (approvalId = '', more: object = {}): AgentInput => ({ approvals: [{ approvalId, decision: 'approve', ...more }] })

describe('recheck', () => {
  const changes: [string, Partial<ToolOptions<object>>][] = [
    ['description', { description: 'Pays twice.' }],
    ['schema', { inputSchema: { type: 'object', properties: { sum: { type: 'number' } } } }],
    ['effect', { effect: 'idempotent' }],
    ['needsApproval', { needsApproval: () => false }],
  ]

  it.each(changes)('A198: asks about an approved call again when the %s of its tool has changed', async (_name, change) => {
    const talk = conversation()
    const first = await asked(talk, version(), 'go', [asks])
    const [question] = first.pendingApprovals
    const changed = version(change)
    const second = await asked(talk, changed, approve(question?.approvalId))
    expect(second.status).toBe('awaiting-approval')
    expect(second.pendingApprovals).toMatchObject([
      { toolCallId: 'a', input: { sum: 5 }, inputHash: question?.inputHash, replaces: question?.approvalId },
    ])
    expect(changed.paid).toEqual([])
    const [again] = second.pendingApprovals
    expect(again?.approvalId).not.toBe(question?.approvalId)
    expect(talk.view().pendingApprovals).toMatchObject([{ approvalId: again?.approvalId, replaces: question?.approvalId }])
    // The first decision, repeated, does not decide this question.
    expect((await asked(talk, changed, approve(question?.approvalId))).error).toMatchObject({ code: 'unknown-approval' })
    const third = await asked(talk, changed, approve(again?.approvalId), [{ text: 'done' }])
    expect([third.status, changed.paid]).toEqual(['completed', [{ sum: 5 }]])
    expect(talk.types().filter((type) => type.startsWith('approval'))).toEqual([
      'approval-requested',
      'approval-resolved',
      'approval-requested',
      'approval-resolved',
    ])
  })

  it('A198: an approved call runs without a new question if its tool is defined again without a change, or has changed without recheck', async () => {
    for (const [before, after] of [
      [{}, {}],
      [{ recheck: false }, { recheck: false, description: 'Other.' }],
    ] as const) {
      const talk = conversation()
      const [question] = (await asked(talk, version(before), 'go', [asks])).pendingApprovals
      const changed = version(after)
      const result = await asked(talk, changed, approve(question?.approvalId, { input: { sum: 4 } }), [{ text: 'done' }])
      expect([result.status, changed.paid]).toEqual(['completed', [{ sum: 4 }]])
    }
  })

  it('A198: recheck counts if the version that asked or the version that runs sets it', async () => {
    for (const [before, after] of [
      [{ recheck: true }, { recheck: false, description: 'Other.' }],
      [{ recheck: false }, { recheck: true }],
    ] as const) {
      const talk = conversation()
      const [question] = (await asked(talk, version(before), 'go', [asks])).pendingApprovals
      const changed = version(after)
      const [again] = (await asked(talk, changed, approve(question?.approvalId))).pendingApprovals
      expect([again?.replaces, changed.paid]).toEqual([question?.approvalId, []])
      expect((await asked(talk, changed, approve(again?.approvalId), [{ text: 'done' }])).status).toBe('completed')
      expect(changed.paid).toHaveLength(1)
    }
  })

  it('A198: the question has the edited arguments, is asked again after each change, and may be denied', async () => {
    const talk = conversation()
    const [question] = (await asked(talk, version(), 'go', [asks])).pendingApprovals
    const [second] = (await asked(talk, version({ description: 'b' }), approve(question?.approvalId, { input: { sum: 4 } })))
      .pendingApprovals
    expect(second).toMatchObject({ input: { sum: 4 }, replaces: question?.approvalId })
    const last = version({ description: 'c' })
    const [third] = (await asked(talk, last, approve(second?.approvalId))).pendingApprovals
    expect(third).toMatchObject({ input: { sum: 4 }, replaces: second?.approvalId })
    const denied = await asked(talk, last, { approvals: [{ approvalId: third?.approvalId ?? '', decision: 'deny', reason: 'no more' }] }, [
      { text: 'ok' },
    ])
    expect(denied.messages.find(({ role }) => role === 'tool-result')).toMatchObject({ status: 'denied', output: { reason: 'no more' } })
    expect(last.paid).toEqual([])
  })

  it('A198: a call whose arguments the new schema refuses runs no more, and is not asked about', async () => {
    const talk = conversation()
    const [question] = (await asked(talk, version(), 'go', [asks])).pendingApprovals
    const strict = version({ inputSchema: { type: 'object', properties: { sum: { type: 'string' } } } })
    const result = await asked(talk, strict, approve(question?.approvalId), [{ text: 'ok' }])
    expect(result.messages.find(({ role }) => role === 'tool-result')).toMatchObject({ status: 'error' })
    expect(strict.paid).toEqual([])
  })

  it('A198: onApproval decides in place, and is asked again', async () => {
    const talk = conversation()
    await asked(talk, version(), 'go', [asks])
    const changed = version({ description: 'Other.' })
    const requests: (string | undefined)[] = []
    const [question] = (await talk.play(agentOf([], { tools: [changed.pay] }), undefined)).result.pendingApprovals
    const { result } = await talk.play(agentOf([{ text: 'done' }], { tools: [changed.pay] }), approve(question?.approvalId), {
      onApproval: async ({ approvalId, replaces }) => {
        requests.push(replaces)
        return { approvalId, decision: 'approve' }
      },
    })
    expect([result.status, requests, changed.paid]).toEqual(['completed', [question?.approvalId], [{ sum: 5 }]])
  })

  it('A198: a process that dies between decision and execution does not change the result', async () => {
    for (const description of ['Pays.', 'Other.']) {
      let dies = false
      const isStart = (record: JournalRecord): boolean =>
        record.type === 'event' && (record.event.type === 'tool-execution-start' || record.event.type === 'approval-requested')
      const talk = conversation({
        unfinished: true,
        wrap: (journal) => ({
          ...journal,
          load: () => journal.load(),
          async commit(records, expected) {
            if (dies && records.some(isStart)) throw new Error('dead')
            return journal.commit(records, expected)
          },
        }),
      })
      const [question] = (await asked(talk, version(), 'go', [asks])).pendingApprovals
      dies = true
      const dead = version()
      expect((await asked(talk, dead, approve(question?.approvalId))).reason).toBe('journal-error')
      dies = false
      const changed = version({ description })
      const open = (await talk.memory.load()).open?.calls[0]?.approval?.state
      const result = await talk
        .play(
          agentOf(description === 'Pays.' ? [{ text: 'done' }] : [], { tools: [changed.pay] }),
          open === 'approved' ? undefined : approve(question?.approvalId),
        )
        .then((played) => played.result)
      expect(dead.paid).toEqual([])
      if (description === 'Pays.') {
        expect([result.status, changed.paid]).toEqual(['completed', [{ sum: 5 }]])
        continue
      }
      expect([result.status, changed.paid]).toEqual(['awaiting-approval', []])
      const [again] = result.pendingApprovals
      expect(again?.replaces).toBe(question?.approvalId)
      expect((await asked(talk, changed, approve(again?.approvalId), [{ text: 'done' }])).status).toBe('completed')
      expect(changed.paid).toHaveLength(1)
    }
  })

  it('A198: a call of a subagent is asked about again at the root', async () => {
    const delegates = { toolCalls: [{ id: 'd', name: 'delegate_to_helper', input: { prompt: 'help' } }] }
    const tree = ({ pay }: Version, answers: { readonly above?: readonly Step[]; readonly below?: readonly Step[] }) =>
      agentOf(answers.above ?? [], { subagents: [agentOf(answers.below ?? [], { name: 'helper', description: 'Helps.', tools: [pay] })] })
    const talk = conversation()
    const [question] = (await talk.play(tree(version(), { above: [delegates], below: [asks] }), 'go')).result.pendingApprovals
    const changed = version({ description: 'Other.' })
    const second = (await talk.play(tree(changed, {}), approve(question?.approvalId))).result
    expect(second.pendingApprovals).toMatchObject([{ path: ['d'], toolCallId: 'a', replaces: question?.approvalId }])
    expect(talk.view().pendingApprovals).toHaveLength(1)
    const third = (
      await talk.play(
        tree(changed, { above: [{ text: 'ok' }], below: [{ text: 'paid' }] }),
        approve(second.pendingApprovals[0]?.approvalId),
      )
    ).result
    expect([third.status, changed.paid]).toEqual(['completed', [{ sum: 5 }]])
  })
})
