import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Time for a connection to deliver data that was already written to it. */
const lingerMs = 300

/** Starts listening. Rejects with the error of the system: `EADDRINUSE` if the port is taken. */
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

/** Accepts no more connections. Resolves when the last one is closed; lingering ones are destroyed. */
export async function stopListening(http: Server): Promise<void> {
  const linger = setTimeout(() => http.closeAllConnections(), lingerMs)
  linger.unref()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  http.close((error) => (error ? reject(error) : resolve()))
  await promise.finally(() => clearTimeout(linger))
}
