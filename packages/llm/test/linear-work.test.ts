import { createHook } from 'node:async_hooks'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { readEvents, streamMessage, type LanguageModelV4StreamPart, type MessageEvent, type MessageStream } from '../src/index.ts'
import { finish, hello, rawModel, settle } from './support.ts'

type Kind = 'text' | 'reasoning' | 'tool-input'

const argumentsOf = (deltas: number): string => JSON.stringify({ text: 'abcd'.repeat(deltas) })

/** Yields one block of many small deltas. */
function* partsOf(kind: Kind, deltas: number): Generator<LanguageModelV4StreamPart> {
  const input = argumentsOf(deltas)
  yield kind === 'tool-input' ? { type: `${kind}-start`, id: 'b', toolName: 'x' } : { type: `${kind}-start`, id: 'b' }
  for (let place = 0; place < input.length; place += 4) {
    yield { type: `${kind}-delta`, id: 'b', delta: input.slice(place, place + 4) }
  }
  yield { type: `${kind}-end`, id: 'b' }
  if (kind === 'tool-input') yield { type: 'tool-call', toolCallId: 'b', toolName: 'x', input }
  yield finish(kind === 'tool-input' ? 'tool-calls' : 'stop')
}

function callOf(parts: Iterable<LanguageModelV4StreamPart>): MessageStream {
  return streamMessage({ model: rawModel(() => Promise.resolve({ stream: streamOf(parts) })), messages: hello })
}

function streamOf(parts: Iterable<LanguageModelV4StreamPart>): ReadableStream<LanguageModelV4StreamPart> {
  const iterator = parts[Symbol.iterator]()
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      pull(controller) {
        const { value, done } = iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

const readings = {
  'a reader': async (stream: MessageStream) => {
    for await (const _ of stream) continue
  },
  'a reader to whom events are handed over': async (stream: MessageStream) => void (await readEvents(stream, () => {})),
  'result()': async (stream: MessageStream) => void (await stream.result()),
  'a reader behind result()': async (stream: MessageStream) => {
    await stream.result()
    for await (const _ of stream) continue
  },
}

/** Returns how many promises are created during the work. It is a countable measure of the cost of a stream. */
async function promisesOf(work: () => Promise<void>): Promise<number> {
  let count = 0
  const hook = createHook({ init: (_, type) => void (type === 'PROMISE' && (count += 1)) }).enable()
  await work()
  hook.disable()
  return count
}

afterEach(() => void vi.restoreAllMocks())

describe('the work per stream grows only linearly', () => {
  it.each(
    (['text', 'reasoning', 'tool-input'] as const).flatMap((kind) =>
      Object.entries(readings).map(([name, read]) => ({ kind, name, read })),
    ),
  )('L98: ten times the deltas cost ten times the promises: $kind, $name', async ({ kind, read }) => {
    const cost = (deltas: number): Promise<number> => promisesOf(() => read(callOf(partsOf(kind, deltas))))
    await cost(100)
    const [few, many] = [await cost(300), await cost(3_000)]
    expect(few).toBeGreaterThan(300)
    expect(many).toBeLessThanOrEqual(10.5 * few)
  })

  it('L97: a pushed event costs no promise besides that of its part', async () => {
    const perDelta = async (work: (deltas: number) => Promise<void>): Promise<number> => {
      const [few, many] = [await promisesOf(() => work(1_000)), await promisesOf(() => work(11_000))]
      return (many - few) / 10_000
    }
    const bare = await perDelta(async (deltas) => {
      const reader = streamOf(partsOf('text', deltas)).getReader()
      while (!(await reader.read()).done);
    })
    const read = await perDelta((deltas) => readings['a reader to whom events are handed over'](callOf(partsOf('text', deltas))))
    // Yielding to the event loop adds a few promises.
    expect(read).toBeLessThan(bare + 0.05)
  })

  it('L98: each delta is processed a fixed number of times, however many there are', async () => {
    const looksPerDelta = async (deltas: number): Promise<number> => {
      let looks = 0
      const counted = (part: LanguageModelV4StreamPart): LanguageModelV4StreamPart =>
        new Proxy(part, { get: (target, key) => (looks++, Reflect.get(target, key) as unknown) })
      await readings['a reader'](callOf([...partsOf('text', deltas)].map(counted)))
      return looks / deltas
    }
    expect(await looksPerDelta(2_000)).toBeLessThanOrEqual((await looksPerDelta(200)) * 1.05)
  })

  it('L98: text is joined once: the joined amount is proportional to the input', async () => {
    const joinedBy = async (deltas: number): Promise<number> => {
      let joined = 0
      const join = Array.prototype.join
      vi.spyOn(Array.prototype, 'join').mockImplementation(function (this: unknown[], separator) {
        joined += this.length
        return join.call(this, separator)
      })
      await readings['a reader'](callOf(partsOf('text', deltas)))
      vi.restoreAllMocks()
      return joined
    }
    expect(await joinedBy(20_000)).toBeLessThanOrEqual(12 * (await joinedBy(2_000)))
  })

  it.each(Object.entries(readings))('L98: arguments are parsed exactly once, with %s', async (_, read) => {
    const parse = vi.spyOn(JSON, 'parse')
    const stream = callOf(partsOf('tool-input', 500))
    await read(stream)
    expect(parse.mock.calls.map(([text]) => text)).toEqual([argumentsOf(500)])
    expect((await stream.result()).content).toMatchObject([{ input: JSON.parse(argumentsOf(500)) as object }])
  })

  it('L98: arguments that were never called are not parsed, and truncated ones are parsed once', async () => {
    const parse = vi.spyOn(JSON, 'parse')
    const cut = [...partsOf('tool-input', 10)].slice(0, 5)
    await callOf([...cut, finish('length')]).result()
    expect(parse).not.toHaveBeenCalled()
    await callOf([...cut, { type: 'tool-input-end', id: 'b' }, finish('length')]).result()
    expect(parse).toHaveBeenCalledTimes(1)
  })

  it('L22: a reader that asks for one event at a time never has more than one part read ahead', async () => {
    let taken = 0
    const deltas = Array.from({ length: 50 }, (_, place): LanguageModelV4StreamPart => ({
      type: 'text-delta',
      id: `${place % 3}`,
      delta: 'x',
    }))
    const counted = function* (): Generator<LanguageModelV4StreamPart> {
      for (const part of deltas) {
        taken += 1
        yield part
      }
      yield finish()
    }
    const seen: MessageEvent[] = []
    for await (const event of callOf(counted())) {
      // Each part gives at least one event.
      expect(taken).toBeLessThanOrEqual(seen.push(event) + 1)
      const before = taken
      await settle()
      expect(taken - before).toBeLessThanOrEqual(1)
    }
    expect(taken).toBe(50)
  })
})
