import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface CuttingProxy {
  readonly url: string
  /** Number of connections that were cut. */
  readonly cuts: () => number
  /** Sets the port of new connections and ends older ones. While it is undefined, new connections wait. */
  toward(port: number | undefined): void
}

/**
 * Proxy between clients and a server that interrupts: each connection is cut when the server has sent `budget()` bytes over it.
 * Undefined never cuts it.
 */
export async function cuttingProxy(budget: () => number | undefined): Promise<CuttingProxy> {
  let port: number | undefined
  let waiting: (() => void)[] = []
  let cuts = 0
  const open = new Set<Socket>()
  const upstreams = new Set<Socket>()

  function track(socket: Socket): Socket {
    open.add(socket)
    socket.setNoDelay(true)
    return socket.once('close', () => open.delete(socket)).on('error', () => socket.destroy())
  }

  function join(client: Socket, target: number): void {
    if (client.destroyed) return
    const upstream = track(connect(target, '127.0.0.1'))
    upstreams.add(upstream)
    let left = budget() ?? Infinity
    upstream.on('data', (bytes: Buffer) => {
      if (client.destroyed) return
      client.write(bytes.subarray(0, Math.min(bytes.length, left)))
      left -= bytes.length
      if (left > 0) return
      cuts++
      upstream.destroy()
      client.destroySoon()
    })
    client.on('data', (bytes) => void upstream.write(bytes))
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => {
      upstreams.delete(upstream)
      client.destroySoon()
    })
    client.resume()
  }

  const server = createServer((client) => {
    track(client).pause()
    if (port === undefined) waiting.push(() => port !== undefined && join(client, port))
    else join(client, port)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    toward(target) {
      port = target
      for (const upstream of upstreams) upstream.destroy()
      if (target === undefined) return
      for (const go of waiting.splice(0)) go()
      waiting = []
    },
  }
}
