import { describe, expect, it } from 'vitest'
import { emptyView, reduceEvents } from '../../src/events/index.ts'
import type { AgentEvent, RunView } from '../../src/events/index.ts'
import { drawnLog } from '../support/drawn-log.ts'

const fold = (events: readonly AgentEvent[], from: RunView = emptyView): RunView => events.reduce<RunView>(reduceEvents, from)

describe('the cost of folding', () => {
  const base = { at: 0, runId: 'r', turn: 1, step: 1 } as const

  /** Milliseconds per event, the least of three. */
  function leastTime(make: () => readonly AgentEvent[], from: RunView): number {
    const events = make()
    const times = [1, 2, 3].map(() => {
      const began = performance.now()
      fold(events, from)
      return (performance.now() - began) / events.length
    })
    return Math.min(...times)
  }

  it('work per delta does not grow with the message, nor with the conversation', () => {
    const open: readonly AgentEvent[] = [
      { ...base, type: 'message-start', messageId: 'm', attempt: 1, model: { provider: 'p', modelId: 'm' }, seq: 1 },
      { ...base, type: 'text-start', messageId: 'm', index: 0 },
    ]
    const deltas = (count: number) => () =>
      Array.from({ length: count }, (): AgentEvent => ({ ...base, type: 'text-delta', messageId: 'm', index: 0, delta: 'abcd' }))
    const long = { ...emptyView, ...longPast(10_000) }
    leastTime(deltas(20_000), fold(open))
    const few = leastTime(deltas(2_000), fold(open))
    // Copying the text at each delta would cost forty times as much here, copying the conversation a thousand times.
    expect(leastTime(deltas(80_000), fold(open, long))).toBeLessThan(10 * few + 0.001)
  })

  it('a step in a conversation of 10,000 messages and 10,000 calls costs far less than the step itself', () => {
    const long = { ...emptyView, ...longPast(10_000) }
    const drawing = `turn-start ${'step-start message-start message-end(x) tool-execution-start(x) tool-execution-end(x) step-end '.repeat(50)}`
    // Measured: 0.01 ms per event. A record by id in the place of the list would take 3 ms.
    expect(leastTime(() => drawnLog(drawing), long)).toBeLessThan(0.5)
  })

  function longPast(count: number): Pick<RunView, 'messages' | 'toolCalls'> {
    return {
      messages: Array.from({ length: count }, (_, place) => ({ role: 'user', id: `past_${place}`, content: 'said' }) as const),
      toolCalls: Array.from({ length: count }, (_, place) => {
        return { toolCallId: `past_call_${place}`, toolName: 'tool', input: {}, state: 'result', attempt: 1 } as const
      }),
    }
  }
})
