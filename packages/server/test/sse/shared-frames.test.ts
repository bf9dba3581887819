import { createRedaction } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import { expect, it, vi } from 'vitest'
import { ChatForm } from '../../src/chat/chat-form.ts'
import type { TextDelta } from '../../src/sse/join-deltas.ts'
import { SharedFrames } from '../../src/sse/shared-frames.ts'
import { feed, make, text } from '../support/feed.ts'

const stored = (seq: number, more: object = {}) => ({ type: 'save-point', at: 5, seq, cursor: String(seq), ...more }) as LoggedEvent
const delta = (n: number) =>
  ({ type: 'text-delta', at: 5, cursor: `1.${n}`, runId: 'r', messageId: 'm', index: 0, delta: `${n};` }) as TextDelta

it('V37: an event that every reader loads from the store separately is encoded once', () => {
  const shared = new SharedFrames()
  const frame = shared.frame('one', stored(1))
  expect(shared.frame('one', stored(1))).toBe(frame)
  expect(shared.frame('two', stored(1))).not.toBe(frame)
  expect(shared.frame('one', stored(1, { at: 6 }))).not.toBe(frame)
})

it('V37: joined deltas are encoded once for all readers that are equally late', () => {
  const shared = new SharedFrames()
  const [one, two, three] = [delta(1), delta(2), delta(3)]
  const frame = shared.joinedFrame('log', [one, two, three])
  expect(shared.joinedFrame('log', [one, two, three])).toBe(frame)
  expect(shared.joinedFrame('log', [two, three])).not.toBe(frame)
  expect(shared.joinedFrame('log', [three])).toBe(shared.frame('log', three))
})

it('V37: the cache for other readers is bounded: the newest four megabytes, to the byte', () => {
  const shared = new SharedFrames()
  const eachBytes = 64 * 1024
  const bare = shared.frame('other', stored(10, { text: '' })).length
  const place = 'log\n10\n5\n'.length
  const large = { text: 'x'.repeat(eachBytes - bare - place) }
  const fresh = new SharedFrames()
  const frames = Array.from({ length: 64 }, (_, index) => fresh.frame('log', stored(10 + index, large)))
  const isKept = (index: number) => fresh.frame('log', stored(10 + index, large)) === frames[index]
  expect([isKept(0), isKept(63)]).toEqual([true, true])
  for (let more = 64; more < 80; more++) frames.push(fresh.frame('log', stored(10 + more, large)))
  expect([isKept(16), isKept(79)]).toEqual([true, true])
  expect(isKept(15)).toBe(false)
})

const largeText = 'x'.repeat(8 * 1024 * 1024)

it('V37, V39: fifty stalled readers of a large message share one encoding of it, however each got the event', async () => {
  const shared = new SharedFrames()
  const encode = vi.spyOn(TextEncoder.prototype, 'encode')
  const held = new Set<ArrayBufferLike>()
  const readers = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const source = feed()
      const { reader } = make(source, undefined, { shared })
      // Events as the store returns them: a new object for each reader, with others in between.
      source.push(stored(1), stored(2, { message: { content: largeText } }), stored(3))
      await reader.read()
      for (let piece = 0; piece < 3; piece++) held.add((await reader.read()).value?.buffer ?? new ArrayBuffer(0))
      return reader
    }),
  )
  const bytes = [...held].reduce((sum, { byteLength }) => sum + byteLength, 0)
  expect(bytes).toBeLessThan(largeText.length + 64 * 1024)
  expect(encode.mock.calls.filter(([encoded = '']) => encoded.length > largeText.length)).toHaveLength(1)
  encode.mockRestore()
  await Promise.all(readers.map((reader) => reader.cancel()))
})

const chatOf = (shared: SharedFrames) => new ChatForm({ shared, log: 'log', sessionId: 's', runId: 'r', redaction: createRedaction() })
const begun = (seq: number) => stored(seq, { type: 'message-start', runId: 'r', messageId: 'm' })
const file = (data: string) => ({ type: 'file', mediaType: 'image/png', data: { type: 'data', data } })
const block = (type: string, more: object) => ({ type, at: 5, runId: 'r', messageId: 'm', index: 0, ...more }) as unknown as LoggedEvent

it('V37: chunks of an event that every page loads from the store separately are encoded once', () => {
  const shared = new SharedFrames()
  const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} }
  const ended = () =>
    stored(2, { type: 'message-end', messageId: 'm', message: { content: [{ type: 'text', text: 'Hi.' }, call, file('AA'), file('BB')] } })
  const executed = () =>
    stored(3, { type: 'tool-execution-end', toolCallId: 'c', message: { status: 'result', output: { type: 'text', value: 'seen' } } })
  const [one, two] = [chatOf(shared), chatOf(shared)].map((form) =>
    [begun(1), ended(), executed()].flatMap((event) => form.event(event)).slice(1),
  )
  expect(one?.map((frame) => text({ value: frame }).match(/"type":"([a-z-]+)/)?.[1])).toEqual([
    ...['text-start', 'text-delta', 'text-end', 'tool-input-start', 'tool-input-available', 'file', 'file', 'tool-output-available'],
  ])
  expect(new Set([...(one ?? []), ...(two ?? [])]).size).toBe(one?.length)
})

it('V37, V49: pages that have seen different beginnings of a message each get the rest that they lack', () => {
  const shared = new SharedFrames()
  const ended = () =>
    stored(2, { type: 'message-end', messageId: 'm', message: { content: [{ type: 'text', text: 'Hello.' }, file('AA'), file('BB')] } })
  const rest = (...seen: readonly LoggedEvent[]) => {
    const form = chatOf(shared)
    for (const event of [begun(1), ...seen]) form.event(event)
    return form
      .event(ended())
      .map((frame) => /"(?:delta|url)":"(?:data:.*,)?([^"]*)/.exec(text({ value: frame }))?.[1])
      .filter((said) => said !== undefined)
  }
  const started = block('text-start', { cursor: '1.1' })
  const part = (index: number, data: string) => block('content-part', { cursor: `1.${index}`, index, part: file(data) })
  expect(rest()).toEqual(['Hello.', 'AA', 'BB'])
  expect(rest(started, block('text-delta', { cursor: '1.2', delta: 'Hel' }))).toEqual(['lo.', 'AA', 'BB'])
  expect(rest(started, block('text-delta', { cursor: '1.2', delta: 'He' }), part(1, 'AA'))).toEqual(['llo.', 'BB'])
  expect(rest(part(2, 'BB'))).toEqual(['Hello.', 'AA'])
})

it('V37: deltas joined for one page are encoded once for all pages that join as many characters', () => {
  const shared = new SharedFrames()
  const [one, two, three] = [delta(1), delta(2), delta(3)]
  const chat = () => {
    const form = chatOf(shared)
    for (const event of [begun(1), block('text-start', { cursor: '1.0' })]) form.event(event)
    return form
  }
  const [frame] = chat().deltas([one, two, three])
  expect(text({ value: frame })).toContain('1;2;3;')
  expect(chat().deltas([one, two, three])[0]).toBe(frame)
  expect(text({ value: chat().deltas([two, three])[0] })).toContain('"2;3;"')
})

it('V37: a large message arrives whole, in pieces that fit a socket', async () => {
  const source = feed()
  const { reader } = make(source)
  source.push(stored(1), stored(2, { message: { content: largeText } }), stored(3))
  source.finish()
  let received = ''
  let largest = 0
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    largest = Math.max(largest, next.value.length)
    received += text(next)
  }
  expect(largest).toBeLessThanOrEqual(64 * 1024)
  expect(received.match(/^id: .*$/gm)).toEqual(['id: 1', 'id: 2', 'id: 3', 'id: 3'])
  expect(received).toContain(largeText)
})

it('V35, V39: the end of a stream waits until the frame that was begun is complete', async () => {
  const source = feed()
  const { reader, stream, clock } = make(source)
  source.push(stored(1, { message: { content: 'x'.repeat(200_000) } }))
  await reader.read()
  let received = text(await reader.read())
  await clock.advance(10_000)
  stream.end({ type: 'stream-end', reason: 'drained', resume: true })
  for (let next = await reader.read(); !next.done; next = await reader.read()) received += text(next)
  expect(received.split('\n\n').map((frame) => frame.slice(0, 5))).toEqual(['id: 1', 'id: 1', ''])
  expect(received).toContain('"slow-reader"')
})
