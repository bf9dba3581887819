import type { DeltaEvent } from '@bowline/agent-loop'
import { describe, expect, it } from 'vitest'
import { LiveLog } from '../../src/log/live-log.ts'
import type { ReaderQueue } from '../../src/log/reader-queue.ts'
import type { StoredEvent } from '../../src/contract/records.ts'
import { placeIn } from './written-log.ts'

const delta = (text: string): DeltaEvent => ({
  type: 'text-delta',
  at: 0,
  runId: 'run_1',
  turn: 1,
  step: 1,
  messageId: 'm',
  index: 0,
  delta: text,
})
const durable = (seq: number): StoredEvent => ({ type: 'save-point', at: 0, runId: 'run_1', turn: 1, seq })

function drain(queue: ReaderQueue): string[] {
  const cursors: string[] = []
  for (let item = queue.shift(); item; item = queue.shift()) cursors.push(placeIn(item.event.cursor))
  return cursors
}

describe('LiveSession', () => {
  it('S119: gives a reader that comes back the deltas after n, numbered under the last durable event', () => {
    const session = new LiveLog().session('k')
    session.publishDurable([durable(5)], true)
    for (const text of ['a', 'b', 'c']) session.publishDelta(delta(text))
    expect(drain(session.subscribe(1))).toEqual(['5.2', '5.3'])
    // An event of another writer changes the number, not the count.
    session.publishDurable([{ type: 'session-start', at: 0, sessionKey: 'k', seq: 6 }], false)
    session.publishDelta(delta('d'))
    expect(drain(session.subscribe(2))).toEqual(['5.3', '6.4'])
    session.publishDurable([durable(7)], true)
    expect(drain(session.subscribe(0))).toEqual([])
  })

  it('S117: deltas of a message beyond the ring are left out for late readers, not mixed', () => {
    const session = new LiveLog().session('k')
    session.publishDurable([durable(1)], true)
    for (let index = 0; index < 40; index++) session.publishDelta(delta('x'.repeat(50_000)))
    const late = session.subscribe(0)
    session.publishDelta(delta('y'))
    expect(drain(late)).toEqual([])
    session.publishDurable([durable(2)], true)
    session.publishDelta(delta('z'))
    expect(drain(late)).toEqual(['2', '2.1'])
  })

  it('S117: a reader that does not read is emptied at 1 MiB and reads from the store again', () => {
    const session = new LiveLog().session('k')
    session.publishDurable([durable(1)], true)
    const slow = session.subscribe(0)
    const fast = session.subscribe(0)
    for (let index = 0; index < 30; index++) {
      session.publishDelta(delta('x'.repeat(50_000)))
      expect(drain(fast)).toHaveLength(1)
    }
    expect(slow.overflowed).toBe(true)
    expect(drain(slow)).toEqual([])
    expect(fast.overflowed).toBe(false)
  })

  it('is released if it has no reader, no watcher and no run', () => {
    const log = new LiveLog()
    const session = log.session('k')
    session.publishDurable([durable(1)], true)
    log.hold('k')()
    expect(log.session('k')).not.toBe(session)
  })

  it('S117: a reader that keeps reading, always a little late, is never emptied', () => {
    const session = new LiveLog().session('k')
    session.publishDurable([durable(1)], true)
    const reader = session.subscribe(0)
    session.publishDelta(delta('x'.repeat(50_000)))
    for (let index = 0; index < 60; index++) {
      session.publishDelta(delta('x'.repeat(50_000)))
      expect(reader.shift()).toBeDefined()
    }
    expect(reader.overflowed).toBe(false)
  })

  it('S119: deltas of a run that left in the middle are released with it', () => {
    const log = new LiveLog()
    const letGo = log.hold('k')
    const session = log.session('k')
    session.publishDurable([durable(1)], true)
    session.publishDelta(delta('half'))
    log.endRun('k', 'run_2')
    expect(drain(session.subscribe(0))).toEqual(['1.1'])
    log.endRun('k', 'run_1')
    expect(drain(session.subscribe(0))).toEqual([])
    letGo()
  })

  describe('S188: deltas of another process', () => {
    const batch = (base: number, n: number, ...texts: readonly string[]) => ({
      key: 'k',
      runId: 'run_1',
      epoch: 1,
      base,
      n,
      events: texts.map((each) => delta(each)),
    })

    it('S188: come in their order, each once, and stop at a gap', () => {
      const session = new LiveLog().session('k')
      const reader = session.subscribe(0)
      for (const each of [batch(5, 1, 'a', 'b'), batch(5, 2, 'b', 'c'), batch(5, 1, 'a'), batch(5, 6, 'f')]) session.publishRemote(each)
      expect(drain(reader)).toEqual(['5.1', '5.2', '5.3'])
      expect(session.place).toEqual({ base: 5, n: 3 })
    })

    it('S188: are released with their last reader, because the store has them', () => {
      const live = new LiveLog()
      const letGo = live.hold('k')
      live.session('k').publishRemote(batch(5, 1, 'a'))
      letGo()
      expect(live.held('k')).toBeUndefined()
    })

    it('S188: deltas of an earlier message are left out, deltas of a later one start a new count', () => {
      const session = new LiveLog().session('k')
      session.publishRemote(batch(5, 1, 'a', 'b'))
      session.publishRemote(batch(7, 1, 'c'))
      session.publishRemote(batch(5, 3, 'd'))
      expect(drain(session.subscribe(0))).toEqual(['7.1'])
      expect([session.place, session.lastSeq]).toEqual([{ base: 7, n: 1 }, 7])
    })
  })
})
