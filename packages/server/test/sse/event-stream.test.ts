import type { ExecuteComplete, StreamEnd } from '@bowline/client'
import { manualClock, type ManualClock } from '@bowline/llm/testing'
import type { LoggedEvent } from '@bowline/sessions'
import { expect, it } from 'vitest'
import { EventStream, type EventStreamOptions } from '../../src/sse/event-stream.ts'
import { OpenStreams } from '../../src/sse/open-streams.ts'

const decoder = new TextDecoder()
const end: StreamEnd = { type: 'stream-end', reason: 'settled', resume: false }
const problem = { type: 'stream-error', problem: { code: 'internal' } } as never

/** A source that the test feeds. */
function feed() {
  const waiting: LoggedEvent[] = []
  let wake = (): void => undefined
  let over: { readonly error?: unknown } | undefined
  let signal: AbortSignal | undefined
  return {
    push(event: object) {
      waiting.push(event as LoggedEvent)
      wake()
    },
    finish(error?: unknown) {
      over = error === undefined ? {} : { error }
      wake()
    },
    get aborted() {
      return signal?.aborted
    },
    async *open(abortSignal: AbortSignal) {
      signal = abortSignal
      abortSignal.addEventListener('abort', () => wake())
      while (!abortSignal.aborted) {
        const event = waiting.shift()
        if (event) yield event
        else if (over) {
          if ('error' in over) throw over.error
          return
        } else await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
}

function make(source: ReturnType<typeof feed>, clock: ManualClock = manualClock(), options: Partial<EventStreamOptions> = {}) {
  const stream = new EventStream({
    open: (signal) => source.open(signal),
    complete: (): Promise<ExecuteComplete | StreamEnd> => Promise.resolve(end),
    toFrame: () => problem,
    clock,
    heartbeatMs: 15_000,
    ...options,
  })
  return { stream, clock, reader: stream.body.getReader() }
}

const text = ({ value }: { value?: Uint8Array | undefined }): string => decoder.decode(value)
const event = (cursor: string, more: object = {}) => ({ type: 'save-point', cursor, ...more })

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

it('V40: nothing is read ahead of the reader', async () => {
  const source = feed()
  let pulled = 0
  const { reader } = make(source, manualClock(), {
    select: () => {
      pulled++
      return true
    },
  })
  for (let n = 1; n <= 100; n++) source.push(event(String(n)))
  await reader.read()
  await reader.read()
  await reader.read()
  expect(pulled).toBe(2)
  await reader.cancel()
})

it('V37: an event is encoded once, whoever reads it', async () => {
  let encoded = 0
  const shared = event('1', { detail: { toJSON: () => ++encoded } })
  const frames: string[] = []
  for (let n = 0; n < 3; n++) {
    const source = feed()
    const { reader } = make(source)
    source.push(shared)
    await reader.read()
    frames.push(text(await reader.read()))
    await reader.cancel()
  }
  expect(encoded).toBe(1)
  expect(new Set(frames).size).toBe(1)
})

it('V82: draining lets streams finish, then ends the others with drained so that their readers come back', async () => {
  const clock = manualClock()
  const streams = new OpenStreams()
  const finishing = feed()
  const idle = feed()
  const a = make(finishing, clock)
  const b = make(idle, clock)
  streams.add(a.stream)
  streams.add(b.stream)
  await a.reader.read()
  await b.reader.read()
  let drained = false
  const draining = streams.drain(1000, clock).then(() => (drained = true))
  finishing.finish()
  expect(text(await a.reader.read())).toContain('"settled"')
  const last = b.reader.read()
  await clock.advance(999)
  expect(drained).toBe(false)
  await clock.advance(1)
  expect(text(await last)).toBe('data: {"type":"stream-end","reason":"drained","resume":true}\n\n')
  await draining
  expect(streams.count).toBe(0)
  expect(idle.aborted).toBe(true)
})

it('V82: draining does not wait for ever for a reader that takes nothing', async () => {
  const clock = manualClock()
  const streams = new OpenStreams()
  streams.add(make(feed(), clock).stream)
  const draining = streams.drain(1000, clock)
  await clock.advance(2000)
  await expect(draining).resolves.toBeUndefined()
})
