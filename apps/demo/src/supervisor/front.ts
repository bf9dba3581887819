import { createServer, request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'

export interface Front {
  readonly port: number
  /** Closes all connections. */
  close(): void
}

export interface FrontOptions {
  /** Port to listen on. 0 selects a free one. */
  readonly port: number
  /** Returns the addresses of the servers that are up. */
  readonly urls: () => readonly string[]
}

const host = '127.0.0.1'

/** Headers that concern one connection and are not forwarded. */
const hopHeaders = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade']

/**
 * Opens a proxy that forwards each request to the next server that is up. Bytes pass as they come, so that event streams are not
 * delayed. If a server refuses the connection, the next one gets the request. Once a server may have read a part of it, the request
 * is never retried: if that server dies, the connection to the browser is closed, as the server itself would have done. Rejects
 * with the error of the system: `EADDRINUSE` if the port is taken.
 */
export async function openFront({ port, urls }: FrontOptions): Promise<Front> {
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const up = urls()
    const first = turn++
    handOn(
      incoming,
      outgoing,
      up.map((_, index) => up[(first + index) % up.length] ?? ''),
    )
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(port, host, resolve)
  await promise
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function handOn(incoming: IncomingMessage, outgoing: ServerResponse, [url, ...others]: readonly string[]): void {
  if (outgoing.destroyed) return
  if (url === undefined) return refuse(outgoing)
  let connected = false
  let answered = false
  // A new connection per request shows whether the server accepted it. Nothing is written before that.
  const { method, url: path } = incoming
  // The proxy has answered `expect` itself. With `connection: close`, a server that answers early would close before it has read
  // the whole request.
  const headers = { ...without(incoming.headers, 'expect'), connection: 'keep-alive' }
  const sent = request(new URL(url), { method, path, headers, agent: false })
  sent.once('socket', (socket) =>
    socket.once('connect', () => {
      connected = true
      incoming.pipe(sent)
    }),
  )
  sent.once('response', (response) => {
    answered = true
    // The transfer encoding is chosen per connection.
    outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, without(response.headers, 'transfer-encoding'))
    outgoing.flushHeaders()
    // If one of them ends too early, this destroys the other one.
    pipeline(response, outgoing, () => undefined)
  })
  sent.on('error', () => {
    // The answer may begin before the whole request was sent. The pipeline handles its end.
    if (answered) return
    if (connected) outgoing.destroy()
    else handOn(incoming, outgoing, others)
  })
  outgoing.once('close', () => sent.destroy())
}

function without(headers: IncomingHttpHeaders, one: string): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== one && !hopHeaders.includes(name)))
}

/** Refuses the request. The client of the page retries after this. */
function refuse(outgoing: ServerResponse): void {
  outgoing.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' }).end(JSON.stringify({ code: 'no-server' }))
}
