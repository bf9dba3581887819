import { manualClock } from '@bowline/llm/testing'
import { SessionError } from '@bowline/sessions'
import { expect, it } from 'vitest'
import { SharedFrames } from '../../src/sse/shared-frames.ts'
import { end, event, feed, make, problem, text } from '../support/feed.ts'

it('V36: the first bytes are there before any event, and tell how soon to come back', async () => {
  const { reader } = make(feed())
  expect(text(await reader.read())).toMatch(/^retry: 2000\n:.*\n\n$/)
})

it('V36: silence is broken by a comment each heartbeatMs, counted from the last frame', async () => {
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

it('V28: the last frame repeats the last cursor; without any it begins with the position before the first event', async () => {
  const source = feed()
  const { reader } = make(source, manualClock(), { cursor: '7' })
  source.finish()
  await reader.read()
  expect(text(await reader.read())).toBe(`id: 7\ndata: ${JSON.stringify(end)}\n\n`)
  expect((await reader.read()).done).toBe(true)
})

it('V35: a failure is told in a last frame and then cuts the stream', async () => {
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

it('V34: a reader that leaves ends its own reading and leaves no timer behind', async () => {
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

it('V40: nothing is taken before the reader asks, and then no more than a chunk and the event behind it', async () => {
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

it('V37: an event is encoded once, whoever reads it', async () => {
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

