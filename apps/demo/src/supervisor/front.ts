import { createServer, request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'

export interface Front {
  readonly port: number
  /** Cuts all connections. */
  close(): void
}

export interface FrontOptions {
  /** 0 takes a free one. */
  readonly port: number
  /** The addresses of the servers that are up. */
  readonly urls: () => readonly string[]
}

const host = '127.0.0.1'

/** Headers that concern one connection and are not handed on. */
const hopHeaders = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade']

/**
 * Hands each request to the next server that is up. Bytes pass as they come, so that a stream of events is not held back. If
 * a server takes no connection, the next one gets the request. Once a server may have read something of it, the request is
 * never repeated: if that server dies, the connection to the browser is cut, as the server itself would have cut it. Rejects
 * with the error of the system, `EADDRINUSE` for a taken port.
 */
export async function openFront({ port, urls }: FrontOptions): Promise<Front> {
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const up = urls()
    const first = turn++
    handOn(incoming, outgoing, up.map((_, index) => up[(first + index) % up.length] ?? ''))
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
  // A connection of its own, so that it is known whether the server took it. Nothing is written before that.
  const { method, url: path } = incoming
  // `expect` was answered here. A server that were asked to close would do so too early if it answers before it has read all.
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
    // The form of the body is for this connection to choose.
    outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, without(response.headers, 'transfer-encoding'))
    outgoing.flushHeaders()
    // If one of them ends too early, this destroys the other one.
    pipeline(response, outgoing, () => undefined)
  })
  sent.on('error', () => {
    // An answer may come before the whole request was sent. The pipeline sees how it ends.
    if (answered) return
    if (connected) outgoing.destroy()
    else handOn(incoming, outgoing, others)
  })
  outgoing.once('close', () => sent.destroy())
}

function without(headers: IncomingHttpHeaders, one: string): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== one && !hopHeaders.includes(name)))
}

/** The client of the page tries again after this. */
function refuse(outgoing: ServerResponse): void {
  outgoing.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' }).end(JSON.stringify({ code: 'no-server' }))
}
