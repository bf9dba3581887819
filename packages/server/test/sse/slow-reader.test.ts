import { expect, it } from 'vitest'
import { event, feed, make, text } from '../support/feed.ts'

const slow = { type: 'stream-end', reason: 'slow-reader', resume: true }

it('V39: a reader that does not read for slowReaderMs gets no more events, and gets its end when it reads again', async () => {
  const source = feed()
  const { reader, clock, stream } = make(source)
  source.push(event('1'))
  await reader.read()
  await reader.read()
  source.push(event('2'))
  await clock.advance(9999)
  expect(source.aborted).toBe(false)
  await clock.advance(1)
  expect(source.aborted).toBe(true)
  expect(text(await reader.read())).toBe(`id: 1\ndata: ${JSON.stringify(slow)}\n\n`)
  expect((await reader.read()).done).toBe(true)
  expect(await stream.closed).toMatchObject({ endReason: 'slow-reader', frames: 2, durationMs: 10_000 })
  expect(clock.pendingTimers).toBe(0)
})

it('V39: a reader that does not read its end either is cut off', async () => {
  const source = feed()
  const { reader, clock, stream } = make(source)
  source.push(event('1'))
  await reader.read()
  await clock.advance(10_999)
  let closed = false
  void stream.closed.then(() => (closed = true))
  await clock.advance(0)
  expect(closed).toBe(false)
  await clock.advance(1)
  expect(await stream.closed).toMatchObject({ endReason: 'slow-reader' })
  await expect(reader.read()).rejects.toThrow('takes nothing')
  expect(clock.pendingTimers).toBe(0)
})

it('V39: so is one that does not read an end that it got for another reason', async () => {
  const { reader, clock, stream } = make(feed())
  await reader.read()
  stream.end({ type: 'stream-end', reason: 'drained', resume: true })
  await clock.advance(10_000)
  expect(await stream.closed).toMatchObject({ endReason: 'drained' })
  await expect(reader.read()).rejects.toThrow()
})

it('V39: a reader that waits is not slow, however long no event comes', async () => {
  const source = feed()
  const { reader, clock } = make(source)
  await reader.read()
  for (let beat = 0; beat < 10; beat++) {
    const next = reader.read()
    await clock.advance(15_000)
    expect(text(await next)).toBe(': hb\n\n')
  }
  const next = reader.read()
  source.push(event('1'))
  expect(text(await next)).toContain('id: 1\n')
  await reader.cancel()
})

it('V36: a reader that reads again after a pause gets its heartbeat in time', async () => {
  const { reader, clock } = make(feed(), undefined, { slowReaderMs: 60_000 })
  await reader.read()
  await clock.advance(20_000)
  const next = reader.read()
  await clock.advance(15_000)
  expect(text(await next)).toBe(': hb\n\n')
  await reader.cancel()
})
