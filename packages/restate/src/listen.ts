import { once } from 'node:events'
import { createServer, type Http2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createEndpointHandler, type LoggerTransport } from '@restatedev/restate-sdk'
import { warnProcess } from '@bowline/sessions/store-parts'
import type { sessionsObject } from './handlers.ts'
import type { ListenOptions } from './options.ts'

/** A worker that listens for Restate. */
export interface Listening {
  /** URL under which it is registered: `restate deployments register <url>`. */
  readonly url: string
  /** Stops listening. Invocations in progress end as failed, and Restate asks another worker. */
  close(): Promise<void>
}

/** Serves the object over HTTP/2. Rejects if the address is in use. */
export async function listenFor(
  object: ReturnType<typeof sessionsObject>,
  { host = '127.0.0.1', port = 9080, identityKeys = [], onWarning = warnProcess }: ListenOptions,
): Promise<Listening> {
  const connections = new Set<Http2Session>()
  const logger: LoggerTransport = ({ level }, message, ...more) => {
    const text = [message, ...(more as readonly unknown[])].map(String).join(' ')
    // Only this machine reaches loopback, so that requests need no signature there.
    const isKnown = /^(127\.0\.0\.1|::1|localhost)$/.test(host) && text.includes('validating request signatures')
    if (/^(warn|error)$/i.test(level) && !isKnown) onWarning(text)
  }
  const server = createServer(
    createEndpointHandler({ services: [object], logger, ...(identityKeys.length > 0 && { identityKeys: [...identityKeys] }) }),
  )
  server.on('session', (connection) => {
    connections.add(connection)
    connection.on('close', () => connections.delete(connection))
  })
  server.listen(port, host)
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const connection of connections) connection.destroy()
      await closed
    },
  }
}
