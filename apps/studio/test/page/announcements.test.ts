import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { AgentEvent } from '@bowline/agent-loop/events'
import { expect, it } from 'vitest'
import { announcementsBetween } from '../../src/page/announce/announcements.ts'
import { speakable } from '../../src/page/announce/speakable.ts'
import { emptyMargins, foldMargins } from '../../src/page/conversation/margins.ts'
import { log, opening } from './event-log.ts'

function heard(events: readonly AgentEvent[]) {
  return { view: events.reduce(reduceEvents, emptyView), margins: events.reduce(foldMargins, emptyMargins) }
}

const [asked, ...rest] = opening
const begun = [{ ...asked!, message: { role: 'user', id: 'u1', content: 'hi' } }, ...rest]
const answer = (text: string, stopReason: string) => ({
  ...({ type: 'message-end', messageId: 'm1' } as const),
  message: { role: 'assistant', id: 'm1', content: [{ type: 'text', text }], stopReason, usage: {} },
})

it('D30: announces nothing for a delta and the whole answer at its end', () => {
  const events = log().commit(0, ...begun)
  const start = heard(events.events)
  events
    .delta(1, { type: 'text-start', messageId: 'm1', index: 0 })
    .delta(1, { type: 'text-delta', messageId: 'm1', index: 0, delta: 'Hi' })
  const middle = heard(events.events)
  expect(announcementsBetween(start, middle)).toEqual([])
  const end = heard(events.commit(1, answer('**Hi** there', 'stop'), { type: 'turn-end', status: 'completed', usage: {} }).events)
  expect(announcementsBetween(middle, end).map(({ text }) => text)).toEqual(['Answer: Hi there', 'The run is complete.'])
  expect(announcementsBetween(end, end)).toEqual([])
})

it('D30: announces nothing that was there when the page loaded, except questions for the reader', () => {
  const waiting = [{ toolCallId: 'a', toolName: 'pay_invoice', input: {}, unknown: true }]
  const events = log()
    .commit(0, ...begun)
    .commit(1, answer('I pay.', 'tool-calls'))
  expect(announcementsBetween(undefined, heard(events.events))).toEqual([])
  const now = heard(events.events)
  const asked = { ...now, view: { ...now.view, pendingToolCalls: waiting as never } }
  const question = { text: 'Pay invoice: nobody knows whether it happened. Decide in the conversation.', urgency: 'assertive' }
  expect(announcementsBetween(undefined, asked)).toEqual([question])
  expect(announcementsBetween(now, asked)).toEqual([question])
  expect(announcementsBetween(asked, asked)).toEqual([])
})

it('D30: an answer that failed or was stopped is not announced as an answer', () => {
  const events = log().commit(0, ...begun)
  const before = heard(events.events)
  const failed = heard(events.commit(1, answer('half of', 'error')).events)
  expect(announcementsBetween(before, failed)).toEqual([])
})

it('reads Markdown without its marks', () => {
  expect(
    speakable(
      '## Title\n\n- one **two** `get_weather`\n\n| a | b |\n| --- | :-: |\n| 1 | -2 °C |\n\n```ts\nconst x = 1\n```\n> [here](https://x.example) it is',
    ),
  ).toBe('Title one two get_weather a b 1 -2 °C const x = 1 here it is')
})
