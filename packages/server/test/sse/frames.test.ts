import { createRedaction } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import { SharedFrames } from '../../src/sse/shared-frames.ts'
import { numberOf } from '../../src/session-log.ts'
import { bench, say } from '../support/bench.ts'
import { event, feed, make, text } from '../support/feed.ts'

const secret = 'sk-abcdefghijklmnopqrstuvwx'
const masked = (of: unknown): unknown => JSON.parse(JSON.stringify(of).replaceAll(secret, '[redacted]'))
const frameOf = (cursor: string, data: unknown): string => `id: ${cursor}\ndata: ${JSON.stringify(data)}\n\n`

/** Returns the text that a reader gets for the event. */
async function framed(more: object, shared?: SharedFrames): Promise<string> {
  const source = feed()
  const { reader } = make(source, manualClock(), { ...(shared && { shared }) })
  source.push(event('3', more))
  await reader.read()
  const frame = text(await reader.read())
  await reader.cancel()
  return frame
}

const told = `refused for ${secret}`
const failures = [
  { type: 'error', message: told },
  { type: 'turn-end', error: { kind: 'auth', message: told } },
  { type: 'tool-execution-end', toolCallId: 'c', message: { status: 'error', output: { type: 'error-text', value: told } } },
]
const contents = [
  { type: 'text-delta', delta: told },
  { type: 'message-end', message: { content: told } },
  { type: 'user-message', message: told },
  { type: 'tool-execution-end', toolCallId: 'c', message: { status: 'result', output: told } },
  { type: 'tool-execution-end', toolCallId: 'c', message: null },
  { type: 'tool-execution-end', toolCallId: 'c', message: told },
  { type: 'error', message: { value: told } },
  { type: 'runtime-input', message: { status: 'error', output: told } },
]

it.each(failures)('V90: a text about a failure is sent without secrets: %j', async (failure) => {
  expect(await framed(failure)).toBe(frameOf('3', masked(failure)))
})

it.each(contents)('V90: text of people, models and tools is sent unchanged: %j', async (content) => {
  expect(await framed(content)).toBe(frameOf('3', content))
})

it('V90: the secrets are those in the settings of the server', async () => {
  const shared = new SharedFrames(createRedaction({ patterns: [/knot/g] }))
  expect(await framed({ type: 'error', message: 'the knot is loose' }, shared)).toBe(
    frameOf('3', { type: 'error', message: 'the [redacted] is loose' }),
  )
})

it('V28, V90: the last frame has an id only if there is a cursor, and no secrets', async () => {
  const failure = { type: 'stream-error', error: told } as never
  for (const cursor of [undefined, '0', '7.2']) {
    const source = feed()
    source.finish()
    const { reader } = make(source, manualClock(), { complete: () => Promise.resolve(failure), ...(cursor !== undefined && { cursor }) })
    await reader.read()
    const data = `data: ${JSON.stringify(masked(failure))}\n\n`
    expect(text(await reader.read())).toBe(cursor === undefined ? data : `id: ${cursor}\n${data}`)
  }
})

it('V98: headers keep proxies from storing, changing, buffering or compressing a stream', async () => {
  const { execute } = await bench({ steps: [{ text: 'Hi.' }] })
  const response = await execute({ sessionId: 'mine', input: say('hi'), context: {} })
  const names = ['content-type', 'cache-control', 'x-accel-buffering', 'content-encoding']
  expect(names.map((name) => response.headers.get(name))).toEqual([
    'text/event-stream; charset=utf-8',
    'no-cache, no-transform',
    'no',
    'identity',
  ])
  expect(await response.text()).toContain('"execute-complete"')
})

it.each([
  ['0', 0],
  ['12', 12],
  ['12.34', 12],
])('V28: the cursor %s names the event %i', (cursor, number) => {
  expect(numberOf(cursor)).toBe(number)
})
