import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/events/types.ts'
import { EventBuffer } from '../../src/run/event-buffer.ts'
import type { ReadResult } from '../../src/run/reader.ts'
import { discarded, savePoint, textDelta, toolDelta, toolEnd } from '../support/events.ts'

/** One word per event: its number, or what its delta says. */
const wordOf = (event: AgentEvent): string => ('delta' in event ? event.delta : `#${event.seq}`)
const wordsOf = (results: readonly ReadResult[]): readonly string[] => results.map((result) => (result.done ? 'end' : wordOf(result.value)))

async function read(buffer: EventBuffer, options: Parameters<EventBuffer['read']>[0] = {}): Promise<readonly string[]> {
  const words: string[] = []
  for await (const event of buffer.read(options)) words.push(wordOf(event))
  return words
}

function closed(...events: readonly AgentEvent[]): EventBuffer {
  const buffer = new EventBuffer()
  for (const event of events) buffer.push(event)
  buffer.close()
  return buffer
}

describe('the event buffer', () => {
  it('A17: readers that wait and readers that come late see the same', async () => {
    const buffer = new EventBuffer()
    const early = [read(buffer), read(buffer), read(buffer, { deltas: false }), read(buffer, { afterSeq: 1 })]
    await Promise.resolve()
    for (const event of [savePoint(1), textDelta('m', 'a'), savePoint(2), textDelta('m', 'b')]) {
      buffer.push(event)
      await Promise.resolve()
    }
    buffer.close()
    const all = ['#1', 'a', '#2', 'b']
    expect(await Promise.all(early)).toEqual([all, all, ['#1', '#2'], ['a', '#2', 'b']])
    expect(await read(buffer)).toEqual(all)
    expect(await read(buffer, { deltas: false, afterSeq: 1 })).toEqual(['#2'])
  })

  it('A17: questions that are asked ahead are answered in their order', async () => {
    const buffer = new EventBuffer()
    const reader = buffer.read()
    const asked = [reader.next(), reader.next(), reader.next(), reader.next()]
    buffer.push(savePoint(1))
    buffer.push(textDelta('m', 'a'))
    asked.push(reader.next())
    buffer.push(savePoint(2))
    buffer.close()
    expect(wordsOf(await Promise.all(asked))).toEqual(['#1', 'a', '#2', 'end', 'end'])
  })

  it('A17: a reader of durable events alone waits on while deltas come', async () => {
    const buffer = new EventBuffer()
    const reader = buffer.read({ deltas: false })
    const asked = reader.next()
    for (const text of ['a', 'b']) buffer.push(textDelta('m', text))
    buffer.push(savePoint(1))
    expect(wordsOf([await asked])).toEqual(['#1'])
  })

  it('A17: each reader has results of its own', async () => {
    const buffer = new EventBuffer()
    const asked = [buffer.read().next(), buffer.read().next()]
    buffer.push(savePoint(1))
    const [one, two] = await Promise.all(asked)
    expect(one).not.toBe(two)
    expect(one?.value).toBe(two?.value)
  })

  it('A18: a reader in the middle of a message that ends goes on behind it', async () => {
    const buffer = new EventBuffer()
    const reader = buffer.read()
    const started = [savePoint(1), textDelta('m', 'a'), textDelta('m', 'b'), textDelta('m', 'c')]
    for (const event of started) buffer.push(event)
    const before = [await reader.next(), await reader.next()]
    for (const event of [discarded('m', 2), savePoint(3), textDelta('n', 'd')]) buffer.push(event)
    buffer.close()
    const after = [await reader.next(), await reader.next(), await reader.next(), await reader.next()]
    expect(wordsOf([...before, ...after])).toEqual(['#1', 'a', '#2', '#3', 'd', 'end'])
  })

  it('A18: readers at every place find their way when deltas leave again and again', async () => {
    const events = Array.from({ length: 6 }, (_, message) => [
      savePoint(2 * message + 1),
      ...Array.from({ length: message }, (_none, piece) => textDelta(`m${message}`, `${message}.${piece}`)),
      discarded(`m${message}`, 2 * message + 2),
    ]).flat()
    for (let stop = 0; stop <= events.length; stop++) {
      const buffer = new EventBuffer()
      const reader = buffer.read()
      const words: string[] = []
      for (const [index, event] of events.entries()) {
        buffer.push(event)
        if (index < stop) words.push(...wordsOf([await reader.next()]))
      }
      buffer.close()
      for await (const event of reader) words.push(wordOf(event))
      expect(words).toEqual([...events.slice(0, stop), ...events.slice(stop).filter(({ type }) => type !== 'text-delta')].map(wordOf))
    }
  })

  it('A19: deltas of messages and calls that have ended leave, those of open ones stay in their order', async () => {
    const buffer = closed(
      ...[toolDelta('a', 'a1'), toolDelta('b', 'b1'), toolDelta('a', 'a2'), savePoint(1), toolDelta('b', 'b2')],
      ...[toolEnd('a', 2), toolDelta('b', 'b3'), toolEnd('c', 3)],
    )
    expect(await read(buffer)).toEqual(['b1', '#1', 'b2', '#2', 'b3', '#3'])
  })

  it('A19: deltas that stayed when others left go when their own call ends', () => {
    const buffer = new EventBuffer()
    for (const event of [toolDelta('a'), toolDelta('b'), toolDelta('a')]) buffer.push(event)
    buffer.push(toolEnd('a', 1))
    expect(buffer.length).toBe(2)
    buffer.push(toolEnd('b', 2))
    expect(buffer.length).toBe(2)
  })

  it('A19: a message that ends twice, as in a rewind, disturbs no other', async () => {
    const events = [textDelta('m'), textDelta('m'), discarded('m', 1), discarded('m', 2)]
    const later = [textDelta('n', 'a'), toolDelta('c', 'b'), textDelta('n', 'c'), toolEnd('c', 3), savePoint(4), savePoint(5)]
    expect(await read(closed(...events, ...later))).toEqual(['#1', '#2', 'a', 'b', 'c', '#3', '#4', '#5'])
  })

  it('A19: a message and a call of the same id are not mistaken for each other', async () => {
    expect(await read(closed(textDelta('x', 'm'), toolDelta('x', 'c'), discarded('x', 1)))).toEqual(['c', '#1'])
  })

  it('A19: a call that speaks little may end beside one that speaks much, and is gone when that one ends', async () => {
    const much = Array.from({ length: 10 }, () => toolDelta('much'))
    const buffer = closed(...much, toolDelta('little'), toolEnd('little', 1), toolEnd('much', 2))
    expect(await read(buffer)).toEqual(['#1', '#2'])
  })

  it('A19: what is held is bounded by the open message and the durable events, also behind a reader that never asks', () => {
    const buffer = new EventBuffer()
    buffer.read()
    for (let message = 1; message <= 100; message++) {
      for (let piece = 0; piece < 100; piece++) buffer.push(textDelta(`m${message}`))
      buffer.push(discarded(`m${message}`, message))
      expect(buffer.length).toBe(message)
    }
  })

  it('A26: leaving ends the questions that wait, and nothing else', async () => {
    const buffer = new EventBuffer()
    const [leaving, staying] = [buffer.read(), buffer.read()]
    const [asked, stays] = [[leaving.next(), leaving.next()], staying.next()]
    expect(await leaving.return()).toEqual({ done: true, value: undefined })
    expect(wordsOf(await Promise.all(asked))).toEqual(['end', 'end'])
    buffer.push(savePoint(1))
    expect(wordsOf(await Promise.all([stays, leaving.next()]))).toEqual(['#1', 'end'])
  })

  it('A27: a reader ends behind the last event, and stays ended', async () => {
    const buffer = new EventBuffer()
    const waiting = buffer.read()
    const asked = [waiting.next(), waiting.next()]
    buffer.push(savePoint(1))
    buffer.close()
    expect(wordsOf([...(await Promise.all(asked)), await waiting.next()])).toEqual(['#1', 'end', 'end'])
  })

  it('knows the number of the latest durable event', () => {
    const buffer = new EventBuffer()
    expect(buffer.lastSeq).toBe(0)
    buffer.push(savePoint(3))
    buffer.push(textDelta('m'))
    buffer.push({ type: 'error', at: 0, runId: 'r', turn: 1, source: 'journal', message: 'gone', fatal: true })
    expect(buffer.lastSeq).toBe(3)
  })
})
