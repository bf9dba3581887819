import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { readLog } from '../../src/log/read-log.ts'
import { event, key, writtenLog } from './written-log.ts'

const queued = (runId: string) => ({ type: 'run-queued', at: 1, runId })
const others = (count: number) => Array.from({ length: count }, (_, index) => queued(`other${index}`))
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`)
const at = (seq: number, n = 0) => ({ from: () => ({ seq, n }) })

describe('S116: a reader that is aborted or ends', () => {
  it('S116: gives nothing and asks the store for nothing if its signal was aborted before', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const events = readLog(log.reading({ abortSignal: AbortSignal.abort() }))
    expect([await events.next(), events.take(), log.limits]).toEqual([{ done: true, value: undefined }, undefined, []])
  })

  it('S116: ends at its abort while it waits, and leaves no timer, no listener and no session in memory', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const leaving = new AbortController()
    const reader = log.follow({ abortSignal: leaving.signal })
    await log.settle()
    log.endRun()
    const session = log.live.session(key)
    expect([reader.over, session.idle, log.clock.pendingTimers]).toEqual([undefined, false, 2])
    leaving.abort()
    await log.settle()
    expect([reader.over, reader.cursors, session.idle, log.clock.pendingTimers]).toEqual(['done', ['1'], true, 0])
    expect(log.live.session(key)).not.toBe(session)
  })

  it.each(['before it has begun', 'at its end', 'after a failure', 'returned from in the middle'])(
    'S116: removes the listener of its signal %s',
    async (moment) => {
      const log = await writtenLog()
      await log.publish(event('turn-start'), event('step-start'))
      const { signal } = new AbortController()
      const events = readLog(log.reading({ abortSignal: signal, live: false, ...(moment === 'after a failure' && at(9)) }))
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      if (moment === 'at its end') while (!(await events.next()).done);
      if (moment === 'after a failure') await expect(events.next()).rejects.toMatchObject({ code: 'cursor-ahead' })
      if (moment === 'returned from in the middle') await events.next()
      if (moment === 'before it has begun' || moment === 'returned from in the middle')
        expect(await events.return?.()).toEqual({ done: true, value: undefined })
      expect(getEventListeners(signal, 'abort')).toEqual([])
      log.endRun()
      expect(log.live.session(key).idle).toBe(true)
      expect([await events.next(), events.take()]).toEqual([{ done: true, value: undefined }, undefined])
    },
  )

  it('S116: a delta that a reader waits for sets no timer and reads no signal', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'), event('message-start'))
    const events = readLog(log.reading({ abortSignal: new AbortController().signal, ...at(2) }))
    const reads = vi.spyOn(AbortSignal.prototype, 'aborted', 'get')
    const timers = vi.spyOn(log.clock, 'setTimer')
    const follow = async (deltas: number): Promise<void> => {
      for (let n = 0; n < deltas; n++) {
        const next = events.next()
        await Promise.resolve()
        log.say('x')
        expect((await next).value).toMatchObject({ delta: 'x' })
      }
    }
    await follow(2)
    const counts = (): readonly number[] => [reads.mock.calls.length, timers.mock.calls.length]
    const before = counts()
    await follow(100)
    expect(counts()).toEqual(before)
    reads.mockRestore()
    await events.return?.()
    expect(log.clock.pendingTimers).toBe(0)
  })

  it('S116: gives nothing of a page after its abort', async () => {
    const log = await writtenLog()
    await log.write(...others(40))
    const leaving = new AbortController()
    const events = readLog(log.reading({ abortSignal: leaving.signal }))
    expect((await events.next()).value).toMatchObject({ seq: 1 })
    expect(events.take()).toMatchObject({ seq: 2 })
    leaving.abort()
    expect([events.take(), await events.next()]).toEqual([undefined, { done: true, value: undefined }])
    expect(log.limits).toHaveLength(1)
  })

  it('S116: gives nothing of its queue after its abort', async () => {
    const log = await writtenLog()
    await log.publish(event('message-start'))
    const leaving = new AbortController()
    const events = readLog(log.reading({ abortSignal: leaving.signal, ...at(1) }))
    const next = events.next()
    await log.settle()
    for (const text of ['a', 'b', 'c']) log.say(text)
    expect((await next).value).toMatchObject({ cursor: '1.1.0-1' })
    expect(events.take()).toMatchObject({ cursor: '1.2.0-2' })
    leaving.abort()
    expect([events.take(), await events.next()]).toEqual([undefined, { done: true, value: undefined }])
  })

  it.each([1, 2])('S116: gives nothing from the store if the abort comes during read %i', async (nth) => {
    const log = await writtenLog()
    await log.write(...others(20))
    const leaving = new AbortController()
    log.duringReads(...Array.from({ length: nth }, (_, index) => () => index === nth - 1 && leaving.abort()))
    const reader = log.follow({ abortSignal: leaving.signal })
    await log.settle()
    expect([reader.over, reader.cursors.length]).toEqual(['done', nth === 1 ? 0 : 16])
  })

  it('S116: gives nothing between two events of this process after its abort', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const leaving = new AbortController()
    const reader = log.follow({ abortSignal: leaving.signal })
    await log.settle()
    await log.write(...others(3))
    log.duringReads(() => leaving.abort())
    await log.publish(event('step-start'))
    await log.settle()
    expect([reader.over, reader.cursors]).toEqual(['done', ['1']])
  })

  it('S116: fails with the reason and is released if it cannot find its start', async () => {
    const log = await writtenLog()
    const reader = log.follow({ from: () => Promise.reject(Object.assign(new Error('gone'), { code: 'unknown-run' })) })
    await log.settle()
    log.endRun()
    expect([reader.over, log.live.session(key).idle]).toMatchObject([{ code: 'unknown-run' }, true])
  })
})

describe('S117: what a reader requests from the store', () => {
  it('S117: pages grow fourfold while events are small', async () => {
    const log = await writtenLog()
    await log.write(...others(600))
    const reader = log.follow({ live: false })
    await log.settle()
    expect([reader.over, reader.cursors.length, log.limits]).toEqual(['done', 600, [16, 64, 256, 500]])
  })

  it('S117: pages are not larger than the buffer of the reader', async () => {
    const log = await writtenLog()
    await log.write(...others(20))
    const reader = log.follow({ live: false, bufferBytes: 2200 })
    await log.settle()
    expect([reader.over, reader.cursors.length, log.limits]).toEqual(['done', 20, [16, 2, 2]])
  })

  it('S117: neither events that this process publishes nor deltas cause a read', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const readers = [log.follow(), log.follow({ runId: 'r1' })]
    await log.settle()
    const looks = log.limits.length
    for (let step = 0; step < 5; step++) {
      await log.publish(event('message-start'))
      log.say('a')
      await log.settle()
    }
    expect(log.limits).toHaveLength(looks)
    for (const { cursors } of readers) expect(cursors).toEqual(['1', '2', '2.1', '3', '3.1', '4', '4.1', '5', '5.1', '6', '6.1'])
  })
})

describe('S118, S119: a log with several writers', () => {
  it('S118: events that others stored between two events of this process come between them, and the deltas stay', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const reader = log.follow()
    await log.settle()
    await log.write(...others(40))
    log.duringReads(async () => {
      log.say('a')
      await log.publish(event('message-end'))
    })
    await log.publish(event('message-start'))
    await log.settle()
    expect(reader.cursors).toEqual([...numbers(1, 42), '42.1', '43'])
    expect(log.limits.slice(-3)).toEqual([16, 16, 8])
  })

  it('S118: while it reads between two events, take() gives the events that it has read', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const events = readLog(log.reading())
    await events.next()
    const next = events.next()
    await log.settle()
    await log.write(...others(2))
    await log.publish(event('message-start'))
    log.say('a')
    expect((await next).value).toMatchObject({ seq: 2 })
    expect([events.take(), events.take()]).toMatchObject([{ seq: 3 }, undefined])
    expect((await events.next()).value).toMatchObject({ seq: 4 })
    expect(events.take()).toMatchObject({ cursor: '4.1.0-1' })
    await events.return?.()
  })

  it('S118: an event that came from the store before this process published it comes once', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const reader = log.follow()
    await log.settle()
    const stored = await log.write(event('step-start'))
    await log.clock.advance(1000)
    expect(reader.cursors).toEqual(['1', '2'])
    log.live.publish(key, stored, true)
    await log.publish(event('message-start'))
    await log.settle()
    expect(reader.cursors).toEqual(['1', '2', '3'])
  })

  it('S119: deltas before an event of their run from the store are dropped, later ones are not', async () => {
    const log = await writtenLog()
    await log.publish(event('message-start'))
    const reader = log.follow()
    await log.settle()
    log.say('a')
    await log.settle()
    const stored = await log.write(event('message-end'))
    await log.clock.advance(2000)
    log.say('b')
    await log.settle()
    expect(reader.cursors).toEqual(['1', '1.1', '2'])
    log.live.publish(key, stored, true)
    log.say('c')
    await log.settle()
    expect(reader.cursors).toEqual(['1', '1.1', '2', '2.1'])
  })

  it.each<[string, object]>([
    ['an input', queued('r2')],
    ['the stop of a run that never began', event('turn-end', { runId: 'r2', turn: 0 })],
    ['word of a subagent', event('child-update', { childRunId: 'r2' })],
    ['the end of a subagent', event('child-end', { childRunId: 'r2' })],
    ['a question in the background', event('approval-requested', { runId: 'r2', path: ['d'], background: ['d'] })],
    ['a decision in the background', event('approval-resolved', { runId: 'r2', background: ['d'] })],
    ['a remote call in the background', event('awaiting-tools', { runId: 'r2', pendingToolCalls: [], background: ['d'] })],
    ['a subagent that is held', event('error', { runId: 'r2', path: ['d'] })],
  ])('S119: %s drops no delta and changes no count, read from the store or live', async (_what, other) => {
    const log = await writtenLog()
    await log.publish(event('message-start'))
    const early = log.follow()
    await log.settle()
    for (const text of ['a', 'b']) log.say(text)
    await log.settle()
    await log.publishOther(other)
    const [fresh, late] = [log.follow(), log.follow(at(1, 1))]
    await log.settle()
    log.say('c')
    await log.settle()
    expect(early.cursors).toEqual(['1', '1.1', '1.2', '2.2', '2.3'])
    expect(fresh.cursors).toEqual(['1', '2', '2.1', '2.2', '2.3'])
    expect(late.cursors).toEqual(['2.1', '2.2', '2.3'])
    const again = log.follow(at(2, 2))
    await log.settle()
    expect(again.cursors).toEqual(['2.3'])
  })

  it.each(['approval-requested', 'approval-resolved', 'awaiting-tools', 'error', 'child-update', 'child-end', 'tool-execution-end'])(
    'S119: %s of the run itself resets the count, also for a reader that comes back',
    async (type) => {
      const log = await writtenLog()
      await log.publish(event('message-start'))
      for (const text of ['a', 'b']) log.say(text)
      await log.publish(event(type))
      const late = log.follow(at(1, 2))
      await log.settle()
      log.say('c')
      await log.settle()
      expect(late.cursors).toEqual(['2', '2.1'])
      const again = log.follow(at(2))
      await log.settle()
      expect(again.cursors).toEqual(['2.1'])
    },
  )

  it('S115: an input that is read after the end of the answer is known changes nothing of what a reader has had', async () => {
    const log = await writtenLog()
    await log.publish(event('message-start'))
    const reader = log.follow()
    await log.settle()
    for (const text of ['a', 'b']) log.say(text)
    await log.settle()
    await log.write(queued('other'))
    await log.publish(event('message-end', { messageId: 'm', message: { content: [{ type: 'text', text: 'abc' }] } }))
    await log.settle()
    expect(reader.types).toEqual(['message-start', 'text-delta', 'text-delta', 'run-queued', 'text-delta', 'message-end'])
    expect(reader.deltas).toEqual(['a', 'b', 'c'])
  })

  it.each(['message-end', 'child-update'])(
    'S119: after %s of the run, received live, the count is reset for what the reader reads from the store',
    async (type) => {
      const log = await writtenLog()
      await log.publish(event('message-start'))
      const reader = log.follow()
      await log.settle()
      for (const text of ['a', 'b']) log.say(text)
      await log.publish(event(type))
      await log.settle()
      await log.write(...others(1))
      await log.clock.advance(2000)
      log.say('c')
      await log.settle()
      expect(reader.cursors).toEqual(['1', '1.1', '1.2', '2', '3', '3.1'])
      const again = log.follow(at(3))
      await log.settle()
      expect(again.cursors).toEqual(['3.1'])
    },
  )

  it.each([true, 'so-far'] as const)(
    'S119, S188: a reader that attaches after another process has completed a message gets no delta of it (live: %s)',
    async (live) => {
      const log = await writtenLog()
      await log.publish(event('message-start'))
      for (const text of ['a', 'b']) log.say(text)
      const open = log.follow({ ...at(1), live })
      await log.settle()
      expect(open.cursors).toEqual(['1.1', '1.2'])
      await log.write(event('message-end'), ...others(1))
      const taken: unknown[] = []
      const events = readLog(log.reading({ ...at(3), live }))
      // One read, one look back, and one search for the newest event of a run.
      log.duringReads(...Array.from({ length: 4 }, () => () => taken.push(events.take())))
      const next = events.next()
      await log.settle()
      expect(taken.filter((each) => each !== undefined)).toEqual([])
      if (live === 'so-far') return expect(await next).toMatchObject({ done: true })
      await log.write(event('message-start'))
      await log.clock.advance(1000)
      expect((await next).value).toMatchObject({ seq: 4 })
      await events.return?.()
    },
  )

  it('S116: a slow reader of a run gets the event of a subagent that is stored when the reader meets the end of the run', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    let rests = false
    const events = readLog(log.reading({ runId: 'r1', isResting: () => Promise.resolve(rests) }))
    await events.next()
    const next = events.next()
    await log.settle()
    log.live.publish(key, await log.write(event('turn-end'), event('save-point')), true, 'r1')
    rests = true
    expect((await next).value).toMatchObject({ seq: 2 })
    await log.write(event('child-end', { childRunId: 'r2' }))
    log.live.announce(key)
    const types: string[] = []
    for await (const { type } of events) types.push(type)
    expect(types).toEqual(['save-point', 'child-end'])
  })

  it('S119: deltas that come while a reader reads the store are not lost, and deltas it has read are not repeated', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const reader = log.follow()
    await log.settle()
    for (const text of ['a', 'b']) log.say(text)
    await log.publish(event('message-start'))
    await log.settle()
    log.duringReads(() => ['c', 'd', 'e'].forEach((text) => log.say(text)))
    log.live.announce(key)
    await log.settle()
    log.duringReads(() => log.say('f'))
    log.live.announce(key)
    await log.settle()
    expect(reader.cursors).toEqual(['1', '1.1', '1.2', '2', '2.1', '2.2', '2.3', '2.4'])
  })

  it('S118: an event that is published while a reader reads older events is not missed', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const reader = log.follow(at(1))
    log.duringReads(
      () => undefined,
      () => log.publish(event('step-start')),
    )
    await log.settle()
    expect(reader.cursors).toEqual(['2'])
  })

  it('S122: an event that another process stores is found by a read after a second, and then less and less often', async () => {
    const log = await writtenLog()
    const reader = log.follow()
    await log.settle()
    await log.write(queued('r2'))
    await log.clock.advance(999)
    expect(reader.cursors).toEqual([])
    await log.clock.advance(1)
    expect(reader.cursors).toEqual(['1'])
    await log.clock.advance(1000)
    const looks = log.limits.length
    await log.clock.advance(16_000)
    expect(log.limits.length - looks).toBeLessThanOrEqual(2)
  })
})
