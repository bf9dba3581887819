import type { DeltaEvent } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import type { Claim, DeltaBatch } from '../../src/contract/session-store.ts'
import { DeltaSharer } from '../../src/log/share-deltas.ts'
import { gate } from '../support.ts'

const delta = (text: string): DeltaEvent => ({
  type: 'text-delta',
  at: 0,
  runId: 'run-1',
  turn: 1,
  step: 1,
  messageId: 'm',
  index: 0,
  delta: text,
})

/** Creates a sharer with a list of its pushes: base, first place and texts of each. */
function sharing() {
  const clock = manualClock()
  const pushed: (readonly [base: number, n: number, texts: string])[] = []
  let answer: () => Promise<void> = () => Promise.resolve()
  const push = (batch: DeltaBatch): Promise<void> => {
    pushed.push([batch.base, batch.n, batch.events.map((event) => ('delta' in event ? event.delta : '')).join('')])
    return answer()
  }
  const claim = { run: { id: 'run-1', epoch: 2, session: 'room:1' } } as unknown as Claim
  const faults: unknown[] = []
  const sharer = new DeltaSharer({ push, read: () => Promise.resolve([]) }, clock, claim, (error) => faults.push(error))
  return { clock, pushed, sharer, faults, answer: (next: () => Promise<void>) => (answer = next) }
}

it('S188: gathers for 30 ms after the first delta, then pushes once', async () => {
  const { clock, pushed, sharer } = sharing()
  sharer.add(delta('a'), { base: 3, n: 1 })
  await clock.advance(20)
  sharer.add(delta('b'), { base: 3, n: 2 })
  await clock.advance(9)
  expect(pushed).toEqual([])
  await clock.advance(1)
  expect(pushed).toEqual([[3, 1, 'ab']])
  sharer.add(delta('c'), { base: 3, n: 3 })
  await clock.advance(30)
  expect(pushed.slice(1)).toEqual([[3, 3, 'c']])
})

it('S188: pushes at once at 4 KiB', () => {
  const { pushed, sharer } = sharing()
  sharer.add(delta('x'.repeat(3_000)), { base: 3, n: 1 })
  expect(pushed).toEqual([])
  sharer.add(delta('y'.repeat(1_000)), { base: 3, n: 2 })
  expect(pushed).toHaveLength(1)
})

it('S188: pushes nothing that a durable event has replaced', async () => {
  const { clock, pushed, sharer } = sharing()
  sharer.add(delta('a'), { base: 3, n: 1 })
  sharer.clear()
  await clock.advance(100)
  expect(pushed).toEqual([])
})

it.each(['fails', 'takes too long'])('S188: a store that %s gets no more deltas of this message, and all of the next one', async (how) => {
  const { clock, pushed, sharer, faults, answer } = sharing()
  const held = gate()
  answer(() => (how === 'fails' ? Promise.reject(new Error('away')) : held.passed))
  sharer.add(delta('a'), { base: 3, n: 1 })
  await clock.advance(30)
  if (how === 'takes too long') for (let n = 2; n < 20; n++) sharer.add(delta('x'.repeat(4_000)), { base: 3, n })
  answer(() => Promise.resolve())
  held.open()
  await clock.advance(0)
  sharer.add(delta('b'), { base: 3, n: 20 })
  await clock.advance(100)
  expect(pushed).toEqual([[3, 1, 'a']])
  sharer.add(delta('c'), { base: 5, n: 1 })
  await clock.advance(30)
  expect(pushed.slice(1)).toEqual([[5, 1, 'c']])
  expect(faults).toEqual(how === 'fails' ? [new Error('away')] : [])
})

it('S188: deltas that come while the store is busy go with the next push', async () => {
  const { clock, pushed, sharer, answer } = sharing()
  const held = gate()
  answer(() => held.passed)
  for (let n = 1; n <= 3; n++) {
    sharer.add(delta(`${n}`), { base: 3, n })
    await clock.advance(40)
  }
  expect(pushed).toEqual([[3, 1, '1']])
  held.open()
  await clock.advance(0)
  expect(pushed.slice(1)).toEqual([[3, 2, '23']])
})
