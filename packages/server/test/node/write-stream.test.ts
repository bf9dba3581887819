import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { writeStream } from '../../src/node/write-stream.ts'

const chunks = 50

/** Writes chunks of this size, each at this time after the one before. Returns how many immediates and timers were waited for. */
async function waits(bytes: number, apartMs: number): Promise<{ readonly turns: number; readonly pauses: number }> {
  let [sent, now] = [0, 0]
  const time = vi.spyOn(performance, 'now').mockImplementation(() => (now += apartMs))
  const immediates = vi.spyOn(globalThis, 'setImmediate')
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const pausesOf = () => timers.mock.calls.filter(([, ms]) => ms === 5).length
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => (sent++ < chunks ? controller.enqueue(new Uint8Array(bytes)) : controller.close()),
  })
  const server = createServer((_, outgoing) => void writeStream(body, outgoing)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  expect((await answer.arrayBuffer()).byteLength).toBe(chunks * bytes)
  const counts = { turns: immediates.mock.calls.length, pauses: pausesOf() }
  for (const spy of [time, immediates, timers]) spy.mockRestore()
  return counts
}

it('V39: a small chunk that follows a quiet time is written without waiting for anything', async () => {
  const { turns, pauses } = await waits(100, 100)
  expect(turns).toBeLessThan(chunks / 5)
  expect(pauses).toBe(0)
})

it('V38: small chunks in quick succession wait for others to join them', async () => {
  expect((await waits(100, 1)).pauses).toBe(chunks - 1)
})

it('V40: others get a turn after each large chunk', async () => {
  expect((await waits(20_000, 100)).turns).toBeGreaterThanOrEqual(chunks)
})
