import { manualClock } from '@bowline/llm/testing'
import { connect, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { bench, gate, localTool, say, type Bench } from '../support/bench.ts'
import { allFrames, completion, eventsOf, framesUntil, type Frame } from '../support/frames.ts'

const events = '/api/agent/session/mine/events'
const isSettled = (frame: Frame) => frame.data.type === 'settled'
const megabyte = 1_000_000

/** More than the sockets of any system take. */
const messages = 6
const messageBytes = 4 * megabyte
const steps = Array.from({ length: messages }, (_, place) => ({
  text: 'x'.repeat(messageBytes),
  chunk: 40_000,
  ...(place < messages - 1 && { toolCalls: [{ name: 'look', input: {} }] }),
}))

/** Asks for the log, and takes nothing of the answer. */
function stuckReader({ running }: Bench): Socket {
  const socket = connect(running.port, '127.0.0.1')
  socket.pause()
  socket.write(`GET ${events}?from=start HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return socket
}

it('V39, V40: a reader that takes nothing is cut off by time, holds up nobody, and misses nothing when it comes back', async () => {
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
    // By now it was given up; what the system still has for it is read to the end.
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

it('V40: a run goes on at its pace beside a reader that takes nothing', async () => {
  const begun = gate()
  const it = await bench({ steps: [{ parts: [{ wait: begun.passed }] }, ...steps], tools: [localTool('look', () => 'seen')] })
  await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })
  const [stuck, queued] = [stuckReader(it), it.execute({ sessionId: 'mine', input: say('more'), options: { onBusy: 'queue' } })]
  begun.open()
  expect(completion(await allFrames(await queued)).status).toBe('completed')
  stuck.destroy()
})
