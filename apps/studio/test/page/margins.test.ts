import type { AgentEvent } from '@bowline/agent-loop/events'
import { describe, expect, it } from 'vitest'
import { describeNext } from '../../src/page/conversation/describe-retry.ts'
import { emptyMargins, foldMargins } from '../../src/page/conversation/margins.ts'
import { log, opening } from './event-log.ts'
import type { Facts } from './event-log.ts'

const fold = (events: readonly AgentEvent[]) => events.reduce(foldMargins, emptyMargins)

const error = { kind: 'overloaded', message: 'Too many at once.' }
const retryStart = (attempt: number, more: object = {}): Facts => ({
  type: 'retry-start',
  attempt,
  maxAttempts: 4,
  delayMs: 2000,
  notBefore: 5000,
  cause: 'error',
  error,
  ...more,
})
const discarded: Facts = { type: 'message-discarded', messageId: 'm1', reason: 'retry' }
const messageStart = (messageId: string): Facts => ({
  type: 'message-start',
  messageId,
  attempt: 2,
  model: { provider: 'offline', modelId: 'x' },
})

describe('content beside the messages', () => {
  it('D18: a stopped turn leaves its receipt under the last message', () => {
    const receipt = [{ toolCallId: 'a', toolName: 'index_docs', status: 'cancelled' }]
    const { events } = log()
      .commit(0, ...opening)
      .commit(10, { type: 'message-end', messageId: 'm1', message: { stopReason: 'tool-calls' } })
      .commit(10, { type: 'turn-end', status: 'aborted', reason: 'abort', receipt })
    expect(fold(events).notes).toEqual({ m1: { status: 'aborted', reason: 'abort', receipt, agents: [] } })
  })

  it('D16: with the subagents that were running for it, and no other', () => {
    const child = (type: 'child-start' | 'child-end', childRunId: string, more: object = {}): Facts => ({ type, childRunId, ...more })
    const { events } = log()
      .commit(0, ...opening)
      .commit(
        5,
        child('child-start', 'done'),
        child('child-start', 'stopped'),
        child('child-start', 'at-work'),
        child('child-start', 'of-another', { runId: 'run_0' }),
      )
      .commit(5, child('child-end', 'done', { status: 'completed' }), child('child-end', 'stopped', { status: 'aborted' }))
      .commit(10, { type: 'turn-end', status: 'aborted', reason: 'abort' })
    expect(fold(events).notes['u1']?.agents).toEqual(['stopped', 'at-work'])
  })

  it('D23: a retry appears below the message to be answered, through wait, attempt and end', () => {
    const events = log()
      .commit(0, ...opening)
      .commit(5, discarded, retryStart(2))
    const stateOf = () => fold(events.events).retries['u1']?.map((retry) => [retry.attempt, retry.state])
    expect(stateOf()).toEqual([[2, 'announced']])
    events.commit(2000, messageStart('m2'))
    expect(stateOf()).toEqual([[2, 'under-way']])
    events.commit(5, { type: 'message-discarded', messageId: 'm2', reason: 'retry' }, { type: 'retry-end', attempt: 2, success: false })
    events.commit(0, retryStart(3))
    expect(stateOf()).toEqual([
      [2, 'failed'],
      [3, 'announced'],
    ])
    events.commit(2000, messageStart('m3'))
    // The message ends before its retry does. The message after both is not a retry.
    events.commit(
      5,
      { type: 'message-end', messageId: 'm3', message: { stopReason: 'stop' } },
      { type: 'retry-end', attempt: 3, success: true },
    )
    events.commit(5, messageStart('m4'))
    expect(stateOf()).toEqual([
      [2, 'failed'],
      [3, 'answered'],
    ])
  })

  it('D23: shows which attempt comes when, and which model takes over', () => {
    const { retries } = fold(
      log()
        .commit(0, ...opening)
        .commit(5, retryStart(2, { cause: 'fallback', model: { provider: 'p', modelId: 'spare' } })).events,
    )
    const [retry] = retries['u1'] ?? []
    expect(retry && describeNext(retry)).toMatch(/^Attempt 2 of 4 with spare starts at \d\d:\d\d:\d\d, after 2\.0 s\.$/)
  })

  it('D17: an input that waits is shown until its run starts or ends, and a steered one is marked', () => {
    const events = log().commit(0, ...opening)
    events.commit(
      1,
      { type: 'run-queued', runId: 'run_2', kind: 'user', input: 'next' },
      { type: 'run-queued', runId: 'run_3', kind: 'user', input: { role: 'user', content: 'later' } },
    )
    events.commit(1, { type: 'runtime-input', source: 'steer', inputId: 'i', message: { role: 'user', id: 'u2', content: 'left' } })
    expect(fold(events.events)).toMatchObject({
      queued: [
        { runId: 'run_2', text: 'next' },
        { runId: 'run_3', text: 'later' },
      ],
      steered: ['u2'],
      inputs: [{ text: 'next' }, { text: 'later' }, { text: 'left' }],
    })
    events.commit(1, { type: 'turn-start', runId: 'run_2', resumed: false, attempt: 1 })
    events.commit(1, { type: 'turn-end', runId: 'run_3', status: 'aborted', reason: 'abort' })
    expect(fold(events.events).queued).toEqual([])
  })

  it('D17, S126: an input that is stopped before its run starts is shown as not sent after the message before it, which is not marked as stopped', () => {
    const events = log()
    const stopped = (runId: string, text: string) =>
      events
        .commit(1, { type: 'run-queued', runId, kind: 'user', input: text })
        .commit(1, { type: 'turn-end', runId, turn: 0, status: 'aborted', reason: 'abort' })
    stopped('run_0', 'first')
    events.commit(0, ...opening)
    stopped('run_2', 'next')
    stopped('run_3', 'later')
    expect(fold(events.events)).toMatchObject({ queued: [], notes: {}, withdrawn: { '': ['first'], u1: ['next', 'later'] } })
  })

  it('D27: the same log gives the same result with repeated records', () => {
    const { events } = log()
      .commit(0, ...opening)
      .commit(5, retryStart(2))
      .commit(5, { type: 'run-queued', runId: 'run_2', kind: 'user', input: 'next' })
    expect(fold([...events, ...events])).toEqual(fold(events))
  })
})
