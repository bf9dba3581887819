import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A TCP balancer over workers: each connection goes to the next one. */
export interface Balancer {
  readonly url: string
  /** Ports of the workers. Connections to others are closed. */
  use(...ports: readonly number[]): void
  close(): Promise<void>
}

export async function startBalancer(): Promise<Balancer> {
  let ports: readonly number[] = []
  let next = 0
  const open = new Map<Socket, number>()
  const server = createServer((socket) => {
    const port = ports[next++ % Math.max(1, ports.length)]
    if (port === undefined) return void socket.destroy()
    const worker = connect(port, '127.0.0.1')
    open.set(socket, port)
    const end = (): void => {
      open.delete(socket)
      socket.destroy()
      worker.destroy()
    }
    for (const each of [socket, worker]) each.on('error', end).on('close', end)
    socket.pipe(worker).pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    use(...given) {
      ports = given
      for (const [socket, port] of open) if (!given.includes(port)) socket.destroy()
    },
    async close() {
      server.close()
      for (const socket of open.keys()) socket.destroy()
      await once(server, 'close')
    },
  }
}
