import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach } from 'vitest'
import type { Place } from './clients.ts'

export interface Proxy {
  readonly place: Place
  /** Stops all traffic without closing connections. */
  silence(): void
}

/** Returns a function that starts proxies, which are stopped after each test. */
export function proxies(): (target: Place) => Promise<Proxy> {
  const stops: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })
  return async (target) => {
    const open = new Set<Socket>()
    const server = createServer((client) => {
      const upstream =
        target.host?.startsWith('/') === true
          ? connect(`${target.host}/.s.PGSQL.${target.port}`)
          : connect(target.port ?? 5432, target.host)
      for (const [socket, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        open.add(socket)
        socket.setNoDelay(true)
        socket.on('error', () => undefined)
        socket.on('close', () => {
          open.delete(socket)
          other.destroy()
        })
        socket.pipe(other)
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    stops.push(async () => {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    })
    return {
      place: { ...target, host: '127.0.0.1', port: (server.address() as AddressInfo).port },
      silence() {
        for (const socket of open) socket.unpipe().pause()
      },
    }
  }
}
