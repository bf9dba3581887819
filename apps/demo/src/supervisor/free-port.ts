import { createServer } from 'node:net'

const host = '127.0.0.1'
const mostPorts = 100

/** Returns the first free port from `from` on. 0 lets the system choose. */
export async function freePort(from: number): Promise<number> {
  for (let port = from; port < from + mostPorts && port <= 65_535; port++) {
    const free = await tryPort(port)
    if (free !== undefined) return free
  }
  return (await tryPort(0)) ?? 0
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(undefined))
    probe.listen({ port, host }, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : undefined))
    })
  })
}
