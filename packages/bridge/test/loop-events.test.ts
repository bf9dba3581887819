import type { AgentEvent, TurnStatus } from '@bowline/agent-loop'
import type { AssistantMessage, ErrorKind, ModelError } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import type { BridgeEvent } from '../src/index.ts'
import { failureOf, outcomeOf, startBridge, testAgent } from './support.ts'

type TurnEnd = Extract<AgentEvent, { type: 'turn-end' }>

const model = { provider: 'test', modelId: 'test-1' }
const usage = { inputTokens: 10, outputTokens: 5 }

function message(text: string, parts: Partial<AssistantMessage> = {}): AssistantMessage {
  const content = [
    { type: 'reasoning' as const, text: 'hm' },
    { type: 'text' as const, text },
  ]
  return { role: 'assistant', id: 'm1', content, ...model, stopReason: 'stop', usage, at: 0, timing: { totalMs: 1 }, ...parts }
}

/** The events of a run with one answer, as in the log. */
function runEvents(end: Partial<TurnEnd>, answer?: AssistantMessage): AgentEvent[] {
  const base = { at: 0, runId: 'run1', turn: 1 }
  const events = [
    { ...base, type: 'turn-start', resumed: false, attempt: 1 },
    { ...base, type: 'step-start', step: 1, model },
    { ...base, type: 'message-start', step: 1, messageId: 'm1', attempt: 1, model },
    { ...base, type: 'text-start', step: 1, messageId: 'm1', index: 0 },
    { ...base, type: 'text-delta', step: 1, messageId: 'm1', index: 0, delta: 'half' },
    ...(answer ? [{ ...base, type: 'message-end', step: 1, messageId: 'm1', message: answer, attempt: 1 }] : []),
    ...(end.status ? [{ ...base, type: 'turn-end', reason: 'stop', usage, steps: 1, ...end }] : []),
  ] as AgentEvent[]
  let seq = 1
  return events.map((event) => (event.type.startsWith('text-') ? event : { ...event, seq: (seq += 1) }))
}

async function resultOf(events: readonly AgentEvent[], more: readonly BridgeEvent[] = []) {
  const onPrompt = async function* (): AsyncGenerator<BridgeEvent> {
    for (const event of events) yield { type: 'agent-event', event }
    yield* more
  }
  const { bridge } = await startBridge([testAgent('a', { onPrompt })])
  return bridge.delegate({ prompt: 'hi' }).result()
}

describe('events of the loop', () => {
  it.each([
    ['completed', 'completed', 'end_turn'],
    ['limit', 'limit', 'max_turn_requests'],
    ['aborted', 'aborted', 'cancelled'],
    ['awaiting-tools', 'awaiting-tools', 'needs_input'],
  ] as const)('B31: a run that is %s gives the status %s and the stop reason %s', async (turnStatus, status, stopReason) => {
    const outcome = outcomeOf(await resultOf(runEvents({ status: turnStatus }, message('whole'))))
    expect(outcome).toMatchObject({ status, stopReason, text: 'whole', usage })
  })

  it('B31: completed by length gives max_tokens', async () => {
    const outcome = outcomeOf(await resultOf(runEvents({ status: 'completed' }, message('cut', { stopReason: 'length' }))))
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'max_tokens', text: 'cut' })
  })

  it('B31: usage is absent if it was not reported', async () => {
    const outcome = outcomeOf(await resultOf(runEvents({ status: 'completed', usage: {} }, message('whole', { usage: {} }))))
    expect(outcome).not.toHaveProperty('usage')
  })

  it('B31: pending calls are named by their path', async () => {
    const call = { toolCallId: 'c2', toolName: 'locate', input: { deep: [1] } }
    const awaiting = {
      type: 'awaiting-tools',
      at: 0,
      runId: 'run1',
      turn: 1,
      step: 1,
      seq: 6,
      pendingToolCalls: [
        { ...call, path: [], agent: [] },
        { ...call, path: ['c0', 'c1'], agent: ['boss', 'helper'] },
      ],
    } as AgentEvent
    const events = runEvents({ status: 'awaiting-tools' }, message('wait'))
    const end = { ...(events.at(-1) as AgentEvent), seq: 7 }
    const outcome = outcomeOf(await resultOf([...events.slice(0, -1), awaiting, end]))
    expect(outcome.pending).toEqual([
      { id: 'c2', kind: 'tool', toolName: 'locate', input: { deep: [1] } },
      { id: 'c0/c1/c2', kind: 'tool', toolName: 'locate', input: { deep: [1] }, agent: ['boss', 'helper'] },
    ])
  })

  it('B31: a result event wins over the fold', async () => {
    const result = { text: 'said otherwise', stopReason: 'other' as const }
    const outcome = outcomeOf(await resultOf(runEvents({ status: 'completed' }, message('whole')), [{ type: 'result', result }]))
    expect(outcome).toMatchObject({ text: 'said otherwise', stopReason: 'other' })
  })

  it('B31: events that end before their run are an error, never a success', async () => {
    const error = failureOf(await resultOf(runEvents({}, message('whole'))))
    expect(error).toMatchObject({ code: 'UPSTREAM', details: { reason: 'no-outcome', outcome: 'unknown' } })
  })

  it('B48: a cancel keeps the text of the message that was being streamed', async () => {
    const controller = new AbortController()
    const onPrompt = async function* (): AsyncGenerator<BridgeEvent> {
      for (const event of runEvents({})) yield { type: 'agent-event', event }
      await new Promise(() => {})
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })])
    const result = bridge.delegate({ prompt: 'hi', abortSignal: controller.signal }).result()
    await clock.advance(10)
    controller.abort()
    await clock.advance(5000)
    expect(outcomeOf(await result)).toMatchObject({ status: 'aborted', text: 'half' })
  })

  it.each<[ErrorKind, string, boolean]>([
    ['auth', 'AUTH', false],
    ['auth-permanent', 'AUTH', false],
    ['permission', 'AUTH', false],
    ['billing', 'AUTH', false],
    ['model-not-found', 'CONFIG', false],
    ['network', 'TRANSPORT', true],
    ['timeout', 'TIMEOUT', true],
    ['rate-limit', 'UPSTREAM', true],
    ['overloaded', 'UPSTREAM', true],
    ['server-error', 'UPSTREAM', true],
    ['bad-request', 'UPSTREAM', false],
    ['stream-broken', 'UPSTREAM', false],
  ])('B35: a model error of the kind %s is %s with its own retryable', async (kind, code, retryable) => {
    const error: ModelError = { kind, retryable, message: 'the provider said no', phase: 'before-output', retryAfterMs: 1500 }
    const failure = failureOf(await resultOf(runEvents({ status: 'error', error }, message('', { stopReason: 'error', error }))))
    expect(failure).toMatchObject({ code, retryable, details: { agentId: 'a', upstreamCode: kind, retryAfterMs: 1500 } })
  })

  it('B35: an error of the loop itself is UPSTREAM and keeps its text', async () => {
    const error = { code: 'journal-failed' as const, message: '/home/me/store.db is full' }
    const failure = failureOf(await resultOf(runEvents({ status: 'error', error })))
    expect(failure).toMatchObject({ code: 'UPSTREAM', message: 'Agent a failed', details: { upstreamCode: 'journal-failed' } })
  })

  it('B35: a run that stops as needs-recovery is UPSTREAM with an unknown outcome', async () => {
    const status: TurnStatus = 'needs-recovery'
    const failure = failureOf(await resultOf(runEvents({ status, reason: 'unknown-outcome' }, message('paying'))))
    expect(failure).toMatchObject({ code: 'UPSTREAM', retryable: false, details: { reason: 'needs-recovery', outcome: 'unknown' } })
  })
})
