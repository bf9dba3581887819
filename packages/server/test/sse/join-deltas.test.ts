import { emptyView, reduceEvents, type AgentEvent, type RunView } from '@bowline/agent-loop'
import fc from 'fast-check'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { expect, it } from 'vitest'
import { event, feed, make, text } from '../support/feed.ts'

const of = { at: 1, runId: 'r', turn: 1, step: 1, messageId: 'm' }
const delta = (cursor: string, more: object) => ({ type: 'text-delta', index: 0, delta: 'x', cursor, ...of, ...more })

/** Returns the frames that a reader gets if all events are ready when it asks. */
async function framesAtHand(events: readonly object[]): Promise<{ readonly id: string; readonly data: AgentEvent }[]> {
  const source = feed()
  const { reader } = make(source)
  source.push(...events)
  await reader.read()
  const frames = text(await reader.read())
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => frame.split('\n'))
    .map(([id = '', data = '']) => ({ id: id.slice('id: '.length), data: JSON.parse(data.slice('data: '.length)) as AgentEvent }))
  await reader.cancel()
  return frames
}

it('V38: deltas of one part that a reader has not read yet are joined, at the cursor of the last one', async () => {
  const frames = await framesAtHand([
    delta('4.1', { delta: 'One ' }),
    delta('4.2', { delta: 'two ' }),
    delta('4.3', { delta: 'three.', at: 3 }),
  ])
  expect(frames).toEqual([{ id: '4.3', data: { type: 'text-delta', index: 0, delta: 'One two three.', ...of, at: 3 } }])
})

it('V38: deltas of another part, message, attempt or kind are not joined, nor deltas on both sides of another event', async () => {
  const others = [
    { index: 1 },
    { messageId: 'n' },
    { runId: 's' },
    { type: 'reasoning-delta' },
    { type: 'tool-call-delta', toolCallId: 'c' },
  ]
  for (const other of others) expect(await framesAtHand([delta('4.1', {}), delta('4.2', other)])).toHaveLength(2)
  const around = await framesAtHand([delta('4.1', {}), event('5'), delta('5.1', {})])
  expect(around.map(({ id }) => id)).toEqual(['4.1', '5', '5.1'])
  const progress = (n: number) => ({ type: 'tool-execution-delta', toolCallId: 'c', delta: 'x', cursor: `4.${n}`, ...of })
  expect(await framesAtHand([progress(1), progress(2)])).toHaveLength(2)
})

it('V38: a reader that keeps up gets each delta as it comes', async () => {
  const source = feed()
  const { reader } = make(source)
  await reader.read()
  for (const n of [1, 2, 3]) {
    const next = reader.read()
    source.push(delta(`4.${n}`, {}))
    expect(text(await next)).toMatch(new RegExp(`^id: 4\\.${n}\n.*"delta":"x"`))
  }
  await reader.cancel()
})

it('V30, V38: however late a reader is at any time, the fold equals that of the single events', async () => {
  const kinds = fc.array(fc.record({ index: fc.nat(2), kind: fc.constantFrom('text', 'reasoning'), delta: fc.string() }), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(kinds, fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 40, maxLength: 40 }), async (deltas, sizes) => {
      const kindOf = (index: number) => deltas.find((each) => each.index === index)?.kind ?? 'text'
      const starts = [0, 1, 2].map((index) => ({ type: `${kindOf(index)}-start`, index, ...of }))
      const texts = deltas.map(({ index, delta: said }) => ({ type: `${kindOf(index)}-delta`, index, delta: said, ...of }))
      const events = [{ type: 'message-start', seq: 1, ...of, provider: 'p', modelId: 'm' }, ...starts, ...texts]
      const logged = events.map((each, place) => ({ ...each, cursor: place === 0 ? '1' : `1.${place}` }))
      const seen: AgentEvent[] = []
      for (let from = 0, turn = 0; from < logged.length; turn++) {
        const size = sizes[turn] ?? 1
        seen.push(...(await framesAtHand(logged.slice(from, from + size))).map(({ data }) => data))
        from += size
      }
      const fold = (list: readonly unknown[]): RunView => (list as AgentEvent[]).reduce(reduceEvents, emptyView)
      expect(fold(seen).open?.blocks).toHaveLength(3)
      expect(fold(seen)).toEqual(fold(JSON.parse(JSON.stringify(events)) as unknown[]))
    }),
    randomRuns(60),
  )
})
