import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { startDelayProxy } from '../src/delay-proxy.ts'

it('keeps back what passes, and counts each answer that is waited for', async () => {
  const server = createServer((socket) => void socket.pipe(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const delayMs = 20
  const proxy = await startDelayProxy({ port: (server.address() as AddressInfo).port, delayMs })
  const client = connect(proxy.port, '127.0.0.1')
  const startedAt = performance.now()
  for (const text of ['one', 'two', 'three']) {
    client.write(text)
    const [part] = (await once(client, 'data')) as [Buffer]
    expect(part.toString()).toBe(text)
  }
  expect(proxy.roundTrips()).toBe(3)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(3 * 2 * (delayMs - 1))
  client.destroy()
  await proxy.stop()
  server.close()
})
