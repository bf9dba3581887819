// Thread of the proxy. It counts round trips in shared memory, because a message would be too late.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import type { DelayProxyData } from './delay-proxy.ts'

const { port, delayMs, counter } = workerData as DelayProxyData
const roundTrips = new Int32Array(counter)

function connectThrough(client: Socket): void {
  const server = connect(port, '127.0.0.1')
  let isAnswered = true
  pass(client, server, () => {
    if (isAnswered) Atomics.add(roundTrips, 0, 1)
    isAnswered = false
  })
  pass(server, client, () => {
    isAnswered = true
  })
}

/** Passes data on after the delay. Timers of equal length fire in the order in which they were set, so the order is kept. */
function pass(from: Socket, to: Socket, onData: () => void): void {
  from.setNoDelay(true)
  from.on('data', (part) => {
    onData()
    setTimeout(() => to.write(part), delayMs)
  })
  from.on('error', () => to.destroy())
  from.on('close', () => setTimeout(() => to.destroy(), delayMs))
}

const proxy = createServer(connectThrough).listen(0, '127.0.0.1')
await once(proxy, 'listening')
parentPort?.postMessage((proxy.address() as AddressInfo).port)
