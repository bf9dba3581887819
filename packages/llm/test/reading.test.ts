import { describe, expect, it } from 'vitest'
import { LlmError, streamMessage, type LanguageModelV4, type LanguageModelV4StreamPart, type MessageEvent } from '../src/index.ts'
import { manualClock, scriptedModel, type Action } from '../src/testing/index.ts'
import { call, finish, hello, messageOf, rawModel, readAll, resultOf, settle, text, usageOf } from './support.ts'

const codeOf = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    if (LlmError.isInstance(error)) return `${error.code}: ${error.message}`
  }
  return 'no LlmError'
}

interface Probe {
  readonly model: LanguageModelV4
  readonly seen: { pulls: number; cancelled: boolean; signal: AbortSignal | undefined; calls: number }
}

/** Creates a pull source that counts requests. */
function probe(parts: readonly LanguageModelV4StreamPart[], options: { hangAtEnd?: boolean } = {}): Probe {
  const seen: Probe['seen'] = { pulls: 0, cancelled: false, signal: undefined, calls: 0 }
  const model = rawModel((call) => {
    seen.calls += 1
    seen.signal = call.abortSignal
    const stream = new ReadableStream<LanguageModelV4StreamPart>(
      {
        pull(controller) {
          const part = parts[seen.pulls++]
          if (part) controller.enqueue(part)
          else if (options.hangAtEnd) return new Promise(() => {})
          else controller.close()
        },
        cancel() {
          seen.cancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    return Promise.resolve({ stream })
  })
  return { model, seen }
}

describe('starting', () => {
  const model = scriptedModel([])

  it('L17: requests that can never work throw at once', () => {
    const inputSchema = { type: 'object' } as const
    expect(codeOf(() => streamMessage({ model, messages: [] }))).toMatch(/^invalid-input: .*at least one message/)
    expect(codeOf(() => streamMessage({ model: 'gpt', messages: hello }))).toMatch(/^invalid-config: .*"gpt"/)
    expect(
      codeOf(() =>
        streamMessage({
          model,
          messages: hello,
          tools: [
            { name: 'a', inputSchema },
            { name: 'a', inputSchema },
          ],
        }),
      ),
    ).toMatch(/^invalid-config: .*"a"/)
  })

  it('L17: a model of another version is refused with provider, model and version', () => {
    const old = { ...model, specificationVersion: 'v1', provider: 'acme', modelId: 'm1' } as never
    expect(codeOf(() => streamMessage({ model: old, messages: hello }))).toMatch(/^invalid-config: .*acme\/m1.*"v1"/)
    expect(codeOf(() => streamMessage({ model: undefined as never, messages: hello }))).toMatch(/^invalid-config/)
  })

  it('L18: no request is made before the first next or result, and then exactly one', async () => {
    const { model, seen } = probe([...text('a'), finish()])
    const stream = streamMessage({ model, messages: hello })
    const iterator = stream[Symbol.asyncIterator]()
    await settle()
    expect(seen.calls).toBe(0)
    await iterator.next()
    await Promise.all([stream.result(), stream.result()])
    expect(seen.calls).toBe(1)
  })

  it('L18: a failed call is not retried', async () => {
    const model = scriptedModel([{ error: new Error('fetch failed') }])
    await streamMessage({ model, messages: hello }).result()
    expect(model.calls).toHaveLength(1)
  })
})

describe('reading', () => {
  it('L19: result() is the message of message-end, for success, error and abort, and one promise', async () => {
    const aborted = call({ text: 'a', hang: 'end' })
    setImmediate(() => aborted.stream.abort('enough'))
    for (const { stream } of [call({ text: 'a' }), call({ error: 'no' }), aborted]) {
      const events = await readAll(stream)
      expect(await stream.result()).toBe(messageOf(events))
      expect(stream.result()).toBe(stream.result())
    }
  })

  it('L19: without a reader result() reads the stream itself', async () => {
    const message = await call({ text: 'all of it', chunk: 1 }).stream.result()
    expect(message.content).toEqual([{ type: 'text', text: 'all of it' }])
  })

  it('L20: result() awaited inside the loop does not deadlock and loses no event', async () => {
    const { stream } = call({ text: 'abcdef', chunk: 1 })
    const events: MessageEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'text-start') expect((await stream.result()).stopReason).toBe('stop')
    }
    expect(events.map((event) => event.type)).toEqual(['message-start', 'text-start', 'text-delta', 'text-end', 'message-end'])
    expect(events).toContainEqual({ type: 'text-delta', index: 0, delta: 'abcdef' })
  })

  it('L20: a reader that starts after result() still sees the whole message', async () => {
    const { stream } = call({ text: 'abc', toolCalls: [{ name: 'x', input: { a: 1 }, chunk: 1 }], chunk: 1 })
    const result = stream.result()
    await settle()
    const events = await readAll(stream)
    expect(messageOf(events)).toBe(await result)
    expect(events.filter((event) => event.type === 'tool-call-delta')).toEqual([{ type: 'tool-call-delta', index: 1, delta: '{"a":1}' }])
  })

  it('L99: deltas of several alternating blocks are joined too while they wait', async () => {
    const deltas = Array.from({ length: 300 }, (_, place): LanguageModelV4StreamPart => ({
      type: place % 2 ? 'text-delta' : 'reasoning-delta',
      id: 't',
      delta: String(place % 10),
    }))
    const { stream } = call({ parts: deltas })
    await stream.result()
    const events = await readAll(stream)
    expect(events.map(({ type }) => type)).toEqual([
      'message-start',
      'reasoning-start',
      'reasoning-delta',
      'text-start',
      'text-delta',
      'reasoning-end',
      'text-end',
      'message-end',
    ])
    expect(events).toContainEqual({ type: 'text-delta', index: 1, delta: '13579'.repeat(30) })
  })

  it('L20: a result that is requested while a delta is pending needs no further reader', async () => {
    const { stream } = call({ text: 'abcd', chunk: 1 })
    const reader = stream[Symbol.asyncIterator]()
    const types: (string | undefined)[] = []
    for (let read = 0; read < 3; read++) types.push((await reader.next()).value?.type)
    expect(types).toEqual(['message-start', 'text-start', 'text-delta'])
    const onItsWay = reader.next()
    const result = stream.result()
    expect((await onItsWay).value).toMatchObject({ type: 'text-delta', delta: 'b' })
    expect(await Promise.race([result, settle()])).toMatchObject({ stopReason: 'stop', content: [{ text: 'abcd' }] })
  })

  it('L21: a second iterator throws', async () => {
    const { stream } = call({ text: 'a' })
    await readAll(stream)
    expect(codeOf(() => stream[Symbol.asyncIterator]())).toMatch(/^invalid-input/)
  })

  it('L22: without reads, at most one part is taken ahead', async () => {
    const { model, seen } = probe([...text('a'), ...text('b', 'u'), finish()])
    const iterator = streamMessage({ model, messages: hello })[Symbol.asyncIterator]()
    await iterator.next()
    await settle()
    expect(seen.pulls).toBeLessThanOrEqual(1)
    await iterator.next()
    const before = seen.pulls
    await settle()
    await settle()
    expect(seen.pulls - before).toBeLessThanOrEqual(1)
  })

  it('L22: next() may be called several times without waiting', async () => {
    const { stream } = call({ text: 'abc', chunk: 1 })
    const iterator = stream[Symbol.asyncIterator]()
    const results = await Promise.all(Array.from({ length: 9 }, () => iterator.next()))
    expect(results.map(({ value }) => value?.type)).toEqual([
      'message-start',
      'text-start',
      'text-delta',
      'text-delta',
      'text-delta',
      'text-end',
      'message-end',
      undefined,
      undefined,
    ])
  })

  it('L23: leaving the loop cancels the provider and settles result() as aborted', async () => {
    const { model, seen } = probe([...text('first'), ...text('second', 'u'), finish()])
    const stream = streamMessage({ model, messages: hello })
    for await (const event of stream) if (event.type === 'text-delta') break
    const message = await stream.result()
    expect(message).toMatchObject({
      stopReason: 'aborted',
      abortReason: 'consumer-left',
      content: [{ type: 'text', text: 'first' }],
    })
    expect(seen.cancelled).toBe(true)
    expect(seen.signal?.aborted).toBe(true)
  })

  it('L23: a reader that throws leaves in the same way, without waiting for the provider', async () => {
    const { model, seen } = probe(text('first'), { hangAtEnd: true })
    const stream = streamMessage({ model, messages: hello })
    const reading = (async () => {
      for await (const event of stream) if (event.type === 'text-end') throw new Error('reader broke')
    })()
    await expect(reading).rejects.toThrow('reader broke')
    expect(await stream.result()).toMatchObject({ stopReason: 'aborted', abortReason: 'consumer-left' })
    expect(seen.cancelled).toBe(true)
  })
})

describe('ending', () => {
  it('L24: the stream is read on after the finish, and the last finish wins', async () => {
    const message = await resultOf([
      ...text('a'),
      { type: 'finish', finishReason: { unified: 'other', raw: 'early' }, usage: usageOf(1, 1) },
      ...text('b', 'u'),
      { type: 'finish', finishReason: { unified: 'stop', raw: 'end_turn' }, usage: usageOf(2, undefined) },
    ])
    expect(message).toMatchObject({
      stopReason: 'stop',
      rawStopReason: 'end_turn',
      usage: { inputTokens: 2, outputTokens: 1 },
    })
    expect(message.content).toHaveLength(2)
  })

  it('L24: a body that stays open after the finish is left after 250 ms', async () => {
    const { stream, clock } = call({ text: 'a', hang: 'end' })
    const result = stream.result()
    await clock.advance(249)
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(1)
    expect(await result).toMatchObject({ stopReason: 'stop', timing: { totalMs: 250 } })
  })

  it('L24: pings after the finish do not delay the end', async () => {
    const pings = Array.from({ length: 20 }, (): (LanguageModelV4StreamPart | Action)[] => [
      { sleep: 100 },
      { type: 'ping' },
      { type: 'raw', rawValue: ': alive' },
    ]).flat()
    const { stream, clock } = call({ parts: [...text('a'), finish(), ...pings], hang: 'end' })
    const result = stream.result()
    await clock.advance(250)
    expect(await result).toMatchObject({ stopReason: 'stop', timing: { totalMs: 250 } })
  })

  it('L25: an error part, a broken stream and a rejected call give the same kind of result', async () => {
    const error = new Error('fetch failed')
    const results = await Promise.all([
      call({ text: 'half', failAfter: { parts: 2, error, as: 'part' } }).stream.result(),
      call({ text: 'half', failAfter: { parts: 2, error, as: 'throw' } }).stream.result(),
      call({ error }).stream.result(),
    ])
    for (const result of results) expect(result).toMatchObject({ stopReason: 'error', error: { kind: 'network', message: 'fetch failed' } })
    expect(results.map(({ content }) => content.length)).toEqual([1, 1, 0])
    expect(results.map(({ error }) => error?.phase)).toEqual(['after-output', 'after-output', 'before-output'])
  })

  it('L25: the first error wins', async () => {
    const message = await resultOf([
      { type: 'error', error: { type: 'overloaded_error', message: 'first' } },
      { type: 'error', error: { type: 'rate_limit_error', message: 'second' } },
      { throw: new Error('third') },
    ])
    expect(message.error).toMatchObject({ kind: 'overloaded', message: 'first' })
  })

  it('L26: after an error content is ignored and a finish with usage still counts', async () => {
    const message = await resultOf([
      ...text('kept'),
      { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
      ...text('ignored', 'u'),
      { type: 'finish', finishReason: { unified: 'error', raw: undefined }, usage: usageOf(7, 3) },
    ])
    expect(message.content).toEqual([{ type: 'text', text: 'kept' }])
    expect(message.usage).toEqual({ inputTokens: 7, outputTokens: 3, totalTokens: 10 })
  })

  it('L26: llm waits at most one second for that finish, whatever else arrives', async () => {
    const pings = Array.from({ length: 20 }, () => [{ sleep: 100 }, { type: 'ping' } as const]).flat()
    const { stream, clock } = call({ parts: [{ type: 'error', error: new Error('x') }, ...pings], finish: false })
    const result = stream.result()
    await clock.advance(2_500)
    expect((await result).timing.totalMs).toBe(1_000)
  })

  it.each(['stop', 'error', 'abort', 'leave', 'timeout'] as const)(
    'L27: after %s no timer, no listener and no open stream is left',
    async (end) => {
      const clock = manualClock()
      const controller = new AbortController()
      const { model, seen } = probe(end === 'stop' ? [...text('a'), finish()] : text('a'), { hangAtEnd: true })
      const broken = rawModel(() => Promise.reject(new Error('no')))
      const signal = controller.signal
      let listeners = 0
      const add = signal.addEventListener.bind(signal)
      const remove = signal.removeEventListener.bind(signal)
      signal.addEventListener = (type: string, listener: () => void): void => {
        listeners += 1
        add(type, listener)
      }
      signal.removeEventListener = (type: string, listener: () => void): void => {
        listeners -= 1
        remove(type, listener)
      }
      const stream = streamMessage({
        model: end === 'error' ? broken : model,
        messages: hello,
        clock,
        abortSignal: signal,
      })
      if (end === 'leave') {
        for await (const event of stream) if (event.type === 'text-end') break
      } else {
        const result = stream.result()
        await settle()
        if (end === 'abort') controller.abort()
        if (end === 'stop') await clock.advance(250)
        if (end === 'timeout') await clock.advance(130_000)
        await result
      }
      expect(clock.pendingTimers).toBe(0)
      expect(listeners).toBe(0)
      if (end !== 'error') expect(seen.cancelled).toBe(true)
    },
  )

  it('L27: an error of a stream that is being cancelled is ignored', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    const model = rawModel(() =>
      Promise.resolve({
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          pull: () => new Promise(() => {}),
          cancel: () => Promise.reject(new Error('cannot cancel')),
        }),
      }),
    )
    const stream = streamMessage({ model, messages: hello })
    const result = stream.result()
    await settle()
    stream.abort('stop')
    expect((await result).stopReason).toBe('aborted')
    await settle()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})
