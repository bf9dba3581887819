import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { LlmError, readEvents, streamMessage, type LanguageModelV4StreamPart, type MessageEvent, type MessageStream } from '../src/index.ts'
import type { ScriptedModel } from '../src/testing/index.ts'
import { call, finish, hello, messageOf, rawModel, readAll, settle, text, type Call } from './support.ts'

interface Reading {
  readonly events: MessageEvent[]
  readonly message: ReturnType<typeof readEvents>
}

function read(stream: MessageStream, onEvent: (event: MessageEvent) => void = () => {}): Reading {
  const events: MessageEvent[] = []
  const message = readEvents(stream, (event) => {
    events.push(event)
    onEvent(event)
  })
  return { events, message }
}

const callsOf = ({ model }: Call): number => (model as ScriptedModel).calls.length

const typesOf = (events: readonly MessageEvent[]): string[] => events.map(({ type }) => type)

const whole = {
  text: 'abcdef',
  reasoning: 'thought',
  toolCalls: [{ name: 'x', input: { a: 1 }, chunk: 2 }],
  chunk: 2,
}

/** Returns a stream with this many deltas, available at once, followed by the given end. */
function instant(
  deltas: number,
  end: (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => void | Promise<void>,
): ReadableStream<LanguageModelV4StreamPart> {
  let place = 0
  return new ReadableStream({
    pull(controller) {
      if (place++ < deltas) return controller.enqueue({ type: 'text-delta', id: 't', delta: 'x' })
      return end(controller)
    },
  })
}

const finished = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): void => {
  controller.enqueue(finish())
  controller.close()
}

/** Wraps a stream like another package would. */
function foreign(stream: MessageStream): MessageStream {
  return {
    messageId: stream.messageId,
    abort: (reason) => stream.abort(reason),
    result: () => stream.result(),
    [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator](),
  }
}

/** Wraps a stream and changes its events. */
function shouting(stream: MessageStream): MessageStream {
  return {
    ...stream,
    async *[Symbol.asyncIterator]() {
      for await (const event of stream) yield event.type === 'text-delta' ? { ...event, delta: event.delta.toUpperCase() } : event
      return undefined
    },
  }
}

describe('pushed events', () => {
  it('L1, L2: are the same as in a loop', async () => {
    const { events, message } = read(call(whole).stream)
    expect(await message).toBe(messageOf(events))
    expect(events).toEqual(await readAll(call(whole).stream))
  })

  it('L18: no request is made before the first read, and then exactly one', async () => {
    const made = call(whole)
    await settle()
    expect(callsOf(made)).toBe(0)
    await read(made.stream).message
    expect(callsOf(made)).toBe(1)
  })

  it('L19: result() is the message of message-end, for success, error and abort', async () => {
    const aborted = call({ text: 'a', hang: 'end' })
    setImmediate(() => aborted.stream.abort('enough'))
    for (const { stream } of [call({ text: 'a' }), call({ error: 'no' }), aborted]) {
      const { events, message } = read(stream)
      expect(await message).toBe(messageOf(events))
      expect(await message).toBe(await stream.result())
    }
  })

  it('L20: content from before the read is pushed first', async () => {
    const { stream } = call(whole)
    const result = stream.result()
    await settle()
    const { events, message } = read(stream)
    expect(await message).toBe(await result)
    expect(typesOf(events).slice(0, 4)).toEqual(['message-start', 'reasoning-start', 'reasoning-delta', 'reasoning-end'])
    expect(events).toContainEqual({ type: 'text-delta', index: 1, delta: 'abcdef' })
    expect(messageOf(events)).toBe(await result)
  })

  it('L20: result() requested in the middle changes nothing', async () => {
    const { stream } = call(whole)
    const { events, message } = read(stream, () => void stream.result())
    await message
    expect(events).toEqual(await readAll(call(whole).stream))
  })

  it('L21: a second reader throws at once', async () => {
    const { stream } = call(whole)
    const { message } = read(stream)
    expect(() => readEvents(stream, () => {})).toThrow(LlmError)
    expect(() => stream[Symbol.asyncIterator]()).toThrow('only once')
    expect((await message).stopReason).toBe('tool-calls')
    const looped = call(whole).stream
    await readAll(looped)
    expect(() => readEvents(looped, () => {})).toThrow('only once')
  })

  it('L22: the reader does not slow down the provider', async () => {
    const { stream } = call({ text: 'abc', chunk: 1 })
    const { events } = read(stream)
    await settle()
    expect(typesOf(events).at(-1)).toBe('message-end')
  })

  it.each([
    ['the first', 'message-start', 0],
    ['one of a block', 'text-start', 1],
    ['a delta', 'text-delta', 2],
    ['a later delta', 'text-delta', 3],
    ['the end of a block', 'text-end', 5],
  ])('L23: a reader that throws at %s leaves: the call is aborted and the error is passed on', async (_, type, place) => {
    const made = call({ text: 'abc', chunk: 1, hang: 'end' })
    const { stream } = made
    const broken = new Error('reader broke')
    const { events, message } = read(stream, () => {
      if (events.length === place + 1) throw broken
    })
    await expect(message).rejects.toBe(broken)
    expect(events.at(-1)?.type).toBe(type)
    expect(await stream.result()).toMatchObject({ stopReason: 'aborted', abortReason: 'consumer-left' })
    await settle()
    expect(events).toHaveLength(place + 1)
    expect(callsOf(made)).toBe(place === 0 ? 0 : 1)
    for (const { abortSignal } of (made.model as ScriptedModel).calls) expect(abortSignal?.aborted).toBe(true)
  })

  it('L23: a reader that throws at the end still has the message', async () => {
    const { stream } = call({ text: 'a' })
    const { message } = read(stream, ({ type }) => {
      if (type === 'message-end') throw new Error('too late')
    })
    await expect(message).rejects.toThrow('too late')
    expect((await stream.result()).stopReason).toBe('stop')
  })

  it.each([
    ['message-start', []],
    ['text-start', ['text-delta', 'text-end']],
    ['text-delta', ['text-end']],
    ['text-end', []],
    ['tool-call-start', ['tool-call-end']],
    ['tool-call-delta', ['tool-call-end']],
  ])('L2, L29: an abort from the reader at %s ends the message after the event, in order', async (type, closing) => {
    const { stream } = call(whole)
    let depth = 0
    const { events, message } = read(stream, (event) => {
      depth += 1
      expect(depth).toBe(1)
      if (event.type === type) stream.abort('enough')
      depth -= 1
    })
    expect(await message).toMatchObject({ stopReason: 'aborted', abortReason: 'enough' })
    const aborted = typesOf(events).indexOf(type)
    expect(typesOf(events).slice(aborted + 1)).toEqual([...closing, 'message-end'])
    expect(messageOf(events)).toBe(await message)
  })

  it('L28: an already aborted signal gives the two events', async () => {
    const { events, message } = read(call(whole, { abortSignal: AbortSignal.abort('no') }).stream)
    expect(await message).toMatchObject({ stopReason: 'aborted', abortReason: 'no' })
    expect(typesOf(events)).toEqual(['message-start', 'message-end'])
  })

  it('L34: a provider that falls silent is left in time', async () => {
    const { stream, clock } = call({ text: 'a', hang: 'end', finish: false }, { timeouts: { idleMs: 1_600 } })
    const { events, message } = read(stream)
    await clock.advance(1_700)
    expect(await message).toMatchObject({ error: { kind: 'timeout', code: 'idle' } })
    expect(typesOf(events).slice(-3)).toEqual(['text-delta', 'text-end', 'message-end'])
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('a stream that always has a part ready', () => {
  const deltas = 5_000

  const readings: Record<string, (stream: MessageStream) => Promise<unknown>> = {
    'by events': (stream) => readEvents(stream, () => {}),
    'by result()': (stream) => stream.result(),
    'by events, made elsewhere': (stream) => readEvents(foreign(stream), () => {}),
    'by events, changed on their way': (stream) => readEvents(shouting(stream), () => {}),
  }

  it.each(Object.entries(readings))('L27: timers and aborts get their turn while it is read %s', async (_, reading) => {
    const model = rawModel(() => Promise.resolve({ stream: instant(Infinity, finished) }))
    const controller = new AbortController()
    const stream = streamMessage({ model, messages: hello, abortSignal: controller.signal })
    setImmediate(() => setImmediate(() => controller.abort('in time')))
    await reading(stream)
    expect(await stream.result()).toMatchObject({ stopReason: 'aborted', abortReason: 'in time' })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('L34: the limit for the whole call applies', async () => {
    const model = rawModel(() => Promise.resolve({ stream: instant(Infinity, finished) }))
    const message = await readEvents(streamMessage({ model, messages: hello, timeouts: { totalMs: 5 } }), () => {})
    expect(message).toMatchObject({ stopReason: 'error', error: { kind: 'timeout', code: 'total' } })
  })

  it('L98: is read in few turns of the event loop, and each event comes once', async () => {
    const turns = vi.spyOn(globalThis, 'setTimeout')
    const model = rawModel(() => Promise.resolve({ stream: instant(deltas, finished) }))
    const { events, message } = read(streamMessage({ model, messages: hello, timeouts: { firstPartMs: 0, idleMs: 0 } }))
    expect((await message).content).toEqual([{ type: 'text', text: 'x'.repeat(deltas) }])
    expect(events).toHaveLength(deltas + 4)
    // One turn, to wait for the end of the stream after the finish.
    expect(turns.mock.calls.length).toBeLessThanOrEqual(1)
    turns.mockRestore()
  })
})

describe('streams of other sources', () => {
  it('L1, L2: give the same events when pushed', async () => {
    const { events, message } = read(shouting(call(whole).stream))
    expect(await message).toBe(messageOf(events))
    expect(events).toContainEqual({ type: 'text-delta', index: 1, delta: 'AB' })
    const passed = read(foreign(call(whole).stream))
    expect(await passed.message).toBe(messageOf(passed.events))
    expect(passed.events).toEqual(await readAll(call(whole).stream))
  })

  it.each([
    ['passed on', foreign],
    ['changed', shouting],
  ])('L23: a reader that throws leaves them too: %s', async (_, around) => {
    const { stream } = call({ text: 'abc', hang: 'end' })
    const { events, message } = read(around(stream), ({ type }) => {
      if (type === 'text-delta') throw new Error('reader broke')
    })
    await expect(message).rejects.toThrow('reader broke')
    expect(events).toHaveLength(3)
    expect(await stream.result()).toMatchObject({ stopReason: 'aborted', abortReason: 'consumer-left' })
  })

  it('L19: a stream that breaks rejects with its error', async () => {
    const broken: MessageStream = {
      ...call(whole).stream,
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('broken')) }),
    }
    await expect(readEvents(broken, () => {})).rejects.toThrow('broken')
  })
})

it('L4: text cut inside a character is pushed whole', async () => {
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'text-delta', id: 't', delta: 'a\ud83d' },
    { type: 'text-delta', id: 't', delta: '\ude00b' },
    { type: 'text-delta', id: 't', delta: '' },
    { type: 'text-delta', id: 't', delta: 'c\ud83d' },
    ...text('d', 'u'),
    finish(),
  ]
  const { events, message } = read(call({ parts, finish: false }).stream)
  await message
  expect(events.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))).toEqual(['a', '😀b', 'c', 'd', '\ud83d'])
})
