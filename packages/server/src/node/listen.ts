import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** How long a connection may still deliver what was written to it. */
const lingerMs = 300

/** Rejects with the error of the system, `EADDRINUSE` for a taken port. */
export async function listen(http: Server, host: string, port: number): Promise<AddressInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  http.once('error', reject)
  http.listen(port, host, resolve)
  try {
    await promise
  } finally {
    http.off('error', reject)
  }
  return http.address() as AddressInfo
}

/** Takes no more connections, and resolves when the last one is gone; those that linger are destroyed. */
export async function stopListening(http: Server): Promise<void> {
  const linger = setTimeout(() => http.closeAllConnections(), lingerMs)
  linger.unref()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  http.close((error) => (error ? reject(error) : resolve()))
  await promise.finally(() => clearTimeout(linger))
}
