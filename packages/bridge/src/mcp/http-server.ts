import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@bowline/llm'
import { hostHeaderValidation, originValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { localhostAllowedHostnames } from '@modelcontextprotocol/server'
import type { Bridge } from '../bridge-contract.ts'
import { showsToken } from './bearer.ts'
import { createBridgeMcpHandler, createBridgeMcpServer } from './server.ts'

export interface HttpOptions {
  /** Without brackets. */
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Names besides its own under which it may be asked. */
  readonly allowedHosts: readonly string[]
  /** What a caller must show. Undefined: nobody is asked. */
  readonly token: string | undefined
  readonly onerror: (error: unknown) => void
}

export interface HttpServer {
  readonly url: string
  /** Whoever still reads after a second is cut off. */
  close(): Promise<void>
}

const path = '/mcp'

/** Who shows the token. Without one everybody is `local`. */
const tokenOwner = 'token'

/** How long the last answers may take to be read. */
const lastAnswersMs = 1000

/** Of a request that came in. */
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
      // The outcomes of what was cancelled are still on their way out.
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

/** False when it was refused. Names come first: who was led here by a foreign page learns nothing. */
function isAdmitted(request: IncomingMessage, response: ServerResponse, { host, allowedHosts, token }: HttpOptions): boolean {
  const names = [...localhostAllowedHostnames(), ...[host, ...allowedHosts].map(inHeader)]
  if (!hostHeaderValidation(names)(request, response) || !originValidation(names)(request, response)) return false
  if (token !== undefined && !showsToken(request.headers.authorization, token)) {
    return refuse(response, 401, 'A bearer token is needed', { 'www-authenticate': 'Bearer' })
  }
  if (request.url?.split('?')[0] === path) return true
  return refuse(response, 404, `There is only ${path}`)
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

/** As headers and addresses name it. */
function inHeader(host: string): string {
  return host.includes(':') ? `[${host}]` : host.toLowerCase()
}
