import { describe, expect, it } from 'vitest'
import { emptyView, reduceEvents } from '../../src/events/index.ts'
import type { AgentEvent, RunView } from '../../src/events/index.ts'
import { drawnLog } from '../support/drawn-log.ts'

const past = 10_000
const base = { at: 0, runId: 'r', turn: 1, step: 1 } as const
const long: RunView = {
  ...emptyView,
  messages: Array.from({ length: past }, (_, place) => ({ role: 'user', id: `past_${place}`, content: 'said' }) as const),
  toolCalls: Array.from(
    { length: past },
    (_, place) => ({ toolCallId: `past_call_${place}`, toolName: 'tool', input: {}, state: 'result', attempt: 1 }) as const,
  ),
}

/** Returns a list that counts how often one of its entries is read: copying it reads each of them. */
function counted<T extends object>(list: readonly T[], onRead: () => void): readonly T[] {
  return new Proxy(list, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) onRead()
      return Reflect.get(target, key, receiver) as unknown
    },
  })
}

/** Folds one event. Returns the number of messages and calls that were read for it. */
function foldOne(view: RunView, event: AgentEvent): { next: RunView; messages: number; calls: number } {
  let [messages, calls] = [0, 0]
  const lists = { messages: counted(view.messages, () => messages++), toolCalls: counted(view.toolCalls, () => calls++) }
  const next = reduceEvents({ ...view, ...lists }, event)
  const same = {
    ...(next.messages === lists.messages && { messages: view.messages }),
    ...(next.toolCalls === lists.toolCalls && { toolCalls: view.toolCalls }),
  }
  return { next: { ...next, ...same }, messages, calls }
}

describe('the cost of folding', () => {
  it('work per delta does not grow with the message or with the conversation', () => {
    let read = 0
    /** Counts how often its text is read. */
    const delta = { [Symbol.toPrimitive]: () => (read++, 'abcd') } as unknown as string
    const open: readonly AgentEvent[] = [
      { ...base, type: 'message-start', messageId: 'm', attempt: 1, model: { provider: 'p', modelId: 'm' }, seq: 1 },
      { ...base, type: 'text-start', messageId: 'm', index: 0 },
    ]
    let view = open.reduce<RunView>(reduceEvents, long)
    for (let count = 1; count <= 1_000; count++) {
      const { next, messages, calls } = foldOne(view, { ...base, type: 'text-delta', messageId: 'm', index: 0, delta })
      expect([messages, calls, read]).toEqual([0, 0, count])
      view = next
    }
    expect(view.open?.blocks).toMatchObject([{ text: 'abcd'.repeat(1_000) }])
  })

  it('an event of a step copies each list of a conversation at most once, and searches it from its end', () => {
    const log = drawnLog(
      `turn-start ${'step-start message-start message-end(x,y) tool-execution-start(x) tool-execution-start(y) tool-execution-end(y) tool-execution-end(x) step-end '.repeat(3)}`,
    )
    let view = long
    for (const event of log) {
      const { next, messages, calls } = foldOne(view, event)
      expect(messages, event.type).toBeLessThan(view.messages.length + 20)
      expect(calls, event.type).toBeLessThan(view.toolCalls.length + 20)
      view = next
    }
    expect([view.messages.length, view.toolCalls.length]).toEqual([past + 9, past + 6])
  })
})
