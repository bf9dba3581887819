import { emptyView } from '@bowline/agent-loop/events'
import type { RunView } from '@bowline/agent-loop/events'
import { describe, expect, it } from 'vitest'
import { hasSettled, settledRun } from '../src/requests/run-result.ts'

const of = (changes: Partial<RunView>): RunView => ({ ...emptyView, ...changes })
const call = { toolCallId: 'c', toolName: 't', input: {}, path: ['p'], agent: ['child'] }
const approval = { approvalId: 'a', toolCallId: 'c', toolName: 't', input: {}, inputHash: 'h', path: [], agent: [] }

describe('the outcome from the events of a run', () => {
  it('B100: a run that waits lists approvals by their id and calls by their path', () => {
    expect(settledRun(of({ outcome: 'awaiting-approval', pendingApprovals: [approval] }), 'x')).toEqual({
      status: 'awaiting-approval',
      result: { text: '', stopReason: 'needs_input', pending: [{ id: 'a', kind: 'approval', toolName: 't', input: {} }] },
    })
    const both = settledRun(of({ outcome: 'awaiting-tools', pendingToolCalls: [call], pendingApprovals: [approval] }), 'x')
    expect(both.status).toBe('awaiting-tools')
    expect(both.result.pending?.map(({ id, kind }) => `${kind} ${id}`)).toEqual(['tool p/c', 'approval a'])
  })

  it('a run that a guardrail ended is halted', () => {
    expect(settledRun(of({ outcome: 'halted' }), 'x')).toEqual({ status: 'halted', result: { text: '', stopReason: 'refusal' } })
  })

  it('counts as settled when it has ended or waits', () => {
    expect(hasSettled(of({ outcome: 'awaiting-approval' }))).toBe(true)
    expect(hasSettled(of({ status: 'queued' }))).toBe(false)
    expect(hasSettled(of({ status: 'running', phase: 'turn' }))).toBe(false)
  })
})
