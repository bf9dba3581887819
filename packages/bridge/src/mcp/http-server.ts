import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@bowline/llm'
import { hostHeaderValidation, originValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { localhostAllowedHostnames } from '@modelcontextprotocol/server'
import type { Bridge } from '../bridge-contract.ts'
import { showsToken } from './bearer.ts'
import { createBridgeMcpHandler, createBridgeMcpServer } from './index.ts'

export interface HttpOptions {
  /** Host name or address; IPv6 without brackets. */
  readonly host: string
  /** Port; 0 for any free port. */
  readonly port: number
  /** Further host names that requests may use. */
  readonly allowedHosts: readonly string[]
  /** Bearer token that callers must send. Undefined: no authentication. */
  readonly token: string | undefined
  readonly onerror: (error: unknown) => void
}

export interface HttpServer {
  readonly url: string
  /** Closes the server. Connections that are still open after a second are cut. */
  close(): Promise<void>
}

const path = '/mcp'

/** Owner of callers with the token. Without a token, every caller is `local`. */
const tokenOwner = 'token'

/** Time in ms for clients to read the last responses. */
const lastAnswersMs = 1000

/** An incoming request always has these fields. */
type ServerRequest = IncomingMessage & { readonly method: string; readonly url: string }

/** Serves MCP over Streamable HTTP, for both eras of the protocol. */
export async function startHttpServer(bridge: Bridge, options: HttpOptions): Promise<HttpServer> {
  const { onerror, token } = options
  const factory = createBridgeMcpServer(bridge, token === undefined ? {} : { owner: tokenOwner }, onerror)
  const handler = createBridgeMcpHandler(factory, { onerror, keepAliveMs: bridge.limits.heartbeatMs })
  const answer = toNodeHandler(handler, { onerror })
  const server = createServer((request, response) => {
    if (isAdmitted(request, response, options)) answer(request as ServerRequest, response).catch(onerror)
  })
  server.listen(options.port, options.host)
  await once(server, 'listening')
  return {
    url: urlOf(server),
    async close() {
      // Lets the results of cancelled calls be sent first.
      await setImmediate()
      await handler.close()
      await closeServer(server, bridge.clock)
    },
  }
}

async function closeServer(server: Server, clock: Clock): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const cancelTimer = clock.setTimer(clock.now() + lastAnswersMs, () => server.closeAllConnections(), { hold: true })
  await closed
  cancelTimer()
}

/** Returns false if the request was refused. Checks host and origin first, so that a foreign page in a browser learns nothing. */
function isAdmitted(request: IncomingMessage, response: ServerResponse, { host, allowedHosts, token }: HttpOptions): boolean {
  const names = [...localhostAllowedHostnames(), ...[host, ...allowedHosts].map(inHeader)]
  if (!hostHeaderValidation(names)(request, response) || !originValidation(names)(request, response)) return false
  if (token !== undefined && !showsToken(request.headers.authorization, token)) {
    return refuse(response, 401, 'A bearer token is needed', { 'www-authenticate': 'Bearer' })
  }
  if (request.url?.split('?')[0] === path) return true
  return refuse(response, 404, `The only path is ${path}`)
}

function refuse(response: ServerResponse, status: number, message: string, headers: Record<string, string> = {}): false {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
  return false
}

function urlOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo
  return `http://${inHeader(address)}:${port}${path}`
}

/** Returns the host as headers and addresses write it. */
function inHeader(host: string): string {
  return host.includes(':') ? `[${host}]` : host.toLowerCase()
}
