import type { LoggedEvent } from '@bowline/sessions'
import { expect, it } from 'vitest'
import type { TextDelta } from '../../src/sse/join-deltas.ts'
import { SharedFrames } from '../../src/sse/shared-frames.ts'

const stored = (seq: number, more: object = {}) => ({ type: 'save-point', at: 5, seq, cursor: String(seq), ...more }) as LoggedEvent
const delta = (n: number) => ({ type: 'text-delta', at: 5, cursor: `1.${n}`, runId: 'r', messageId: 'm', index: 0, delta: `${n};` }) as TextDelta

it('V37: an event that every reader gets from the store anew is encoded once', () => {
  const shared = new SharedFrames()
  const frame = shared.frame('one', stored(1))
  expect(shared.frame('one', stored(1))).toBe(frame)
  expect(shared.frame('two', stored(1))).not.toBe(frame)
  expect(shared.frame('one', stored(1, { at: 6 }))).not.toBe(frame)
})

it('V37: joined deltas are encoded once for all that are equally far behind', () => {
  const shared = new SharedFrames()
  const [one, two, three] = [delta(1), delta(2), delta(3)]
  const frame = shared.joinedFrame('log', [one, two, three])
  expect(shared.joinedFrame('log', [one, two, three])).toBe(frame)
  expect(shared.joinedFrame('log', [two, three])).not.toBe(frame)
  expect(shared.joinedFrame('log', [three])).toBe(shared.frame('log', three))
})

it('V37: what is kept for others is bounded', () => {
  const shared = new SharedFrames()
  const large = { text: 'x'.repeat(60_000) }
  const first = shared.frame('log', stored(1, large))
  expect(shared.frame('log', stored(1, large))).toBe(first)
  for (let seq = 2; seq < 80; seq++) shared.frame('log', stored(seq, large))
  expect(shared.frame('log', stored(1, large))).not.toBe(first)
})
