import { describe, expect, it } from 'vitest'
import type { AssistantMessage, MessageEvent } from '../src/index.ts'
import { eventFaults } from './fuzz/event-grammar.ts'
import { expectedOf } from './fuzz/reference.ts'
import { asJson } from './fuzz/values.ts'
import { eventsOf, finish, messageOf, text } from './support.ts'

type Changed = { events: MessageEvent[]; message: AssistantMessage }

/** Returns deep copies of the events and message of a valid call, for tests to break. */
async function sound(): Promise<Changed> {
  const events = structuredClone(
    await eventsOf([
      { type: 'text-start', id: 't', providerMetadata: { p: { a: 1 } } },
      { type: 'text-delta', id: 't', delta: 'one ' },
      { type: 'text-delta', id: 't', delta: '🪢' },
      { type: 'text-end', id: 't' },
      { type: 'tool-input-start', id: 'c', toolName: 'x' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":1}' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{"a":1}' },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.test/' },
      { type: 'tool-call', toolCallId: 'd', toolName: 'y', input: '{' },
      finish('tool-calls'),
    ]),
  )
  return { events, message: messageOf(events) }
}

const place = (events: readonly MessageEvent[], type: MessageEvent['type']): number => events.findIndex((event) => event.type === type)

/** Changes fields of the first event of a type, without type checks. */
const event =
  (type: MessageEvent['type'], fields: object) =>
  ({ events }: Changed): void =>
    void Object.assign(events[place(events, type)] ?? {}, fields)
const message =
  (fields: object) =>
  (changed: Changed): void =>
    void Object.assign(changed.message, fields)
const part =
  (index: number, fields: object) =>
  (changed: Changed): void =>
    void Object.assign(changed.message.content[index] ?? {}, fields)

describe('the checker of event grammar', () => {
  it('L1–L16: accepts a valid call', async () => {
    const { events, message } = await sound()
    expect(eventFaults(events, message)).toEqual([])
  })

  it.each<[rule: string, what: string, change: (changed: Changed) => unknown]>([
    ['L1', 'no start', ({ events }) => events.shift()],
    ['L1', 'no end', ({ events }) => events.pop()],
    ['L1', 'an event behind the end', ({ events }) => events.push({ type: 'text-delta', index: 0, delta: 'x' })],
    ['L1', 'a second start', ({ events }) => events.splice(1, 0, ...events.slice(0, 1))],
    ['L1', 'a start of another message', event('message-start', { messageId: 'other' })],
    ['L2', 'a block that is not closed', ({ events }) => events.splice(place(events, 'text-end'), 1)],
    [
      'L2',
      'a block that is closed twice',
      ({ events }) =>
        events.splice(place(events, 'text-end'), 0, ...events.slice(place(events, 'text-end'), place(events, 'text-end') + 1)),
    ],
    ['L2', 'a delta of another kind', event('text-delta', { type: 'reasoning-delta' })],
    ['L3', 'a gap', event('tool-call-start', { index: 5 })],
    ['L3', 'a part that no event has shown', ({ message }) => (message.content as unknown[]).push({ type: 'custom', kind: 'a.b' })],
    ['L3', 'a part that is not what its events said', part(0, { text: 'two' })],
    ['L3', 'a place that is taken', event('content-part', { index: 0 })],
    ['L4', 'deltas that are not the text', event('text-delta', { delta: 'two ' })],
    [
      'L4',
      'a cut character',
      ({ events }) => {
        events.splice(
          place(events, 'text-delta') + 1,
          1,
          { type: 'text-delta', index: 0, delta: '\ud83e' },
          { type: 'text-delta', index: 0, delta: '\udea2' },
        )
      },
    ],
    ['L5', 'an event with the text so far', event('text-delta', { text: 'one ' })],
    ['L7', 'an empty delta', ({ events }) => events.splice(2, 0, { type: 'text-delta', index: 0, delta: '' })],
    ['L10', 'an undefined field', event('tool-call-start', { providerExecuted: undefined })],
    ['L10', 'a number that JSON changes', message({ at: -0 })],
    ['L11', 'metadata that gets lost', event('text-end', { providerMetadata: {} })],
    ['L13', 'an invalid call with input', part(3, { input: { a: 1 } })],
    ['L13', 'a valid call without an object', part(1, { input: [1] })],
    ['L14', 'two calls with one id', part(3, { toolCallId: 'c' })],
    [
      'L16',
      'tool calls that the provider runs',
      ({ message: { content } }) => content.forEach((block) => Object.assign(block, { providerExecuted: true })),
    ],
    ['L25', 'an error without stopReason error', message({ error: { kind: 'unknown' } })],
    ['L25', 'stopReason error without an error', message({ stopReason: 'error' })],
    ['L33', 'an abortReason without an abort', message({ abortReason: 'x' })],
    ['L34', 'time that runs back', message({ timing: { totalMs: -1 } })],
    ['L63', 'usage that is no number', message({ usage: { inputTokens: NaN } })],
    ['L63', 'negative usage', message({ usage: { outputTokens: -1 } })],
    ['L65', 'an estimate of a whole answer', message({ usage: { inputTokens: 1, estimated: true } })],
  ])('%s: finds %s', async (rule, _, change) => {
    const changed = await sound()
    change(changed)
    expect(eventFaults(changed.events, changed.message).map((fault) => fault.split(':')[0])).toContain(rule)
  })

  it('L19: reports a result that is another object', async () => {
    const { events, message } = await sound()
    expect(eventFaults(events, { ...message })).toEqual(['L19: result() is another object'])
  })
})

describe('the reference implementation of the rules', () => {
  it('L6, L13: builds a message from parts', () => {
    expect(
      expectedOf([
        ...text('a'),
        { type: 'text-delta', id: 'u', delta: 'b' },
        { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '[' },
        { type: 'error', error: 'x' },
        ...text('ignored', 'v'),
      ]),
    ).toEqual({
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
        { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: {}, invalid: 'not-json', inputText: '[' },
      ],
      failed: true,
    })
  })

  it('L10: converts odd values as JSON does', () => {
    const loop: Record<string, unknown> = { a: [new Uint8Array([1, 2]), 5n, new Date(5), NaN, undefined, -0] }
    loop['self'] = loop
    expect(asJson(loop)).toStrictEqual({ a: ['AQI=', '5', 5, null, null, 0] })
  })
})
