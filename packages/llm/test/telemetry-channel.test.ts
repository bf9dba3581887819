import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel, type TracingChannelSubscribers } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from 'vitest'
import type { CallReport } from '../src/index.ts'
import { call, finish, readAll, settle, text, usageOf } from './support.ts'

const channel = tracingChannel<unknown, CallReport>('bowline:llm')
const cleanUps: (() => void)[] = []

afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

interface Published {
  readonly name: string
  readonly report: CallReport
  /** Copy of the report at that moment. */
  readonly seen: CallReport
}

/** Records everything that is published until the end of the test. */
function listen(onEvent: (published: Published) => void = () => {}): Published[] {
  const published: Published[] = []
  const on = (name: string) => (report: CallReport) => {
    const entry = { name, report, seen: structuredClone(report) }
    published.push(entry)
    onEvent(entry)
  }
  const subscribers = Object.fromEntries(
    ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((name) => [name, on(name)]),
  ) as unknown as TracingChannelSubscribers<CallReport>
  channel.subscribe(subscribers)
  cleanUps.push(() => channel.unsubscribe(subscribers))
  return published
}

const names = (published: readonly Published[]): string[] => published.map(({ name }) => name)
const facts = { messageId: 'msg_1', provider: 'scripted', modelId: 'scripted-model' }

describe('the channel bowline:llm', () => {
  it('L95: a call is start, end, asyncStart, asyncEnd with one context object', async () => {
    const published = listen()
    const message = await call({ text: 'Hi' }, { price: { input: 1, output: 2 } }).stream.result()
    expect(names(published)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
    expect(new Set(published.map(({ report }) => report)).size).toBe(1)
    expect(published[0]?.seen).toEqual(facts)
    expect(published[1]?.seen).toEqual(facts)
    const { stopReason, usage, cost, timing } = message
    expect(published[2]?.seen).toEqual({ ...facts, result: { stopReason, usage, cost, timing } })
    expect(published[3]?.seen).toEqual(published[2]?.seen)
    expect(cost?.total).toBe('0.00002')
  })

  it('L95: a failed call also publishes its error, an aborted one does not', async () => {
    const published = listen()
    await call({ error: new Error('a secret of the caller') }).stream.result()
    expect(names(published)).toEqual(['start', 'end', 'error', 'asyncStart', 'asyncEnd'])
    expect(published[2]?.seen).toMatchObject({
      error: { kind: 'unknown', retryable: true },
      result: { stopReason: 'error', usage: { inputTokens: 0 } },
    })
    published.length = 0
    await readAll(call({}, { abortSignal: AbortSignal.abort('not wanted') }).stream)
    expect(names(published)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
    expect(published[3]?.seen).toMatchObject({ result: { stopReason: 'aborted' } })
    expect(published[3]?.seen).not.toHaveProperty('error')
  })

  it('L95: a reader that leaves ends the report', async () => {
    const published = listen()
    for await (const event of call({ text: 'abc', chunk: 1 }).stream) if (event.type === 'text-delta') break
    await settle()
    expect(names(published)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
  })

  it('L95: nothing is published per delta', async () => {
    const published = listen()
    await readAll(call({ text: 'x'.repeat(1_000), chunk: 1 }).stream)
    expect(published).toHaveLength(4)
  })

  it('L95: a subscriber that comes in the middle of a call gets nothing of it', async () => {
    const { stream } = call({ text: 'abc', chunk: 1 })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const published = listen()
    await stream.result()
    expect(published).toEqual([])
  })

  it('L95: enabled: false publishes nothing', async () => {
    const published = listen()
    await call({ text: 'a' }, { telemetry: { enabled: false } }).stream.result()
    expect(published).toEqual([])
  })

  it('L95: a store bound to start is available when the provider is called', async () => {
    const storage = new AsyncLocalStorage<string>()
    channel.start.bindStore(storage, ({ messageId }) => messageId)
    cleanUps.push(() => void channel.start.unbindStore(storage))
    let seen: string | undefined
    await call({ text: 'a', expect: () => void (seen = storage.getStore()) }).stream.result()
    expect(seen).toBe('msg_1')
    expect(storage.getStore()).toBeUndefined()
  })

  it('L94: a bound store that throws changes nothing, and leaves no rejection after a failed call', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    const broken = {
      run() {
        throw new Error('broken store')
      },
    }
    channel.start.bindStore(broken as never)
    cleanUps.push(() => void channel.start.unbindStore(broken as never))
    expect((await call({ error: new Error('fetch failed') }).stream.result()).error?.kind).toBe('network')
    await settle()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  it('L94: a subscriber that changes the report does not change the message', async () => {
    const plain = await call({ text: 'a' }, { price: { input: 1, output: 2 } }).stream.result()
    const published = listen(({ report }) => {
      const { usage, cost, timing } = (report.result ?? {}) as Record<string, Record<string, unknown>>
      Object.assign(report, { messageId: 'other' })
      for (const part of [usage, cost, timing]) for (const key of Object.keys(part ?? {})) part![key] = 'changed'
    })
    expect(await call({ text: 'a' }, { price: { input: 1, output: 2 } }).stream.result()).toEqual(plain)
    expect(published).toHaveLength(4)
  })

  it('L96: raw data of a provider is not published', async () => {
    const published = listen()
    const usage = { ...usageOf(1, 2), raw: { note: 'anything' } }
    const last = { ...finish(), usage }
    const message = await call({ parts: [...text('a'), last], finish: false }).stream.result()
    expect(message.usage.raw).toEqual({ note: 'anything' })
    expect(published.at(-1)?.seen.result?.usage).toEqual({ inputTokens: 1, outputTokens: 2, totalTokens: 3 })
  })
})
