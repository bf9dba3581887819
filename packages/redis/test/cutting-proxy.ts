import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach } from 'vitest'

/** A proxy between a client and a server that cuts their connections. */
export interface CuttingProxy {
  readonly port: number
  /** Fate of the next answer: its connection is cut, or it is dropped. Unset: it passes. */
  next: 'cut' | 'swallow' | undefined
  /** Number of connections made. */
  readonly connections: number
  /** Cuts all connections. */
  cut(): void
}

/** Returns a function that starts proxies, which are stopped after each test. */
export function cuttingProxies(): (port: number) => Promise<CuttingProxy> {
  const stops: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })
  return async (port) => {
    const { proxy, stop } = await startProxy(port)
    stops.push(stop)
    return proxy
  }
}

async function startProxy(target: number): Promise<{ readonly proxy: CuttingProxy; readonly stop: () => Promise<void> }> {
  const open = new Set<Socket>()
  let connections = 0
  const server = createServer((client) => {
    connections++
    const upstream = connect(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (answer) => {
      const { next } = proxy
      proxy.next = undefined
      if (next === 'cut') client.destroy()
      else if (next === undefined) client.write(answer)
    })
  })
  const proxy = {
    port: 0,
    next: undefined as CuttingProxy['next'],
    get connections() {
      return connections
    },
    cut() {
      for (const socket of open) socket.destroy()
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy.port = (server.address() as AddressInfo).port
  const stop = async (): Promise<void> => {
    proxy.cut()
    await new Promise((resolve) => server.close(resolve))
  }
  return { proxy, stop }
}
