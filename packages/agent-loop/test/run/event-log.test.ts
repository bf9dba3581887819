import { describe, expect, it, vi } from 'vitest'
import type { AgentEvent } from '../../src/events/agent-event.ts'
import { isDelta } from '../../src/events/kinds.ts'
import { EventLog } from '../../src/run/event-log.ts'
import type { ReadResult } from '../../src/run/reader.ts'
import { discarded, savePoint, textDelta, toolDelta, toolEnd } from '../support/events.ts'

/** Returns one word per event: its number, or the text of its delta. */
const wordOf = (event: AgentEvent): string => ('delta' in event ? event.delta : `#${event.seq}`)
const wordsOf = (results: readonly ReadResult[]): readonly string[] => results.map((result) => (result.done ? 'end' : wordOf(result.value)))

/** Adds events, each in a list of its own. */
function add(log: EventLog, ...events: readonly AgentEvent[]): void {
  for (const event of events) {
    if (isDelta(event)) log.publish(event)
    else log.append([event])
  }
}

async function read(log: EventLog, options: Parameters<EventLog['read']>[0] = {}): Promise<readonly string[]> {
  const words: string[] = []
  for await (const event of log.read(options)) words.push(wordOf(event))
  return words
}

/** Returns the events of a reader that asks once before they come, and reads them when all are there. */
async function readBehind(...events: readonly AgentEvent[]): Promise<readonly string[]> {
  const log = new EventLog()
  const reader = log.read()
  const asked = reader.next()
  add(log, savePoint(1), ...events)
  log.close()
  await asked
  const words: string[] = []
  for await (const event of reader) words.push(wordOf(event))
  return words
}

describe('the event log', () => {
  it('A17: waiting readers see every event, and a late reader sees the same in fewer deltas', async () => {
    const log = new EventLog()
    const early = [read(log), read(log), read(log, { deltas: false }), read(log, { afterSeq: 1 })]
    await Promise.resolve()
    for (const event of [savePoint(1), textDelta('m', 'a'), savePoint(2), textDelta('m', 'b')]) {
      add(log, event)
      await Promise.resolve()
    }
    log.close()
    const all = ['#1', 'a', '#2', 'b']
    expect(await Promise.all(early)).toEqual([all, all, ['#1', '#2'], ['a', '#2', 'b']])
    expect(await read(log)).toEqual(['#1', '#2', 'ab'])
    expect(await read(log, { deltas: false, afterSeq: 1 })).toEqual(['#2'])
  })

  it('A17: several pending calls of next are answered in order', async () => {
    const log = new EventLog()
    const reader = log.read()
    const asked = [reader.next(), reader.next(), reader.next(), reader.next()]
    add(log, savePoint(1))
    add(log, textDelta('m', 'a'))
    asked.push(reader.next())
    add(log, savePoint(2))
    log.close()
    expect(wordsOf(await Promise.all(asked))).toEqual(['#1', 'a', '#2', 'end', 'end'])
  })

  it('A17: a reader of durable events alone keeps waiting while deltas come', async () => {
    const log = new EventLog()
    const reader = log.read({ deltas: false })
    const asked = reader.next()
    add(log, textDelta('m', 'a'), textDelta('m', 'b'))
    add(log, savePoint(1))
    expect(wordsOf([await asked])).toEqual(['#1'])
  })

  it('A17: each reader gets its own result objects', async () => {
    const log = new EventLog()
    const asked = [log.read().next(), log.read().next()]
    add(log, savePoint(1))
    const [one, two] = await Promise.all(asked)
    expect(one).not.toBe(two)
    expect(one?.value).toBe(two?.value)
  })

  it('A18: a reader in the middle of a message that ends goes on after it', async () => {
    const log = new EventLog()
    const reader = log.read()
    const asked = reader.next()
    add(log, savePoint(1), textDelta('m', 'a'), textDelta('m', 'b'), textDelta('m', 'c'))
    const before = [await asked, await reader.next()]
    add(log, discarded('m', 2), savePoint(3), textDelta('n', 'd'))
    log.close()
    const after = [await reader.next(), await reader.next(), await reader.next(), await reader.next()]
    expect(wordsOf([...before, ...after])).toEqual(['#1', 'a', '#2', '#3', 'd', 'end'])
  })

  it('A18: readers at every position continue correctly when deltas are removed again and again', async () => {
    const events = Array.from({ length: 6 }, (_, message) => [
      savePoint(2 * message + 1),
      ...Array.from({ length: message }, (_none, piece) => textDelta(`m${message}`, `${message}.${piece}`)),
      discarded(`m${message}`, 2 * message + 2),
    ]).flat()
    for (let stop = 0; stop <= events.length; stop++) {
      const log = new EventLog()
      const reader = log.read()
      const words: string[] = []
      for (const [index, event] of events.entries()) {
        add(log, event)
        if (index < stop) words.push(...wordsOf([await reader.next()]))
      }
      log.close()
      for await (const event of reader) words.push(wordOf(event))
      expect(words).toEqual([...events.slice(0, stop), ...events.slice(stop).filter(({ type }) => type !== 'text-delta')].map(wordOf))
    }
  })

  it('A19: deltas of ended messages and calls are removed, those of open ones stay in order', async () => {
    const before = [toolDelta('a', 'a1'), toolDelta('b', 'b1'), toolDelta('a', 'a2'), savePoint(2), toolDelta('b', 'b2')]
    expect(await readBehind(...before, toolEnd('a', 3), toolDelta('b', 'b3'), toolEnd('c', 4))).toEqual([
      'b1',
      '#2',
      'b2',
      '#3',
      'b3',
      '#4',
    ])
  })

  it('A19: a message that ends twice, as in a rewind, changes no other', async () => {
    const events = [textDelta('m'), textDelta('m'), discarded('m', 2), discarded('m', 3)]
    const later = [textDelta('n', 'a'), toolDelta('c', 'b'), textDelta('n', 'c'), toolEnd('c', 4), savePoint(5), savePoint(6)]
    expect(await readBehind(...events, ...later)).toEqual(['#2', '#3', 'a', 'c', '#4', '#5', '#6'])
  })

  it('A19: an event with the id of a call that has ended opens a new one', async () => {
    const log = new EventLog()
    add(log, toolDelta('a', 'old'), toolEnd('a', 1), toolDelta('a', 'new'))
    log.close()
    expect(await read(log)).toEqual(['#1', 'new'])
  })

  it('A19: a message and a call with the same id are kept apart', async () => {
    expect(await readBehind(textDelta('x', 'm'), toolDelta('x', 'c'), discarded('x', 2))).toEqual(['c', '#2'])
  })

  it('A19: deltas are removed when their own call ends, whatever else is open', () => {
    const log = new EventLog()
    void log.read().next()
    for (let piece = 0; piece < 10; piece++) add(log, toolDelta('a'), textDelta('m'), toolDelta('b'))
    expect(log.length).toBe(30)
    add(log, toolEnd('a', 1))
    expect(log.length).toBe(21)
    add(log, discarded('m', 2))
    expect(log.length).toBe(12)
    add(log, toolEnd('b', 3))
    expect(log.length).toBe(3)
  })

  it('A19: memory is bounded by the open message and the durable events, also with a reader that stops asking', () => {
    const log = new EventLog()
    void log.read().next()
    for (let message = 1; message <= 100; message++) {
      for (let piece = 0; piece < 100; piece++) add(log, textDelta(`m${message}`))
      expect(log.length).toBe(message + 99)
      add(log, discarded(`m${message}`, message))
      expect(log.length).toBe(message)
    }
  })

  it('A19: deltas are not held as events while no reader asks for them', async () => {
    const log = new EventLog()
    log.read()
    void log.read({ deltas: false }).next()
    add(log, textDelta('m'), textDelta('m'), toolDelta('a'))
    expect(log.length).toBe(0)
    const reader = log.read()
    void reader.next()
    add(log, textDelta('m'), toolDelta('a'))
    expect(log.length).toBe(2)
    await reader.return()
    expect(log.length).toBe(0)
    add(log, textDelta('m'))
    expect(log.length).toBe(0)
    log.close()
    expect(await read(log)).toEqual(['xxxx', 'xx'])
  })

  it('A17: a waiting reader is woken once for the events of one commit, and gets them one by one', async () => {
    const log = new EventLog()
    const reader = log.read()
    const wake = vi.spyOn(reader, 'wake')
    const asked = [reader.next(), reader.next()]
    log.append([savePoint(1), savePoint(2), savePoint(3)])
    expect(wake).toHaveBeenCalledTimes(1)
    expect(wordsOf([...(await Promise.all(asked)), await reader.next()])).toEqual(['#1', '#2', '#3'])
  })

  it('A26: leaving resolves the pending calls of next, and nothing else', async () => {
    const log = new EventLog()
    const [leaving, staying] = [log.read(), log.read()]
    const [asked, stays] = [[leaving.next(), leaving.next()], staying.next()]
    expect(await leaving.return()).toEqual({ done: true, value: undefined })
    expect(wordsOf(await Promise.all(asked))).toEqual(['end', 'end'])
    add(log, savePoint(1))
    expect(wordsOf(await Promise.all([stays, leaving.next()]))).toEqual(['#1', 'end'])
  })

  it('A26: a reader that leaves before its first call of next does not affect others', async () => {
    const log = new EventLog()
    const [staying, leaving] = [log.read(), log.read()]
    const asked = staying.next()
    await leaving.return()
    expect(await leaving.next()).toEqual({ done: true, value: undefined })
    add(log, textDelta('m', 'a'), textDelta('m', 'b'))
    expect(wordsOf([await asked, await staying.next()])).toEqual(['a', 'b'])
  })

  it('A27: a reader ends after the last event, and stays ended', async () => {
    const log = new EventLog()
    const waiting = log.read()
    const asked = [waiting.next(), waiting.next()]
    add(log, savePoint(1))
    log.close()
    expect(wordsOf([...(await Promise.all(asked)), await waiting.next()])).toEqual(['#1', 'end', 'end'])
  })

  it('returns the number of the latest durable event', () => {
    const log = new EventLog()
    expect(log.lastSeq).toBe(0)
    add(log, savePoint(3))
    add(log, textDelta('m'))
    add(log, { type: 'error', at: 0, runId: 'r', turn: 1, source: 'journal', message: 'gone', fatal: true })
    expect(log.lastSeq).toBe(3)
  })
})
