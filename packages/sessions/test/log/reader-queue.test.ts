import { manualClock } from '@bowline/llm/testing'
import type { LoggedEvent } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { charactersHad, parseCursor, printCursor } from '../../src/contract/cursor.ts'
import { QuietPoll } from '../../src/log/quiet-poll.ts'
import { ReaderQueue } from '../../src/log/reader-queue.ts'

const event = (seq: number): LoggedEvent => ({ type: 'save-point', at: 1, runId: 'r', turn: 1, seq, cursor: `${seq}` })

/** Returns true if the wait has ended by now. */
async function ended(wait: Promise<unknown>): Promise<boolean> {
  let over = false
  void wait.then(() => (over = true))
  for (let turn = 0; turn < 5; turn++) await Promise.resolve()
  return over
}

describe('S117: the queue of one reader', () => {
  it('S117: gives its events in order, once', () => {
    const queue = new ReaderQueue(undefined)
    queue.pushDurable(event(1), 1, 10)
    queue.pushDelta(event(1), { seq: 1, base: 1, n: 1, had: '' }, 10)
    queue.pushDurable(event(2), 2, 10)
    expect(queue.head).toMatchObject({ kind: 'durable', seq: 1 })
    expect([queue.shift(), queue.shift(), queue.shift()]).toMatchObject([
      { kind: 'durable', seq: 1 },
      { kind: 'delta', base: 1, n: 1 },
      { kind: 'durable', seq: 2 },
    ])
    expect([queue.head, queue.shift()]).toEqual([undefined, undefined])
    for (let seq = 3; seq < 20; seq++) {
      queue.pushDurable(event(seq), seq, 1)
      queue.pushDurable(event(seq + 100), seq + 100, 1)
      expect(queue.shift()).toMatchObject({ kind: 'durable' })
    }
    const rest: unknown[] = []
    for (let item = queue.shift(); item; item = queue.shift()) rest.push(item.kind === 'durable' && item.seq)
    expect(rest).toHaveLength(17)
    expect(rest.at(-1)).toBe(119)
  })

  it('S117: is full at exactly its bytes, is emptied for good by one more, and has room again after a read', () => {
    const queue = new ReaderQueue(undefined, 20)
    queue.pushDurable(event(1), 1, 10)
    queue.pushDurable(event(2), 2, 10)
    expect(queue.overflowed).toBe(false)
    queue.shift()
    queue.pushDurable(event(3), 3, 10)
    expect(queue.overflowed).toBe(false)
    queue.pushDurable(event(4), 4, 1)
    expect([queue.overflowed, queue.head]).toEqual([true, undefined])
    queue.pushDurable(event(5), 5, 1)
    expect(queue.head).toBeUndefined()
  })

  it('S117: wakes the reader of a run for its own events, and for those of other runs when half of its room is taken', async () => {
    const queue = new ReaderQueue(undefined, 20, 'mine')
    const of = (runId: string): LoggedEvent => ({ ...event(1), runId }) as LoggedEvent
    const waiting = queue.wait()
    queue.pushDurable(of('other'), 1, 6)
    queue.pushDelta(of('other'), { seq: 1, base: 1, n: 1, had: '' }, 4)
    expect(await ended(waiting)).toBe(false)
    queue.pushDurable(of('other'), 2, 1)
    expect(await ended(waiting)).toBe(true)
    while (queue.shift());
    const again = queue.wait()
    queue.pushDurable(of('mine'), 3, 1)
    expect(await ended(again)).toBe(true)
  })

  it('S117: never has more room than a megabyte', () => {
    const queue = new ReaderQueue(undefined, Number.MAX_SAFE_INTEGER)
    queue.pushDurable(event(1), 1, 1024 * 1024)
    expect(queue.overflowed).toBe(false)
    queue.pushDurable(event(2), 2, 1)
    expect(queue.overflowed).toBe(true)
  })

  it('S117: takes no deltas of the muted event, but takes others', () => {
    const queue = new ReaderQueue(4)
    queue.pushDelta(event(4), { seq: 4, base: 4, n: 1, had: '' }, 1)
    expect(queue.head).toBeUndefined()
    queue.pushDelta(event(5), { seq: 5, base: 5, n: 1, had: '' }, 1)
    expect(queue.head).toMatchObject({ base: 5 })
  })

  it('S117: ends a wait at a push, a look or an overflow, and not before', async () => {
    for (const wake of ['push', 'look', 'overflow'] as const) {
      const queue = new ReaderQueue(undefined, 10)
      const clock = manualClock()
      const leave = new QuietPoll().attend(queue, clock, { firstMs: 100, mostMs: 1000 })
      const wait = queue.wait()
      expect(await ended(wait)).toBe(false)
      if (wake === 'push') queue.pushDurable(event(1), 1, 1)
      if (wake === 'look') queue.lookUp()
      if (wake === 'overflow') queue.pushDurable(event(1), 1, 11)
      expect(await ended(wait)).toBe(true)
      expect(await wait).toBe(false)
      leave()
      expect(clock.pendingTimers).toBe(0)
    }
  })

  it('S117: does not wait if there is already something to read', async () => {
    const filled = new ReaderQueue(undefined)
    filled.pushDurable(event(1), 1, 1)
    const outdated = new ReaderQueue(undefined)
    outdated.lookUp()
    const full = new ReaderQueue(undefined, 0)
    full.pushDurable(event(1), 1, 1)
    for (const queue of [filled, outdated, full]) expect(await ended(queue.wait())).toBe(true)
  })

  it('S117: reports quiet first after firstMs, then after four times as long each time, up to mostMs; a push resets it', async () => {
    const clock = manualClock()
    const queue = new ReaderQueue(undefined)
    const poll = new QuietPoll()
    const leave = poll.attend(queue, clock, { firstMs: 100, mostMs: 1000 })
    const quietAfter = async (ms: number): Promise<void> => {
      const wait = queue.wait()
      await clock.advance(ms - 1)
      expect(await ended(wait)).toBe(false)
      await clock.advance(1)
      expect(await wait).toBe(true)
    }
    await quietAfter(100)
    await quietAfter(400)
    await quietAfter(1000)
    await quietAfter(1000)
    poll.published += 1
    await clock.advance(1000)
    await quietAfter(100)
    leave()
    expect(clock.pendingTimers).toBe(0)
  })

  it('S117: a reader that joins is polled within firstMs, all are polled together, and none later because others join', async () => {
    const clock = manualClock()
    const poll = new QuietPoll()
    const first = new ReaderQueue(undefined)
    poll.attend(first, clock, { firstMs: 100, mostMs: 1000 })
    await clock.advance(500)
    await first.wait()
    const second = new ReaderQueue(undefined)
    const leave = [poll.attend(second, clock, { firstMs: 100, mostMs: 1000 })]
    const waits = [first.wait(), second.wait()]
    await clock.advance(60)
    leave.push(poll.attend(new ReaderQueue(undefined), clock, { firstMs: 100, mostMs: 1000 }))
    await clock.advance(39)
    for (const wait of waits) expect(await ended(wait)).toBe(false)
    await clock.advance(1)
    for (const wait of waits) expect(await ended(wait)).toBe(true)
    for (const each of leave) each()
    expect(clock.pendingTimers).toBe(1)
  })

  it('S117: one timer keeps the process alive from wait to wait, until a wait that does not, or a poll that finds nobody waiting', async () => {
    const clock = manualClock()
    const queue = new ReaderQueue(undefined)
    const poll = new QuietPoll()
    const leave = poll.attend(queue, clock, { firstMs: 100, mostMs: 1000 })
    const held = (): boolean => clock.pendingTimers === 2
    const waited = async (hold: boolean): Promise<void> => {
      const wait = queue.wait(hold ? clock : undefined)
      queue.pushDurable(event(1), 1, 1)
      await wait
      queue.shift()
    }
    expect(held()).toBe(false)
    await waited(true)
    expect(held()).toBe(true)
    await waited(false)
    expect(held()).toBe(false)
    await waited(true)
    const wait = queue.wait(clock)
    await clock.advance(100)
    expect(held()).toBe(true)
    queue.pushDurable(event(2), 2, 1)
    poll.published += 1
    await wait
    await clock.advance(1000)
    expect(held()).toBe(false)
    await waited(true)
    leave()
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('S120: cursors', () => {
  it.each([
    ['0', 0, 0],
    ['7', 7, 0],
    ['7.3', 7, 3],
    ['999999999999999.999999999999999', 999_999_999_999_999, 999_999_999_999_999],
  ])('S120: %s is event %i, delta %i', (cursor, seq, n) => {
    expect(parseCursor(cursor)).toEqual({ seq, n })
    expect(printCursor(seq, n)).toBe(cursor)
  })

  it.each([
    ['', []],
    ['.0-35', [35]],
    ['.2-5', [Infinity, Infinity, 5]],
    ['.0-5.2-7', [5, Infinity, 7]],
  ])('S120: the end %j of a cursor says how many characters of each block were read', (had, counts) => {
    expect(parseCursor(`7.3${had}`)).toEqual({ seq: 7, n: 3, ...(had && { had }) })
    expect(printCursor(7, 3, had)).toBe(`7.3${had}`)
    expect(charactersHad(had)).toEqual(counts)
    expect(printCursor(7, 0, had)).toBe(had ? `7.0${had}` : '7')
    expect(parseCursor(printCursor(7, 0, had))).toEqual({ seq: 7, n: 0, ...(had && { had }) })
  })

  it.each([
    '',
    '01',
    '-1',
    '1.0',
    '1.',
    '.1',
    '1.2.3',
    '1.2.3-',
    '1.2.-3',
    '1.0-3',
    ' 1',
    '1 ',
    '1e3',
    'x',
    '1000000000000000',
    '1.1000000000000000',
    5,
    null,
    undefined,
  ])('S120: %j is refused', (cursor) => {
    expect(() => parseCursor(cursor as string)).toThrowError(expect.objectContaining({ code: 'invalid-cursor' }))
  })
})
