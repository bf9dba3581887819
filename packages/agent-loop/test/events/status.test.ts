import { describe, expect, it } from 'vitest'
import { emptyView, isEnded, isSuspended, reduceEvents, statuses, statusOf } from '../../src/events/index.ts'
import type { RunStatus, TurnStatus } from '../../src/events/index.ts'
import { drawnLog } from '../support/drawn-log.ts'

const view = (drawing: string) => drawnLog(drawing).reduce(reduceEvents, emptyView)
const outcomes = {
  completed: 'completed',
  aborted: 'stopped',
  halted: 'stopped',
  limit: 'stopped',
  error: 'failed',
  'awaiting-tools': 'waiting-for-user',
  'awaiting-approval': 'waiting-for-user',
  'awaiting-subagent': 'waiting-for-subagent',
  'needs-recovery': 'needs-recovery',
} as const satisfies Record<TurnStatus, string>

describe('S215: the status words', () => {
  it('S215: there are nine status words, and every stored status has one', () => {
    expect(statuses).toEqual([
      'queued',
      'running',
      'waiting-for-user',
      'waiting-for-subagent',
      'waiting-for-retry',
      'needs-recovery',
      'completed',
      'stopped',
      'failed',
    ])
    for (const [outcome, word] of Object.entries(outcomes)) expect(statusOf(outcome as TurnStatus, true)).toBe(word)
    expect((['queued', 'running'] as const).map((status: RunStatus) => [statusOf(status), statusOf(status, true)])).toEqual([
      ['queued', 'waiting-for-retry'],
      ['running', 'waiting-for-retry'],
    ])
  })

  it('S215: a turn is open after a segment unless its status word is that of an end', () => {
    expect(statuses.filter(isEnded)).toEqual(['completed', 'stopped', 'failed'])
    expect(isEnded(undefined)).toBe(false)
    for (const [outcome, word] of Object.entries(outcomes))
      expect(isSuspended(outcome as TurnStatus)).toBe(!['completed', 'stopped', 'failed'].includes(word))
  })

  it('S215: a view uses these words, also for how the last segment ended', () => {
    const start = 'user-message turn-start step-start message-start'
    expect(emptyView).not.toHaveProperty('status')
    expect(view('run-queued(run_1)')).toMatchObject({ status: 'queued' })
    expect(view(start)).toMatchObject({ status: 'running' })
    const retried = `${start} message-discarded(retry) retry-start`
    expect(view(retried)).toMatchObject({ status: 'waiting-for-retry' })
    expect(view(`${retried} turn-start(takeover)`)).toMatchObject({ status: 'waiting-for-retry' })
    expect(view(`${retried} message-start`)).toMatchObject({ status: 'running' })
    expect(view(`${retried} message-start message-end retry-end(true)`)).toMatchObject({ status: 'running' })
    const asked = `${start} message-end(x) approval-requested(x) turn-end(awaiting-approval) save-point`
    expect(view(asked)).toMatchObject({ status: 'waiting-for-user', outcome: 'awaiting-approval' })
    expect(view(`${asked} turn-start(answers)`)).not.toHaveProperty('outcome')
    expect(view(`${start} message-end step-end turn-end(limit) save-point settled`)).toMatchObject({ status: 'stopped', outcome: 'limit' })
  })
})
