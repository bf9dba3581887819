import { manualClock, type ManualClock } from '@bowline/llm/testing'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, it, vi } from 'vitest'
import { defaultLimits } from '../../src/limits.ts'
import { serve } from '@bowline/server/node'
import { bench, gate, localTool, refusal, say, type Bench } from '../support/bench.ts'
import { allUiFrames, chunksOf } from '../support/chat.ts'
import { allFrames, completion, eventsOf, framesUntil, type Frame } from '../support/frames.ts'

const events = '/api/agent/session/mine/events'
const isSettled = (frame: Frame) => frame.data.type === 'settled'
const megabyte = 1_000_000

/** More than the socket buffers of any system hold. */
const messages = 6
const messageBytes = 4 * megabyte
const steps = Array.from({ length: messages }, (_, place) => ({
  text: 'x'.repeat(messageBytes),
  chunk: 40_000,
  ...(place < messages - 1 && { toolCalls: [{ name: 'look', input: {} }] }),
}))

/** Sends a request after five seconds of server time, and returns the status. */
async function passed(clock: ManualClock, { get }: Bench, path: string): Promise<number> {
  await clock.advance(5000)
  const { status, body } = await get(path)
  await body?.cancel()
  return status
}

/** Requests the log or another path, and takes no data of the answer. */
function stuckReader({ running }: Pick<Bench, 'running'>, path = `${events}?from=start`): Socket {
  const socket = connect(running.port, '127.0.0.1')
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return socket
}

it('V39, V40: a reader that does not read is cut off by time, delays no other reader, and misses nothing when it reconnects', async () => {
  const clock = manualClock()
  const it = await bench({ clock, steps, tools: [localTool('look', () => 'seen')] })
  await (await it.execute({ sessionId: 'mine', input: say('hi'), context: {}, options: { deltas: false } })).text()
  const socket = stuckReader(it)
  let gone = false
  socket.once('close', () => (gone = true))
  const whole = await framesUntil(await it.get(`${events}?from=start`), isSettled)
  expect(eventsOf(whole).filter(({ type }) => type === 'message-end')).toHaveLength(messages)

  const received: Buffer[] = []
  for (let seconds = 0; !gone && seconds < 100; seconds++) {
    await clock.advance(1000)
    // By now the server has closed the connection. The data still buffered by the system is read to its end.
    if (seconds === 40) socket.on('data', (bytes: Buffer) => received.push(bytes)).resume()
  }
  expect(gone).toBe(true)
  const seen = Buffer.concat(received).toString()
  expect(seen).not.toMatch(/\r\n0\r\n\r\n$/)
  expect(seen.length).toBeLessThan(messages * messageBytes)
  const lastSeen = [...seen.matchAll(/^id: (\S+)\ndata: .*\n\n/gm)].at(-1)?.[1] ?? ''
  const rest = await framesUntil(await it.get(events, { 'last-event-id': lastSeen }), isSettled)
  expect(rest).toEqual(whole.slice(whole.findIndex(({ id }) => id === lastSeen) + 1))
  expect(it.faults).toEqual([])
})

it('V40: a run goes on at its pace beside a reader that does not read', async () => {
  const begun = gate()
  const it = await bench({ steps: [{ parts: [{ wait: begun.passed }] }, ...steps], tools: [localTool('look', () => 'seen')] })
  await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })
  const [stuck, queued] = [stuckReader(it), it.execute({ sessionId: 'mine', input: say('more'), options: { onBusy: 'queue' } })]
  begun.open()
  expect(completion(await allFrames(await queued)).status).toBe('completed')
  stuck.destroy()
})

it('V37, V39: pages that stall in a large tool output share one encoding of it', async () => {
  const hold = gate()
  const output = 'y'.repeat(8 * megabyte)
  const it = await bench({
    steps: async (_call, index) => {
      if (index === 1) await hold.passed
      return index === 0 ? { toolCalls: [{ name: 'look', input: {} }] } : { text: 'Seen.' }
    },
    tools: [{ ...localTool('look', () => output), maxOutputCharacters: output.length }],
  })
  await (await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })).body?.cancel()
  const encode = vi.spyOn(TextEncoder.prototype, 'encode')
  const chat = '/api/chat/mine/stream'
  const stuck = Array.from({ length: 5 }, () => stuckReader(it, chat))
  await Promise.all(stuck.map(reachesOutput))
  const page = await it.get(chat)
  hold.open()
  const told = chunksOf(await allUiFrames(page)).find((chunk) => chunk.type === 'tool-output-available')
  expect(told?.output === output).toBe(true)
  expect(encode.mock.calls.filter(([encoded = '']) => encoded.includes('"tool-output-available"'))).toHaveLength(1)
  encode.mockRestore()
  for (const socket of stuck) socket.destroy()
})

/** Reads until the output has begun, then takes no more data. */
async function reachesOutput(socket: Socket): Promise<void> {
  let seen = ''
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.on('data', (bytes: Buffer) => {
    seen += bytes.toString()
    if (!seen.includes('"tool-output-available"')) return
    socket.pause()
    resolve()
  })
  socket.resume()
  await promise
}

it('V39: an export is cut off by time if its client does not read', async () => {
  const clock = manualClock()
  const it = await bench({ clock, steps, tools: [localTool('look', () => 'seen')], limits: { streamsPerSession: 1 } })
  await (await it.execute({ sessionId: 'mine', input: say('hi'), context: {}, options: { deltas: false } })).text()
  const path = '/api/agent/session/mine/export'
  const socket = stuckReader(it, `${path}?events`)
  await once(socket, 'readable')
  await refusal(it.get(path), 429, 'too-many-streams')
  await expect.poll(() => passed(clock, it, path), { timeout: 20_000 }).toBe(200)
  const received: Buffer[] = []
  for await (const bytes of socket) received.push(bytes as Buffer)
  expect(Buffer.concat(received).toString()).not.toMatch(/\r\n0\r\n\r\n$/)
})

it('V39: an ordinary answer is cut off by time if its client does not read', async () => {
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  const large = {
    fetch(request: Request) {
      request.signal.addEventListener('abort', () => resolve())
      return Promise.resolve(Response.json('x'.repeat(messages * messageBytes)))
    },
    close: () => Promise.resolve(),
    reload: () => Promise.resolve(),
    loopbackOnly: true,
    socketLimits: defaultLimits,
  }
  const running = await serve(large, { port: 0, slowReaderMs: 100 })
  const socket = stuckReader({ running }, '/')
  await gone
  socket.destroy()
  await running.close()
})

it('V39: a client that waits for an answer, or for the next frame of a stream, is not cut off', async () => {
  const hold = gate()
  const it = await bench({ serveOptions: { slowReaderMs: 1 }, steps: [{ parts: [{ wait: hold.passed }], text: 'Hi.' }] })
  const answer = await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })
  for (let look = 0; look < 20; look++) expect((await it.get('/api/agent/session/mine')).status).toBe(200)
  hold.open()
  expect(completion(await allFrames(answer)).status).toBe('completed')
})
