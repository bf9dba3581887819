import type { NewEvent, PartialEvent } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { packEvents, runNamedIn, unpackEvents } from '../../src/core/packed-events.ts'

const base = { at: 5, runId: 'run-1', turn: 1, step: 2 }
const event = (fields: Record<string, unknown>): PartialEvent => ({ ...base, ...fields }) as unknown as PartialEvent

const batches: Readonly<Record<string, readonly NewEvent[]>> = {
  'one event': [{ event: event({ type: 'step-start', model: { provider: 'p', modelId: 'm' } }) }],
  'events of one step': [
    { event: event({ type: 'tool-execution-end', toolCallId: 'c1' }), refers: { call: { runId: 'run-1', step: 2, toolCallId: 'c1' } } },
    { event: event({ type: 'step-end', continues: true }) },
    { event: event({ type: 'message-start', step: 3, messageId: 'm1' }) },
  ],
  'the same list in all of them': [
    { event: event({ type: 'step-start', list: ['a'] }) },
    { event: event({ type: 'step-end', list: ['a'] }) },
  ],
  'a field that is absent in some, or false, or null': [
    { event: event({ type: 'step-end', continues: false, left: null }) },
    { event: event({ type: 'step-end', continues: false, more: false }) },
  ],
  'the key of a call, as the loop makes it and another': ['run-1/2/c1', 'run-1/2/c2', 'paid-once', 'run-2/2/c1'].map((idempotencyKey) => ({
    event: event({ type: 'tool-execution-start', toolCallId: 'c1', idempotencyKey }),
  })),
  'references to what the event names, and to something else': [
    { event: event({ type: 'message-end', messageId: 'm1' }), refers: { entryId: 'm1' } },
    { event: event({ type: 'message-end', messageId: 'm1' }), refers: { entryId: 'm2' } },
    { event: event({ type: 'run-queued' }), refers: { runInput: 'run-1' } },
    { event: event({ type: 'run-queued' }), refers: { runInput: 'run-2' } },
    { event: event({ type: 'tool-execution-end', toolCallId: 'c1' }), refers: { call: { runId: 'run-1', step: 1, toolCallId: 'c1' } } },
  ],
}

describe('the events of one commit', () => {
  for (const [title, events] of Object.entries(batches)) {
    it(`S115: are read back unchanged: ${title}`, () => {
      expect(unpackEvents(packEvents(events))).toEqual(events)
      expect(unpackEvents(packEvents(events, ['runId']), { runId: 'run-1' })).toEqual(events)
    })
  }

  it('S54: fields that all of them share are stored once, and fields that are stored elsewhere not at all', () => {
    const text = JSON.stringify(packEvents(batches['events of one step'] ?? []))
    expect(text.match(/run-1/g)).toHaveLength(1)
    expect(JSON.stringify(packEvents(batches['events of one step'] ?? [], ['runId']))).not.toContain('run-1')
    const start = event({ type: 'tool-execution-start', toolCallId: 'c1', idempotencyKey: 'run-1/2/c1' })
    expect(JSON.stringify(packEvents([{ event: start }], ['runId']))).not.toContain('run-1')
  })

  it('S115: the run is named by all of them or by none', () => {
    expect(runNamedIn(batches['events of one step'] ?? [])).toBe('run-1')
    expect(runNamedIn([{ event: event({ type: 'a' }) }, { event: event({ type: 'a', runId: 'run-2' }) }])).toBeUndefined()
    expect(runNamedIn([{ event: { type: 'session-start', at: 1 } }])).toBeUndefined()
  })
})
