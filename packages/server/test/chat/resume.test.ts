import type { LogIterator, LoggedEvent } from '@bowline/sessions'
import type { UIMessage, UIMessageChunk } from 'ai'
import { DefaultChatTransport, isToolUIPart } from 'ai'
import { describe, expect, it } from 'vitest'
import { bench, gate, refusal, remoteTool, stores, type Bench } from '../support/bench.ts'
import {
  allUiFrames,
  chatBody,
  chunkTypes,
  chunksOf,
  messageOf,
  openChat,
  textOf,
  uiFrames,
  userMessage,
  type UiFrame,
} from '../support/chat.ts'

const place = { toolCalls: [{ id: 'call-place', name: 'place', input: {} }] }
const stream = (it: Bench, id = 'mine') => it.get(`/api/chat/${id}/stream`)
const post = (it: Bench, messages: readonly object[]) => it.post('/api/chat', chatBody(messages))
const one = [userMessage('u1', 'one')]

describe.each(stores)('a page that resumes, over the $name store', ({ make }) => {
  it('V49: a stream that is opened in the middle of an answer gives the same message, byte for byte', async () => {
    const [first, second] = [gate(), gate()]
    const text = (id: string, delta: string) =>
      [
        { type: 'text-start', id },
        { type: 'text-delta', id, delta },
        { type: 'text-delta', id, delta },
        { type: 'text-end', id },
      ] as const
    const it = await bench({
      store: make(),
      steps: [
        {
          reasoning: 'Hm.',
          text: 'Half of ',
          chunk: 3,
          parts: [{ wait: first.passed }, ...text('b', 'it. '), { wait: second.passed }, ...text('c', 'All.')],
        },
      ],
    })
    const streams: Promise<UiFrame[]>[] = []
    let read = ''
    const see = async ({ data }: UiFrame): Promise<void> => {
      if (typeof data === 'string' || data.type !== 'text-delta') return
      read += data.delta
      const hold = new Map([
        ['Half of ', first],
        ['Half of it. it. ', second],
      ]).get(read)
      if (!hold) return
      const response = await stream(it)
      expect([response.status, response.headers.get('x-vercel-ai-ui-message-stream')]).toEqual([200, 'v1'])
      streams.push(allUiFrames(response))
      hold.open()
    }
    const undisturbed = await allUiFrames(await post(it, one), (frame) => void see(frame))
    const message = JSON.stringify(await messageOf(chunksOf(undisturbed)))
    expect(message).toContain('All.')
    expect(streams).toHaveLength(2)
    for (const frames of await Promise.all(streams)) {
      expect(chunksOf(frames)[0]?.type).toBe('start')
      expect(JSON.stringify(await messageOf(chunksOf(frames)))).toBe(message)
    }
  })

  it('V49: 204 if nothing is in progress, if the turn waits for the page, and for a conversation that has not begun', async () => {
    const it = await bench({ store: make(), steps: [place, { text: 'There.' }], tools: [remoteTool('place')] })
    expect((await stream(it)).status).toBe(204)
    expect((await stream(it, 'a~b')).status).toBe(204)
    const first = await messageOf(chunksOf(await allUiFrames(await post(it, one))))
    expect((await stream(it)).status).toBe(204)
    const parts = first.parts.map((part) => (isToolUIPart(part) ? { ...part, state: 'output-available', output: 'Oslo' } : part))
    await allUiFrames(await post(it, [{ ...first, parts }]))
    expect((await stream(it)).status).toBe(204)
    const chat = openChat(it)
    await chat.resumeStream()
    expect([chat.status, chat.messages]).toEqual(['ready', []])
  })

  it('V49: a turn that went on after answers is streamed from its first segment on', async () => {
    const hold = gate()
    const it = await bench({
      store: make(),
      steps: async (_call, index) => {
        if (index === 1) await hold.passed
        return index === 0 ? place : { text: 'There.' }
      },
      tools: [remoteTool('place')],
    })
    const first = await messageOf(chunksOf(await allUiFrames(await post(it, one))))
    const parts = first.parts.map((part) => (isToolUIPart(part) ? { ...part, state: 'output-available', output: 'Oslo' } : part))
    const rest = await post(it, [{ ...first, parts }])
    const resumed = await stream(it)
    hold.open()
    const message = await messageOf(chunksOf(await allUiFrames(rest)), first)
    const frames = await allUiFrames(resumed)
    expect(chunkTypes(frames).filter((type) => type === 'start' || type === 'finish')).toEqual(['start', 'finish'])
    expect(JSON.stringify(await messageOf(chunksOf(frames)))).toBe(JSON.stringify(message))
  })
})

it('V50: a failure after the headers is an error chunk and a destroyed socket', async () => {
  const it = await bench({ steps: [{ text: 'Hello.' }] })
  const session = it.runtime.session.bind(it.runtime)
  it.runtime.session = (...args: Parameters<typeof session>) => {
    const real = session(...args)
    return { ...real, events: (options) => ({ [Symbol.asyncIterator]: () => failing(real.events(options)[Symbol.asyncIterator]()) }) }
  }
  const chunks: UIMessageChunk[] = []
  const reading = (async () => {
    for await (const { data } of uiFrames(await post(it, one))) if (typeof data !== 'string') chunks.push(data)
  })()
  await expect(reading).rejects.toThrow('terminated')
  expect(chunks.at(-1)).toEqual({ type: 'error', errorText: 'The request could not be carried out.' })
  expect(it.faults).toMatchObject([{ message: 'a stream broke' }])
})

/** Returns a log that fails when the answer is complete. */
function failing(events: LogIterator): LogIterator {
  const checked = <T extends LoggedEvent | undefined>(event: T): T => {
    if (event?.type === 'message-end') throw new Error('secret')
    return event
  }
  return {
    ...events,
    next: async () => {
      const result = await events.next()
      if (!result.done) checked(result.value)
      return result
    },
    take: () => checked(events.take()),
  }
}

it('V50: a server that goes away cuts the stream without a last frame, and the page notices the cut', async () => {
  const it = await bench({ steps: [{ text: 'Half of it.', hang: 'middle' }] })
  const chat = openChat(it)
  const sending = chat.sendMessage({ text: 'hi' })
  await expect.poll(() => chat.status).toBe('streaming')
  await it.running.close({ drainMs: 0 })
  await sending
  expect([chat.status, chat.error?.message]).toEqual(['error', 'terminated'])
})

it('V52: a page whose connection was cut ends in error, and resumeStream ends ready with the whole message', async () => {
  const hold = gate()
  const it = await bench({
    steps: [
      {
        text: 'Half of ',
        parts: [
          { wait: hold.passed },
          { type: 'text-start', id: 'b' },
          { type: 'text-delta', id: 'b', delta: 'it.' },
          { type: 'text-end', id: 'b' },
        ],
      },
    ],
  })
  const seen = gate()
  let cuts = 0
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${it.url}/api/chat`,
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      return cuts++ === 0 ? new Response(cutBehind(response, 'Half', seen.passed), response) : response
    },
  })
  const chat = openChat(it, { transport })
  const sending = chat.sendMessage({ text: 'hi' })
  // A stream that fails drops what its reader has not taken yet.
  await expect.poll(() => textOf(chat.lastMessage ?? expect.fail())).toBe('Half of ')
  seen.open()
  await sending
  expect([chat.status, textOf(chat.lastMessage ?? expect.fail())]).toEqual(['error', 'Half of '])
  const resuming = chat.resumeStream()
  await expect.poll(() => chat.status).toBe('streaming')
  hold.open()
  await resuming
  expect([chat.status, textOf(chat.lastMessage ?? expect.fail())]).toEqual(['ready', 'Half of it.'])
  expect(chat.messages).toHaveLength(2)
})

/** Returns the body up to the end of the frame with the text, and fails after `cut`. */
function cutBehind({ body }: Response, text: string, cut: Promise<void>): ReadableStream<Uint8Array> {
  const reader = body!.getReader()
  let isFound = false
  return new ReadableStream(
    {
      async pull(controller) {
        if (isFound) {
          await cut
          return controller.error(new TypeError('network error'))
        }
        const { value } = (await reader.read()) as { readonly value?: Uint8Array }
        const whole = new TextDecoder().decode(value)
        const end = whole.indexOf('\n\n', whole.indexOf(text) < 0 ? whole.length : whole.indexOf(text))
        isFound = end >= 0
        controller.enqueue(new TextEncoder().encode(isFound ? whole.slice(0, end + 2) : whole))
        if (isFound) await reader.cancel()
      },
    },
    { highWaterMark: 0 },
  )
}

it('V19: the stop route finds only sessions of the tenant', async () => {
  const it = await bench()
  const nothing = { runId: null, state: 'nothing-to-stop', calls: [], children: [] }
  for (const id of ['none', 'a~b']) expect(await (await it.post(`/api/chat/${id}/stop`, {})).json()).toEqual(nothing)
  await refusal(it.post('/api/chat/none/stop', ''), 400, 'invalid-body')
  await refusal(it.post('/api/chat/none/stop', '', { 'content-type': 'text/plain' }), 415, 'unsupported-media-type')
})
