import { manualClock } from '@bowline/llm/testing'
import { SessionError } from '@bowline/sessions'
import { expect, it } from 'vitest'
import { SharedFrames } from '../../src/sse/shared-frames.ts'
import { end, event, feed, make, problem, text } from '../support/feed.ts'

it('V36: the first bytes come before any event, and contain the delay before a reconnect', async () => {
  const { reader } = make(feed())
  expect(text(await reader.read())).toMatch(/^retry: 2000\n:.*\n\n$/)
})

it('V36: silence is interrupted by a comment each heartbeatMs, counted from the last frame', async () => {
  const source = feed()
  const { reader, clock } = make(source)
  await reader.read()
  const first = reader.read()
  await clock.advance(14_000)
  source.push(event('1'))
  expect(text(await first)).toBe('id: 1\ndata: {"type":"save-point"}\n\n')
  const second = reader.read()
  await clock.advance(14_999)
  const early = await Promise.race([second, Promise.resolve('nothing yet')])
  expect(early).toBe('nothing yet')
  await clock.advance(1)
  expect(text(await second)).toBe(': hb\n\n')
  const third = reader.read()
  await clock.advance(15_000)
  expect(text(await third)).toBe(': hb\n\n')
  await reader.cancel()
})

it('V28: the last frame repeats the last cursor; without events it has the position before the first event', async () => {
  const source = feed()
  const { reader } = make(source, manualClock(), { cursor: '7' })
  source.finish()
  await reader.read()
  expect(text(await reader.read())).toBe(`id: 7\ndata: ${JSON.stringify(end)}\n\n`)
  expect((await reader.read()).done).toBe(true)
})

it('V35: a failure is reported in a last frame and then cuts the stream', async () => {
  const source = feed()
  const { reader } = make(source)
  source.push(event('1'))
  source.finish(new Error('the disk is gone'))
  await reader.read()
  await reader.read()
  expect(text(await reader.read())).toBe(`id: 1\ndata: ${JSON.stringify(problem)}\n\n`)
  await expect(reader.read()).rejects.toThrow('the disk is gone')
})

it('V35: a failure of the last frame cuts the stream too', async () => {
  const source = feed()
  const { reader } = make(source, manualClock(), { complete: () => Promise.reject(new Error('no answer')) })
  source.finish()
  await reader.read()
  expect(text(await reader.read())).toContain('stream-error')
  await expect(reader.read()).rejects.toThrow('no answer')
})

it('V35, S106: a session that is deleted before the last frame ends the stream as deleted', async () => {
  const gone = new SessionError('session-deleted', 'The session room:1 was deleted.')
  const source = feed()
  const { reader } = make(source, manualClock(), { complete: () => Promise.reject(gone) })
  source.finish()
  await reader.read()
  expect(text(await reader.read())).toContain('"type":"stream-end","reason":"deleted"')
  expect((await reader.read()).done).toBe(true)
})

it('V34: a reader that leaves ends only its own stream and leaves no timer', async () => {
  const source = feed()
  const { reader, stream, clock } = make(source)
  await reader.read()
  const pending = reader.read()
  expect(clock.pendingTimers).toBe(1)
  await reader.cancel()
  await pending
  await stream.closed
  expect(source.aborted).toBe(true)
  expect(clock.pendingTimers).toBe(0)
})

it('V40: nothing is read before the reader asks, and then no more than a chunk and the event after it', async () => {
  const source = feed()
  const { reader } = make(source)
  for (let n = 1; n <= 1000; n++) source.push(event(String(n), { text: 'x'.repeat(1000) }))
  await reader.read()
  expect(source.waiting).toBe(1000)
  const chunk = text(await reader.read())
  expect(chunk.length).toBeGreaterThan(60_000)
  expect(chunk.length).toBeLessThan(70_000)
  expect(source.waiting).toBe(1000 - chunk.split('\n\n').length)
  await reader.cancel()
})

it('V37: an event is encoded once for all readers', async () => {
  let encoded = 0
  const shared = new SharedFrames()
  const one = event('1', { detail: { toJSON: () => ++encoded } })
  const frames: string[] = []
  for (let n = 0; n < 3; n++) {
    const source = feed()
    const { reader } = make(source, manualClock(), { shared })
    source.push(one)
    await reader.read()
    frames.push(text(await reader.read()))
    await reader.cancel()
  }
  expect(encoded).toBe(1)
  expect(new Set(frames).size).toBe(1)
})

it('V91: the summary of a stream has its outcome, its counts and how late its reader was', async () => {
  const source = feed()
  const { reader, stream, clock } = make(source, manualClock(5000))
  const opening = await reader.read()
  let bytes = opening.value?.length ?? 0
  source.push(event('1'), event('2'), event('3'))
  bytes += (await reader.read()).value?.length ?? 0
  await clock.advance(700)
  source.push(event('4'))
  bytes += (await reader.read()).value?.length ?? 0
  source.finish()
  bytes += (await reader.read()).value?.length ?? 0
  expect(await stream.closed).toEqual({ endReason: 'settled', frames: 5, bytes, durationMs: 700, lagEvents: 2 })
  expect(clock.pendingTimers).toBe(0)
})

it('V91: a reader that keeps up is never late, and heartbeats are not frames', async () => {
  const source = feed()
  const { reader, stream, clock } = make(source)
  await reader.read()
  for (const cursor of ['1', '2']) {
    const next = reader.read()
    source.push(event(cursor))
    await next
  }
  const beat = reader.read()
  await clock.advance(15_000)
  await beat
  await reader.cancel()
  const bytes = 'retry: 2000\n: open\n\n'.length + 2 * 'id: 1\ndata: {"type":"save-point"}\n\n'.length + ': hb\n\n'.length
  expect(await stream.closed).toEqual({ endReason: 'left', frames: 2, bytes, durationMs: 15_000, lagEvents: 0 })
})

it.each([
  ['complete', { type: 'execute-complete' } as never],
  ['settled', end],
])('V91: a stream that has its last frame ends as %s', async (endReason, frame) => {
  const source = feed()
  const { reader, stream } = make(source, manualClock(), { complete: () => Promise.resolve(frame) })
  source.finish()
  await reader.read()
  await reader.read()
  expect(await stream.closed).toMatchObject({ endReason, frames: 1 })
})

it('V91: a stream that failed ends as error, after its reader has got the reason', async () => {
  const source = feed()
  const { reader, stream, clock } = make(source)
  source.finish(new Error('the disk is gone'))
  await reader.read()
  await reader.read()
  await reader.read().catch(() => undefined)
  expect(await stream.closed).toMatchObject({ endReason: 'error', frames: 1 })
  expect(clock.pendingTimers).toBe(0)
})

it('V39: a reader that does not read after the last frame of a failure is cut off', async () => {
  const source = feed()
  const { reader, stream, clock } = make(source)
  source.finish(new Error('the disk is gone'))
  await reader.read()
  await reader.read()
  await clock.advance(10_000)
  expect(await stream.closed).toMatchObject({ endReason: 'error', frames: 1 })
  await expect(reader.read()).rejects.toThrow('takes nothing')
})

it('V35: of two ends the first one is sent, at the next read, also if an event is ready', async () => {
  const source = feed()
  const { reader, stream } = make(source)
  await reader.read()
  const waiting = reader.read()
  stream.end({ type: 'stream-end', reason: 'drained', resume: true })
  stream.end({ type: 'stream-end', reason: 'max-age', resume: true })
  source.push(event('1'))
  expect(text(await waiting)).toBe('data: {"type":"stream-end","reason":"drained","resume":true}\n\n')
  expect((await reader.read()).done).toBe(true)
  expect(source.aborted).toBe(true)
})

it('V28: events that are left out move the cursor of no frame, and the last one ends the stream', async () => {
  const source = feed()
  const options = {
    cursor: '0',
    select: ({ cursor }: { cursor: string }) => cursor !== '2',
    isLast: ({ cursor }: { cursor: string }) => cursor === '3',
  }
  const { reader, stream } = make(source, manualClock(), options)
  source.push(event('1'), event('2'), event('3'), event('4'))
  await reader.read()
  expect(text(await reader.read()).match(/^id: .*$/gm)).toEqual(['id: 1', 'id: 3'])
  expect(text(await reader.read())).toContain(`id: 3\ndata: ${JSON.stringify(end)}`)
  expect(source.waiting).toBe(1)
  expect(await stream.closed).toMatchObject({ frames: 3, lagEvents: 2 })
})

it('V28: a stream without any included event keeps the cursor that it began with', async () => {
  const source = feed()
  const { reader } = make(source, manualClock(), { cursor: '4', select: () => false })
  await reader.read()
  const next = reader.read()
  source.push(event('5'))
  source.finish()
  expect(text(await next)).toBe(`id: 4\ndata: ${JSON.stringify(end)}\n\n`)
})

it('V35, S106: the session-end event is the last one, and the stream ends as deleted without another read', async () => {
  const source = feed()
  let asked = 0
  const { reader, stream } = make(source, manualClock(), { complete: () => Promise.resolve((asked++, end)) })
  source.push(event('1'), event('2', { type: 'session-end' }), event('3'))
  await reader.read()
  expect(text(await reader.read()).match(/^id: .*$/gm)).toEqual(['id: 1', 'id: 2'])
  expect(text(await reader.read())).toBe('id: 2\ndata: {"type":"stream-end","reason":"deleted","resume":false}\n\n')
  expect(asked).toBe(0)
  expect(await stream.closed).toMatchObject({ endReason: 'deleted' })
})

it('V35: a log that has ended is opened again at its end, as often as there is more of it', async () => {
  const sources = [feed(), feed(), feed()]
  const opened: (string | undefined)[] = []
  const completed: (string | undefined)[] = []
  const { reader } = make(feed(), manualClock(), {
    open: (signal, cursor) => sources[opened.push(cursor) - 1]!.open(signal),
    complete: (cursor) => Promise.resolve(completed.push(cursor) < 3 ? undefined : end),
  })
  for (const source of sources) source.finish()
  sources[0]!.push(event('1'))
  sources[2]!.push(event('2'))
  await reader.read()
  expect(text(await reader.read())).toContain('id: 1\n')
  expect(text(await reader.read())).toContain('id: 2\n')
  expect(text(await reader.read())).toBe(`id: 2\ndata: ${JSON.stringify(end)}\n\n`)
  expect([opened, completed]).toEqual([
    [undefined, '1', '1'],
    ['1', '1', '2'],
  ])
})

it('V35: a format without a last frame is cut, so that its reader reconnects', async () => {
  const source = feed()
  const form = () => ({ event: () => [], deltas: () => [], last: () => [] })
  const { reader, stream, clock } = make(source, manualClock(), { form })
  source.push(event('1'))
  source.finish()
  await reader.read()
  await expect(reader.read()).rejects.toThrow('before its time')
  expect(await stream.closed).toMatchObject({ endReason: 'settled', frames: 0 })
  expect([source.aborted, clock.pendingTimers]).toEqual([true, 0])
})

it('V36: an event resets the heartbeat, also an event at the moment of a heartbeat', async () => {
  const source = feed()
  const { reader, clock } = make(source)
  await reader.read()
  const beat = reader.read()
  await clock.advance(15_000)
  source.push(event('1'))
  expect(text(await beat)).toBe(': hb\n\n')
  expect(text(await reader.read())).toContain('id: 1\n')
  const next = reader.read()
  await clock.advance(14_999)
  expect(await Promise.race([next, Promise.resolve('nothing yet')])).toBe('nothing yet')
  await clock.advance(1)
  expect(text(await next)).toBe(': hb\n\n')
  await reader.cancel()
})

it.each(['while it waits', 'between two reads'])(
  'V34: a reader that leaves %s ends its log, and a later failure of the log is ignored',
  async (moment) => {
    let returned = 0
    const source = feed()
    const { reader, stream } = make(source, manualClock(), {
      open: (signal) => {
        const events = source.open(signal)[Symbol.asyncIterator]()
        return { [Symbol.asyncIterator]: () => ({ ...events, return: () => (returned++, Promise.reject(new Error('the disk is gone'))) }) }
      },
    })
    source.push(event('1'))
    await reader.read()
    await reader.read()
    const waiting = moment === 'while it waits' ? reader.read() : undefined
    await reader.cancel()
    expect(await (waiting ?? reader.read())).toEqual({ done: true, value: undefined })
    expect(await stream.closed).toMatchObject({ endReason: 'left', frames: 1 })
    expect([returned, source.aborted]).toEqual([1, true])
  },
)

it('V34: a reader that leaves while a large frame is being sent gets nothing more, and no further frame is encoded', async () => {
  const source = feed()
  const { reader, stream } = make(source)
  source.push(event('1', { text: 'x'.repeat(200_000) }), event('2'))
  await reader.read()
  await reader.read()
  await reader.cancel()
  expect((await reader.read()).done).toBe(true)
  expect(await stream.closed).toMatchObject({ endReason: 'left', frames: 1 })
})

it('V40: a log is opened at the first read, and asked for one event at a time', async () => {
  let [opened, asked] = [0, 0]
  const source = feed()
  const { reader, clock } = make(source, manualClock(), {
    open: (signal) => {
      opened++
      const events = source.open(signal)[Symbol.asyncIterator]()
      return { [Symbol.asyncIterator]: () => ({ ...events, next: () => (asked++, events.next()) }) }
    },
  })
  await reader.read()
  expect(opened).toBe(0)
  for (let beat = 1; beat < 3; beat++) {
    const next = reader.read()
    await clock.advance(15_000)
    await next
    expect([opened, asked]).toEqual([1, 1])
  }
  source.push(event('1'))
  await reader.read()
  expect([opened, asked]).toEqual([1, 2])
  await reader.cancel()
})
