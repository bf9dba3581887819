import { describe, expect, it } from 'vitest'
import { streamMessage, type Clock, type LanguageModelV4StreamPart } from '../src/index.ts'
import { manualClock, scriptedModel, type Action } from '../src/testing/index.ts'
import { call, eventsOf, finish, hello, rawModel, readAll, resultOf, settle, text, usageOf } from './support.ts'

const tick = (ms: number, count: number): (LanguageModelV4StreamPart | Action)[] =>
  Array.from({ length: count }, () => [{ sleep: ms }, { type: 'text-delta', id: 't', delta: 'x' } as const]).flat()

describe('abort', () => {
  it('L28: an aborted signal gives two events and no call', async () => {
    const model = scriptedModel([])
    const stream = streamMessage({ model, messages: hello, abortSignal: AbortSignal.abort('not wanted') })
    const events = await readAll(stream)
    expect(events.map((event) => event.type)).toEqual(['message-start', 'message-end'])
    expect(await stream.result()).toMatchObject({
      stopReason: 'aborted',
      abortReason: 'not wanted',
      content: [],
      usage: { inputTokens: 0, outputTokens: 0 },
    })
    expect(model.calls).toHaveLength(0)
  })

  it('L28: abort() before the first read does the same', async () => {
    const model = scriptedModel([])
    const stream = streamMessage({ model, messages: hello })
    stream.abort('changed my mind')
    stream.abort('again')
    expect(await stream.result()).toMatchObject({ stopReason: 'aborted', abortReason: 'changed my mind' })
    expect(model.calls).toHaveLength(0)
  })

  it('L29: content that had arrived is kept', async () => {
    const { stream } = call({
      parts: [
        { type: 'reasoning-delta', id: 'r', delta: 'because' },
        { type: 'text-delta', id: 't', delta: 'half a sen' },
        { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: '{"a":1}' },
        { hang: true },
      ],
    })
    const result = stream.result()
    await settle()
    stream.abort()
    const message = await result
    expect(message.content).toEqual([
      { type: 'reasoning', text: 'because' },
      { type: 'text', text: 'half a sen' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: { a: 1 } },
    ])
    expect(message).not.toHaveProperty('error')
    expect(message).not.toHaveProperty('abortReason')
  })

  it.each(['before', 'middle'] as const)('L30: a provider that ignores the signal (%s) does not delay the caller', async (hang) => {
    const { stream, clock } = call({ text: 'abcd', chunk: 1, hang, ignoreAbort: true })
    const result = stream.result()
    await settle()
    stream.abort('now')
    expect((await result).stopReason).toBe('aborted')
    expect(clock.now()).toBe(1_000)
  })

  it('L30: a stream that arrives after the abort is cancelled', async () => {
    let arrive: (value: { stream: ReadableStream<LanguageModelV4StreamPart> }) => void = () => {}
    let cancelled = false
    const model = rawModel(() => new Promise((resolve) => void (arrive = resolve)))
    const stream = streamMessage({ model, messages: hello })
    const result = stream.result()
    await settle()
    stream.abort()
    await result
    arrive({ stream: new ReadableStream({ cancel: () => void (cancelled = true) }) })
    await settle()
    expect(cancelled).toBe(true)
  })

  it('L31: an abort after the last finish changes nothing', async () => {
    const { stream } = call({ text: 'done', hang: 'end' })
    const result = stream.result()
    await settle()
    stream.abort('too late')
    expect(await result).toMatchObject({ stopReason: 'stop', content: [{ text: 'done' }] })
    expect(await result).not.toHaveProperty('abortReason')
  })

  it('L32: an AbortError of the provider is a network error, a TimeoutError a timeout', async () => {
    const named = (name: string): Error => new DOMException('from inside', name)
    expect((await call({ error: named('AbortError') }).stream.result()).error).toMatchObject({ kind: 'network' })
    expect((await call({ error: named('TimeoutError') }).stream.result()).error).toMatchObject({ kind: 'timeout' })
  })

  it('L33: abortReason is the text of the reason, at most 500 characters', async () => {
    const reasonFor = async (reason: unknown): Promise<string | undefined> =>
      (await resultOf([], { abortSignal: AbortSignal.abort(reason) })).abortReason
    expect(await reasonFor('plain')).toBe('plain')
    expect(await reasonFor(new Error('of an error'))).toBe('of an error')
    expect(await reasonFor('x'.repeat(900))).toHaveLength(500)
    expect(await reasonFor({ why: 1 })).toBe('{"why":1}')
    const loop: { self?: unknown } = {}
    loop.self = loop
    expect(await reasonFor(loop)).toBe('{}')
    const unreadable = {
      get why(): string {
        throw new Error('no')
      },
    }
    expect(await reasonFor(unreadable)).toBe('a reason that cannot be read')
  })
})

describe('time', () => {
  it('L34: without a first part the call ends after firstPartMs, and stream-start does not count', async () => {
    const clock = manualClock()
    const silent = streamMessage({
      model: rawModel(() =>
        Promise.resolve({
          stream: new ReadableStream<LanguageModelV4StreamPart>({
            start: (c) => c.enqueue({ type: 'stream-start', warnings: [] }),
          }),
        }),
      ),
      messages: hello,
      clock,
      timeouts: { firstPartMs: 5_000 },
    })
    const result = silent.result()
    await clock.advance(4_999)
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(1)
    expect(await result).toMatchObject({
      stopReason: 'error',
      error: { kind: 'timeout', code: 'first-part', retryable: true },
    })
  })

  it('L34: a provider that never answers ends at firstPartMs too, by default after 300 s', async () => {
    const { stream, clock } = call({ hang: 'before', ignoreAbort: true })
    const result = stream.result()
    await clock.advance(300_000)
    expect((await result).error).toMatchObject({ kind: 'timeout', code: 'first-part' })
    expect((await result).timing.totalMs).toBe(300_000)
  })

  it('L34: silence in the middle of a stream ends the call after idleMs and keeps the text', async () => {
    const { stream, clock } = call({ parts: [...text('some'), { hang: true }] }, { timeouts: { idleMs: 16_000 } })
    const result = stream.result()
    await clock.advance(17_000)
    expect(await result).toMatchObject({
      error: { kind: 'timeout', code: 'idle', phase: 'after-output' },
      content: [{ text: 'some' }],
    })
    expect((await result).timing.totalMs).toBeGreaterThanOrEqual(16_000)
  })

  it('L34: the idle limit counts from the latest part, and fires at most a sixteenth too late', async () => {
    const { stream, clock } = call({ parts: [...tick(9_000, 5), { hang: true }] }, { timeouts: { idleMs: 16_000 } })
    const result = stream.result()
    await clock.advance(200_000)
    const { totalMs } = (await result).timing
    expect(totalMs).toBeGreaterThanOrEqual(45_000 + 16_000)
    expect(totalMs).toBeLessThanOrEqual(45_000 + 17_000)
  })

  it('L34: totalMs ends an active call, 0 turns a limit off', async () => {
    const total = call({ parts: tick(100, 50), finish: false }, { timeouts: { totalMs: 1_000 } })
    const result = total.stream.result()
    await total.clock.advance(1_000)
    expect((await result).error).toMatchObject({ kind: 'timeout', code: 'total' })

    const off = call({ hang: 'before' }, { timeouts: { firstPartMs: 0, idleMs: 0, totalMs: 0 } })
    const pending = off.stream.result()
    await off.clock.advance(10_000_000)
    expect(off.clock.pendingTimers).toBe(0)
    off.stream.abort()
    expect((await pending).stopReason).toBe('aborted')
  })

  const limits = [0, 1, 7, 50, 4_000]
  const everyTimeouts = limits.flatMap((firstPartMs) =>
    limits.flatMap((idleMs) => limits.map((totalMs) => ({ firstPartMs, idleMs, totalMs }))),
  )

  it.each([0, 3, 30])('L34: limits of all sizes together, with silence after a first part after %i ms', async (delayMs) => {
    for (const timeouts of everyTimeouts) {
      const { stream, clock } = call({ delayMs, parts: [...text('a'), { hang: true }] }, { timeouts })
      const result = stream.result()
      await clock.advance(9_000)
      stream.abort('still there')
      const { error, timing } = await result
      const [firstPart = 0, idle = 0, total = 0] = Object.values(timeouts).map((ms) => ms || Infinity)
      const silence: [string, number, number] =
        firstPart < delayMs ? ['first-part', firstPart, firstPart] : ['idle', delayMs + idle, delayMs + idle * (1 + 1 / 16)]
      const [code, from, to] = timing.totalMs === total ? ['total', 0, silence[2]] : silence
      if (Math.min(from, total) === Infinity) {
        expect([error, timing.totalMs]).toEqual([undefined, 9_000])
      } else {
        expect(error?.code).toBe(code)
        expect(timing.totalMs).toBeGreaterThanOrEqual(from)
        expect(timing.totalMs).toBeLessThanOrEqual(Math.min(to, total))
      }
    }
  })

  it('L34: the wait for the first part begins with the first read', async () => {
    const { stream, clock } = call({ delayMs: 50, text: 'a' }, { timeouts: { firstPartMs: 1_000 } })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    await clock.advance(1_999)
    const next = iterator.next()
    await clock.advance(50)
    expect(await next).toMatchObject({ value: { type: 'text-start' } })

    const silent = call({ parts: [{ hang: true }], delayMs: 9_000 }, { timeouts: { firstPartMs: 1_000 } })
    const reader = silent.stream[Symbol.asyncIterator]()
    await reader.next()
    await silent.clock.advance(1_999)
    const last = reader.next()
    await silent.clock.advance(1_000)
    const { value } = await last
    expect(value).toMatchObject({ message: { error: { code: 'first-part' }, timing: { totalMs: 2_999 } } })
  })

  it('L34: the time fields at and timing come from the clock', async () => {
    const { stream, clock } = call({ delayMs: 40, text: 'ab', chunk: 1, deltaDelayMs: 10 })
    const result = stream.result()
    await clock.advance(1_000)
    expect(await result).toMatchObject({ at: 1_000, timing: { firstDeltaMs: 50, totalMs: 60 } })
  })

  it('L35: the idle timer is paused while the reader does not ask', async () => {
    const { stream, clock } = call({ text: 'abc', chunk: 1 }, { timeouts: { idleMs: 1_000, firstPartMs: 1_000 } })
    const iterator = stream[Symbol.asyncIterator]()
    for (let done = false; !done;) {
      done = (await iterator.next()).done === true
      await clock.advance(5_000)
    }
    expect((await stream.result()).stopReason).toBe('stop')
  })

  it('L35: ping resets the idle timer', async () => {
    const pings = Array.from({ length: 10 }, () => [{ sleep: 900 }, { type: 'ping' } as const]).flat()
    const { stream, clock } = call({ parts: [...text('a'), ...pings, finish()] }, { timeouts: { idleMs: 1_000 } })
    const result = stream.result()
    await clock.advance(20_000)
    expect((await result).stopReason).toBe('stop')
  })

  it('L35: pings are requested from Anthropic unless the caller set the option', async () => {
    const optionsFor = async (provider: string, providerOptions?: Record<string, Record<string, boolean>>): Promise<unknown> => {
      const model = scriptedModel([{ text: 'a' }], { provider })
      await streamMessage({ model, messages: hello, ...(providerOptions && { providerOptions }) }).result()
      return model.calls[0]?.providerOptions
    }
    expect(await optionsFor('anthropic.messages')).toEqual({ anthropic: { includePings: true } })
    expect(await optionsFor('anthropic.messages', { anthropic: { includePings: false } })).toEqual({
      anthropic: { includePings: false },
    })
    expect(await optionsFor('openai.chat')).toBeUndefined()
  })

  it('L35: timers and clock readings do not grow with the number of parts', async () => {
    const count = async (parts: number): Promise<{ timers: number; readings: number }> => {
      const inner = manualClock()
      const seen = { timers: 0, readings: 0 }
      const clock: Clock = {
        now: () => (seen.readings++, inner.now()),
        setTimer: (atMs, run) => (seen.timers++, inner.setTimer(atMs, run)),
      }
      const deltas = Array.from({ length: parts }, (): LanguageModelV4StreamPart => ({
        type: 'text-delta',
        id: 't',
        delta: 'abcd',
      }))
      const model = scriptedModel([{ parts: [...deltas, finish()] }])
      for await (const _ of streamMessage({ model, messages: hello, clock })) continue
      return seen
    }
    expect(await count(1_000)).toEqual(await count(10))
  })
})

describe('usage of calls that end early', () => {
  it('L64: the usage of a call that was never accepted is zero, as a fresh object each time', async () => {
    const one = await call({ error: new Error('x') }).stream.result()
    const two = await call({ error: new Error('x') }).stream.result()
    expect(one.usage).toEqual({ inputTokens: 0, outputTokens: 0, totalTokens: 0 })
    expect(one.usage).not.toBe(two.usage)
  })

  it('L65: without numbers, input and output are estimated by length and flagged', async () => {
    const { usage } = await resultOf(
      [{ type: 'text-delta', id: 't', delta: '12345' }, { type: 'reasoning-delta', id: 'r', delta: '6789' }, { throw: new Error('x') }],
      {
        messages: [{ role: 'user', content: 'x'.repeat(41) }],
      },
    )
    expect(usage).toEqual({ inputTokens: 11, outputTokens: 3, totalTokens: 14, estimated: true })
  })

  it('L65: numbers of the provider win field by field', async () => {
    const finishPart: LanguageModelV4StreamPart = {
      type: 'finish',
      finishReason: { unified: 'error', raw: undefined },
      usage: usageOf(123, undefined),
    }
    const { usage } = await resultOf([{ type: 'text-delta', id: 't', delta: '12345' }, { type: 'error', error: 'x' }, finishPart])
    expect(usage).toEqual({ inputTokens: 123, outputTokens: 2, totalTokens: 125, estimated: true })
  })

  it('L65: a break after output is estimated too, a normal stop never', async () => {
    const broken = await resultOf(text('12345678'))
    expect(broken.usage).toMatchObject({ outputTokens: 2, estimated: true })
    const events = await eventsOf([...text('a'), { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage: usageOf() }])
    expect(events.at(-1)).toMatchObject({ message: { stopReason: 'stop', usage: {} } })
  })
})
